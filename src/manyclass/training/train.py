"""Training of a problem: the choice of the solver, and the function that runs it.

Input: a problem, options, perhaps a start. Output: W, the state for further training, history, and
the certificate of W.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from manyclass.arrays.choice import (
    falls_slowly,
    may_leave_device,
    on_host,
    solver_on_device,
)
from manyclass.problem.formulations import FORMULATIONS, LOSSES
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress, Solution, Start, Status
from manyclass.solvers.comparison.cutting_plane import CuttingPlane
from manyclass.solvers.comparison.exponentiated_gradient import ExponentiatedGradient
from manyclass.solvers.comparison.most_violating import MostViolating
from manyclass.solvers.logistic.multinomial import MultinomialLogistic
from manyclass.solvers.one_vs_rest import OneVsRest
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.weights.storage import dense_bytes
from manyclass.training.class_chunks import (
    CsrColumns,
    WeightColumns,
    classes_in_chunk,
    solve_in_chunks,
)
from manyclass.training.epoch_loop import Hook, Interrupted, Options, Solver, solve
from manyclass.training.merged_columns import train_merged
from manyclass.training.precision import continue_in_double, leaves_early, may_continue
from manyclass.utils.machine import available_memory
from manyclass.utils.named_options import DEFAULT_SOLVERS

RELATIVE = ("crammer_singer", "weston_watkins")


@dataclass(frozen=True, slots=True)
class Scope:
    """Problems that a comparison method can train.

    Attributes
    ----------
    solver : callable
        Creates the solver, from a problem, a start, a random generator and threads.
    formulations : tuple of str
    losses : tuple of str
    kkt : bool
        Whether it can stop by the violation; z that are never 0 always violate the conditions.
    keeps : str
        Description of its arrays of n x k numbers.
    bytes_per_score, bytes_per_entry : int
        Memory per row and class, and per value of X.
    """

    solver: Callable[[Problem, Start | None, np.random.Generator, int], Solver]
    formulations: tuple[str, ...]
    losses: tuple[str, ...]
    kkt: bool
    keeps: str
    bytes_per_score: int
    bytes_per_entry: int = 0


# z in lists takes 16 bytes per entry, and 20 more while it is written.
COMPARISON = {
    "exponentiated_gradient": Scope(
        ExponentiatedGradient, RELATIVE, ("hinge",), False, "a dual variable", 8 + 3 * 8 + 36
    ),
    "cutting_plane": Scope(
        CuttingPlane,
        (*RELATIVE, "one_vs_rest"),
        tuple(LOSSES),
        False,
        "at most a dual variable",
        36,
    ),
    "most_violating": Scope(MostViolating, RELATIVE, ("hinge",), True, "a score", 8, 12),
}
SOLVERS = (*DEFAULT_SOLVERS, *COMPARISON)


def check_solver(solver: str, problem: Problem, *, stopping: str, weights: str) -> None:
    """Refuse a solver that cannot train a problem.

    Parameters
    ----------
    solver : str
        One of ``SOLVERS``.
    problem : Problem
    stopping : {"gap", "kkt"}
    weights : {"auto", "dense", "sparse"}

    Raises
    ------
    ValueError
        If they cannot be combined; the message names alternatives.
    MemoryError
        If the arrays of the solver do not fit into memory.
    """
    if solver in DEFAULT_SOLVERS:
        return
    scope, name = COMPARISON[solver], f"solver='{solver}'"
    names = [f"'{f}'" for f in scope.formulations]
    if problem.formulation not in [FORMULATIONS[f] for f in scope.formulations]:
        raise ValueError(
            f"{name} trains formulation={', '.join(names[:-1])} or {names[-1]}; for the others "
            "use solver='sequential_dual'"
        )
    if problem.base is not None or problem.factors is not None:
        raise ValueError(
            f"{name} trains without costs of mistakes, class_offset and base_scores; leave them "
            "out, or use solver='sequential_dual'"
        )
    if problem.loss not in scope.losses:
        raise ValueError(
            f"{name} trains loss='hinge'; for the squared hinge use solver='cutting_plane' or "
            "solver='sequential_dual'"
        )
    if stopping == "kkt" and not scope.kkt:
        raise ValueError(
            f"{name} stops at a gap: the conditions of 'kkt' are never nearly met by all its dual "
            "variables; use stopping='gap'"
        )
    if weights == "sparse":
        raise ValueError(f"{name} uses dense weights; use weights='dense'")
    _check_memory(name, scope, problem)


def _check_memory(name: str, scope: Scope, problem: Problem) -> None:
    data, free = problem.dataset, available_memory()
    scores = data.n_examples * data.n_classes * scope.bytes_per_score
    needed = scores + len(data.values) * scope.bytes_per_entry + 3 * dense_bytes(problem)
    if needed > free:
        raise MemoryError(
            f"{name} keeps {scope.keeps} for each of {data.n_examples} examples and "
            f"{data.n_classes} classes: {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free; "
            "use solver='sequential_dual'"
        )


class Backend(Protocol):
    """Processes of training: this process, or several."""

    def solver(
        self, problem: Problem, start: Start | None, options: Options, rng: np.random.Generator
    ) -> Solver:
        """Create the solver of a problem."""

    def part_size(self, problem: Problem, options: Options) -> int:
        """Return the number of classes of one-vs-rest that are trained together."""

    def columns(self) -> WeightColumns[Any]:
        """Return the object that stores and joins W of the chunks."""

    def may_continue(self, problem: Problem, options: Options) -> bool:
        """Whether training in float32 may continue in float64."""

    def stops(self, here: bool) -> bool:
        """Whether training stops, given whether a hook of this process stops it."""


class OneProcess:
    """Training in this process."""

    def solver(
        self, problem: Problem, start: Start | None, options: Options, rng: np.random.Generator
    ) -> Solver:
        """Create the solver of a problem.

        One-vs-rest trains with dense W, in chunks if the result is sparse (class_chunks.py).
        """
        given = problem, start, rng, options.n_jobs
        intercept = options.regularize_intercept
        if problem.dataset.lies_on_device:
            return solver_on_device(
                problem,
                start,
                rng,
                tol=options.tol,
                regularize_intercept=intercept,
                keeps_duals=options.keeps_duals,
            )
        if problem.loss == "log_loss":
            return MultinomialLogistic(*given, regularize_intercept=intercept, tol=options.tol)
        if options.solver in COMPARISON:
            return COMPARISON[options.solver].solver(*given)
        ascent_only = options.solver == "sequential_dual"
        if problem.formulation.is_separable:
            return OneVsRest(*given, ascent_only=ascent_only)
        return SequentialDual(
            *given,
            storage="tables" if options.weights == "sparse" else None,
            keeps_duals=options.keeps_duals,
            ascent_only=ascent_only,
        )

    def part_size(self, problem: Problem, options: Options) -> int:
        """Return the number of classes of one-vs-rest that are trained together."""
        return classes_in_chunk(problem, options.n_jobs)

    def columns(self) -> CsrColumns:
        """Return the object that stores and joins W of the chunks."""
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
        Start of training; None: z = 0. Its history is continued.
    hooks : sequence of Hook
        Called in order after each epoch; training stops when one of them returns True. Their
        ``end`` is also called on Ctrl-C, before the exception is raised.
    backend : Backend, default=None
        None: this process.

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
        stops = False
        for hook in hooks:  # all hooks are called in every epoch
            if hook.epoch(progress):
                stops = True
        return where.stops(stops)

    try:
        if options.columns is None or backend is not None or options.in_parts(problem):
            solution = _trained(problem, options, start, on_epoch, where)
        else:
            trained = partial(_trained, backend=where)
            solution = train_merged(problem, options, start, on_epoch, trained, where.solver)
    except Interrupted as interrupt:
        for hook in hooks:
            hook.end(interrupt.start)
        raise
    for hook in hooks:
        hook.end(solution.start)
    return solution


def _trained(
    problem: Problem,
    options: Options,
    start: Start | None,
    on_epoch: Callable[[Progress], bool],
    backend: Backend,
) -> Solution:
    """Train in chunks, or all classes together and, if float32 stalls, in float64.

    If a small problem stalls or converges slowly on a device, the core continues.
    """
    wanted, may_leave = options, problem.dataset.lies_on_device and may_leave_device(problem)
    continues = problem.dataset.dtype == np.float32 and backend.may_continue(problem, options)
    if continues or may_leave:  # from z
        options = replace(options, keeps_duals=True)
    make = partial(backend.solver, options=options, rng=np.random.default_rng(options.seed))
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
        is_slow=partial(falls_slowly, problem) if may_leave else None,
    )
    if may_leave and reached.status is Status.STALLED:
        return _trained(on_host(problem), wanted, reached.start, on_epoch, backend)
    if not (continues and reached.status is Status.STALLED):
        return reached
    return continue_in_double(problem, options, reached, make, on_epoch)
