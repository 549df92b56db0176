"""The solver for a problem, run to its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from manyclass.problem import Problem
from manyclass.solution import Solution, Start
from manyclass.solvers.base import Progress, Solver, solve
from manyclass.solvers.choice import Kind
from manyclass.solvers.in_parts import solve_in_parts
from manyclass.solvers.separate_classes import SeparateClasses
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.sparse_dual import SparseDual
from manyclass.solvers.stopping import StoppingRule


def in_parts(problem: Problem, weights: Kind) -> bool:
    """Whether some classes are trained after the others, each with ``max_iter`` epochs at most."""
    return problem.formulation.sum_to_zero == "no" and weights == "sparse"


def train(
    problem: Problem,
    weights: Kind,
    rule_of: Callable[[], StoppingRule],
    *,
    rng: np.random.Generator,
    n_jobs: int,
    max_iter: int,
    start: Start | None = None,
    on_epoch: Callable[[Progress], bool] | None = None,
    keep_duals: bool = True,
) -> Solution:
    """Train until a rule is met.

    Parameters
    ----------
    problem : Problem
    weights : {"dense", "sparse"}
        How W is held (choice.py).
    rule_of : callable
        Makes the stopping rule.
    rng : numpy.random.Generator
    n_jobs : int
        Threads.
    max_iter : int
        Epochs at most, of each part where there are some.
    start : Start, default=None
        Where to begin; z = 0 when None.
    on_epoch : callable, default=None
        Called after each epoch; training stops when it returns True.
    keep_duals : bool, default=True
        Whether z is wanted; otherwise it may be missing (in_parts.py).

    Returns
    -------
    Solution

    Raises
    ------
    Interrupted, FloatingPointError, MemoryError
        As ``solve``.
    """
    if in_parts(problem, weights):
        return solve_in_parts(
            problem,
            rng,
            n_jobs,
            rule_of,
            max_iter=max_iter,
            start=start,
            on_epoch=on_epoch,
            keep_duals=keep_duals,
        )
    separate = problem.formulation.sum_to_zero == "no"
    whole = SparseDual if weights == "sparse" else SequentialDual
    solver: Solver[Any] = SeparateClasses(rng, n_jobs) if separate else whole(rng, n_jobs)
    return solve(problem, solver, rule_of(), max_iter=max_iter, start=start, on_epoch=on_epoch)
