"""The proximal problem of Newton's method (newton_phase.py) on a part of the rows, in float64.

    phi_i(W) = max_{z in Z_i} [z . xi_i(W) - epsilon/2 ||z - zbar_i||^2 - r_i/2 ||z||^2]

with r_i = 1 / (2 C_i) for the squared hinge, else 0. The maximizer z_i is a projection, with the
derivative J_i on its free z; B_i maps scores to slacks (formulas: newton/proximal_kernels.hpp):

    respond     W(z), and sums of the maximized terms
    slopes      sum_i d phi_i / dt at W + t step
    hessian     sum_i (B_i^T J_i B_i) (x) x_i x_i^T, block by block

These kernels are matrix products with few features, for rows in parts and for formulations with z
in lists; for other problems, kernels are compiled (cpp/newton).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyclass.problem.objective import slacks_of
from manyclass.problem.problem import Problem
from manyclass.rows.questions import ProximalResponse
from manyclass.utils.input_rows import is_sparse
from manyclass.utils.types import Array

NUMBERS_AT_A_TIME = 1 << 21
# Terms of respond: phi_i; ||z - zbar||^2; (z - zbar) . (xi - r zbar); r ||z - zbar||^2; number of
# examples with free z.
RESPONSE_TERMS = 5


def n_blocks(problem: Problem) -> int:
    """Return the number of blocks of the Hessian: one per class, or per pair of classes."""
    k = problem.dataset.n_classes
    return k if problem.formulation.is_separable else k * (k + 1) // 2


@dataclass(frozen=True, slots=True, eq=False)
class Projected:
    """z of some rows, and the derivative of the projection.

    Attributes
    ----------
    z : ndarray of shape (rows, k)
    free : ndarray of shape (rows, k), bool
    full : ndarray of shape (rows,), bool
        Whether their sum is at its bound.
    """

    z: NDArray[np.float64]
    free: NDArray[np.bool_]
    full: NDArray[np.bool_]


class ProximalRows(ProximalResponse):
    """Rows of a part around zbar.

    Parameters
    ----------
    problem : Problem
    centre : ndarray of shape (n, k)
        zbar, feasible.
    """

    def __init__(self, problem: Problem, centre: NDArray[np.float64]) -> None:
        data = problem.dataset
        self.problem, self.centre = problem, centre
        self._ridge = 0.5 / problem.costs if problem.slack_loss.has_ridge else 0 * problem.costs
        # Rows of zeros have a constant loss, so their z stays 0.
        self._counts = np.ones(data.n_examples, bool) if data.bias else data.has_features()
        self._known: tuple[Array, NDArray[np.float64]] | None = None  # W and its scores

    @property
    def n_bytes(self) -> int:
        """Bytes of zbar and of scores."""
        return int(self.centre.nbytes * (1 if self._known is None else 2))

    def respond(
        self,
        W: NDArray[np.float64],
        epsilon: float,
        total: NDArray[np.float64],
        terms: NDArray[np.float64],
    ) -> None:
        """Add W(z), not centred, and the sums of ``RESPONSE_TERMS``."""
        for part, xi in self._slacks(W):
            found = self._project(part, xi, epsilon)
            z, zbar, r = found.z, self.centre[part], self._ridge[part, None]
            finite = np.where(np.isfinite(xi), xi, 0.0)
            move = z - zbar
            squares = (move**2).sum()
            terms[0] += (z * finite - r / 2 * z**2).sum() - epsilon / 2 * squares
            terms[1] += squares
            terms[2] += (move * (finite - r * zbar)).sum()
            terms[3] += (r * move**2).sum()
            terms[4] += found.free.any(axis=1).sum()
            self._add_duals(part, z, total)

    def slopes(
        self,
        W: NDArray[np.float64],
        step: NDArray[np.float64],
        epsilon: float,
        lengths: NDArray[np.float64],
        total: NDArray[np.float64],
    ) -> None:
        """Add up d phi_i / dt at W + t step for some lengths t."""
        for part, xi in self._slacks(W):
            change = self._slack_changes(part, self._products(part, step))
            for place, t in enumerate(lengths.tolist()):
                z = self._project(part, xi + t * change, epsilon).z
                total[place] += (z * change).sum()

    def hessian(self, W: NDArray[np.float64], epsilon: float, blocks: NDArray[np.float64]) -> None:
        """Add the blocks (c, b), b <= c, or one block per class, shape (blocks, d + 1, d + 1)."""
        for part, xi in self._slacks(W):
            found = self._project(part, xi, epsilon)
            active = np.flatnonzero(found.free.any(axis=1))
            step = self._rows_at_a_time(self.problem.dataset.n_classes**2)
            for begin in range(0, len(active), step):
                self._add_curvature(part, found, active[begin : begin + step], epsilon, blocks)

    def squared_duals(self, total: NDArray[np.float64]) -> None:
        """Add ||zbar||^2."""
        total += (self.centre**2).sum()

    def moved(self, W: NDArray[np.float64], epsilon: float, length: float) -> NDArray[np.float64]:
        """Return zbar + length (z - zbar), shape (n, k)."""
        to = self.centre.copy()
        for part, xi in self._slacks(W):
            z = self._project(part, xi, epsilon).z
            to[part] = z if length == 1 else to[part] + length * (z - to[part])
        return to

    def _rows_at_a_time(self, width: int) -> int:
        """Return the number of rows to process at a time, given the numbers per row besides X."""
        return max(1, NUMBERS_AT_A_TIME // max(width, self.problem.dataset.n_features))

    def _parts(self) -> Iterator[slice]:
        n, step = (
            self.problem.dataset.n_examples,
            self._rows_at_a_time(self.problem.dataset.n_classes),
        )
        for begin in range(0, n, step):
            yield slice(begin, min(begin + step, n))

    def _slacks(self, W: NDArray[np.float64]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield xi in blocks of rows, -inf if z must be 0; scores are cached."""
        known = self._known
        if known is None or not np.array_equal(known[0], W):
            scores = np.empty(self.centre.shape)
            for part in self._parts():
                scores[part] = self._products(part, W)
            known = self._known = W.copy(), scores
        for part in self._parts():
            xi = slacks_of(self.problem, known[1][part], part)
            xi[~self._counts[part]] = -np.inf
            yield part, xi

    def _products(self, part: slice, W: NDArray[np.float64]) -> NDArray[np.float64]:
        data = self.problem.dataset
        return np.asarray(data.rows(part) @ W[:-1] + data.bias * W[-1])

    def _project(self, part: slice, xi: NDArray[np.float64], epsilon: float) -> Projected:
        costs, r = self.problem.costs[part, None], self._ridge[part, None]
        zbar = self.centre[part]
        point = zbar + (xi - r * zbar) / (epsilon + r)
        z = np.maximum(point, 0.0)
        full = np.zeros(len(z), bool)
        if self.problem.formulation.takes_maximum:
            full = z.sum(axis=1) > costs[:, 0]
            z[full] = on_simplex(point[full], costs[full, 0])
            return Projected(z, z > 0, full)
        upper = np.broadcast_to(self.problem.slack_loss.upper(costs), z.shape)
        z = np.minimum(z, upper)
        return Projected(z, (z > 0) & (z < upper), full)

    def _slack_changes(self, part: slice, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return B_i applied to changes of scores: changes of slacks; 0 if c is not a target."""
        problem, labels = self.problem, self.problem.dataset.labels[part]
        rows = np.arange(len(labels))
        own = scores[rows, labels]
        if problem.formulation.is_relative:
            change = scores - own[:, None]
        else:
            change = scores.copy()
            change[rows, labels] = -own
        return change

    def _add_duals(self, part: slice, z: NDArray[np.float64], total: NDArray[np.float64]) -> None:
        """Add W(z) of some rows, in which x_i has the factors -B_i^T z."""
        data, relative = self.problem.dataset, self.problem.formulation.is_relative
        own = np.arange(len(z)), data.labels[part]
        factors = -z
        factors[own] = z.sum(axis=1) if relative else z[own]
        total[:-1] += np.asarray(data.rows(part).T @ factors)
        total[-1] += data.bias * factors.sum(axis=0)

    def _add_curvature(
        self,
        part: slice,
        found: Projected,
        places: NDArray[np.intp],
        epsilon: float,
        blocks: NDArray[np.float64],
    ) -> None:
        """Add the blocks of some rows of a part."""
        data, rows = self.problem.dataset, part.start + places
        some = data.rows(rows)
        dense = np.asarray(some.toarray() if is_sparse(some) else some, np.float64)
        X = np.column_stack([dense, np.full(len(rows), data.bias)])
        weight = 1 / (epsilon + self._ridge[rows])
        free = found.free[places].astype(np.float64)
        k = data.n_classes
        if self.problem.formulation.is_separable:
            for c in range(k):
                _add_squares(X, free[:, c] * weight, blocks[c])
            return
        S = self._curvatures(data.labels[rows], free, found.full[places]) * weight[:, None, None]
        for c in range(k):
            for b in range(c + 1):
                _add_squares(X, S[:, c, b], blocks[c * (c + 1) // 2 + b])

    def _curvatures(
        self, labels: NDArray[np.int32], free: NDArray[np.float64], full: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return B_i^T J_i B_i of some rows without 1 / (epsilon + r_i), shape (rows, k, k)."""
        rows, classes = np.arange(len(labels)), np.arange(free.shape[1])
        shares = free / np.sqrt(np.maximum(1, free.sum(axis=1)))[:, None] * full[:, None]
        J = np.asarray(-shares[:, :, None] * shares[:, None, :])
        J[:, classes, classes] += free
        if self.problem.formulation.is_relative:
            sums = J.sum(axis=2)  # z_y is not a dual variable: its row is 0
            J[rows, labels, :] = J[rows, :, labels] = -sums
            J[rows, labels, labels] = sums.sum(axis=1)
        else:
            J[rows, labels, :] *= -1
            J[rows, :, labels] *= -1
        return J


def on_simplex(point: NDArray[np.float64], bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Project rows with a larger sum of the positive part to z >= 0 with the given sums.

    Source: Held, Wolfe, Crowder, Validation of subgradient optimization, 1974.
    """
    falling = -np.sort(-point, axis=1)
    sums = np.cumsum(np.where(np.isfinite(falling), falling, 0.0), axis=1) - bounds[:, None]
    places = np.arange(1, point.shape[1] + 1)
    with np.errstate(invalid="ignore"):
        n_free = np.maximum(1, (falling * places > sums).sum(axis=1))
    threshold = sums[np.arange(len(point)), n_free - 1] / n_free
    return np.asarray(np.maximum(point - threshold[:, None], 0.0))


def _add_squares(
    X: NDArray[np.float64], weights: NDArray[np.float64], block: NDArray[np.float64]
) -> None:
    """Add up w x x^T over the rows with non-zero weight."""
    some = np.flatnonzero(weights)
    if len(some):
        rows = X[some]
        block += (rows * weights[some, None]).T @ rows
