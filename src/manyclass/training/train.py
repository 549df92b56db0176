"""Train a problem to its end: the one door to all solvers.

Given: a problem, options, perhaps a start. Returned: W, the state from which another training may
continue, history, and the certificate of W.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress, Solution, Start, Status
from manyclass.training.class_chunks import (
    CsrColumns,
    WeightColumns,
    classes_in_chunk,
    solve_in_chunks,
)
from manyclass.training.epoch_loop import Interrupted, Solver, solve
from manyclass.training.merged_columns import train_merged
from manyclass.training.options import Hook, Options
from manyclass.training.precision import continue_in_double, leaves_early, may_continue
from manyclass.training.solver_choice import make_solver


class Backend(Protocol):
    """Where training takes place: in this process, or in several."""

    def solver(
        self, problem: Problem, start: Start | None, options: Options, rng: np.random.Generator
    ) -> Solver:
        """Make the solver of a problem."""

    def part_size(self, problem: Problem, options: Options) -> int:
        """Return how many classes of one-vs-rest are trained together."""

    def columns(self) -> WeightColumns[Any]:
        """Return how W of parts is held and joined."""

    def may_continue(self, problem: Problem, options: Options) -> bool:
        """Whether training in float32 may continue in float64."""

    def stops(self, here: bool) -> bool:
        """Whether training stops, given whether a hook of this process stops it."""


class OneProcess:
    """Training in this process."""

    def solver(
        self, problem: Problem, start: Start | None, options: Options, rng: np.random.Generator
    ) -> Solver:
        """Make the solver of a problem."""
        return make_solver(problem, start, options, rng)

    def part_size(self, problem: Problem, options: Options) -> int:
        """Return how many classes of one-vs-rest are trained together."""
        return classes_in_chunk(problem, options.n_jobs)

    def columns(self) -> CsrColumns:
        """Return how W of parts is held and joined."""
        return CsrColumns()

    def may_continue(self, problem: Problem, options: Options) -> bool:
        """Whether training in float32 may continue in float64."""
        return may_continue(problem, options)

    def stops(self, here: bool) -> bool:
        """Whether a hook stops training."""
        return here


def train(
    problem: Problem,
    options: Options,
    *,
    start: Start | None = None,
    hooks: Sequence[Hook] = (),
    backend: Backend | None = None,
) -> Solution:
    """Train until the stopping rule is met.

    Parameters
    ----------
    problem : Problem
    options : Options
    start : Start, default=None
        Where to begin; z = 0 when None. Its history is continued.
    hooks : sequence of Hook
        Called in their order after each epoch; training stops when one of them returns True. Their
        ``end`` is called on Ctrl-C, too, before it is raised.
    backend : Backend, default=None
        This process when None.

    Returns
    -------
    Solution

    Raises
    ------
    Interrupted
        On Ctrl-C.
    FloatingPointError
        If the weights overflow.
    MemoryError
    """
    where = backend or OneProcess()

    def on_epoch(progress: Progress) -> bool:
        stops = [hook.epoch(progress) for hook in hooks]
        return where.stops(any(stops))

    try:
        if options.columns is None or backend is not None or options.in_parts(problem):
            solution = _trained(problem, options, start, on_epoch, where)
        else:
            trained = partial(_trained, backend=where)
            solution = train_merged(problem, options, options.columns, start, on_epoch, trained)
    except Interrupted as interrupt:
        _end(hooks, interrupt.start)
        raise
    _end(hooks, solution.start)
    return solution


def _end(hooks: Sequence[Hook], start: Start) -> None:
    for hook in hooks:
        hook.end(start)


def _trained(
    problem: Problem,
    options: Options,
    start: Start | None,
    on_epoch: Callable[[Progress], bool],
    backend: Backend,
) -> Solution:
    rng = np.random.default_rng(options.seed)
    continues = backend.may_continue(problem, options)
    if continues:  # from z
        options = replace(options, keeps_duals=True)

    def make(problem: Problem, start: Start | None) -> Solver:
        return backend.solver(problem, start, options, rng)

    if options.in_parts(problem):
        return solve_in_chunks(
            problem,
            make,
            options.rule,
            part_size=backend.part_size(problem, options),
            max_iter=options.max_iter,
            start=start,
            on_epoch=on_epoch,
            keep_duals=options.keeps_duals,
            columns=backend.columns(),
        )
    reached = solve(
        problem,
        make,
        options.rule(),
        max_iter=options.max_iter,
        start=start,
        on_epoch=on_epoch,
        leaves_early=continues and leaves_early(problem),
    )
    if not (continues and reached.status is Status.STALLED):
        return reached
    return continue_in_double(problem, options, reached, make, on_epoch)
