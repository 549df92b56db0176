"""Sparse coefficients, in the layout of prediction.

Conventions
-----------
A row per feature: the entries of feature j are ``[indptr[j], indptr[j + 1])`` of ``classes``
(int32, ascending) and ``values``. ``indptr`` is int64. There may be more than 10^8 entries, so they
are copied only where the documentation says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.utils.input_rows import check_sparse
from manyclass.utils.machine import available_memory, core_class
from manyclass.utils.types import Array, CsrArray, DType

# Entries that are processed at a time.
ENTRIES_AT_A_TIME = 1 << 18
# For a run of features: the number of kept entries of each, and their classes and values.
Part = tuple[Array, NDArray[np.bool_], NDArray[np.int32], Array]


class SparseCoefficients:
    """``coef_`` of a sparse model, of shape (n_classes, n_features), stored by feature.

    Parameters
    ----------
    indptr : ndarray of shape (n_features + 1,), int64
    classes : ndarray of shape (nnz,), int32
        Ascending for each feature.
    values : ndarray of shape (nnz,), float32 or float64
    n_classes : int

    The arrays are not copied. They may be read-only or memory-mapped, and must not be modified
    later.

    Raises
    ------
    ValueError
        If the arrays are not a valid CSR matrix.
    TypeError
        If the arrays have different dtypes.
    """

    def __init__(
        self,
        indptr: NDArray[np.int64],
        classes: NDArray[np.int32],
        values: Array,
        n_classes: int,
    ) -> None:
        arrays: tuple[Array, ...] = indptr, classes, values
        kinds = [str(array.dtype) for array in arrays]
        if any(array.ndim != 1 for array in arrays):
            raise TypeError("sparse weights that are not vectors")
        if kinds not in (["int64", "int32", "float32"], ["int64", "int32", "float64"]):
            raise TypeError(f"sparse weights of types {', '.join(kinds)}")
        self.core = core_class("SparseWeights", values.dtype)(indptr, classes, values, n_classes)
        self.indptr, self.classes, self.values = map(_read_only, arrays)
        self.shape = (n_classes, len(indptr) - 1)
        self._by_class: CsrArray | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle only the arrays, without cached copies."""
        return type(self), (self.indptr, self.classes, self.values, self.shape[0])

    @property
    def dtype(self) -> DType:
        """Type of the values."""
        return self.values.dtype

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.indptr.nbytes + self.classes.nbytes + self.values.nbytes

    def by_feature(self) -> CsrArray:
        """Return a SciPy array (n_features, n_classes) without copying."""
        # SciPy converts both kinds of indices to the wider dtype.
        narrow = np.int32 if self.nnz <= np.iinfo(np.int32).max else np.int64
        arrays = self.values, self.classes, self.indptr.astype(narrow)
        turned = sp.csr_array(arrays, shape=self.shape[::-1], copy=False)
        turned.has_canonical_format = True
        return turned

    def by_class(self) -> CsrArray:
        """Return a CSR array (n_classes, n_features): a read-only copy, which is cached."""
        if self._by_class is None:
            turned = self.by_feature().T.tocsr()
            for array in (turned.data, turned.indices, turned.indptr):
                array.flags.writeable = False
            self._by_class = turned
        return self._by_class

    def toarray(self) -> Array:
        """Return an ndarray (n_classes, n_features) in F order, for prediction.

        Raises
        ------
        MemoryError
            If it does not fit into memory.
        """
        k, d = self.shape
        needed, there = k * d * self.dtype.itemsize, available_memory()
        if needed > there:
            raise MemoryError(
                f"dense coefficients of {k} classes and {d} features need {needed / 1e9:.1f} GB, "
                f"there are {there / 1e9:.1f} GB; keep the model sparse"
            )
        return np.asarray(self.by_feature().toarray().T)

    def thresholded(self, threshold: float) -> SparseCoefficients:
        """Return a copy of the entries with a magnitude above the threshold."""

        def parts() -> Iterator[Part]:
            for begin, end in _runs_of(self.indptr):
                ends = self.indptr[begin : end + 1]
                entries = slice(ends[0], ends[-1])
                kept = _above(self.values[entries], threshold)
                counts = np.diff(np.concatenate([[0], np.cumsum(kept)])[ends - ends[0]])
                yield counts, kept, self.classes[entries], self.values[entries]

        return _collect(parts, self.shape, self.dtype)

    @classmethod
    def from_dense(cls, coef: Array, threshold: float = 0.0) -> SparseCoefficients:
        """Return the entries above a threshold of an ndarray (n_classes, n_features)."""
        step = max(1, ENTRIES_AT_A_TIME // coef.shape[0])
        classes = np.arange(coef.shape[0], dtype=np.int32)

        def parts() -> Iterator[Part]:
            for begin in range(0, coef.shape[1], step):
                weights = np.ascontiguousarray(coef[:, begin : begin + step].T)
                kept = _above(weights, threshold)
                yield kept.sum(axis=1), kept, np.broadcast_to(classes, kept.shape), weights

        return _collect(parts, coef.shape, _core_dtype(coef.dtype))

    @classmethod
    def from_rows(cls, weights: CsrArray, n_features: int) -> SparseCoefficients:
        """Return the first rows of a SciPy CSR array (features, n_classes), without a copy."""
        if not weights.has_canonical_format:
            weights = weights.copy()
            weights.sum_duplicates()
        indptr = weights.indptr[: n_features + 1].astype(np.int64)
        return cls(
            indptr,
            weights.indices[: indptr[-1]].astype(np.int32, copy=False),
            weights.data[: indptr[-1]].astype(_core_dtype(weights.dtype), copy=False),
            weights.shape[1],
        )

    @classmethod
    def from_matrix(cls, coef: Array | CsrArray) -> SparseCoefficients:
        """Return a copy of a SciPy sparse matrix (n_classes, n_features)."""
        if not (np.isrealobj(coef) and coef.ndim == 2):
            raise ValueError("coef_ must be a matrix of real numbers")
        check_sparse(coef)  # SciPy transposes it without a check
        return cls.from_rows(sp.csr_array(coef.T, copy=True), coef.shape[1])


def _collect(
    parts: Callable[[], Iterator[Part]], shape: tuple[int, ...], dtype: DType
) -> SparseCoefficients:
    """Join parts in two passes, to count and to fill, so that no entry is stored twice."""
    k, d = shape
    indptr = np.zeros(d + 1, np.int64)
    np.cumsum(np.concatenate([counts for counts, *_ in parts()]), out=indptr[1:])
    classes, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], dtype)
    begin = 0
    for counts, kept, some_classes, some_values in parts():
        end = begin + counts.sum()
        classes[begin:end], values[begin:end] = some_classes[kept], some_values[kept]
        begin = end
    return SparseCoefficients(indptr, classes, values, k)


def _runs_of(indptr: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Divide the features into runs of about ``ENTRIES_AT_A_TIME`` entries."""
    begin, d = 0, len(indptr) - 1
    while begin < d:
        end = int(np.searchsorted(indptr, indptr[begin] + ENTRIES_AT_A_TIME, side="right")) - 1
        end = min(d, max(begin + 1, end))
        yield begin, end
        begin = end


def _above(values: Array, threshold: float) -> NDArray[np.bool_]:
    return np.asarray(~(np.abs(values) <= threshold))  # NaN stays


def _core_dtype(dtype: DType) -> DType:
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def _read_only(array: Array) -> Array:
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view
