"""Sets of labels of rows, as CSR: what text and converted files have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from manyclass.utils.types import Array, Label


@dataclass(frozen=True, slots=True)
class RowSets:
    """The places of every row's labels in the classes.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Where the labels of each row begin, and those of the last one end.
    places : ndarray, int32
        Ascending in each row.
    """

    indptr: NDArray[np.int64]
    places: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: slice) -> RowSets:
        begin, end, _ = rows.indices(len(self))
        ends = self.indptr[begin : end + 1]
        return RowSets(ends - ends[0], self.places[ends[0] : ends[-1]])

    def take(self, rows: NDArray[np.int32]) -> RowSets:
        """Return the sets of some rows, each as often as it is named."""
        lengths = np.diff(self.indptr)[rows]
        indptr = _ends(lengths)
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[rows] - indptr[:-1], lengths)
        return RowSets(indptr, self.places[entries])

    def named(self, classes: Array) -> list[frozenset[Label]]:
        """Return the set of the labels of every row."""
        names = classes[self.places].tolist()
        return [frozenset(names[begin:end]) for begin, end in pairwise(self.indptr.tolist())]


def sets_of(indptr: NDArray[np.int64], places: NDArray[np.int32], n_classes: int) -> RowSets:
    """Return sets whose places have any order and may be there twice."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    keys = rows * n_classes + places
    if (keys[1:] > keys[:-1]).all():
        return RowSets(indptr, places)
    keys = np.unique(keys)
    rows, found = np.divmod(keys, n_classes)
    return RowSets(_ends(np.bincount(rows, minlength=len(indptr) - 1)), found.astype(np.int32))


def numbered(rows: Sequence[Collection[Label]]) -> tuple[RowSets, Array]:
    """Return sets of labels as places in the classes, and these, ascending.

    Raises
    ------
    ValueError
        If some labels are text and others numbers.
    """
    codes: dict[Label, int] = {}
    entries = [codes.setdefault(label, len(codes)) for row in rows for label in row]
    if len({isinstance(label, str) for label in codes}) > 1:
        raise ValueError("labels must be all numbers or all text")
    classes, inverse = np.unique(np.array(list(codes)), return_inverse=True)
    places = inverse.astype(np.int32)[np.array(entries, np.int32)]
    indptr = _ends(np.fromiter(map(len, rows), np.int64, len(rows)))
    return sets_of(indptr, places, len(classes)), classes


def single_sets(places: NDArray[np.int32]) -> RowSets:
    """Return sets of one label each."""
    return RowSets(np.arange(len(places) + 1, dtype=np.int64), places)


def _ends(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), lengths.cumsum()])
