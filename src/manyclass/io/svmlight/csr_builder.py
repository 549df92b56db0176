"""A CSR matrix that grows by the chunks of a file in svmlight format."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from manyclass.io.svmlight.parser import Chunk
from manyclass.utils.types import Array, CsrArray, DType


class Rows:
    """Rows of X and their codes, appended chunk by chunk."""

    def __init__(self, dtype: DType) -> None:
        self._max_index = -1
        self._indices = Growing(np.int32)
        self._values = Growing(dtype)
        self._row_ends = Growing(np.int64)
        self._codes = Growing(np.int32)
        self._index_dtype: type[np.int32] | type[np.int64] = np.int32

    def __len__(self) -> int:
        return self._codes.size

    @property
    def n_stored(self) -> int:
        """Number of stored values."""
        return self._indices.size

    def append(self, chunk: Chunk, codes: npt.NDArray[np.int32], share: float) -> None:
        """Append the rows of a chunk; with them, `share` of all that will come has come."""
        n_before = self._indices.size
        self._codes.append(codes, share)
        self._max_index = max(self._max_index, chunk.max_index)
        is_wide = chunk.indices.dtype == np.int64
        if is_wide or n_before + len(chunk.indices) > np.iinfo(np.int32).max:
            self._widen()
        self._indices.append(chunk.indices, share)
        self._values.append(chunk.values, share)
        self._row_ends.append(chunk.row_ends, share, shift=n_before)

    def finish(self, n_features: int) -> tuple[CsrArray, npt.NDArray[np.int32]]:
        """Give X and the codes away; `n_features` 0: as many as the largest index tells."""
        shape = (len(self), n_features or self._max_index + 1)
        if shape[1] > np.iinfo(np.int32).max:
            self._widen()
        indptr = np.zeros(shape[0] + 1, self._index_dtype)
        indptr[1:] = self._row_ends.finish()
        X = csr_array((self._values.finish(), self._indices.finish(), indptr), shape=shape)
        X.has_canonical_format = True
        return X, self._codes.finish()

    def _widen(self) -> None:
        if self._index_dtype is np.int32:
            self._index_dtype = np.int64
            self._indices.widen(np.int64)


class Growing:
    """A one-dimensional array that is appended to; memory that isn't used yet isn't touched."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.size = 0
        self._array = np.empty(0, dtype)

    def append(self, part: Array, share: float, shift: int = 0) -> None:
        """Append `part` + `shift`; with it, `share` of all that will come has come."""
        end = self.size + len(part)
        if end > len(self._array):
            self._reserve(end + end // 4, share)
        out = self._array[self.size : end]
        if shift:
            np.add(part, shift, out=out)
        else:
            out[:] = part
        self.size = end

    def widen(self, dtype: npt.DTypeLike) -> None:
        """Change the type of the elements."""
        old = self._array
        self._array = np.empty(len(old), dtype)
        self._array[: self.size] = old[: self.size]

    def finish(self) -> Array:
        """Give the array away."""
        array, self._array = self._array, self._array[:0].copy()
        array.resize(self.size, refcheck=False)
        return array

    def _reserve(self, capacity: int, share: float) -> None:
        if self.size > 0:
            self._array.resize(capacity, refcheck=False)
            return
        try:  # enough for all; costs nothing before it is used
            self._array = np.empty(int(capacity / share), self._array.dtype)
        except MemoryError:
            self._array = np.empty(capacity, self._array.dtype)
