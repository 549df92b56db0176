"""Preconditioners of the Hessian of multinomial logistic regression.

    H = I + sum_i C_i x_i x_i^T (x) S_i,   S_i = diag p_i - p_i p_i^T,   p_i = softmax(W^T x_i)

Each approximates H at the W of an engine, and is applied to R of shape (d + 1, k):

    diagonal   R_jc / (1 + g_j a_c),  g_j = sum_i C_i x_ij^2, a_c the mean of p_ic (1 - p_ic)
    Kronecker  (I + G (x) A)^-1 R = Q [ (Q^T R U) / (1 + g_j a_c) ] U^T,
               G = sum_i C_i t_i x_i x_i^T = Q diag(g) Q^T of some rows,
               A = sum_i C_i S_i / sum_i C_i t_i = U diag(a) U^T of all, or rare classes are missed,
               t_i = tr S_i = 1 - ||p_i||^2
    sampled    the inverse of H of some rows, by Cholesky

Intercepts that are not regularised are treated as if they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.special
from numpy.typing import NDArray

from manyclass.problem.problem import Problem
from manyclass.solvers.logistic_engine import LogisticEngine
from manyclass.solvers.weights.dense import in_batches
from manyclass.utils.sparse_check import is_sparse
from manyclass.utils.types import Array

# G and A are factorised up to so many features and classes, where there are as many rows; G is of
# so many rows for each feature.
MOST_FACTORISED, ROWS_FOR_EACH = 1024, 16
# H of a sample is factorised up to so many numbers of W, from so many rows for each of them, where
# that costs no more than so many products with H: its multiply-adds are those of matrix products,
# several times as fast as those of rows by themselves.
MOST_SAMPLED, ROWS_FOR_EACH_NUMBER, WORTH_PRODUCTS = 2500, 8, 40
FASTER_THAN_BATCHES, FASTER_THAN_ROWS = 1, 10
SAMPLED_ROWS = 2048  # from which p (1 - p) is estimated
SCORES_AT_A_TIME = 1 << 20
NUMBERS_AT_A_TIME = 1 << 21


class Preconditioner(Protocol):
    """An approximation of the inverse of H."""

    def update(self, engine: LogisticEngine) -> None:
        """Take the curvature at the engine's W."""

    def __call__(self, R: Array) -> Array:
        """Apply it to an array of shape (d + 1, k)."""


class Diagonal:
    """The diagonal of G, and one mean curvature for each class.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        X, bias = sp.csr_array(problem.dataset.matrix()), problem.dataset.bias
        squares = np.asarray(problem.costs @ X.multiply(X)).ravel()
        self._g = np.append(squares, bias**2 * problem.costs.sum())
        self._scale: Array = np.ones(1)

    def update(self, engine: LogisticEngine) -> None:
        """Take the mean of p (1 - p) of every class over some rows at the engine's W."""
        total, weight = np.zeros(engine.problem.dataset.n_classes), 0.0
        some = _spread(engine.problem.dataset.n_examples, SAMPLED_ROWS)
        for costs, P in _probabilities(engine, some):
            total += costs @ (P * (1 - P))
            weight += costs.sum()
        scale = 1 / (1 + np.multiply.outer(self._g, total / weight))
        self._scale = scale.astype(engine.W.dtype)

    def __call__(self, R: Array) -> Array:
        """Apply it to an array of shape (d + 1, k)."""
        return np.asarray(R * self._scale)


class Kronecker:
    """(I + G (x) A)^-1.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        data = problem.dataset
        self._X, self._costs = _sample(problem, ROWS_FOR_EACH * (data.n_features + 1))
        self._Q = self._U = self._scale = np.ones((1, 1))

    def update(self, engine: LogisticEngine) -> None:
        """Take A and G at the engine's W."""
        P = scipy.special.softmax(self._X @ engine.matrix(engine.W).astype(np.float64), axis=1)
        weights = self._costs * (1 - (P * P).sum(axis=1))
        g, Q = scipy.linalg.eigh((self._X * weights[:, None]).T @ self._X)
        a, U = scipy.linalg.eigh(_mean_curvature(engine))
        dtype = engine.W.dtype
        self._Q, self._U = Q.astype(dtype), U.astype(dtype)
        scale = 1 / (1 + np.multiply.outer(np.maximum(g, 0), np.maximum(a, 0)))
        self._scale = scale.astype(dtype)

    def __call__(self, R: Array) -> Array:
        """Apply it to an array of shape (d + 1, k)."""
        rotated = (self._Q.T @ R @ self._U) * self._scale
        return np.asarray(self._Q @ rotated @ self._U.T)


