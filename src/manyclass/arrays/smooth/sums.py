"""Sums of a smooth loss over rows on a device: ``SmoothLossSums`` (rows/questions.py).

Gradients are computed in the dtype of W. Products with the Hessian may have lower precision
(products.py): conjugate gradients only need a residual of a tenth, and the gradient of the next
step is exact again. The terms of the certificate are in float64, with the bounds of
cpp/logistic/passes.hpp, which hold for sums in any order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyclass.arrays.namespace import spans, to_numpy
from manyclass.arrays.products import Factor
from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.smooth.log_loss_terms import log_loss_terms
from manyclass.arrays.smooth.losses import LogLoss, SmoothLoss, SquaredHinge
from manyclass.problem.problem import Problem
from manyclass.problem.solution import UNIT
from manyclass.utils.types import DeviceArray

SHARE_OF_MEMORY = 0.5  # share of the free memory, for the curvature of all rows


class SmoothRows(ArrayRows):
    """The rows of a problem with a smooth loss."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        is_log_loss = problem.loss == "log_loss"
        self.loss: SmoothLoss = LogLoss(self) if is_log_loss else SquaredHinge(self)
        self._at: DeviceArray = None
        self._states: list[DeviceArray] = []  # curvatures of the blocks, at that W
        self._keeps = False  # whether all of them fit

    def count(self, sizes: NDArray[np.int64], costs: NDArray[np.float64]) -> None:
        """Add the numbers of rows and values of X, and the sums of C_i, in total and by class."""
        data = self.problem.dataset
        sizes += data.n_examples, data.n_examples * data.n_features
        costs[0] += self.problem.costs.sum()
        if self.labels.ndim == 1:
            costs[1:] += np.bincount(data.labels, self.problem.costs, minlength=data.n_classes)

    def gradient(
        self, W: DeviceArray, _class_major: bool, gradient: DeviceArray, loss: NDArray[np.float64]
    ) -> None:
        """Add up the losses and their gradient."""
        xp, total = self.xp, self.place.zeros((), self.place.wide)
        with self.place.current(), self.place.exact_products():
            for part in self.blocks():
                x, labels = self.factor(part), self.of(self.labels, part)
                losses, R = self.loss.value(self.scores(x, part, W), labels)
                total = total + xp.sum(self.costs[part] * losses)
                self.add_back(gradient, x, R, xp.astype(self.costs[part], R.dtype))
        loss[0] += float(total)

    def curvature(
        self, W: DeviceArray, along: DeviceArray, _class_major: bool, product: DeviceArray
    ) -> None:
        """Add the product of the losses' Hessian at W with a matrix like W."""
        for at, part in enumerate(self.blocks()):
            with self.place.current():
                x, labels = self.factor(part, is_fast=True), self.of(self.labels, part)
                state = self._state(at, part, W)
                R = self.loss.product(state, self.products(x, along), labels)
                self.add_back(product, x, R, self.xp.astype(self.costs[part], R.dtype))

    def _state(self, at: int, part: slice, W: DeviceArray) -> DeviceArray:
        """Return the curvature of a block at W, cached if all of them fit."""
        if at == 0 and (self._at is None or not bool(self.xp.all(self._at == W))):
            self._at, self._states = W + 0, []
            self._keeps = self._fits()
        if at < len(self._states):
            return self._states[at]
        x = self.factor(part, is_fast=True)
        state = self.loss.state(self.scores(x, part, W), self.of(self.labels, part))
        if at == len(self._states) and self._keeps:
            self._states.append(state)
        return state

    def _fits(self) -> bool:
        """Whether the curvature of all rows fits into the memory."""
        free = self.place.free_memory()
        needed = self.n * self.k * self.problem.dataset.dtype.itemsize
        return free is None or needed < SHARE_OF_MEMORY * free

    def inspect(
        self,
        wide: NDArray[np.float64],
        largest: NDArray[np.float64],
        leaves: NDArray[np.float64],
        enters: NDArray[np.float64],
        _class_major: bool,
        sums: NDArray[np.float64],
        left: NDArray[np.float64],
        terms: NDArray[np.float64],
    ) -> None:
        """Add up the terms of the gap at a W in float64 and the u of its scores.

        Also add W(u) and sum_i C_i (e_{y_i} - u_i), unless these arrays are empty.
        """
        rows, d, k = self.in_double(), self.problem.dataset.n_features, self.k
        assert isinstance(rows, SmoothRows)
        place = rows.place
        W, sizes = place.asarray(wide[: d + 1, :k]), place.asarray(largest)
        shift = (place.asarray(leaves), place.asarray(enters)) if len(leaves) else None
        total = place.zeros((d + 1, k), rows.xp.float64)
        for part in rows.blocks():
            x = rows.wide_factor(part)
            R = rows._terms(x, part, W, sizes, shift, terms)
            if sums.size:
                rows.add_back(total, x, R)
            if left.size:
                left += to_numpy(rows.xp.sum(R, axis=0))
        if sums.size:
            sums[: d + 1, :k] += to_numpy(total)

    def _terms(
        self,
        x: Factor,
        part: slice,
        W: DeviceArray,
        largest: DeviceArray,
        shift: tuple[DeviceArray, DeviceArray] | None,
        terms: NDArray[np.float64],
    ) -> DeviceArray:
        """Add the terms of a block in float64; return C_i (e_{y_i} - u_i)."""
        xp, costs = self.xp, self.costs[part]
        R, of = log_loss_terms(self, self.scores(x, part, W), self.of(self.labels, part), shift)
        loss = -_log_own(self, of.others, of.log_own)
        safe_own = xp.where(of.own > 0, of.own, xp.ones_like(of.own))
        entropy = of.entropy - of.own * _log_own(self, of.rest, xp.log(safe_own))
        rounding = (32 + 2 * self.k) * UNIT
        size = xp.abs(x.x) @ largest[:-1] + abs(self.bias) * largest[-1]
        of_scores = rounding * (1 + of.largest)
        of_scores = of_scores + 2 * UNIT * (x.x.shape[1] + 9) * size
        loss_error = of_scores * xp.clip(loss, None, 1.0) + rounding * loss
        gap = xp.clip(loss - of.moved - entropy, 0, None)
        gap = gap + loss_error + of_scores * of.rest + rounding * entropy
        step = 2**0.5 * costs * of.rest
        found = [
            float(xp.sum(costs * loss)),
            float(xp.sum(costs * gap)),
            float(xp.sum(costs * loss_error)),
            float(xp.sum(step * xp.sqrt(xp.sum(x.x * x.x, axis=1)))),
            float(xp.sum(step)) * abs(self.bias),
        ]
        of_sums = UNIT * x.x.shape[0]  # sums over the rows of a block, in any order
        found[1] += of_sums * (found[0] + found[1])
        found[2] += of_sums * (found[0] + found[2])
        terms += found
        R *= costs[:, None]
        return R

    # Sums for preconditioners

    def squares(self, total: DeviceArray) -> None:
        """Add up C_i x_ij^2, with the appended feature last."""
        for part in self.blocks():
            x = self.features(part, self.place.wide)
            total[:-1] += (x * x).T @ self.costs[part]
        total[-1:] += self.bias**2 * self.xp.sum(self.costs)

    def moments(
        self, W: DeviceArray, _class_major: bool, total: DeviceArray, trace: NDArray[np.float64]
    ) -> None:
        """Add up C_i S_i and C_i t_i."""
        for at, part in enumerate(self.blocks()):
            with self.place.current():
                state = self._state(at, part, W)
                total += self.loss.moment(state, self.of(self.labels, part), self.costs[part])
            trace += float(self.xp.sum(self.costs[part] * self.loss.trace(state)))

    def variances(
        self,
        W: DeviceArray,
        _class_major: bool,
        n_all: int,
        wanted: int,
        total: DeviceArray,
        weight: NDArray[np.float64],
    ) -> None:
        """Add up the diagonal of C_i S_i, and C_i, over some rows."""
        rows = self._sampled(n_all, wanted)
        for part in spans(rows.shape[0], self.rows_of_block):
            some = rows[part]
            x, labels = self.factor(some, is_fast=True), self.of(self.labels, some)
            costs = self.of(self.costs, some)
            state = self.loss.state(self.scores(x, some, W), labels)
            moment = self.loss.moment(state, labels, costs)
            total += self.xp.linalg.diagonal(moment)
            weight += float(self.xp.sum(costs))

    def sampled_cost(self, n_all: int, wanted: int, total: NDArray[np.float64]) -> None:
        """Add up C_i over the sample."""
        total += float(self.xp.sum(self.of(self.costs, self._sampled(n_all, wanted))))

    def gram(
        self,
        W: DeviceArray,
        _class_major: bool,
        n_all: int,
        wanted: int,
        scale: float,
        total: DeviceArray,
    ) -> None:
        """Add up C_i t_i x_i x_i^T over the sample, with scaled C_i."""
        xp, rows = self.xp, self._sampled(n_all, wanted)
        for part in spans(rows.shape[0], self.rows_of_block):
            some = rows[part]
            x, labels = self.factor(some, is_fast=True), self.of(self.labels, some)
            state = self.loss.state(self.scores(x, some, W), labels)
            weights = self.of(self.costs, some) * scale * self.loss.trace(state)
            product = self.gram_of(some, xp.astype(weights, self.dtype), is_fast=True)
            total += xp.astype(product, total.dtype)

    def _sampled(self, n_all: int, wanted: int) -> DeviceArray:
        """Return this part's share of a sample of rows, evenly spaced over all parts."""
        rows = np.linspace(0, n_all - 1, min(n_all, wanted)).astype(np.int64) - self.first
        return self.place.asarray(rows[(rows >= 0) & (rows < self.n)])


def _log_own(rows: ArrayRows, rest: DeviceArray, log_u: DeviceArray) -> DeviceArray:
    """Return log u_y, given also 1 - u_y, which is accurate if it is small."""
    xp = rows.xp
    small = rest < 0.5
    return xp.where(small, xp.log1p(-xp.where(small, rest, 0 * rest)), log_u)
