"""Sparse or dense rows of X with a label or label set per row, complete or in blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from manyclass.utils.labels import classes_of_sets
from manyclass.utils.types import Array, CsrArray, Label, Rows

MAX_SIZE = np.iinfo(np.int32).max  # largest number of rows and columns, as in training
# With more non-zeros indptr must be int64, and SciPy would copy the indices to int64.
MAX_NARROW = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True)
class StoredLabelSets:
    """The places of every row's labels in the classes."""

    indptr: NDArray[np.int64]  # offsets of the rows in ``places``
    places: NDArray[np.int32]  # ascending in each row

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: slice) -> StoredLabelSets:
        begin, end, _ = rows.indices(len(self))
        ends = self.indptr[begin : end + 1]
        return StoredLabelSets(ends - ends[0], self.places[ends[0] : ends[-1]])

    def take(self, rows: NDArray[np.int32]) -> StoredLabelSets:
        """Return the sets of the given rows, which may repeat."""
        lengths = np.diff(self.indptr)[rows]
        indptr = _ends(lengths)
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[rows] - indptr[:-1], lengths)
        return StoredLabelSets(indptr, self.places[entries])

    def named(self, classes: Array) -> list[frozenset[Label]]:
        """Return the label set of every row."""
        names = classes[self.places].tolist()
        return [frozenset(names[begin:end]) for begin, end in pairwise(self.indptr.tolist())]


def canonical_label_sets(
    indptr: NDArray[np.int64], places: NDArray[np.int32], n_classes: int
) -> StoredLabelSets:
    """Return label sets from class indices in any order, possibly with duplicates."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    keys = rows * n_classes + places
    if (keys[1:] > keys[:-1]).all():
        return StoredLabelSets(indptr, places)
    keys = np.unique(keys)
    rows, found = np.divmod(keys, n_classes)
    return StoredLabelSets(
        _ends(np.bincount(rows, minlength=len(indptr) - 1)), found.astype(np.int32)
    )


def numbered(rows: Sequence[Collection[Label]]) -> tuple[StoredLabelSets, Array]:
    """Return label sets as places in the classes, and these, ascending."""
    classes = classes_of_sets(rows)
    places = {label: place for place, label in enumerate(classes.tolist())}
    found = np.array([places[label] for row in rows for label in row], np.int32)
    indptr = _ends(np.fromiter(map(len, rows), np.int64, len(rows)))
    return canonical_label_sets(indptr, found, len(classes)), classes


def single_sets(places: NDArray[np.int32]) -> StoredLabelSets:
    """Return label sets with one label each."""
    return StoredLabelSets(np.arange(len(places) + 1, dtype=np.int64), places)


def _ends(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), lengths.cumsum()])


StoredLabels: TypeAlias = "NDArray[np.int32] | StoredLabelSets"  # class indices


class StoredSparseRows(NamedTuple):
    """X as CSR, and the class indices of each row's label or labels."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: Array
    labels: StoredLabels
    n_features: int
    classes: Array

    def matrix(self) -> CsrArray:
        """Return X, without a copy."""
        shape = len(self.labels), self.n_features
        if len(self.indices) <= MAX_NARROW:
            indptr = self.indptr.astype(np.int32)
            X = sp.csr_array((self.values, self.indices, indptr), shape=shape, copy=False)
        else:
            X = sp.csr_array(shape, dtype=self.values.dtype)
            X.data, X.indices, X.indptr = self.values, self.indices, self.indptr
        X.has_canonical_format = True
        return X

    def targets(self) -> Array:
        """Return y."""
        return np.asarray(self.classes[places_of(self)])

    @property
    def n_stored(self) -> int:
        """Number of stored values."""
        return len(self.indices)

    def block_end(self, begin: int, block_values: int) -> int:
        """Return the end of a block with about this number of values and at least one row."""
        goal = self.indptr[begin] + block_values
        end = int(np.searchsorted(self.indptr, goal, side="right")) - 1
        return min(max(end, begin + 1), begin + block_values, len(self.labels))

    def between(self, begin: int, end: int) -> StoredSparseRows:
        """Return a range of the rows, without copying except ``indptr``."""
        ends = self.indptr[begin : end + 1]
        entries = slice(int(ends[0]), int(ends[-1]))
        return self._replace(
            indptr=ends - ends[0],
            indices=self.indices[entries],
            values=self.values[entries],
            labels=self.labels[begin:end],
        )

    def wanted(
        self, name: str, n_features: int | None, dtype: DTypeLike | None
    ) -> StoredSparseRows:
        """Return rows of so many columns, with values of a type; the file's own where None."""
        if n_features is not None and n_features < self.n_features:
            raise ValueError(
                f"{name}: has {self.n_features} features, more than the {n_features} that "
                "n_features says; raise it or leave it out"
            )
        values = _converted(self.values, dtype, name)
        return self._replace(n_features=n_features or self.n_features, values=values)


