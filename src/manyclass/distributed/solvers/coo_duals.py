"""Dual variables in COO format, in which ranks store and send them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.solution import Start
from manyclass.utils.machine import core_class
from manyclass.utils.types import Array, CsrArray, DType


class CooDuals(NamedTuple):
    """Non-zero z, by example and class."""

    rows: NDArray[np.int32]
    labels: NDArray[np.int32]
    values: Array

    def select(self, some: NDArray[np.bool_]) -> CooDuals:
        """Return some of them."""
        return CooDuals(self.rows[some], self.labels[some], self.values[some])

    def by_pair(
        self,
        owners: NDArray[np.int32],
        block_of: NDArray[np.int32],
        pairs: Sequence[tuple[int, int]],
    ) -> dict[tuple[int, int], CooDuals]:
        """Split them by the class blocks of y_i and of their class.

        `owners` has the class block of y_i, for every example; `pairs` are those that are wanted,
        each once.
        """
        if not pairs:
            return {}
        n_blocks = int(block_of.max()) + 1
        numbers = np.full((n_blocks, n_blocks), -1, np.int16)  # a type that NumPy sorts fastest
        for number, pair in enumerate(pairs):
            numbers[pair] = number
        keys = numbers[owners[self.rows], block_of[self.labels]]
        some = self.select(keys >= 0)
        keys = keys[keys >= 0]
        order = np.argsort(keys, kind="stable")
        ends = np.cumsum(np.bincount(keys, minlength=len(pairs)))[:-1]
        parts = (np.split(part[order], ends) for part in some)
        return {pair: CooDuals(*part) for pair, *part in zip(pairs, *parts, strict=True)}

    def matrix(self, n_classes: int, n_examples: int) -> CsrArray:
        """Return them as a CSR array of shape (n, k)."""
        return sp.csr_array((self.values, (self.rows, self.labels)), shape=(n_examples, n_classes))


def concatenate(parts: list[CooDuals], dtype: DType) -> CooDuals:
    """Return the z of several parts."""
    rows = np.concatenate([np.empty(0, np.int32), *(part.rows for part in parts)])
    labels = np.concatenate([np.empty(0, np.int32), *(part.labels for part in parts)])
    return CooDuals(rows, labels, np.concatenate([np.empty(0, dtype), *(p.values for p in parts)]))


def start_duals(start: Start | None, filled: NDArray[np.bool_], dtype: DType) -> CooDuals:
    """Return the z of a start, for examples with x_i != 0."""
    if start is None:
        return concatenate([], dtype)
    z = sp.coo_array(start.duals)
    everything = CooDuals(z.row.astype(np.int32), z.col.astype(np.int32), z.data.astype(dtype))
    return everything.select(filled[z.row] & (everything.values > 0))


def to_core(
    z: CooDuals, columns: NDArray[np.int32], n_columns: int, n_examples: int
) -> _core.Duals64:
    """Return the lists of the core; `columns` has the column of every class, or -1 to omit it."""
    lists = core_class("Duals", z.values.dtype)(n_examples, n_columns)
    lists.add_entries(z.rows, z.labels, z.values, columns)
    return lists


def from_core(lists: _core.Duals64, classes: NDArray[np.int32]) -> CooDuals:
    """Return the z in the core's lists; `classes` has the class of every column."""
    indptr, columns, values = lists.to_csr()
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    return CooDuals(rows, classes[columns], values)
