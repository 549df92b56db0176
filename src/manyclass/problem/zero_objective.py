"""The objective of W = 0, from which training has P(0) - P* to gain.

    P(0) = sum_i C_i loss_i(0)

A gap is small or large beside what there is to gain: where C is so small that P* is nearly P(0), a
gap of a thousandth of P may be most of it. Base scores count at W = 0 as well. Where intercepts of
logistic regression are not regularized, P(0) is that of the best intercepts (solvers/logistic).
"""

from __future__ import annotations

import numpy as np
import scipy.special
from numpy.typing import NDArray

from manyclass.problem.base_scores import BaseScores
from manyclass.problem.problem import Problem
from manyclass.problem.tree_scores import TreeScores
from manyclass.utils.types import Numbers

NUMBERS_AT_A_TIME = 1 << 20  # of base scores


def zero_objective(problem: Problem) -> float:
    """Return P(0)."""
    return float(problem.costs @ losses_at_zero(problem))


def losses_at_zero(problem: Problem) -> Numbers:
    """Return the loss of each example at W = 0, before its cost; shape (n,)."""
    labels, base, k = problem.dataset.labels, problem.base, problem.dataset.n_classes
    if base is None and problem.factors is None:
        return np.full(len(labels), _common_loss(problem))
    # Of examples with the same label and base scores, one is enough.
    rows = labels if base is None else base.rows
    _, first, kinds = np.unique(
        rows.astype(np.int64) * (k + 1) + labels, return_index=True, return_inverse=True
    )
    step = max(1, NUMBERS_AT_A_TIME // k)
    found = [_losses(problem, first[at : at + step]) for at in range(0, len(first), step)]
    return np.concatenate([np.empty(0), *found])[kinds]


def _common_loss(problem: Problem) -> float:
    """Return the loss at W = 0 where no base scores or factors make it another for each class."""
    formulation, k = problem.formulation, problem.dataset.n_classes
    if formulation.aggregation == "log_sum_exp":
        return float(np.log(k))
    gamma, own = map(float, problem.slack_loss.of_positive(np.array(problem.margins())))
    if formulation.targets == "own":
        return own
    is_all = formulation.targets == "all"
    if formulation.takes_maximum:
        return max(gamma, own) if is_all else gamma
    return (k - 1) * gamma + own * is_all


def _losses(problem: Problem, rows: NDArray[np.intp]) -> Numbers:
    """Return the losses of some examples at W = 0."""
    base = _base_scores(problem.base, rows, problem.dataset.n_classes)
    labels, formulation = problem.dataset.labels[rows], problem.formulation
    is_own = labels[:, None] == np.arange(base.shape[1])
    if formulation.aggregation == "log_sum_exp":
        return np.asarray(scipy.special.logsumexp(base, axis=1) - base[is_own])
    gamma, gamma_own = problem.margins()
    if formulation.is_relative:
        base = base - base[is_own][:, None]
    xi = np.where(is_own, gamma_own - base, gamma + base)
    if formulation.targets != "all":
        xi[is_own if formulation.targets == "others" else ~is_own] = 0.0
    of_classes = problem.slack_loss.of_positive(np.maximum(xi, 0.0))
    if problem.factors is not None:
        of_classes = of_classes * np.where(is_own, 0.0, problem.factors[labels])
    together = np.max if formulation.takes_maximum else np.sum
    return np.asarray(together(of_classes, axis=1))


def _base_scores(
    base: BaseScores | TreeScores | None, rows: NDArray[np.intp], n_classes: int
) -> Numbers:
    return np.zeros((len(rows), n_classes)) if base is None else base.of(rows)
