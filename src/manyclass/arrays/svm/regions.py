"""Rows with X and z on the device, and rounds of visits over them (dual_rounds.py)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.svm.rounds import rounds_of
from manyclass.arrays.svm.row_visits import ArrayVisits, RowVisits
from manyclass.utils.types import DeviceArray

SHIFTS = 8  # steps of a round towards the shift of the scores by intercepts
AT_BOUND = 1 - 1e-6


def visits_of(rows: ArrayRows, q: DeviceArray, Z: DeviceArray) -> RowVisits:
    """Return visits by the kernels of ``triton_kernels.py`` where they run."""
    if rows.place.is_torch and rows.problem.formulation.is_relative:
        from manyclass.arrays.svm import triton_kernels

        if triton_kernels.serves(rows):
            return triton_kernels.TritonVisits(rows, q, Z)
    return ArrayVisits(rows, q, Z)


class Region:
    """Rows, which are a part of all, with the visits and rounds of a problem.

    They are visited with the q_i ``visited_norms``. Z, shape (m, k), and W are changed in place.
    Products may be in less precision if ``is_fast`` (products.py).
    """

    def __init__(
        self,
        part: slice,
        rows: ArrayRows,
        norms: NDArray[np.float64],
        visited_norms: NDArray[np.float64],
        Z: DeviceArray,
        W: DeviceArray,
        *,
        is_fast: bool,
    ) -> None:
        self.part, self.rows, self.W, self._is_fast = part, rows, W, is_fast
        self.xp, self.place = rows.xp, rows.place
        self.visited = self.place.asarray(np.flatnonzero(norms > 0))  # the rows that have features
        self.visits = visits_of(rows, self.place.asarray(visited_norms, rows.dtype), Z)
        self._no_shift = self.place.zeros((rows.k,), rows.dtype)
        self._tiny = float(np.finfo(rows.problem.dataset.dtype).tiny)
        self.rounds = rounds_of(self.round, self.visits, rows)

    def round(self, i: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        """Visit rows from the same W; return the best length of their steps, and their gap."""
        xp, rows = self.xp, self.rows
        x = rows.factor(i, is_fast=self._is_fast)
        products = x.times(self.W[:-1, :])
        shift = self._shift(products, i) if rows.bias else self._no_shift
        V, slope, gap = self.visits.visit(products, self.W, i, shift)
        change = rows.back(x, V)
        square = xp.sum(change * change)
        theta = xp.clip(slope / xp.clip(square, self._tiny, None), 0.0, 1.0)
        self.W += theta * change
        self.visits.store(i, V, theta)
        return theta, gap

    def _shift(self, products: DeviceArray, i: DeviceArray) -> DeviceArray:
        """Return the change of the scores due to the intercepts, by the steps of rows i.

        All rows share the constant feature: without the shift, their steps would be too long
        together. t = bias^2 sum_i v_i(t) is solved by steps t += F(t) / (1 + h), h_c = bias^2
        sum_i [v_ic != 0] / q_i.
        """
        xp, shift, squared = self.xp, self._no_shift, self.rows.bias**2
        inverse = squared / self.rows.of(self.visits.q, i)
        for _ in range(SHIFTS):
            V, _, _ = self.visits.visit(products, self.W, i, shift)
            slope = inverse @ xp.astype(V != 0, V.dtype)
            shift = shift + (squared * xp.sum(V, axis=0) - shift) / (1 + slope)
        return shift


def rows_with_free_duals(rows: ArrayRows, Z: DeviceArray) -> DeviceArray:
    """Return the numbers of the rows with a z strictly between 0 and its bound."""
    xp, found = rows.xp, []
    for part in rows.blocks():
        z = Z[part, :]
        caps = xp.astype(rows.costs[part] * AT_BOUND, z.dtype)
        found.append(xp.any((z > 0) & (caps[:, None] > z), axis=1))
    return xp.nonzero(xp.concat(found))[0]
