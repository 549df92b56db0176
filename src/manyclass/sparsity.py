"""What it costs to leave out small weights."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyclass.coefficients import PART, SparseCoefficients
from manyclass.objective import losses_of
from manyclass.prediction import Coefficients, scores_of
from manyclass.problem import Problem

# Scores that are held at a time, in float64.
SCORES_AT_A_TIME = 1 << 21


@dataclass(frozen=True, slots=True)
class SparsityReport:
    """What ``sparsify`` did to a model.

    Attributes
    ----------
    threshold : float
        Weights of at most this magnitude became zero.
    density_before, density_after : float
        Share of the weights of ``coef_`` that are not zero.
    objective_before, objective_after : float or None
        P on the data that were given.
    relative_gap : float or None
        (P - D) / P of the new weights, with D of the certificate that the model had: when the data
        and C are those of ``fit``, the new objective is proven to be within this share of the
        optimum. None without a certificate, or where P < D shows that they are not (or that W no
        longer sums to zero over the classes, where the formulation asks for that).
    accuracy_before, accuracy_after : float or None
        On the same data.
    """

    threshold: float
    density_before: float
    density_after: float
    objective_before: float | None = None
    objective_after: float | None = None
    relative_gap: float | None = None
    accuracy_before: float | None = None
    accuracy_after: float | None = None


def thresholded(coef: Coefficients, threshold: float) -> SparseCoefficients:
    """Return the coefficients of a magnitude above a threshold.

    Raises
    ------
    ValueError
        If the threshold is negative or no number.
    """
    if not isinstance(threshold, Real) or not threshold >= 0:
        raise ValueError(f"threshold must be a number that is not negative, got {threshold!r}")
    if isinstance(coef, SparseCoefficients):
        return coef.thresholded(threshold)
    return SparseCoefficients.from_dense(coef, threshold)


def count_nonzero(coef: Coefficients) -> int:
    """Count the coefficients that are not zero."""
    values = coef.values if isinstance(coef, SparseCoefficients) else coef
    return int(np.count_nonzero(values))


def density(coef: Coefficients) -> float:
    """Return the share of the coefficients that are not zero."""
    return float(count_nonzero(coef) / (coef.shape[0] * coef.shape[1]))


def primal_of(problem: Problem, coef: Coefficients, intercept: NDArray[Any], n_jobs: int) -> float:
    """P of a model in parts of the rows: no array of n x k scores, none of d x k weights.

    Binary models, of one score, stand for the two columns -W and W (one-vs-rest) or their halves.

    Parameters
    ----------
    problem : Problem
    coef : ndarray or SparseCoefficients of shape (k, d), or (1, d) when binary
    intercept : ndarray of shape (k,) or (1,)
    n_jobs : int
        Threads.

    Returns
    -------
    float
    """
    data = problem.dataset
    binary = coef.shape[0] == 1
    scale = np.array([-1.0, 1.0]) if binary else np.ones(1)
    if binary and problem.formulation.sum_to_zero != "no":
        scale /= 2
    bias = np.divide(intercept, data.bias, dtype=np.float64) if data.bias else np.zeros(1)
    norm = float(scale @ scale) * (squared_norm(coef) + float(bias @ bias))
    loss = 0.0
    step = max(1, SCORES_AT_A_TIME // data.n_classes)
    matrix = data.matrix()
    for begin in range(0, data.n_examples, step):
        part = slice(begin, begin + step)
        scores = scores_of(matrix[part], coef, intercept, n_jobs).astype(np.float64)
        losses = losses_of(problem, data.labels[part], scores * scale)
        loss += float(problem.costs[part] @ losses)
    return 0.5 * norm + loss


def squared_norm(coef: Coefficients) -> float:
    """Sum of squares in float64; of a dense array in the order of its memory."""
    if isinstance(coef, SparseCoefficients):
        flat = coef.values
        parts = [flat[begin : begin + PART] for begin in range(0, len(flat), PART)]
    else:
        step = max(1, PART // coef.shape[0])
        parts = [coef[:, begin : begin + step] for begin in range(0, coef.shape[1], step)]
    return float(sum(np.sum(np.square(part, dtype=np.float64)) for part in parts))
