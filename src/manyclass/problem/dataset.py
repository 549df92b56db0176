"""The training examples, validated once.

Conventions
-----------
X is CSR, one row an example x_i; ``indptr`` is int64, so that more than 2^31 non-zeros are
possible, and ``indices`` int32. A row holds each feature at most once. An intercept is a constant
feature with index ``n_features`` and value ``bias``, appended in thought only: X is not copied.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.utils.sparse_check import check_sparse, is_sparse
from manyclass.utils.types import Array, CsrArray, DType, IntArray, Rows

MAX_INDEX = np.iinfo(np.int32).max
# Rows share few features while less than this part of X is not zero (measured: what pays because a
# step changes few scores does so on news20 and sector, not on letter and dna).
SPARSE = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Examples, classes and weights, ready for the compiled core.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
    indices : ndarray of shape (nnz,), int32
    values : ndarray of shape (nnz,), float32 or float64
    labels : ndarray of shape (n,), int32
        y_i, from 0 to n_classes - 1.
    weights : ndarray of shape (n,), float64
        sample_weight_i * class_weight_{y_i}, positive.
    n_features : int
        d, the appended feature not counted.
    n_classes : int
        k.
    bias : float
        Value of the appended constant feature; 0 = no intercept.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: Array
    labels: NDArray[np.int32]
    weights: NDArray[np.float64]
    n_features: int
    n_classes: int
    bias: float

    @property
    def n_examples(self) -> int:
        """Number of rows, n."""
        return len(self.labels)

    @property
    def is_sparse(self) -> bool:
        """Whether examples share few features."""
        return few_are_shared(len(self.values), self.n_examples, self.n_features)

    @property
    def dtype(self) -> DType:
        """Type of X and so of W."""
        return self.values.dtype

    @classmethod
    def from_matrix(
        cls,
        X: Rows,
        labels: IntArray,
        *,
        n_classes: int,
        weights: NDArray[np.float64] | None = None,
        bias: float = 0.0,
    ) -> Dataset:
        """Validate a matrix and its classes.

        Parameters
        ----------
        X : array or SciPy sparse matrix or array of shape (n, d), float32 or float64
            Taken as it is when it is CSR without duplicate entries; otherwise converted.
        labels : ndarray of shape (n,), integers
        n_classes : int
        weights : ndarray of shape (n,), default=None
            One for all when None.
        bias : float, default=0.0
            Rounded to the type of X, as a feature is.

        Returns
        -------
        Dataset

        Raises
        ------
        ValueError
            If shapes disagree, an index of X or a label is out of range, or a weight is not
            positive.
        """
        matrix = _canonical_csr(X)
        n, d = matrix.shape
        labels = np.asarray(labels)
        weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        if len(labels) != n or len(weights) != n:
            raise ValueError(f"X has {n} rows, y {len(labels)}, the weights {len(weights)}")
        if n >= MAX_INDEX or d >= MAX_INDEX:
            raise ValueError(f"X is {n} x {d}: rows and features must number less than 2^31")
        if n and (labels.min() < 0 or labels.max() >= n_classes):
            raise ValueError(f"labels must lie between 0 and {n_classes - 1}")
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            raise ValueError("weights must be positive and finite")
        return cls(
            indptr=np.ascontiguousarray(matrix.indptr, dtype=np.int64),
            indices=np.ascontiguousarray(matrix.indices, dtype=np.int32),
            values=np.ascontiguousarray(matrix.data),
            labels=np.ascontiguousarray(labels, dtype=np.int32),
            weights=np.ascontiguousarray(weights, dtype=np.float64),
            n_features=int(d),
            n_classes=int(n_classes),
            bias=float(matrix.data.dtype.type(bias)),
        )

    def matrix(self) -> CsrArray:
        """X as a SciPy array on the same memory, without the appended feature."""
        shape = (self.n_examples, self.n_features)
        return sp.csr_array((self.values, self.indices, self.indptr), shape=shape, copy=False)


def few_are_shared(n_nonzero: int, n_rows: int, n_features: int) -> bool:
    """Whether rows with so many non-zeros share few features."""
    return n_nonzero < SPARSE * n_rows * n_features


def _canonical_csr(X: Rows) -> CsrArray:
    check_sparse(X)
    matrix = X if is_sparse(X) and X.format == "csr" else sp.csr_array(X)
    check_sparse(matrix)  # lists of lists may have become anything
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix
