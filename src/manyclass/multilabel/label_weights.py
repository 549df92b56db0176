"""W of all labels, joined from the W of each group once it is trained."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.multilabel.groups import Labels
from manyclass.problem.dataset import Dataset
from manyclass.problem.solution import Weights
from manyclass.utils.types import Array, CsrArray

COMPACT = 0.5  # if the rows use fewer features than this share, they are trained on only these


@dataclass(slots=True, eq=False)
class LabelWeights:
    """W of shape (d + 1, k), in one dense array, or packed without zeros.

    Packed parts are stored by label: with many groups, a row pointer for every feature of each
    group would need more memory than the weights.

    Attributes
    ----------
    features : ndarray of shape (d_used + 1,)
        The rows of W that the groups have, ascending; the last row holds the intercepts.
    shape : (d + 1, k)
    dtype : numpy.dtype
    prune : float
        Weights of a smaller magnitude are removed, except intercepts.
    dense : ndarray of shape (d + 1, k), or None
    """

    features: NDArray[np.int64]
    shape: tuple[int, int]
    dtype: np.dtype[np.floating]
    prune: float
    dense: Array | None
    groups: list[Labels] = field(default_factory=list)
    parts: list[sp.csc_array] = field(default_factory=list)

    def add(self, group: Labels, W: Weights) -> None:
        """Add the W of a group, which is modified."""
        assert isinstance(W, np.ndarray)
        if self.prune:
            W[:-1][np.abs(W[:-1]) < self.prune] = 0
        if self.dense is None:
            self.groups.append(group)
            self.parts.append(sp.csc_array(W))
        elif len(W) == len(self.dense):
            self.dense[:, group] = W
        else:
            self.dense[np.ix_(self.features, group)] = W

    def joined(self) -> Weights:
        """Return W with the labels in their order; the parts are deleted."""
        if self.dense is not None:
            return self.dense
        counts = np.zeros(self.shape[0] + 1, np.int64)
        for part in self.parts:
            counts[1 + self.features] += np.bincount(part.indices, minlength=len(self.features))
        indptr = np.cumsum(counts)
        data, labels = np.empty(indptr[-1], self.dtype), np.empty(indptr[-1], np.int32)
        ends = indptr[self.features].copy()  # end of the written part of each row
        while self.parts:
            self._write(self.groups.pop(), self.parts.pop(), ends, data, labels)
        if indptr[-1] <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        W = sp.csr_array((data, labels, indptr), shape=self.shape)
        W.sort_indices()
        return W

    @staticmethod
    def _write(
        group: Labels,
        part: sp.csc_array,
        ends: NDArray[np.int64],
        data: Array,
        labels: NDArray[np.int32],
    ) -> None:
        """Append the weights of a group to the rows."""
        bounds = part.indptr.tolist()
        for label, begin, end in zip(group.tolist(), bounds[:-1], bounds[1:], strict=True):
            rows = part.indices[begin:end]
            places = ends[rows]
            data[places], labels[places] = part.data[begin:end], label
            ends[rows] += 1


def compact(
    rows: Dataset, X: CsrArray | Array
) -> tuple[CsrArray | Array, NDArray[np.int64] | None]:
    """Return X with only the features that it uses, and their numbers, if these are few.

    The weights of the other features are 0. The values are not copied.
    """
    if rows.is_dense:
        return X, None
    used = np.zeros(rows.n_features, np.bool_)
    used[rows.indices] = True
    features = np.flatnonzero(used)
    if len(features) > COMPACT * rows.n_features:
        return X, None
    places = np.zeros(rows.n_features, np.int32)
    places[features] = np.arange(len(features), dtype=np.int32)
    shape = rows.n_examples, len(features)
    return sp.csr_array((rows.values, places[rows.indices], rows.indptr), shape=shape), features
