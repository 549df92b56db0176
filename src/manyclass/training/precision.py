"""Training in float32 that continues in float64 if rounding stalls it.

In float32, every step rounds W in its last digit, and the gap stays near 1e-6 of P. In float64,
training continues from the same z; at the end, W is rounded to float32 once. Input: a problem in
float32 and the state of training. Output: W in float32 and its own certificate: P of the rounded W
minus D in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from manyclass.problem.problem import Problem
from manyclass.problem.solution import (
    Certificate,
    Progress,
    Solution,
    Start,
    Status,
    Weights,
    exact_sum,
    rounding_share,
)
from manyclass.solvers.engines import Engine, as_returned
from manyclass.solvers.logistic.certificate import certify_weights
from manyclass.solvers.logistic.engine import LogisticEngine
from manyclass.solvers.stopping import TIGHTENED, GapRule, StoppingRule
from manyclass.solvers.weights.storage import dense_bytes
from manyclass.training.epoch_loop import Interrupted, Make, Options, solve
from manyclass.utils.machine import available_memory
from manyclass.utils.named_options import DEFAULT_SOLVERS
from manyclass.utils.types import Array

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
# If logistic regression has stalled in float32 at a larger relative gap, float64 begins at W = 0:
# scores may be so large that the curvature of the losses is rounded to 0.
FAR = 0.1


def may_continue(problem: Problem, options: Options) -> bool:
    """Whether the problem is in float32, W is dense, and both also fit into memory in float64."""
    data = problem.dataset
    if problem.dataset.lies_on_device:
        return False
    if data.dtype != SINGLE or options.weights != "dense" or options.solver not in DEFAULT_SOLVERS:
        return False
    needed = 8 * len(data.values) + 3 * dense_bytes(problem)
    if _is_logistic(problem):
        weights, duals = (data.n_features + 1) * data.n_classes, data.n_examples * data.n_classes
        needed = 8 * (len(data.values) + 4 * weights + duals)
    return needed < available_memory()


def leaves_early(problem: Problem) -> bool:
    """Whether float32 ends as soon as rounding seems to stall it."""
    return not _is_logistic(problem)


def continue_in_double(
    problem: Problem,
    options: Options,
    reached: Solution,
    make: Make,
    on_epoch: Callable[[Progress], bool],
) -> Solution:
    """Continue a stalled float32 run in float64.

    Parameters
    ----------
    problem : Problem
        Problem in float32.
    options : Options
    reached : Solution
    make : callable
        Creates the solver of a problem, from a start.
    on_epoch : callable

    Returns
    -------
    Solution
        W in float32: for an SVM, the one of two W with the lower P. z stays in float64, as rounding
        it would weaken the certificate.
    """
    data = problem.dataset
    try:
        found = solve(  # the copy of X in float64 ends with it
            replace(problem, dataset=replace(data, values=data.values.astype(DOUBLE))),
            make,
            _tightened(problem, options),
            max_iter=options.max_iter,
            start=_start(problem, reached),
            on_epoch=_shown_in_single(on_epoch),
        )
    except Interrupted as interrupt:
        raise Interrupted(interrupt.start.astype(SINGLE)) from interrupt
    if _is_logistic(problem):
        return _rounded_logistic(problem, options, found)
    return _rounded(problem, options, found, reached)


def _is_logistic(problem: Problem) -> bool:
    return problem.loss == "log_loss"


def _start(problem: Problem, reached: Solution) -> Start | None:
    if _is_logistic(problem) and not reached.certificate.relative_gap <= FAR:
        return None
    return reached.start.astype(DOUBLE)


def _tightened(problem: Problem, options: Options) -> StoppingRule:
    """Return a criterion that is tightened by the effect of rounding W to float32."""
    if _is_logistic(problem):
        return GapRule(TIGHTENED * options.tol)
    rule = options.rule()
    rule.tighten()
    return rule


def _shown_in_single(on_epoch: Callable[[Progress], bool]) -> Callable[[Progress], bool]:
    """Show epochs in float64 as epochs in float32."""

    def call(progress: Progress) -> bool:
        return on_epoch(
            replace(
                progress,
                weights=lambda: progress.weights().astype(SINGLE),
                start=lambda: progress.start().astype(SINGLE),
            )
        )

    return call


def _rounded(problem: Problem, options: Options, found: Solution, reached: Solution) -> Solution:
    """Return the solution in float32, with the certificate of the better W."""
    W: Weights = found.weights.astype(SINGLE)
    start, certificate = found.start, certify_rounded(problem, W, found.certificate)
    if certificate.primal_objective > reached.certificate.primal_objective:
        W = reached.weights
        certificate = certify_rounded(problem, W, found.certificate)
        if reached.certificate.gap < certificate.gap:  # with the z of float32
            certificate = reached.certificate
            start = replace(reached.start, history=start.history, epochs=start.epochs)
            start = start.astype(DOUBLE)
    status = _status(found, certificate, options)
    return Solution(W, start, found.history, status, certificate)


def _rounded_logistic(problem: Problem, options: Options, found: Solution) -> Solution:
    """Return the solution in float32, with the certificate of the rounded W."""
    W = np.asarray(found.weights, SINGLE)
    engine = LogisticEngine(
        problem, regularize_intercept=options.regularize_intercept, keeps_duals=False
    )
    own = certify_weights(engine, W)
    # P of the rounded W minus the D proven before, if that is closer.
    before = found.certificate.dual_objective
    gap = max(0.0, min(own.gap, own.penalty + own.loss - before))
    certificate = own.from_gap(
        own.primal_objective,
        gap,
        math.sqrt(2 * gap),
        zero=own.zero_objective,
        penalty=own.penalty,
        loss=own.loss,
    )
    status = _status(found, certificate, options)
    return Solution(W, found.start.astype(SINGLE), found.history, status, certificate)


def _status(found: Solution, certificate: Certificate, options: Options) -> Status:
    """Return the status of the rounded W."""
    if options.rule().met(certificate):
        return Status.CONVERGED
    return Status.STALLED if found.status is Status.CONVERGED else found.status


def certify_rounded(problem: Problem, W: Array, before: Certificate) -> Certificate:
    """Return the certificate of W in float32, from the D proven before.

    The violation is the violation before rounding.
    """
    n, k = problem.dataset.n_examples, problem.dataset.n_classes
    engine, at = Engine(problem, storage="dense"), as_returned(problem, W)
    constant = engine.constant_loss()
    engine.matrix[:] = W
    found = engine.gap_sums(at.common, at.norm)  # at z = 0
    # Terms at z = 0 are C_i times the loss, with a bound of its rounding.
    most_loss = exact_sum(part.gap for part in found) + constant
    return Certificate.from_gap(
        at.penalty + exact_sum(part.loss for part in found),
        at.penalty + most_loss - before.dual_objective,
        before.max_violation,
        rounding_share(n, k),
        zero=before.zero_objective,
        penalty=at.penalty,
        loss=most_loss,
    )
