"""Rows on a device: scores and products by blocks.

The size of a block is limited by a share of the memory. X is converted to the dtype of the products
when it is read; the appended feature is implicit, as in ``Dataset``. Rows in host memory are copied
to the device at once or by blocks (places/memory.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import numpy as np
from numpy.typing import NDArray

from manyclass.arrays.dataset import DeviceDataset
from manyclass.arrays.namespace import Place, spans, to_numpy
from manyclass.arrays.places.blocks import (
    Blocks,
    NumbersThere,
    RowNumbers,
    RowsElsewhere,
    RowsThere,
    StreamedRows,
    moved_whole,
    numbers_on_host,
)
from manyclass.arrays.places.host_rows import HostRows
from manyclass.arrays.places.memory import Plan, plan_of
from manyclass.arrays.products import Factor, HalfFactor, multiplies_halves
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.problem import Problem
from manyclass.utils.types import DeviceArray

# Multiply-adds of a product from which float16 numbers are faster: splitting takes about ten
# kernels, and such a product in float32 about 80 microseconds.
LEAST_WORK = 1 << 31


class ArrayRows:
    """The rows of a problem with X on a device, or copied to one.

    ``labels`` are y_i, shape (n,), or the classes of each row, shape (n, k), bool; ``costs`` C_i,
    in the type of sums; ``dtype`` that of W and of products, float32 or float64. ``first`` is the
    number of the first row among the rows of all parts, ``number`` the number of this part.
    """

    def __init__(self, problem: Problem) -> None:
        data = problem.dataset
        assert isinstance(data, DeviceDataset)
        self.problem, self.n, self.first, self.number = problem, data.n_examples, 0, 0
        self.plan = plan_for(problem)
        X = data.X
        if isinstance(X, HostRows) and not self.plan.streams:
            if X.there is None:
                X.there = moved_whole(X, self.plan.rows_of_block)
            X = X.there
        is_streamed = isinstance(X, HostRows)
        place = X.place if is_streamed else Place(X)
        self.blocks_of_x: Blocks = (
            StreamedRows(X, self.plan.rows_of_block) if is_streamed else RowsThere(X, place)
        )
        self.bias = data.rounded_bias
        self._set_place(place)

    def _set_place(self, place: Place) -> None:
        """Store the arrays of the rows on a device."""
        data, base = self.problem.dataset, self.problem.base
        assert isinstance(data, DeviceDataset)
        self.place, self.xp = place, place.xp
        self.dtype = self.xp.float64 if data.dtype == np.float64 else self.xp.float32
        sets = data.indicator
        self.labels = place.asarray(data.labels.astype(np.int64) if sets is None else sets)
        self.costs = place.asarray(self.problem.costs)
        self._table, self._table_rows, self._narrow = None, None, None
        if isinstance(base, BaseScores):
            self._table = place.asarray(base.table)
            self._table_rows = place.asarray(base.rows.astype(np.int64))
        self.classes = place.arange(data.n_classes)

    def in_double(self) -> ArrayRows:
        """Return the same rows with float64 support: on the device, or by blocks on the CPU."""
        if self.place.has_double:
            return self
        wide = copy(self)
        wide._set_place(self.place.on_cpu())
        wide.blocks_of_x = RowsElsewhere(self.blocks_of_x, wide.place)
        return wide

    def local(self, part: slice) -> ArrayRows:
        """Return the rows of a block as separate rows, on the device."""
        self.base_table()
        some = copy(self)
        some.n, some.blocks_of_x = part.stop - part.start, RowsThere(self._block(part), self.place)
        some.labels, some.costs = self.labels[part, ...], self.costs[part]
        if self._table_rows is not None:
            some._table_rows = self._table_rows[part]
        return some

    def _block(self, part: slice) -> DeviceArray:
        return self.blocks_of_x.block(part)

    def numbers(self) -> RowNumbers:
        """Create a number for each row and class, in the dtype of W."""
        shape, dtype = (self.n, self.k), self.problem.dataset.dtype
        if self.plan.numbers_on_host:
            return numbers_on_host(self.place, shape, dtype)
        return NumbersThere(self.place, shape, self.dtype)

    @property
    def is_whole(self) -> bool:
        """Whether X and the numbers per row and class are on the device."""
        return not (self.plan.streams or self.plan.numbers_on_host)

    @property
    def k(self) -> int:
        """Number of classes."""
        return self.problem.dataset.n_classes

    def blocks(self) -> Iterator[slice]:
        """Yield the rows of each block."""
        yield from spans(self.n, self.rows_of_block)

    @property
    def rows_of_block(self) -> int:
        """Number of rows in a block."""
        return self.plan.rows_of_block

    def _given(self, rows: slice | DeviceArray) -> DeviceArray:
        return self._block(rows) if isinstance(rows, slice) else self.blocks_of_x.take(rows)

    def features(self, rows: slice | DeviceArray, dtype: object) -> DeviceArray:
        """Return some rows of X in a dtype."""
        return self.xp.astype(self._given(rows), dtype, copy=False)

    def factor(self, rows: slice | DeviceArray, *, is_fast: bool = False) -> Factor:
        """Return rows of X as a factor of products in the dtype of W, or in lower precision."""
        return self.factor_of(self._given(rows), is_fast=is_fast)

    def factor_of(self, X: DeviceArray, *, is_fast: bool) -> Factor:
        """Return an array of rows as such a factor."""
        work = X.shape[0] * X.shape[1] * self.k
        if work > LEAST_WORK and multiplies_halves(self.place) and self.dtype == self.xp.float32:
            return HalfFactor(X, is_fast=is_fast)
        return Factor(self.xp.astype(X, self.dtype, copy=False))

    def gram_of(
        self, rows: slice | DeviceArray, weights: DeviceArray, *, is_fast: bool
    ) -> DeviceArray:
        """Return sum_i w_i x_i x_i^T over some rows, including the appended feature."""
        x = self.features(rows, self.dtype)
        x = self.xp.concat([x, self.xp.full_like(x[:, :1], self.bias)], axis=1)
        return self.factor_of(x, is_fast=is_fast).back(x, weights)

    def wide_factor(self, rows: slice | DeviceArray) -> Factor:
        """Return some rows of X as a factor of products in float64."""
        return Factor(self.features(rows, self.xp.float64))

    def products(self, x: Factor, W: DeviceArray) -> DeviceArray:
        """Return W^T x_i of some rows, without base scores."""
        S = x.times(W[:-1, :])
        if self.bias:
            S += self.bias * W[-1:, :]
        return S

    def scores(self, x: Factor, rows: slice | DeviceArray, W: DeviceArray) -> DeviceArray:
        """Return the scores of some rows, including base scores."""
        S = self.products(x, W)
        if self._table is not None:
            S += self.xp.astype(self.base(rows), S.dtype, copy=False)
        return S

    def base(self, rows: slice | DeviceArray) -> DeviceArray:
        """Return the base scores of some rows of a problem with base scores."""
        return self.xp.take(self._table, self.of(self._table_rows, rows), axis=0)

    def base_table(self) -> tuple[DeviceArray, DeviceArray] | None:
        """Return the table of base scores, in the dtype of W, and the row of each example."""
        if self._table is None:
            return None
        if self._narrow is None:
            self._narrow = self.xp.astype(self._table, self.dtype)
        return self._narrow, self._table_rows

    @property
    def has_base(self) -> bool:
        """Whether there are base scores."""
        return self._table is not None

    def of(self, numbers: DeviceArray, rows: slice | DeviceArray) -> DeviceArray:
        """Return the numbers of some rows from an array with one per row."""
        if isinstance(rows, slice):
            return numbers[rows, ...]
        return self.xp.take(numbers, rows, axis=0)

    def add_back(
        self, total: DeviceArray, x: Factor, R: DeviceArray, weights: DeviceArray | None = None
    ) -> None:
        """Add sum_i w_i x_i r_i^T to an array like W, in its dtype; w_i = 1 without weights."""
        xp = self.xp
        total[:-1, :] += xp.astype(x.back(R, weights), total.dtype, copy=False)
        if self.bias and weights is None:
            total[-1, :] += self.bias * xp.sum(R, axis=0, dtype=total.dtype)
        elif self.bias:
            total[-1, :] += self.bias * xp.astype(weights @ R, total.dtype, copy=False)

    def back(self, x: Factor, R: DeviceArray) -> DeviceArray:
        """Return sum_i x_i r_i^T, in the shape of W."""
        product = x.back(R)
        if not self.bias:
            return self.xp.concat([product, 0 * R[:1, :]], axis=0)
        of_bias = self.bias * self.xp.sum(R, axis=0, keepdims=True)
        return self.xp.concat([product, of_bias], axis=0)

    def own(self, labels: DeviceArray) -> DeviceArray:
        """Whether each class is a class of each row; shape (m, k)."""
        if labels.ndim == 2:
            return labels
        return labels[:, None] == self.classes[None, :]

    def pick(self, S: DeviceArray, labels: DeviceArray) -> DeviceArray:
        """Return the number of each row's own class; shape (m, 1)."""
        return self.xp.take_along_axis(S, labels[:, None], axis=1)

    def add_to_own(self, R: DeviceArray, labels: DeviceArray, values: DeviceArray) -> DeviceArray:
        """Add numbers to the entries of the rows' own classes, in place if possible."""
        if self.place.is_torch:
            return R.scatter_add_(1, labels[:, None], values[:, None])
        return R + self.xp.astype(self.own(labels), R.dtype) * values[:, None]

    def squared_norms(self) -> NDArray[np.float64]:
        """Return q_i = ||x_i||^2, including the appended feature, as an ndarray."""
        rows, parts = self.in_double(), []
        for part in rows.blocks():
            x = rows.features(part, rows.xp.float64)
            parts.append(to_numpy(rows.xp.sum(x * x, axis=1)))
        return np.concatenate(parts) + self.bias**2


def plan_for(problem: Problem) -> Plan:
    """Return where the rows of a problem, whose device is one, and its numbers will lie."""
    data = problem.dataset
    assert isinstance(data, DeviceDataset)
    X, n = data.X, data.n_examples
    is_host = isinstance(X, HostRows) and X.there is None
    row = X.dtype.itemsize * X.shape[1] if is_host else 0
    place = X.place if isinstance(X, HostRows) else Place(X)
    return plan_of(problem, place, n_rows=n, bytes_of_rows=n * row, per_row_of_x=row)
