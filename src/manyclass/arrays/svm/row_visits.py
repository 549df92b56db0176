"""Visits of rows from the same W: separate steps of the z of each row, on arrays.

With q = ||x||^2 > 0 and b_c = z_c + sum z + xi_c / q for c != y, the z' that maximizes D over the
block of a row is

    Crammer-Singer   z' = max(0, b - theta),         sum z' = theta, or = C if theta > C
    Weston-Watkins   z' = clip(b - theta, 0, C),     sum z' = theta
    one-vs-rest      z' = clip(z + xi / q, 0, C)

For Crammer-Singer, b - h and theta - h with h = sum z + gamma / q are stored, as a small z would be
lost in the rounding of b itself. Thetas are roots of monotone, piecewise linear functions, found by
Newton's method in a few steps; a z' that is not exactly the best is still feasible, and the line
search ensures that D increases.
Source: Keerthi et al. 2008, sec. 2.1; cpp/subproblem.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Protocol

from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.svm.certificate import coefficients, slacks
from manyclass.utils.types import DeviceArray

STEPS, LOOKS = 4, 6  # Newton steps between two checks of their progress, and number of checks
CLOSE = 1e-6  # negligible change of theta, as a share of C
RELAXATION = 1.9  # alpha of ADMM


class RowVisits(Protocol):
    """z of all rows, and steps of the z of some."""

    Z: DeviceArray  # shape (n, k)
    q: DeviceArray  # shape (n,)

    def visit(
        self, products: DeviceArray, W: DeviceArray, i: DeviceArray, shift: DeviceArray
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """Solve the blocks of rows i, given x_i^T w_c without the constant feature.

        They are solved at scores with a shift per class, as if intercepts had moved. Return the
        coefficients v of their steps, which add sum_i x_i v_i^T to W, shape (m, k); sum Delta . xi;
        the sum of the rows' gaps before the steps.
        """

    def store(self, i: DeviceArray, V: DeviceArray, theta: DeviceArray) -> None:
        """Apply theta times the steps of rows i."""


class OneVsRest(Protocol):
    """Arrays of some rows in the relaxation of one-vs-rest (admm.py)."""

    rows: ArrayRows
    rho: DeviceArray
    caps: DeviceArray
    gamma: float
    own_gamma: float


class ArrayVisits(RowVisits):
    """Visits by functions of the array API standard; Z is changed in place."""

    def __init__(self, rows: ArrayRows, q: DeviceArray, Z: DeviceArray) -> None:
        self.rows, self.xp, self.q, self.Z = rows, rows.xp, q, Z
        self._caps = self.xp.astype(rows.costs, rows.dtype)

    def visit(
        self, products: DeviceArray, W: DeviceArray, i: DeviceArray, shift: DeviceArray
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """Solve the blocks of rows i."""
        xp, rows = self.xp, self.rows
        labels, cap = (rows.of(a, i) for a in (rows.labels, self._caps))
        S = products + rows.bias * W[-1:, :]
        if rows.has_base:
            S += xp.astype(rows.base(i), S.dtype, copy=False)
        xi, old = slacks(rows, S, labels), xp.take(self.Z, i, axis=0)
        is_max = rows.problem.formulation.takes_maximum
        steps = self._best(S, old, i, shift) - old
        above = xp.clip(xi, 0, None)
        losses = xp.max(above, axis=1) if is_max else xp.sum(above, axis=1)
        used = rows.place.where(old > 0, old * xi, 0.0)
        gap = xp.sum(cap * losses - xp.sum(used, axis=1))
        slope = xp.sum(xp.where(steps != 0, steps * xi, 0 * steps))
        return coefficients(rows, steps, labels), slope, gap

    def _best(
        self, S: DeviceArray, old: DeviceArray, i: DeviceArray, shift: DeviceArray
    ) -> DeviceArray:
        """Return z' of rows i with scores S."""
        xp, rows = self.xp, self.rows
        labels, cap, q = (rows.of(a, i) for a in (rows.labels, self._caps, self.q))
        if rows.problem.formulation.is_separable:
            xi = slacks(rows, S + shift[None, :], labels)
            return xp.minimum(xp.clip(old + xi / q[:, None], 0, None), cap[:, None])
        height = xp.sum(old, axis=1) + rows.problem.margins()[0] / q
        shifted = S - rows.pick(S, labels) + (shift[None, :] - xp.take(shift, labels)[:, None])
        b = rows.place.where(~rows.own(labels), old + shifted / q[:, None], -math.inf)
        if rows.problem.formulation.takes_maximum:
            return crammer_singer(xp, b, cap, height)
        return weston_watkins(xp, b + height[:, None], cap)

    def store(self, i: DeviceArray, V: DeviceArray, theta: DeviceArray) -> None:
        """Apply theta times the steps of rows i."""
        rows, own = self.rows, self.rows.own(self.rows.of(self.rows.labels, i))
        if rows.problem.formulation.is_separable:
            steps = self.xp.where(own, V, -V)
        else:
            steps = rows.place.where(~own, -V, 0.0)
        Z = self.xp.clip(self.xp.take(self.Z, i, axis=0) + theta * steps, 0, None)
        rows.place.put_rows(self.Z, i, Z)


def crammer_singer(
    xp: ModuleType, b: DeviceArray, cap: DeviceArray, height: DeviceArray
) -> DeviceArray:
    """Return z' of each row, given b_c - h, shape (m, k), -inf for the own class, C_i and h."""
    zero = 0 * cap[:, None]

    def step(theta: DeviceArray) -> DeviceArray:
        over = b > theta[:, None]
        total = xp.sum(xp.where(over, b, zero), axis=1)
        count = xp.sum(xp.astype(over, b.dtype), axis=1)
        bound = (total - cap) / xp.clip(count, 1.0, None)
        return xp.maximum(xp.maximum((total - height) / (count + 1), bound), -height)

    top = xp.max(b, axis=1)
    first = xp.maximum(xp.maximum((top - height) / 2, top - cap), -height)
    theta = _settled(xp, step, first, cap)
    return xp.clip(b - theta[:, None], 0, None)


def weston_watkins(xp: ModuleType, b: DeviceArray, cap: DeviceArray) -> DeviceArray:
    """Return z' of each row; arguments as in ``crammer_singer``, but with b_c itself."""
    limit = cap[:, None]
    ends = [0 * cap, xp.sum(xp.clip(b, 0, None), axis=1)]

    def step(theta: DeviceArray) -> DeviceArray:
        z = xp.minimum(xp.clip(b - theta[:, None], 0, None), limit)
        value = xp.sum(z, axis=1) - theta
        free = xp.sum(xp.astype((z > 0) & (z < limit), b.dtype), axis=1)
        ends[0] = xp.where(value > 0, theta, ends[0])
        ends[1] = xp.where(value > 0, ends[1], theta)
        new = theta + value / (free + 1)
        return xp.where((new > ends[0]) & (new < ends[1]), new, (ends[0] + ends[1]) / 2)

    theta = _settled(xp, step, ends[1] / (b.shape[1] + 1), cap)
    return xp.minimum(xp.clip(b - theta[:, None], 0, None), limit)


def _settled(
    xp: ModuleType, step: Callable[[DeviceArray], DeviceArray], theta: DeviceArray, cap: DeviceArray
) -> DeviceArray:
    """Repeat a step until theta no longer changes; each check waits for the device."""
    for _ in range(LOOKS):
        for _ in range(STEPS):
            before, theta = theta, step(theta)
        if not bool(xp.any(xp.abs(theta - before) > CLOSE * cap)):
            break
    return theta
