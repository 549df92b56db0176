"""Preconditioners of the Hessian of multinomial logistic regression.

    H = I + sum_i C_i x_i x_i^T (x) S_i,   S_i = diag p_i - p_i p_i^T,   p_i = softmax(W^T x_i)

Each approximates H at the W of an engine, and is applied to R of shape (d + 1, k):

    diagonal   R_jc / (1 + g_j a_c),  g_j = sum_i C_i x_ij^2, a_c the mean of p_ic (1 - p_ic)
    Kronecker  (I + G (x) A)^-1 R = Q [ (Q^T R U) / (1 + g_j a_c) ] U^T,
               G = sum_i C_i t_i x_i x_i^T = Q diag(g) Q^T over some rows,
               A = sum_i C_i S_i / sum_i C_i t_i = U diag(a) U^T over all rows (for rare classes),
               t_i = tr S_i = 1 - ||p_i||^2
    sampled    the inverse of H of some rows, by Cholesky

Their sums over the rows: rows/logistic_sums.py. Free intercepts are treated as if
they were regularized.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from manyclass.rows.parts import Question
from manyclass.rows.questions import SmoothLossSums
from manyclass.solvers.cholesky import Solve, inverse_of
from manyclass.solvers.logistic.engine import PrimalEngine
from manyclass.utils.types import Array

# G and A are factorized up to the engine's number of features and classes, if there are at least as
# many rows; G uses this number of rows per feature.
ROWS_FOR_EACH = 16
# H of a sample is factorized up to this size of W, from this number of rows per entry of W, if it
# costs at most as much as this number of products with H: matrix products have several times faster
# multiply-adds than products row by row.
MOST_SAMPLED, ROWS_FOR_EACH_NUMBER, WORTH_PRODUCTS = 2500, 8, 40
FASTER_THAN_BATCHES, FASTER_THAN_ROWS = 1, 10
SAMPLED_ROWS = 2048  # rows for the estimate of p (1 - p)


class Preconditioner(Protocol):
    """An approximation of the inverse of H."""

    def update(self, engine: PrimalEngine) -> None:
        """Compute the curvature at the engine's W."""

    def __call__(self, R: Array) -> Array:
        """Apply it to an array of shape (d + 1, k)."""


class Diagonal:
    """The diagonal of G, and one mean curvature for each class.

    Parameters
    ----------
    engine : PrimalEngine
    """

    def __init__(self, engine: PrimalEngine) -> None:
        self._g = engine.zeros((engine.problem.dataset.n_features + 1,))
        engine.parts.add(SmoothLossSums.squares, (), (self._g,))
        self._scale: Array = np.ones(1)

    def update(self, engine: PrimalEngine) -> None:
        """Compute the mean of p (1 - p) of every class over some rows at the engine's W."""
        total, weight = engine.zeros((engine.problem.dataset.n_classes,)), np.zeros(1)
        at = engine.W, engine.class_major, engine.n_examples, SAMPLED_ROWS
        engine.parts.add(SmoothLossSums.variances, at, (total, weight))
        means = total / float(weight[0])
        self._scale = engine.narrowed(1 / (1 + self._g[:, None] * means[None, :]))

    def __call__(self, R: Array) -> Array:
        """Apply it to an array of shape (d + 1, k)."""
        scaled: Array = R * self._scale
        return scaled


class Kronecker:
    """(I + G (x) A)^-1.

    Parameters
    ----------
    engine : PrimalEngine
    """

    def __init__(self, engine: PrimalEngine) -> None:
        n_features = engine.problem.dataset.n_features
        self._sample = _Sample(engine, ROWS_FOR_EACH * (n_features + 1))
        self._Q = self._U = self._scale = np.ones((1, 1))

    def update(self, engine: PrimalEngine) -> None:
        """Compute A and G at the engine's W."""
        size = engine.problem.dataset.n_features + 1
        g, Q = engine.eigh(self._sample.total(engine, SmoothLossSums.gram, size))
        a, U = engine.eigh(_mean_curvature(engine))
        self._Q, self._U = engine.narrowed(Q), engine.narrowed(U)
        self._scale = engine.narrowed(1 / (1 + g[:, None] * a[None, :]))

    def __call__(self, R: Array) -> Array:
        """Apply it to an array of shape (d + 1, k)."""
        rotated = (self._Q.T @ R @ self._U) * self._scale
        applied: Array = self._Q @ rotated @ self._U.T
        return applied


