"""Smooth losses as functions of the scores of rows, on arrays: value, slope and curvature.

    log loss         log sum_c exp(s_c) - s_y       slope p - e_y, p = softmax(s)
    squared hinge    sum_c max(0, xi_c)^2           slope J^T (2 max(0, xi))
                     one-vs-rest: xi_y = 1 - s_y, xi_c = 1 + s_c
                     Weston-Watkins: xi_c = 1 + s_c - s_y

The curvature S_i of a row is diag p - p p^T, or J^T diag(2 [xi > 0]) J with J the derivative of xi.
"""

from __future__ import annotations

from typing import Protocol

from manyclass.arrays.rows import ArrayRows
from manyclass.utils.types import DeviceArray


class SmoothLoss(Protocol):
    """A loss of the scores S of some rows, shape (m, k), with given labels."""

    def value(self, S: DeviceArray, labels: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        """Return the losses in the dtype of sums, shape (m,), and their slopes, shape (m, k)."""

    def state(self, S: DeviceArray, labels: DeviceArray) -> DeviceArray:
        """Return the array that defines the curvature, shape (m, k)."""

    def product(self, state: DeviceArray, T: DeviceArray, labels: DeviceArray) -> DeviceArray:
        """Return S_i t_i of each row."""

    def trace(self, state: DeviceArray) -> DeviceArray:
        """Return the trace of S_i of each row, in the dtype of sums."""

    def moment(self, state: DeviceArray, labels: DeviceArray, costs: DeviceArray) -> DeviceArray:
        """Return sum_i C_i S_i, shape (k, k), in the dtype of sums."""


class LogLoss(SmoothLoss):
    """The log loss of the softmax."""

    def __init__(self, rows: ArrayRows) -> None:
        self.rows, self.xp, self.wide = rows, rows.xp, rows.place.wide

    def value(self, S: DeviceArray, labels: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        """Return log sum exp(s) - s_y, and p - e_y."""
        xp, place = self.xp, self.rows.place
        own = self.rows.pick(S, labels)[:, 0]
        loss = place.log_sum_exp(S) - own
        slope = self.rows.add_to_own(place.softmax(S), labels, 0 * own - 1)
        return xp.astype(loss, self.wide), slope

    def state(self, S: DeviceArray, _labels: DeviceArray) -> DeviceArray:
        """Return p."""
        return self.rows.place.softmax(S)

    def product(self, state: DeviceArray, T: DeviceArray, _labels: DeviceArray) -> DeviceArray:
        """Return p * t - p (p . t)."""
        if self.rows.place.is_torch:
            from manyclass.arrays.smooth import log_loss_kernels

            if log_loss_kernels.serves(T):
                return log_loss_kernels.softmax_product(state, T)
        return self.rows.place.softmax_product(state, T)

    def trace(self, state: DeviceArray) -> DeviceArray:
        """Return 1 - ||p||^2."""
        return 1 - self.xp.sum(state * state, axis=1, dtype=self.wide)

    def moment(self, state: DeviceArray, _labels: DeviceArray, costs: DeviceArray) -> DeviceArray:
        """Return sum_i C_i (diag p - p p^T)."""
        xp, weights = self.xp, self.xp.astype(costs, state.dtype)
        total = -self.rows.factor_of(state, is_fast=True).back(state, weights)
        diagonal = xp.astype(weights @ state, self.wide)
        return xp.astype(total, self.wide) + _diagonal(self.rows, diagonal)


class SquaredHinge(SmoothLoss):
    """The sum of the squared hinge losses of all classes, or of all but the own class.

    Of one-vs-rest or Weston-Watkins.
    """

    def __init__(self, rows: ArrayRows) -> None:
        self.rows, self.xp, self.wide = rows, rows.xp, rows.place.wide
        self.gamma = rows.problem.margins()[0]
        self.is_relative = rows.problem.formulation.is_relative

    def slacks(self, S: DeviceArray, labels: DeviceArray) -> DeviceArray:
        """Return xi; 0 for the own class with relative margins."""
        xp, own = self.xp, self.rows.own(labels)
        if self.is_relative:
            return self.rows.place.where(~own, self.gamma + S - self.rows.pick(S, labels), 0.0)
        return xp.where(own, 1 - S, self.gamma + S)

    def value(self, S: DeviceArray, labels: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        """Return sum max(0, xi)^2, and its slope."""
        xp = self.xp
        xi = xp.clip(self.slacks(S, labels), 0, None)
        return xp.sum(xi * xi, axis=1, dtype=self.wide), self._turned(2 * xi, labels)

    def _turned(self, Z: DeviceArray, labels: DeviceArray) -> DeviceArray:
        """Return J^T z of each row."""
        if self.is_relative:
            return self.rows.add_to_own(Z, labels, -self.xp.sum(Z, axis=1))
        return self.xp.where(self.rows.own(labels), -Z, Z)

    def state(self, S: DeviceArray, labels: DeviceArray) -> DeviceArray:
        """Return 2 where xi > 0, and 0."""
        return 2 * self.xp.astype(self.slacks(S, labels) > 0, S.dtype)

    def product(self, state: DeviceArray, T: DeviceArray, labels: DeviceArray) -> DeviceArray:
        """Return J^T diag(2 [xi > 0]) J t."""
        if self.is_relative:
            return self._turned(state * (T - self.rows.pick(T, labels)), labels)
        T *= state
        return T

    def trace(self, state: DeviceArray) -> DeviceArray:
        """Return 2 times the number of xi > 0; twice that for relative margins."""
        return (1 + self.is_relative) * self.xp.sum(state, axis=1, dtype=self.wide)

    def moment(self, state: DeviceArray, labels: DeviceArray, costs: DeviceArray) -> DeviceArray:
        """Return sum_i C_i J^T diag(2 [xi > 0]) J."""
        xp, weights = self.xp, self.xp.astype(costs, state.dtype)
        diagonal = xp.astype(weights @ state, self.wide)
        if not self.is_relative:
            return _diagonal(self.rows, diagonal)
        own = xp.astype(self.rows.own(labels), state.dtype)
        product = self.rows.factor_of(state, is_fast=True).back(own, weights)
        crossed = xp.astype(product, self.wide)
        return _diagonal(self.rows, diagonal + xp.sum(crossed, axis=0)) - crossed - crossed.T


def _diagonal(rows: ArrayRows, numbers: DeviceArray) -> DeviceArray:
    """Return a diagonal matrix."""
    is_diagonal = rows.classes[:, None] == rows.classes[None, :]
    return rows.xp.astype(is_diagonal, numbers.dtype) * numbers[:, None]
