"""Columns of X that are merged in training without changing the problem.

Columns x_j = a_j g, with the same rows and proportional values, are replaced by one column ||a|| g.
This is a rotation of the features, which does not change ||W||, scores, P, D or the gap. The
inverse is w_j = a_j w_g / ||a||. z is the same. The appended constant feature is not merged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.dataset import Dataset
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start, Weights
from manyclass.utils.types import Array, CsrArray

# Columns are merged if at most this share of the non-zeros remains, as the certificate for the
# original X costs an additional pass (measured: at 0.96, lshtc1, no gain; at 0.65, bigrams, 1.13 to
# 1.25 times faster).
PAYS = 0.9
# Rows in the first sample.
SAMPLED_ROWS = 128
# Logistic regression trains in few epochs, and its certificate takes a pass over W in float64:
# columns are merged from this number of non-zeros per feature (measured: bigrams have 2.4, and
# would train a quarter slower).
OF_FEATURE = 8
SMALL = 1 << 14  # with fewer non-zeros, merging saves almost nothing


@dataclass(frozen=True, slots=True, eq=False)
class MergedColumns:
    """Groups of columns that are merged.

    Attributes
    ----------
    groups : ndarray of shape (n_features,), int32
        Merged column of each column.
    factors : ndarray of shape (n_features,), float64
        a_j / ||a||; 0 for a column of zeros.
    first : ndarray of shape (n_merged,), int32
        First column of each merged column.
    share : float
        Share of the non-zeros that remain.
    """

    groups: NDArray[np.int32]
    factors: NDArray[np.float64]
    first: NDArray[np.int32]
    share: float

    def __str__(self) -> str:
        """One line for users."""
        return (
            f"columns merged: {len(self.groups)} features are trained as {len(self.first)}, with "
            f"{100 * self.share:.0f} % of the non-zeros"
        )

    def dataset(self, data: Dataset) -> Dataset:
        """Return all or some of the examples with merged columns."""
        X = data.indptr, data.indices, data.values
        indptr, indices, values = _core.with_merged(*X, self.groups, self.factors, self.first)
        return replace(
            data, indptr=indptr, indices=indices, values=values, n_features=len(self.first)
        )

    def merged(self, start: Start) -> Start:
        """Return a start for the same problem with merged columns."""
        if start.weights is None:
            return start
        W = self._rotation().T @ start.weights.astype(np.float64)
        return replace(start, weights=np.asarray(W, start.weights.dtype))

    def unmerged(self, W: Weights) -> Weights:
        """Return W for all columns, shape (d + 1, k), rounded once."""
        if isinstance(W, np.ndarray):
            return self._unmerged(W)
        wide = sp.csr_array(self._rotation() @ sp.csr_array(W, dtype=np.float64))
        return sp.csr_array(wide.astype(W.dtype))

    def unmerged_start(self, start: Start) -> Start:
        """Return a start for all columns."""
        W = start.weights
        return start if W is None else replace(start, weights=self._unmerged(W))

    def _unmerged(self, W: Array) -> Array:
        wide = np.empty((len(self.groups) + 1, W.shape[1]), W.dtype)
        np.multiply(W[self.groups], self.factors[:, None], out=wide[:-1], casting="same_kind")
        wide[-1] = W[-1]
        return wide

    def _rotation(self) -> CsrArray:
        """Return the matrix that maps a merged W to all columns, shape (d + 1, n_merged + 1)."""
        d, n = len(self.groups), len(self.first)
        values, columns = np.append(self.factors, 1.0), np.append(self.groups, n)
        shape = d + 1, n + 1
        return sp.csr_array((values, columns.astype(np.int32), np.arange(d + 2)), shape=shape)


def find_merged(problem: Problem) -> MergedColumns | None:
    """Find columns that can be merged; None if X is dense, or if merging would not save time.

    A sample of rows is checked first.
    """
    data = problem.dataset
    least = OF_FEATURE * data.n_features if problem.loss == "log_loss" else 0
    if data.is_dense or len(data.values) < max(SMALL, least):
        return None
    X = data.indptr, data.indices, data.values
    if not _core.merged_share(*X, data.n_features, SAMPLED_ROWS, PAYS) < PAYS:
        return None
    groups, factors, first = _core.merged_columns(*X, data.n_features)
    counts = np.bincount(data.indices, minlength=data.n_features)
    share = float(counts[first].sum() / len(data.values))
    return MergedColumns(groups, factors, first, share) if share < PAYS else None
