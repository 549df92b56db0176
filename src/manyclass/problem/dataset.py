"""The training examples, validated once.

Conventions
-----------
X is CSR with one row per example x_i; ``indptr`` is int64, so that more than 2^31 non-zeros are
possible, and ``indices`` is int32. A row holds each feature at most once. For a dense X, ``values``
are all numbers, and ``indices`` are 0 to d - 1, shared by all rows: nothing is copied. An intercept
is an implicit constant feature with index ``n_features`` and value ``bias``: X is not copied.

X may be memory-mapped and larger than the memory. Passes then read it sequentially. Loops in random
order visit it by regions: neighboring rows that fit into memory together, and that are first read
in order.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from mmap import mmap
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.utils.input_rows import check_sparse, is_sparse
from manyclass.utils.machine import available_memory
from manyclass.utils.types import Array, CsrArray, DType, IntArray, Rows

MAX_INDEX = np.iinfo(np.int32).max
# Rows share few features if X has less than this share of non-zeros (measured: methods that rely on
# steps changing few scores save time on news20 and sector, not on letter and dna).
SPARSE = 0.05
# An array stays dense if at least this share of it is non-zero: CSR would then need as much memory
# or more (float32: 4 bytes of index for each number).
DENSE = 0.5
SAMPLE = 1 << 20  # numbers that are checked
# Share of the free memory for X, or for the dual variables and W.
SHARE_OF_MEMORY = 0.9
# ... and for a region of X: the system also caches parts of the file, and reads ahead.
SHARE_OF_REGION = 0.125


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Examples, classes and weights, in the layout of the compiled core.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
    indices : ndarray of shape (nnz,) or, of a dense X, (n_features,), int32
    values : ndarray of shape (nnz,), float32 or float64
    labels : ndarray of shape (n,), int32
        y_i, from 0 to n_classes - 1.
    weights : ndarray of shape (n,), float64
        sample_weight_i * class_weight_{y_i}, positive.
    n_features : int
        d, without the appended feature.
    n_classes : int
        k.
    bias : float
        Value of the appended constant feature, as given; 0 = no intercept. The core rounds it to
        the dtype of X.
    sets : ndarray of shape (n,), uint64, or None
        Classes of every example as bits, for one-vs-rest with any number of classes per example;
        all labels are then ELSEWHERE.
    n_examples : int
        Number of rows, n.
    dtype : dtype
        Type of X and W.
    is_dense : bool
        Whether X is a dense array, with the same indices for all rows.
    rounded_bias : float
        ``bias`` rounded to the dtype of X, as in the core.
    bias_error : float
        Relative difference of ``bias`` from its rounded value.
    is_sparse : bool
        Whether examples share few features.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: Array
    labels: NDArray[np.int32]
    weights: NDArray[np.float64]
    n_features: int
    n_classes: int
    bias: float
    sets: NDArray[np.uint64] | None = None
    lies_on_device: ClassVar[bool] = False  # whether X is on a device (DeviceDataset)
    n_examples: int = field(init=False)
    dtype: DType = field(init=False)
    is_dense: bool = field(init=False)
    rounded_bias: float = field(init=False)
    bias_error: float = field(init=False)
    is_sparse: bool = field(init=False)

    def __post_init__(self) -> None:
        rounded = float(self.values.dtype.type(self.bias))
        derived = {
            "n_examples": len(self.labels),
            "dtype": self.values.dtype,
            "is_dense": len(self.indices) != len(self.values),
            "rounded_bias": rounded,
            "bias_error": abs(self.bias / rounded - 1) if self.bias else 0.0,
            "is_sparse": len(self.values) < SPARSE * len(self.labels) * self.n_features,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_matrix(
        cls,
        X: Rows,
        labels: IntArray,
        *,
        n_classes: int,
        weights: NDArray[np.float64] | None = None,
        bias: float = 0.0,
        keeps_dense: bool = True,
    ) -> Dataset:
        """Validate a matrix and its classes.

        Parameters
        ----------
        X : array or SciPy sparse matrix or array of shape (n, d), float32 or float64
            Not copied if it is CSR without duplicate entries, or an array in C order with mostly
            non-zeros; otherwise converted to CSR.
        labels : ndarray of shape (n,), integers
        n_classes : int
        weights : ndarray of shape (n,), default=None
            None: 1 for all rows.
        bias : float, default=0.0
            Value of the appended feature.
        keeps_dense : bool, default=True
            Whether an array may stay dense. If X is given in blocks, with different shares of
            zeros, all blocks are converted to CSR.

        Returns
        -------
        Dataset

        Raises
        ------
        ValueError
            If shapes disagree, an index of X or a label is out of range, or a weight is not
            positive.
        """
        indptr, indices, values = _arrays_of(X, keeps_dense=keeps_dense)
        n, d = X.shape
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
            indptr=indptr,
            indices=indices,
            values=values,
            labels=np.ascontiguousarray(labels, dtype=np.int32),
            weights=np.ascontiguousarray(weights, dtype=np.float64),
            n_features=int(d),
            n_classes=int(n_classes),
            bias=float(bias),
        )

    def with_blank_rows(self, labels: NDArray[np.int32], weights: NDArray[np.float64]) -> Dataset:
        """Return these examples followed by examples with all features 0.

        Parameters
        ----------
        labels : ndarray of shape (m,), int32
        weights : ndarray of shape (m,), float64
        """
        n, m = self.n_examples, len(labels)
        values, indptr = self.values, np.append(self.indptr, np.repeat(self.indptr[-1], m))
        if self.is_dense:
            values = np.append(values, np.zeros(m * self.n_features, values.dtype))
            indptr = np.arange(n + m + 1, dtype=np.int64) * self.n_features
        return replace(
            self,
            indptr=indptr,
            values=values,
            labels=np.append(self.labels, labels),
            weights=np.append(self.weights, weights),
        )

    def has_features(self) -> NDArray[np.bool_]:
        """Whether rows have non-zeros, without the appended feature; shape (n,)."""
        if not self.is_dense:
            return np.asarray(np.diff(self.indptr) > 0)
        X = self.values.reshape(self.n_examples, self.n_features)
        step = max(1, SAMPLE // self.n_features)
        parts = [X[begin : begin + step].any(axis=1) for begin in range(0, len(X), step)]
        return np.concatenate(parts)

    def used_features(self) -> NDArray[np.bool_]:
        """Whether features occur in rows, shape (d + 1,), the appended one last; all if dense."""
        used = np.full(self.n_features + 1, self.is_dense and self.n_examples > 0)
        if not self.is_dense:
            for begin in range(0, len(self.indices), SAMPLE):
                used[self.indices[begin : begin + SAMPLE]] = True
        used[-1] = self.bias != 0 and self.n_examples > 0
        return used

    def matrix(self) -> Rows:
        """X without copying and without the appended feature: CSR, or an array if it is dense."""
        shape = (self.n_examples, self.n_features)
        if self.is_dense:
            return self.values.reshape(shape)
        return csr_on(self.values, self.indices, self.indptr, shape)

    def rows(self, some: slice | NDArray[np.intp]) -> Rows:
        """Return some rows of X without reading the others."""
        if self.is_dense:
            return self.values.reshape(self.n_examples, self.n_features)[some]
        begins, ends = self.indptr[:-1][some], self.indptr[1:][some]
        shape = len(begins), self.n_features
        indptr = np.concatenate([[0], np.cumsum(ends - begins)])
        if isinstance(some, slice):
            part = slice(begins[0], ends[-1]) if len(begins) else slice(0)
            return csr_on(self.values[part], self.indices[part], indptr, shape)
        places = np.repeat(begins - indptr[:-1], ends - begins) + np.arange(indptr[-1])
        return csr_on(self.values[places], self.indices[places], indptr, shape)


def csr_on(
    values: Array, indices: NDArray[np.int32], indptr: NDArray[np.int64], shape: tuple[int, int]
) -> CsrArray:
    """Return a matrix on these arrays; SciPy's constructor would copy indices to indptr's dtype."""
    if len(values) <= MAX_INDEX:
        indptr = indptr.astype(indices.dtype)
    return sp.csr_array((values, indices, indptr), shape=shape, copy=False)


def _arrays_of(X: Rows, *, keeps_dense: bool) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]:
    """``indptr``, ``indices`` and ``values`` of X."""
    n, d = X.shape
    if keeps_dense and isinstance(X, np.ndarray) and _is_dense(X):
        values = np.ascontiguousarray(X).view(np.ndarray).reshape(-1)
    else:
        matrix = _canonical_csr(X)
        values = np.ascontiguousarray(matrix.data)
        # Kept as an array where every row holds every feature.
        if not (keeps_dense and n > 1 and matrix.nnz == n * d > 0):
            indptr = np.ascontiguousarray(matrix.indptr, dtype=np.int64)
            return indptr, np.ascontiguousarray(matrix.indices, dtype=np.int32), values
    return np.arange(n + 1, dtype=np.int64) * d, np.arange(d, dtype=np.int32), values


def _is_dense(X: Array) -> bool:
    """Whether most numbers are non-zero, in a sample of rows."""
    n, d = X.shape
    if n < 2 or d == 0:  # a single row is the same as CSR
        return False
    some = X[:: max(1, n * d // SAMPLE)]
    return bool(np.count_nonzero(some) >= DENSE * some.size)


def _canonical_csr(X: Rows) -> CsrArray:
    check_sparse(X)
    matrix = X if is_sparse(X) and X.format == "csr" else sp.csr_array(X)
    check_sparse(matrix)  # lists of lists may be converted to any format
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def exceeds_memory(data: Dataset) -> bool:
    """Whether X is memory-mapped and larger than the free memory."""
    return is_mapped(data.values) and _bytes_of(data) > SHARE_OF_MEMORY * available_memory()


def is_mapped(values: object) -> bool:
    """Whether an array is memory-mapped."""
    while isinstance(values, np.ndarray | memoryview):
        values = values.obj if isinstance(values, memoryview) else values.base
    return isinstance(values, mmap)


def rows_in_region(data: Dataset) -> int:
    """Return the number of rows in a region; 0 if all rows fit into memory, or are not mapped."""
    if not exceeds_memory(data):
        return 0
    row = _bytes_of(data) / data.n_examples
    return max(1, int(SHARE_OF_REGION * available_memory() / row))


def _bytes_of(data: Dataset) -> int:
    return int(data.values.nbytes + data.indices.nbytes)