class SampledHessian:
    """The inverse of I + H of some rows, by Cholesky.

    Parameters
    ----------
    engine : PrimalEngine
    """

    def __init__(self, engine: PrimalEngine) -> None:
        self._sample = _Sample(engine, ROWS_FOR_EACH_NUMBER * numbers_of(engine))
        self._solve: Solve | None = None

    def update(self, engine: PrimalEngine) -> None:
        """Factorize at the engine's W."""
        self._solve = inverse_of(
            self._sample.total(engine, SmoothLossSums.hessian, numbers_of(engine))
        )

    def __call__(self, R: Array) -> Array:
        """Apply it to an array of shape (d + 1, k)."""
        assert self._solve is not None
        solved = self._solve(R.T.astype(np.float64).ravel())
        return np.asarray(solved.reshape(R.shape[::-1]).T.astype(R.dtype))


class _Sample:
    """A sample of rows, evenly spaced, with C_i scaled to the total of all rows."""

    def __init__(self, engine: PrimalEngine, wanted: int) -> None:
        self._wanted, cost = wanted, np.zeros(1)
        engine.parts.add(SmoothLossSums.sampled_cost, (engine.n_examples, wanted), (cost,))
        self._scale = engine.total_cost / float(cost[0])

    def total(self, engine: PrimalEngine, question: Question, size: int) -> Array:
        """Return a sum over the sample at the engine's W, shape (size, size)."""
        total = engine.zeros((size, size))
        some = engine.n_examples, self._wanted, self._scale
        engine.parts.add(question, (engine.W, engine.class_major, *some), (total,))
        return total


def preconditioner_for(engine: PrimalEngine) -> Preconditioner:
    """Return the most efficient preconditioner for a problem."""
    if is_sampled(engine):
        return SampledHessian(engine)
    return Kronecker(engine) if is_factorized(engine) else Diagonal(engine)


def is_sampled(engine: PrimalEngine) -> bool:
    """Whether H of a sample is small enough to be factorized at every step."""
    if not engine.factorizes_samples:
        return False
    n, numbers = engine.n_examples, numbers_of(engine)
    n_rows = min(n, ROWS_FOR_EACH_NUMBER * numbers)
    work = numbers**2 * (n_rows + numbers / 3)
    product = 4 * (engine.n_values + n) * engine.problem.dataset.n_classes
    faster = FASTER_THAN_BATCHES if engine.class_major else FASTER_THAN_ROWS
    return numbers <= MOST_SAMPLED and work <= WORTH_PRODUCTS * faster * product


def is_factorized(engine: PrimalEngine) -> bool:
    """Whether G is factorized instead of replaced by its diagonal."""
    data = engine.problem.dataset
    few = data.n_features < min(engine.most_factorized, engine.n_examples)
    return few and data.n_classes <= engine.most_factorized


def numbers_of(engine: PrimalEngine) -> int:
    """Return the number of entries of W."""
    data = engine.problem.dataset
    return (data.n_features + 1) * data.n_classes


def _mean_curvature(engine: PrimalEngine) -> Array:
    """Return A over all rows."""
    k = engine.problem.dataset.n_classes
    total, trace = engine.zeros((k, k)), np.zeros(1)
    engine.parts.add(SmoothLossSums.moments, (engine.W, engine.class_major), (total, trace))
    mean: Array = total / max(float(trace[0]), float(np.finfo(np.float64).tiny))
    return mean