class SampledHessian:
    """The inverse of I + H of some rows, by Cholesky.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        wanted = ROWS_FOR_EACH_NUMBER * numbers_of(problem)
        self._X, self._costs = _sample(problem, wanted)
        self._factor: tuple[NDArray[np.float64], bool] | None = None

    def update(self, engine: LogisticEngine) -> None:
        """Factorise at the engine's W."""
        P = scipy.special.softmax(self._X @ engine.matrix(engine.W).astype(np.float64), axis=1)
        H = _curvature_of_rows(self._X, P, self._costs)
        # Rounding must not make it indefinite.
        H[np.diag_indices_from(H)] *= 1 + 8 * len(H) * np.finfo(np.float64).eps
        H[np.diag_indices_from(H)] += 1.0
        self._factor = scipy.linalg.cho_factor(H, lower=True, overwrite_a=True)

    def __call__(self, R: Array) -> Array:
        """Apply it to an array of shape (d + 1, k)."""
        assert self._factor is not None
        solved = scipy.linalg.cho_solve(self._factor, R.T.astype(np.float64).ravel())
        return np.asarray(solved.reshape(R.shape[::-1]).T.astype(R.dtype))


def preconditioner_for(problem: Problem) -> Preconditioner:
    """Return the preconditioner that serves a problem best for its price."""
    if is_sampled(problem):
        return SampledHessian(problem)
    return Kronecker(problem) if is_factorised(problem) else Diagonal(problem)


def is_sampled(problem: Problem) -> bool:
    """Whether H of a sample is small enough to be factorised at every step."""
    data, numbers = problem.dataset, numbers_of(problem)
    n_rows = min(data.n_examples, ROWS_FOR_EACH_NUMBER * numbers)
    work = numbers**2 * (n_rows + numbers / 3)
    product = 4 * (len(data.values) + data.n_examples) * data.n_classes
    faster = FASTER_THAN_BATCHES if in_batches(problem) else FASTER_THAN_ROWS
    return numbers <= MOST_SAMPLED and work <= WORTH_PRODUCTS * faster * product


def is_factorised(problem: Problem) -> bool:
    """Whether G is factorised, not replaced by its diagonal."""
    data = problem.dataset
    few = data.n_features < min(MOST_FACTORISED, data.n_examples)
    return few and data.n_classes <= MOST_FACTORISED


def numbers_of(problem: Problem) -> int:
    """Return how many numbers W has."""
    return (problem.dataset.n_features + 1) * problem.dataset.n_classes


def _spread(n_examples: int, wanted: int) -> NDArray[np.intp]:
    """Return so many rows, evenly spread over all."""
    return np.linspace(0, n_examples - 1, min(n_examples, wanted)).astype(np.intp)


def _sample(problem: Problem, wanted: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return so many rows with the appended feature, and their C_i, scaled to those of all."""
    data = problem.dataset
    rows = _spread(data.n_examples, wanted)
    part = data.matrix()[rows]
    dense = np.asarray(part.toarray() if is_sparse(part) else part, np.float64)
    costs = problem.costs[rows]
    X = np.column_stack([dense, np.full(len(rows), data.bias)])
    return X, costs * (problem.costs.sum() / costs.sum())


def _mean_curvature(engine: LogisticEngine) -> NDArray[np.float64]:
    """Return A of all rows."""
    data = engine.problem.dataset
    total, trace = np.zeros((data.n_classes, data.n_classes)), 0.0
    for costs, P in _probabilities(engine, np.arange(data.n_examples)):
        weighted = costs[:, None] * P
        total -= P.T @ weighted
        total[np.diag_indices_from(total)] += weighted.sum(axis=0)
        trace += float(costs @ (1 - (P * P).sum(axis=1)))
    return np.asarray(total / max(trace, np.finfo(np.float64).tiny))


def _curvature_of_rows(
    X: NDArray[np.float64], P: NDArray[np.float64], costs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return sum_i C_i (S_i + t_i 1 1^T / k^2) (x) x_i x_i^T, class by class, its lower half.

    S_i has no curvature along what all classes share: gradients have nothing there, and rounding
    would make it negative.
    """
    m, k = X.shape[1], P.shape[1]
    common = costs * (1 - (P * P).sum(axis=1)) / k**2
    H = np.zeros((k, m, k, m))
    step = max(1, NUMBERS_AT_A_TIME // (k * m))
    for begin in range(0, len(X), step):
        part = slice(begin, begin + step)
        for c in range(k):
            weights = -P[part, : c + 1] * (costs[part] * P[part, c])[:, None]
            weights[:, c] += costs[part] * P[part, c]
            weights += common[part, None]
            weighted = weights[:, :, None] * X[part, None, :]
            products = X[part].T @ weighted.reshape(-1, (c + 1) * m)
            H[c, :, : c + 1] += products.reshape(m, c + 1, m)
    return H.reshape(k * m, k * m)


def _probabilities(
    engine: LogisticEngine, rows: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.float64], Array]]:
    """Yield C_i and p_i of some rows after the others."""
    data, W = engine.problem.dataset, np.ascontiguousarray(engine.matrix(engine.W))
    matrix, step = data.matrix(), max(1, SCORES_AT_A_TIME // data.n_classes)
    for begin in range(0, len(rows), step):
        some = rows[begin : begin + step]
        scores = np.asarray(matrix[some] @ W[:-1]) + data.bias * W[-1]
        yield engine.problem.costs[some], scipy.special.softmax(scores, axis=1)
