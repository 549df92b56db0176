"""Read a file in svmlight / LIBSVM format.

The file is divided into pieces of whole lines. The compiled core parses the pieces in `n_jobs`
threads. The parsed rows are appended in order to the arrays of the result.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from manyclass.io.svmlight_parser import (
    Chunk,
    Labels,
    LineError,
    Parser,
    fail_without_examples,
    read_chunks,
)
from manyclass.io.svmlight_pieces import Piece, pieces, seen
from manyclass.utils.machine import effective_n_jobs
from manyclass.utils.progress import Seen, reading
from manyclass.utils.types import Array, CsrArray, DType

__all__ = ["load_svmlight"]

LIKE_CSV = (
    "no row has a feature, and every label has a comma, as in a CSV file; "
    "save_data(..., label=COLUMN) and commands with --label COLUMN read such tables"
)


def load_svmlight(
    path: str | os.PathLike[str],
    n_features: int | None = None,
    dtype: npt.DTypeLike = np.float32,
    n_jobs: int | None = None,
    *,
    zero_based: bool = False,
    sort: bool = False,
    sum_duplicates: bool = False,
    multilabel: bool = False,
    verbose: int = 0,
) -> tuple[CsrArray, Any]:
    r"""Load a file in svmlight / LIBSVM format, plain or compressed.

    A line holds an example: ``LABEL INDEX:VALUE INDEX:VALUE ...``, in UTF-8. Text after ``#`` is a
    comment; blank lines and ``qid:N`` are skipped. Files compressed by gzip, bzip2 or xz are
    recognized by their content, regardless of their names.

    Parameters
    ----------
    path : str or os.PathLike
        The file. It must not be truncated while it is read.
    n_features : int, default=None
        Number of columns of `X`; None: determined by the largest index. For test data, pass the
        number of features of the training data.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the values of `X`.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 one per core.
    zero_based : bool, default=False
        Whether the indices in the file start at 0 instead of 1.
    sort : bool, default=False
        Whether to sort rows with indices that are not ascending. If False, such rows raise an
        error.
    sum_duplicates : bool, default=False
        Whether to add up values of a row with the same index. If False, such rows raise an error.
    multilabel : bool, default=False
        Whether a line begins with a label set, ``3,7,12 1:0.5 ...``, which may be empty:
        ``1:0.5 ...``.
    verbose : int, default=0
        1: show the progress, if standard error is a terminal.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (n_samples, n_features)
        The examples, in canonical format: indices strictly ascending in each row. Explicit zeros
        are kept. Indices are int32 if the number of columns and the number of stored values
        allow it, else int64.
    y : ndarray of shape (n_samples,)
        The labels: int64 if all are written as integers, float64 if all are numbers, else text.
        With `multilabel`, a list of frozensets of int, float or str.

    Raises
    ------
    ValueError
        If the file is malformed (the message has the form ``FILE:LINE: problem; advice``), or an
        argument is out of range.
    OSError
        If the file cannot be read: FileNotFoundError, IsADirectoryError, PermissionError.
    MemoryError
        If the data do not fit into memory; the message names the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from manyclass import load_svmlight
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tiny.txt"
    ...     _ = path.write_text("cat 1:0.5 3:2  # furry\ndog 2:1\n")
    ...     X, y = load_svmlight(path)
    >>> X.toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]], dtype=float32)
    >>> y
    array(['cat', 'dog'], dtype='<U3')
    """
    parser = Parser(
        n_features,
        dtype,
        zero_based=zero_based,
        sort=sort,
        sum_duplicates=sum_duplicates,
        label_sets=multilabel,
    )
    name = os.fspath(path)
    with lack_of_memory(name), reading(verbose, name) as see:
        labels = Labels(name, are_sets=multilabel)
        X, codes = _load(labels, parser, effective_n_jobs(n_jobs), see)
        if multilabel:
            sets, classes = labels.decode_sets()
            names = sets.named(classes)
            return X, [names[code] for code in codes.tolist()]
        y = labels.decode()[codes]
        if not X.nnz and y.dtype.kind == "U" and (np.char.find(y, ",") >= 0).all():
            raise LineError(name, 1, LIKE_CSV)
        return X, y


@contextmanager
def lack_of_memory(name: str) -> Iterator[None]:
    """Add the name of the file to a MemoryError."""
    try:
        yield
    except MemoryError:
        raise MemoryError(
            f"{name}: the data do not fit into the memory; use float32 or fewer rows"
        ) from None


def _load(
    labels: Labels, parser: Parser, n_jobs: int, see: Seen
) -> tuple[CsrArray, npt.NDArray[np.int32]]:
    with Path(labels.name).open("rb") as file, labels.first_error():
        rows, n_lines = read_rows(labels, seen(pieces(file), see), parser, n_jobs)
    if not len(rows):
        fail_without_examples(labels.name, n_lines)
    return rows.finish(parser.n_features)


def read_rows(
    labels: Labels, parts: Iterable[Piece], parser: Parser, n_jobs: int
) -> tuple[CsrBuilder, int]:
    """Return the rows of the parts of a file, and how many lines there were.

    Labels that are read are added to `labels`; the rows have their codes, by the order of
    appearance.
    """
    rows, n_lines = CsrBuilder(parser.dtype), 0
    with closing(read_chunks(labels.name, parts, parser, n_jobs)) as chunks:
        for placed in chunks:
            chunk = placed.chunk
            codes = labels.merge(chunk.labels, placed.n_lines + chunk.label_lines)
            rows.append(chunk, codes[chunk.codes], placed.share)
            n_lines = placed.n_lines + chunk.n_lines
    return rows, n_lines


class CsrBuilder:
    """Builds a CSR matrix and the codes of its rows, chunk by chunk."""

    def __init__(self, dtype: DType) -> None:
        self._max_index = -1
        self._indices = GrowingArray(np.int32)
        self._values = GrowingArray(dtype)
        self._row_ends = GrowingArray(np.int64)
        self._codes = GrowingArray(np.int32)
        self._index_dtype: type[np.int32] | type[np.int64] = np.int32

    def __len__(self) -> int:
        return self._codes.size

    @property
    def n_stored(self) -> int:
        """Number of stored values."""
        return self._indices.size

    def append(self, chunk: Chunk, codes: npt.NDArray[np.int32], share: float) -> None:
        """Append the rows of a chunk; `share` is the fraction of all rows appended after it."""
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
        """Return X and the codes; `n_features` 0 means the largest index plus 1."""
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


class GrowingArray:
    """A one-dimensional array that grows; unused capacity takes no memory."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.size = 0
        self._array = np.empty(0, dtype)

    def append(self, part: Array, share: float, shift: int = 0) -> None:
        """Append `part` + `shift`; `share` is the fraction of all elements appended after it."""
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
        """Return the array, cut to its size; this object is then empty."""
        array, self._array = self._array, self._array[:0].copy()
        array.resize(self.size, refcheck=False)
        return array

    def _reserve(self, capacity: int, share: float) -> None:
        if self.size > 0:
            self._array.resize(capacity, refcheck=False)
            return
        try:  # for all elements; the system allocates memory on first use
            self._array = np.empty(int(capacity / share), self._array.dtype)
        except MemoryError:
            self._array = np.empty(capacity, self._array.dtype)
