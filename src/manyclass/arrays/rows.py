"""Rows on a device: their scores and products, block by block.

A block has so many rows that its n x k numbers take a share of the memory. X is widened to the type
of the products as it is read; the appended feature is implicit, as in ``Dataset``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manyclass.arrays.dataset import DeviceDataset
from manyclass.arrays.namespace import Place, spans
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.problem import Problem
from manyclass.utils.types import DeviceArray

NUMBERS_AT_A_TIME = 1 << 26  # of a block, k or d for each row
LEAST_ROWS = 256


class ArrayRows:
    """The rows of a problem whose X lies on a device.

    Parameters
    ----------
    problem : Problem
        Of a ``DeviceDataset``.

    Attributes
    ----------
    place : Place
    labels, costs : arrays of shape (n,)
        y_i, and C_i in float64.
    dtype
        Of W and of products, float32 or float64.
    """

    first = 0

    def __init__(self, problem: Problem) -> None:
        data = problem.dataset
        assert isinstance(data, DeviceDataset)
        self.problem, self.X = problem, data.X
        self.place = Place(data.X)
        self.xp = xp = self.place.xp
        self.dtype = xp.float64 if data.dtype == np.float64 else xp.float32
        self.labels = self.place.asarray(data.labels.astype(np.int64))
        self.costs = self.place.asarray(problem.costs)
        self.bias = data.rounded_bias
        self._table, self._table_rows, self._narrow = None, None, None
        if isinstance(problem.base, BaseScores):
            self._table = self.place.asarray(problem.base.table)
            self._table_rows = self.place.asarray(problem.base.rows.astype(np.int64))
        self.classes = self.place.arange(data.n_classes)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.problem.dataset.n_examples

    @property
    def k(self) -> int:
        """Number of classes."""
        return self.problem.dataset.n_classes

    def blocks(self) -> Iterator[slice]:
        """Yield the rows of each block."""
        yield from spans(self.n, self.rows_of_block)

    @property
    def rows_of_block(self) -> int:
        """Rows of a block."""
        return max(LEAST_ROWS, NUMBERS_AT_A_TIME // max(self.k, self.problem.dataset.n_features))

    def features(self, rows: slice | DeviceArray, dtype: object) -> DeviceArray:
        """Return some rows of X as numbers of a type."""
        X = self.X[rows, :] if isinstance(rows, slice) else self.xp.take(self.X, rows, axis=0)
        return self.xp.astype(X, dtype, copy=False)

    def products(self, x: DeviceArray, W: DeviceArray) -> DeviceArray:
        """Return W^T x_i of some rows, without base scores."""
        S = x @ W[:-1, :]
        if self.bias:
            S += self.bias * W[-1:, :]
        return S

    def scores(self, x: DeviceArray, rows: slice | DeviceArray, W: DeviceArray) -> DeviceArray:
        """Return the scores of some rows, base scores added."""
        S = self.products(x, W)
        if self._table is not None:
            S += self.xp.astype(self.base(rows), S.dtype, copy=False)
        return S

    def base(self, rows: slice | DeviceArray) -> DeviceArray:
        """Return the base scores of some rows; there must be some."""
        return self.xp.take(self._table, self.of(self._table_rows, rows), axis=0)

    def base_table(self) -> tuple[DeviceArray, DeviceArray] | None:
        """Return the table of base scores, in the type of W, and the row of each example."""
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
        """Return the numbers of some rows, of an array with one for each row."""
        return numbers[rows] if isinstance(rows, slice) else self.xp.take(numbers, rows, axis=0)

    def add_back(self, total: DeviceArray, x: DeviceArray, R: DeviceArray) -> None:
        """Add sum_i x_i r_i^T to an array like W, in its type."""
        total[:-1, :] += self.xp.astype(x.T @ R, total.dtype, copy=False)
        if self.bias:
            total[-1, :] += self.bias * self.xp.sum(R, axis=0, dtype=total.dtype)

    def back(self, x: DeviceArray, R: DeviceArray) -> DeviceArray:
        """Return sum_i x_i r_i^T, of the shape of W."""
        product = x.T @ R
        if not self.bias:
            return self.xp.concat([product, 0 * R[:1, :]], axis=0)
        of_bias = self.bias * self.xp.sum(R, axis=0, keepdims=True)
        return self.xp.concat([product, of_bias], axis=0)

    def own(self, labels: DeviceArray) -> DeviceArray:
        """Return whether each class is that of each row; shape (m, k)."""
        return labels[:, None] == self.classes[None, :]

    def pick(self, S: DeviceArray, labels: DeviceArray) -> DeviceArray:
        """Return the number of each row's own class; shape (m, 1)."""
        return self.xp.take_along_axis(S, labels[:, None], axis=1)

    def add_to_own(self, R: DeviceArray, labels: DeviceArray, values: DeviceArray) -> DeviceArray:
        """Add numbers to those of the rows' own classes, in place where that is possible."""
        if self.place.is_torch:
            return R.scatter_add_(1, labels[:, None], values[:, None])
        return R + self.xp.astype(self.own(labels), R.dtype) * values[:, None]

    def squared_norms(self) -> DeviceArray:
        """Return q_i = ||x_i||^2, the appended feature included, in float64."""
        xp = self.xp
        parts = []
        for part in self.blocks():
            x = self.features(part, xp.float64)
            parts.append(xp.sum(x * x, axis=1))
        return xp.concat(parts) + self.bias**2
