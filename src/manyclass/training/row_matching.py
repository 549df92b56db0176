"""Matching of the rows of two data sets by the fingerprints of their content.

Fingerprints (``cpp/data/row_prints.hpp``) have 128 bits and do not depend on the order of the rows,
weights, columns of zeros at the end, or the storage of X. Labels are compared by name.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.dataset import Dataset
from manyclass.utils.types import Array, CsrArray

# With a smaller share of matched rows, training begins without a warm start (measured: halves of
# data sets that share some equal rows took more epochs than cold starts).
LEAST_KEPT = 0.05
NO_USE = (
    "warm start: the earlier fit cannot be used, since its formulation, loss, columns, classes or "
    "nearly all rows differ; training starts from the beginning"
)
Prints = NDArray[np.uint64]  # shape (n, 2)


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """Positions of the rows and classes of a problem in an earlier one.

    Attributes
    ----------
    rows : ndarray of shape (n,), int32
        The earlier number of each row; -1 if it is new.
    n_before : int
        Number of earlier rows.
    classes : ndarray of shape (k_before,), int32
        The current number of each earlier class; -1 if it was removed.
    n_classes : int
        k
    """

    rows: NDArray[np.int32]
    n_before: int
    classes: NDArray[np.int32]
    n_classes: int

    @classmethod
    def unchanged(cls, n_rows: int, n_classes: int) -> Match:
        """Return the match of the same rows and classes."""
        same = np.arange(n_rows, dtype=np.int32), np.arange(n_classes, dtype=np.int32)
        return cls(same[0], n_rows, same[1], n_classes)

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Whether rows were there before, shape (n,)."""
        return self.rows >= 0

    @property
    def n_kept(self) -> int:
        """Number of rows that were there before."""
        return int(np.count_nonzero(self.kept))

    @property
    def n_gone(self) -> int:
        """Number of earlier rows that were removed."""
        return self.n_before - self.n_kept

    @property
    def keeps_enough(self) -> bool:
        """Whether enough of the rows were there before, so that their z saves time."""
        return self.n_kept > 0 and self.n_kept >= LEAST_KEPT * len(self.rows)

    @property
    def has_same_classes(self) -> bool:
        """Whether the classes are the same as before."""
        return self.n_classes == len(self.classes) and bool((self.classes >= 0).all())

    @property
    def keeps_all(self) -> bool:
        """Whether rows and classes are the same, with rows in any order."""
        return self.has_same_classes and self.n_kept == len(self.rows) == self.n_before

    def __str__(self) -> str:
        """One line for users."""
        n_new = len(self.rows) - self.n_kept
        return f"warm start: {self.n_kept} rows kept, {n_new} new, {self.n_gone} gone"

    def duals(self, z: CsrArray) -> CsrArray:
        """Return z of these rows and classes, with 0 for new ones."""
        kept = self.kept
        if self.keeps_all and np.array_equal(self.rows, np.arange(self.n_before)):
            return z
        found = sp.csr_array(z[self.rows[kept]])
        counts = np.zeros(len(kept), np.int64)
        counts[kept] = np.diff(found.indptr)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        labels, values = self.classes[found.indices], found.data
        if (labels < 0).any():
            ends = np.concatenate([[0], np.cumsum(labels >= 0)])
            indptr, values, labels = ends[indptr], values[labels >= 0], labels[labels >= 0]
        shape = len(kept), self.n_classes
        return sp.csr_array((values, labels, indptr), shape=shape)


def row_prints(data: Dataset, n_jobs: int) -> Prints:
    """Return the fingerprint of every row's content."""
    X = data.indptr, data.indices, data.values
    return np.asarray(_core.row_prints(*X, data.n_features, n_jobs)).reshape(-1, 2)


def class_numbers(before: Array, after: Array) -> NDArray[np.int32]:
    """Return the number of each class in a second array of classes, or -1."""
    if np.array_equal(before, after):
        return np.arange(len(after), dtype=np.int32)
    numbers = {name: number for number, name in enumerate(after.tolist())}
    return np.array([numbers.get(name, -1) for name in before.tolist()], np.int32)


def with_labels(prints: Prints, labels: NDArray[np.int32], n_classes: int) -> Prints:
    """Return the fingerprints of rows with their labels; -1 counts as a label."""
    return prints + _marks(n_classes)[labels]


def with_label_sets(prints: Prints, indicator: CsrArray) -> Prints:
    """Return the fingerprints of rows with their label sets, columns of a matrix of 0 and 1."""
    marks = _marks(indicator.shape[1])[indicator.indices]
    sums = np.concatenate([np.zeros((1, 2), np.uint64), np.cumsum(marks, axis=0, dtype=np.uint64)])
    of_rows = sums[indicator.indptr[1:]] - sums[indicator.indptr[:-1]]
    return np.asarray(prints + of_rows)


def matched_rows(before: Prints, after: Prints) -> NDArray[np.int32]:
    """Return the earlier row with the fingerprint of each row, each at most once, or -1.

    Equal rows are matched in order.
    """
    if np.array_equal(before, after):
        return np.arange(len(after), dtype=np.int32)
    return np.asarray(_core.match_prints(before.ravel(), after.ravel()))


def _marks(n_classes: int) -> Prints:
    """Return random numbers for each class and for no class, shape (k + 1, 2)."""
    return np.random.default_rng(0).integers(2**64, size=(n_classes + 1, 2), dtype=np.uint64)
