"""Multinomial logistic regression, trained until a gap is proven."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress, Solution, Start, Status
from manyclass.solvers.double_precision import in_double, shown_in_single
from manyclass.solvers.logistic import MultinomialLogistic
from manyclass.solvers.logistic_certificate import certify_weights
from manyclass.solvers.logistic_engine import LogisticEngine
from manyclass.solvers.stopping import GapRule
from manyclass.solvers.training_loop import Interrupted, solve
from manyclass.utils.memory import available_memory

SINGLE = np.dtype(np.float32)
# Where float32 has stalled at a larger relative gap, float64 begins at W = 0: scores may be so
# large that the curvature of the losses is 0 to the last digit.
FAR = 0.1


def train_logistic(
    problem: Problem,
    *,
    tol: float,
    regularize_intercept: bool,
    rng: np.random.Generator,
    max_iter: int,
    n_jobs: int = 1,
    start: Start | None = None,
    on_epoch: Callable[[Progress], bool] | None = None,
) -> Solution:
    """Train to a relative gap of `tol`; in float64 where float32 has no digits left for it.

    Parameters
    ----------
    problem : Problem
        With the formulation LOGISTIC.
    tol : float
    regularize_intercept : bool
    rng : numpy.random.Generator
        Orders the visits.
    max_iter : int
        Epochs of descent and Newton steps at most.
    n_jobs : int, default=1
        Threads.
    start : Start, default=None
        Whose W to begin at; W = 0 when None.
    on_epoch : callable, default=None
        Called after each epoch; training stops when it returns True.

    Returns
    -------
    Solution

    Raises
    ------
    Interrupted, FloatingPointError
        As ``solve``.
    """
    make = partial(
        MultinomialLogistic,
        rng=rng,
        n_jobs=n_jobs,
        regularize_intercept=regularize_intercept,
        tol=tol,
    )
    rule = GapRule(tol)
    reached = solve(problem, make, rule, max_iter=max_iter, start=start, on_epoch=on_epoch)
    if reached.status is not Status.STALLED or not _may_go_on(problem):
        return reached
    is_far = not reached.certificate.relative_gap <= FAR
    try:
        found = solve(
            in_double(problem),
            make,
            GapRule(0.7 * tol),
            max_iter=max_iter,
            start=None if is_far else reached.start.astype(np.dtype(np.float64)),
            on_epoch=shown_in_single(on_epoch),
        )
    except Interrupted as interrupt:
        raise Interrupted(interrupt.start.astype(SINGLE)) from interrupt
    return _rounded(problem, found, regularize_intercept=regularize_intercept, rule=rule)


def _may_go_on(problem: Problem) -> bool:
    data = problem.dataset
    weights = 8 * 4 * (data.n_features + 1) * data.n_classes
    duals = 8 * data.n_examples * data.n_classes
    return data.dtype == SINGLE and 8 * len(data.values) + weights + duals < available_memory()


def _rounded(
    problem: Problem, found: Solution, *, regularize_intercept: bool, rule: GapRule
) -> Solution:
    """Return the solution in float32, with the certificate of the rounded W."""
    W = np.asarray(found.weights, SINGLE)
    engine = LogisticEngine(problem, regularize_intercept=regularize_intercept, keeps_duals=False)
    own = certify_weights(engine, W)
    # P of the rounded W less D as it was proven before, where that is nearer.
    before = found.certificate.dual_objective
    gap = max(0.0, min(own.gap, own.penalty + own.loss - before))
    certificate = own.from_gap(
        own.primal_objective, gap, math.sqrt(2 * gap), penalty=own.penalty, loss=own.loss
    )
    status: Status = Status.STALLED if found.status is Status.CONVERGED else found.status
    if rule.met(certificate):
        status = Status.CONVERGED
    return Solution(W, found.start.astype(SINGLE), found.history, status, certificate)