class StoredDenseRows(NamedTuple):
    """X as an array, and the class indices of each row's label or labels."""

    values: Array  # (n, d), C order
    labels: StoredLabels
    classes: Array

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    @property
    def n_stored(self) -> int:
        """Number of stored values."""
        return int(self.values.size)

    def matrix(self) -> Array:
        """Return X, without a copy."""
        return self.values

    def targets(self) -> Array:
        """Return y."""
        return np.asarray(self.classes[places_of(self)])

    def block_end(self, begin: int, block_values: int) -> int:
        """Return the end of a block with about this number of values and at least one row."""
        return min(begin + max(1, block_values // max(1, self.n_features)), len(self.labels))

    def between(self, begin: int, end: int) -> StoredDenseRows:
        """Return a range of the rows, without copying."""
        return self._replace(values=self.values[begin:end], labels=self.labels[begin:end])

    def wanted(self, name: str, n_features: int | None, dtype: DTypeLike | None) -> StoredDenseRows:
        """Return rows with values of a type; the file's own where None."""
        if n_features not in (None, self.n_features):
            raise ValueError(
                f"{name}: has dense rows of {self.n_features} features, not the {n_features} that "
                "n_features says; leave it out"
            )
        return self._replace(values=_converted(self.values, dtype, name))


StoredRows: TypeAlias = StoredSparseRows | StoredDenseRows


def places_of(rows: StoredRows) -> NDArray[np.int32]:
    """Return the class index of every row, for rows with one label each."""
    assert not isinstance(rows.labels, StoredLabelSets)
    return rows.labels


def label_sets(rows: StoredRows) -> list[frozenset[Label]]:
    """Return the label set of every row; rows with one class become sets with one label."""
    labels = rows.labels if isinstance(rows.labels, StoredLabelSets) else single_sets(rows.labels)
    return labels.named(rows.classes)


def _converted(values: Array, dtype: DTypeLike | None, name: str) -> Array:
    with np.errstate(over="ignore"):
        wanted = values.astype(dtype or values.dtype, copy=False)
    if wanted is not values and not np.isfinite(wanted).all():
        raise ValueError(f"{name}: a value is too large for {wanted.dtype}; use float64")
    return wanted


class StoredBlocks:
    """Blocks of stored rows, for data larger than the memory, like ``SvmlightBlocks`` for text.

    A block has about ``block_values`` values, and one row at least. Attributes are those of
    ``SvmlightBlocks``; ``classes`` are those with a row.
    """

    def __init__(self, rows: StoredRows, block_values: int) -> None:
        self._rows = rows
        self._ends = [0]
        n_rows = self.n_rows = len(rows.labels)
        while self._ends[-1] < n_rows:
            self._ends.append(rows.block_end(self._ends[-1], block_values))
        self.n_features, self.n_nonzero = rows.n_features, rows.n_stored
        counts = np.bincount(places_of(rows), minlength=len(rows.classes))
        self.classes, self.class_counts = rows.classes[counts > 0], counts[counts > 0]
        self.largest_block = int(np.diff(self._ends).max())

    def labelled(self) -> StoredBlocks:
        """Return the blocks themselves, which have labels."""
        return self

    def __iter__(self) -> Iterator[tuple[Rows, Array]]:
        """Make one pass."""
        rows = self._rows
        for begin, end in zip(self._ends[:-1], self._ends[1:], strict=True):
            block = rows.between(begin, end)
            yield block.matrix(), block.targets()
