"""Sums over rows of multinomial logistic regression, from which its primal is minimized.

    min_W  P(W) = 1/2 ||W||^2 + sum_i C_i (log sum_c exp(s_ic) - s_i,y_i),   s_i = W^T x_i + b_i

with base scores b_i, or 0. The sums are loss, gradient, Hessian products, the terms of the
certificate (logistic/kernels.hpp), and sums for preconditioners (preconditioners.py), with
p_i = softmax(s_i), S_i = diag p_i - p_i p_i^T, t_i = tr S_i = 1 - ||p_i||^2:

    squares     sum_i C_i x_ij^2
    variances   sum_i C_i p_ic (1 - p_ic) of some rows, and their C_i
    moments     sum_i C_i S_i, and sum_i C_i t_i
    gram        sum_i C_i t_i x_i x_i^T of some rows
    hessian     sum_i C_i S_i (x) x_i x_i^T of some rows

These are the sums of ``SmoothLossSums`` (questions.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
import scipy.special
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.dataset import exceeds_memory
from manyclass.problem.problem import Problem, core_problem
from manyclass.rows.questions import SmoothLossSums
from manyclass.utils.input_rows import is_sparse
from manyclass.utils.machine import core_class
from manyclass.utils.types import Array

SCORES_AT_A_TIME = 1 << 20
NUMBERS_AT_A_TIME = 1 << 21
VALUES_AT_A_TIME = 1 << 24  # values of X at a time


class LogisticRows(SmoothLossSums):
    """All or some rows of a problem.

    W has the layout of the kernels (logistic/layouts.hpp): a row for each feature or, if
    `class_major`, for each class.

    Parameters
    ----------
    problem : Problem
        The problem of these rows; there may be none.
    n_jobs : int, default=1
        Threads.
    first : int, default=0
        Number of the first row among all rows.
    """

    def __init__(self, problem: Problem, n_jobs: int = 1, first: int = 0) -> None:
        self.problem, self.first = problem, first
        self.trainer: _core.LogisticTrainer64 = core_class(
            "LogisticTrainer", problem.dataset.dtype
        )(core_problem(problem))
        self.trainer.use_threads(n_jobs)
        self._sample: tuple[tuple[int, int], NDArray[np.float64], NDArray[np.float64]] | None = None

    def count(self, sizes: NDArray[np.int64], costs: NDArray[np.float64]) -> None:
        """Add the numbers of rows and values of X, and the sums of C_i, in total and by class."""
        data = self.problem.dataset
        sizes += data.n_examples, len(data.values)
        costs[0] += self.problem.costs.sum()
        costs[1:] += np.bincount(data.labels, self.problem.costs, minlength=data.n_classes)

    def gradient(
        self, W: Array, class_major: bool, gradient: Array, loss: NDArray[np.float64]
    ) -> None:
        """Add up the losses and their gradient."""
        loss[0] += self.trainer.gradient(W, gradient, class_major)

    def curvature(self, W: Array, along: Array, class_major: bool, product: Array) -> None:
        """Add the product of the losses' Hessian at W with a matrix like W."""
        self.trainer.curvature(W, along, product, class_major)

    def inspect(
        self,
        wide: NDArray[np.float64],
        largest: NDArray[np.float64],
        leaves: NDArray[np.float64],
        enters: NDArray[np.float64],
        class_major: bool,
        sums: NDArray[np.float64],
        left: NDArray[np.float64],
        terms: NDArray[np.float64],
    ) -> None:
        """Add up the terms of the gap (``GapTerms``) at a W in float64 and the u of its scores.

        Also add W(u) and sum_i C_i (e_{y_i} - u_i), unless these arrays are empty.
        """
        into = sums if sums.size else None
        found = self.trainer.inspect(wide, largest, None, leaves, enters, into, left, class_major)
        terms += (
            found.loss,
            found.gap,
            found.loss_error,
            found.moved_by_features,
            found.moved_by_bias,
        )

    def squares(self, total: NDArray[np.float64]) -> None:
        """Add up C_i x_ij^2, with the appended feature last."""
        data, costs = self.problem.dataset, self.problem.costs
        row = max(1, len(data.values) // max(1, data.n_examples))
        step = max(1, VALUES_AT_A_TIME // (row * (8 if exceeds_memory(data) else 1)))
        for begin in range(0, data.n_examples, step):
            part = sp.csr_array(data.rows(slice(begin, begin + step)))
            total[:-1] += np.asarray(costs[begin : begin + step] @ part.multiply(part)).ravel()
        total[-1] += data.bias**2 * costs.sum()

    def variances(
        self,
        W: Array,
        class_major: bool,
        n_all: int,
        wanted: int,
        total: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> None:
        """Add up C_i p_ic (1 - p_ic), and C_i, over this part's share of the sample."""
        for costs, P in self._probabilities(W, class_major, self._sampled_rows(n_all, wanted)):
            total += costs @ (P * (1 - P))
            weight += costs.sum()

    def moments(
        self,
        W: Array,
        class_major: bool,
        total: NDArray[np.float64],
        trace: NDArray[np.float64],
    ) -> None:
        """Add up C_i S_i and C_i t_i."""
        for costs, P in self._probabilities(W, class_major, None):
            weighted = costs[:, None] * P
            total -= P.T @ weighted
            total[np.diag_indices_from(total)] += weighted.sum(axis=0)
            trace += float(costs @ (1 - (P * P).sum(axis=1)))

    def sampled_cost(self, n_all: int, wanted: int, total: NDArray[np.float64]) -> None:
        """Add up C_i over this part's share of the sample."""
        total += self._sampled(n_all, wanted)[1].sum()

    def gram(
        self,
        W: Array,
        class_major: bool,
        n_all: int,
        wanted: int,
        scale: float,
        total: NDArray[np.float64],
    ) -> None:
        """Add up C_i t_i x_i x_i^T over this part's share of the sample, with scaled C_i."""
        X, costs = self._sampled(n_all, wanted)
        P = self._sampled_probabilities(W, class_major, n_all, wanted)
        weights = (costs * scale) * (1 - (P * P).sum(axis=1))
        total += (X * weights[:, None]).T @ X

    def hessian(
        self,
        W: Array,
        class_major: bool,
        n_all: int,
        wanted: int,
        scale: float,
        total: NDArray[np.float64],
    ) -> None:
        """Add up C_i (S_i + t_i 1 1^T / k^2) (x) x_i x_i^T by classes, the lower half.

        The sum is over this part's share of the sample, with scaled C_i. S_i has no curvature along
        1, where gradients are 0; without the second term, rounding would make it negative.
        """
        X, costs = self._sampled(n_all, wanted)
        P = self._sampled_probabilities(W, class_major, n_all, wanted)
        _add_curvature(X, P, costs * scale, total)

    def _matrix(self, W: Array, class_major: bool) -> Array:
        return as_matrix(W, self.problem, class_major=class_major)

    def _sampled_rows(self, n_all: int, wanted: int) -> NDArray[np.intp]:
        """Return this part's share of a sample of rows, evenly spaced over all rows."""
        rows = np.linspace(0, n_all - 1, min(n_all, wanted)).astype(np.intp) - self.first
        return rows[(rows >= 0) & (rows < self.problem.dataset.n_examples)]

    def _sampled(self, n_all: int, wanted: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return this part's share of a sample, with the appended feature, and its C_i."""
        if self._sample is None or self._sample[0] != (n_all, wanted):
            data, rows = self.problem.dataset, self._sampled_rows(n_all, wanted)
            part = data.rows(rows)
            dense = np.asarray(part.toarray() if is_sparse(part) else part, np.float64)
            X = np.column_stack([dense, np.full(len(rows), data.bias)])
            self._sample = (n_all, wanted), X, self.problem.costs[rows]
        return self._sample[1:]

    def _sampled_probabilities(
        self, W: Array, class_major: bool, n_all: int, wanted: int
    ) -> NDArray[np.float64]:
        """Return p_i of these rows."""
        X, _ = self._sampled(n_all, wanted)
        scores = X @ self._matrix(W, class_major).astype(np.float64)
        if self.problem.base is not None:
            scores += self.problem.base.of(self._sampled_rows(n_all, wanted))
        return np.asarray(scipy.special.softmax(scores, axis=1))

    def _probabilities(
        self, W: Array, class_major: bool, rows: NDArray[np.intp] | None
    ) -> Iterator[tuple[NDArray[np.float64], Array]]:
        """Yield C_i and p_i in blocks of the given rows; None: all rows, without copying."""
        data, matrix = self.problem.dataset, np.ascontiguousarray(self._matrix(W, class_major))
        step = max(1, SCORES_AT_A_TIME // data.n_classes)
        for begin in range(0, data.n_examples if rows is None else len(rows), step):
            part = slice(begin, begin + step)
            some = part if rows is None else rows[part]
            scores = np.asarray(data.rows(some) @ matrix[:-1]) + data.bias * matrix[-1]
            if self.problem.base is not None:
                scores = scores + self.problem.base.of(some)
            yield self.problem.costs[some], scipy.special.softmax(scores, axis=1)


def as_matrix(weights: Array, problem: Problem, *, class_major: bool) -> Array:
    """Return W of shape (d + 1, k): a view."""
    d, k = problem.dataset.n_features, problem.dataset.n_classes
    return weights[:k, : d + 1].T if class_major else weights[: d + 1, :k]


def _add_curvature(
    X: NDArray[np.float64],
    P: NDArray[np.float64],
    costs: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Add up the blocks of ``hessian``; `total` has the shape (k (d + 1), k (d + 1))."""
    m, k = X.shape[1], P.shape[1]
    common = costs * (1 - (P * P).sum(axis=1)) / k**2
    H = total.reshape(k, m, k, m)
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
