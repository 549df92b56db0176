"""Training in float32 that continues in float64 where rounding stalls it.

In float32 the steps along x_i round W by its last digit each, and the gap stays near 1e-6 of P. In
float64 training continues from the same z; in the end W is rounded to float32 once. Given: a
problem in float32 and the z that it was left with. Returned: W in float32 and its own certificate,
P of the rounded W less D of the z in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from manyclass import _core
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
from manyclass.solvers.certificates import Returned, as_returned, half_square
from manyclass.solvers.kernels import core_classes, core_problem
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.training_loop import Interrupted
from manyclass.solvers.weights.dense import allocate_weights
from manyclass.solvers.weights.layout import mean_apart
from manyclass.solvers.weights.storage_choice import Kind, dense_bytes
from manyclass.utils.memory import available_memory
from manyclass.utils.types import Array

SINGLE = np.dtype(np.float32)


def may_go_on(problem: Problem, weights: Kind) -> bool:
    """Whether the problem is in float32, W is dense, and both fit into memory in float64, too."""
    data = problem.dataset
    if data.dtype != SINGLE or weights != "dense":
        return False
    return 8 * len(data.values) + 3 * dense_bytes(problem) < available_memory()


def in_double(problem: Problem) -> Problem:
    """Return the same problem in float64."""
    values = problem.dataset.values.astype(np.float64)
    return replace(problem, dataset=replace(problem.dataset, values=values))


def go_on(
    problem: Problem,
    reached: Solution,
    train: Callable[[Problem, Start, Callable[[Progress], bool] | None], Solution],
    rule: StoppingRule,
    on_epoch: Callable[[Progress], bool] | None,
) -> Solution:
    """Continue a stalled float32 run in float64.

    Parameters
    ----------
    problem : Problem
        In float32.
    reached : Solution
    train : callable
        Trains a problem from a start.
    rule : StoppingRule
        Stopping rule for the returned W.
    on_epoch : callable or None

    Returns
    -------
    Solution
        W in float32: that of the two with the lower P. z stays in float64, or it would not prove
        as much.
    """
    start = reached.start.astype(np.dtype(np.float64))
    try:
        found = train(in_double(problem), start, shown_in_single(on_epoch))
    except Interrupted as interrupt:
        raise Interrupted(interrupt.start.astype(SINGLE)) from interrupt
    W: Weights = found.weights.astype(SINGLE)
    certificate = certify_rounded(problem, W, found.certificate)
    status = Status.STALLED if found.status is Status.CONVERGED else found.status
    if certificate.primal_objective > reached.certificate.primal_objective:
        W = reached.weights
        again = certify_rounded(problem, W, found.certificate)
        certificate = min(reached.certificate, again, key=lambda proven: proven.gap)
    return Solution(
        W,
        found.start,
        found.history,
        Status.CONVERGED if rule.met(certificate) else status,
        certificate,
    )


def certify_rounded(problem: Problem, W: Array, before: Certificate) -> Certificate:
    """Return the certificate of W in float32, from D as it was proven before.

    The violation is that before rounding.
    """
    n, k = problem.dataset.n_examples, problem.dataset.n_classes
    at, found, constant = _inspect(problem, W)
    norm = half_square(at, k)
    # Terms at z = 0 are C_i times the loss, with the bound of its rounding.
    most_loss = found.gap + constant
    gap = norm + most_loss - before.dual_objective
    primal, share = norm + found.loss, rounding_share(n, k)
    return Certificate.from_gap(
        primal, gap, before.max_violation, share, penalty=norm, loss=most_loss
    )


def _inspect(problem: Problem, W: Array) -> tuple[Returned, _core.GapSums, float]:
    """W as users have it, what a pass at z = 0 finds, the loss of empty rows."""
    data = problem.dataset
    n, k = data.n_examples, data.n_classes
    trainer_of, duals_of = core_classes(problem)
    trainer = trainer_of(core_problem(problem))
    _, padded = allocate_weights(len(W), k + mean_apart(problem), data.dtype)
    padded[:, :k] = W
    at = as_returned(problem, W)
    arguments = (padded, duals_of(n, k), at.common, at.norm(k))
    empty = np.flatnonzero(trainer.problem.squared_norms() == 0).tolist()
    constant = exact_sum(trainer.inspect(*arguments, i, i + 1).loss for i in empty)
    return at, trainer.inspect(*arguments, 0, n), constant


def shown_in_single(
    on_epoch: Callable[[Progress], bool] | None,
) -> Callable[[Progress], bool] | None:
    """Show epochs in float64 as if they were in float32."""
    if on_epoch is None:
        return None

    def call(progress: Progress) -> bool:
        return on_epoch(
            replace(
                progress,
                weights=lambda: progress.weights().astype(SINGLE),
                start=lambda: progress.start().astype(SINGLE),
            )
        )

    return call
