"""Read files in svmlight / LIBSVM format.

The file is cut into chunks of whole lines, the compiled core parses each of them by itself, on
several threads if asked to, and what comes out is appended, in order, to the arrays of the result.
"""

from __future__ import annotations

import math
import operator
import os
import re
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from manyclass import _core
from manyclass.text_pieces import DamagedError, Piece, pieces
from manyclass.threads import effective_n_jobs

__all__ = ["load_svmlight"]

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class _Chunk(NamedTuple):
    """What the core makes of a piece."""

    indices: npt.NDArray[Any]
    values: npt.NDArray[Any]
    row_ends: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int32]
    labels: list[bytes]
    label_lines: npt.NDArray[np.int64]
    n_lines: int
    max_index: int


class _Growing:
    """A one-dimensional array that is appended to; memory that isn't used yet isn't touched."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.size = 0
        self._array = np.empty(0, dtype)

    def append(self, part: npt.NDArray[Any], share: float, shift: int = 0) -> None:
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

    def finish(self) -> npt.NDArray[Any]:
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


class _Kind(IntEnum):
    """What a label is, and so what all labels are: the largest of their kinds."""

    INTEGER = 0
    NUMBER = 1
    TEXT = 2


class _Labels:
    """The distinct labels of a file, with the line where each stands first."""

    def __init__(self, fail: Callable[..., NoReturn]) -> None:
        self._codes: dict[bytes, int] = {}
        self._lines: list[int] = []
        self._kind = _Kind.INTEGER
        self._fail = fail

    def merge(self, chunk: _Chunk, n_lines: int) -> npt.NDArray[np.int32]:
        """Return the codes of a chunk's rows; `n_lines` lines come before the chunk."""
        known, n_known = self._codes, len(self._codes)
        codes = np.array([known.setdefault(label, len(known)) for label in chunk.labels], np.int32)
        for i in np.flatnonzero(codes >= n_known).tolist():
            label, line = chunk.labels[i], n_lines + int(chunk.label_lines[i])
            self._lines.append(line)
            if not label.isdigit() or len(label) > 300:  # else it's an integer, and finite
                self._kind = max(self._kind, self._kind_of(label, line))
        return codes[chunk.codes]

    def decode(self, codes: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
        """Return the labels behind the codes: int64, else float64, else text."""
        if self._kind is _Kind.TEXT:
            return np.array([label.decode() for label in self._codes])[codes]
        if self._kind is _Kind.NUMBER:
            return np.array([float(label) for label in self._codes])[codes]
        try:
            return np.array([int(label) for label in self._codes], np.int64)[codes]
        except OverflowError:
            for label, line in zip(self._codes, self._lines, strict=True):
                if not -(2**63) <= int(label) < 2**63:
                    problem = "the label does not fit in 64 bits"
                    self._fail(line, problem, label, "renumber the classes")
            raise

    def _kind_of(self, label: bytes, line: int) -> _Kind:
        try:
            text = label.decode()
        except UnicodeDecodeError:
            self._fail(line, "the label is not UTF-8", label, "convert the file to UTF-8")
        try:
            is_finite = math.isfinite(float(text))
        except ValueError:
            parts = text.split(",")
            if len(parts) > 1 and all(map(_NUMBER.fullmatch, parts)):
                advice = "multi-label files are not supported: give every row one label"
                self._fail(line, "several labels in one row", label, advice)
            return _Kind.TEXT
        if not is_finite:
            self._fail(line, "the label is not finite", label, "correct it or drop the row")
        if _INTEGER.fullmatch(text):
            return _Kind.INTEGER
        return _Kind.NUMBER if _NUMBER.fullmatch(text) else _Kind.TEXT


def load_svmlight(
    path: str | os.PathLike[str],
    n_features: int | None = None,
    dtype: npt.DTypeLike = np.float32,
    n_jobs: int | None = None,
    *,
    zero_based: bool = False,
    sort: bool = False,
    sum_duplicates: bool = False,
) -> tuple[csr_array[Any], npt.NDArray[Any]]:
    r"""Load a file in svmlight / LIBSVM format, plain or compressed.

    A line holds an example: ``LABEL INDEX:VALUE INDEX:VALUE ...``, in UTF-8. Behind a ``#`` comes
    a comment; blank lines and ``qid:N`` are skipped. Files that gzip, bzip2 or xz compressed are
    recognised by their content, whatever they are called.

    Parameters
    ----------
    path : str or os.PathLike
        The file. It must not be cut short while it is being read.
    n_features : int, default=None
        Number of columns of `X`; None: as many as the largest index asks for. Give the training
        data's number when loading test data.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the values of `X`.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 one per core.
    zero_based : bool, default=False
        Whether the file's indices count from 0 instead of 1.
    sort : bool, default=False
        Whether to sort a row whose indices are not ascending; else it is an error.
    sum_duplicates : bool, default=False
        Whether to add up the values that a row gives for the same index; else it is an error.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (n_samples, n_features)
        The examples, in the canonical format: indices strictly ascending in each row. Zeros that
        the file spells out are kept. Indices are int32 if the number of columns and the number
        of stored values allow it, else int64.
    y : ndarray of shape (n_samples,)
        The labels: int64 if all are written as integers, float64 if all are numbers, else text.

    Raises
    ------
    ValueError
        If the file is malformed; the message says where, as in ``FILE:LINE: what; what to do``.
        Also if an argument is out of range.
    OSError
        If the file can't be read: FileNotFoundError, IsADirectoryError, PermissionError.
    MemoryError
        If the data don't fit into the machine's memory; the message names the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from manyclass.svmlight import load_svmlight
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
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64 (found {dtype})")
    columns = 0 if n_features is None else operator.index(n_features)
    if n_features is not None and not 1 <= columns < 2**63:
        raise ValueError(f"n_features must be from 1 to 2**63 - 1 (found {n_features})")

    def parse(piece: Piece) -> _Chunk:
        return _Chunk(
            *_core.parse_svmlight(
                piece.text,
                float64=dtype == np.float64,
                n_features=columns,
                zero_based=bool(zero_based),
                sort=bool(sort),
                sum_duplicates=bool(sum_duplicates),
            )
        )

    reader = _Reader(os.fspath(path), dtype)
    try:
        with Path(path).open("rb") as file:
            reader.read(pieces(file), parse, effective_n_jobs(n_jobs))
        return reader.result(columns)
    except MemoryError:
        raise MemoryError(
            f"{os.fspath(path)}: the data do not fit into the memory; use float32 or fewer rows"
        ) from None


class _Reader:
    """Puts the chunks of a file together."""

    def __init__(self, name: str, dtype: np.dtype[Any]) -> None:
        self._fail: Callable[..., NoReturn] = partial(_fail, name)
        self._n_lines = 0
        self._max_index = -1
        self._indices = _Growing(np.int32)
        self._values = _Growing(dtype)
        self._row_ends = _Growing(np.int64)
        self._codes = _Growing(np.int32)
        self._labels = _Labels(self._fail)
        self._index_dtype: type[np.signedinteger[Any]] = np.int32

    def read(self, parts: Iterable[Piece], parse: Callable[[Piece], _Chunk], n_jobs: int) -> None:
        """Append all pieces, parsed."""
        try:
            with closing(_in_order(parse, parts, n_jobs)) as chunks:
                for chunk, share in chunks:
                    self._append(chunk, share)
        except DamagedError as error:
            self._fail(self._n_lines + 1, str(error), None, error.advice)
        except ValueError as error:
            if len(error.args) != 4:  # none of the core's
                raise
            line, problem, found, advice = error.args
            self._fail(self._n_lines + line, problem, found, advice)

    def result(self, n_features: int) -> tuple[csr_array[Any], npt.NDArray[Any]]:
        """Return X and y; `n_features` 0: as many as the largest index tells."""
        n_rows = self._codes.size
        if n_rows == 0:
            self._fail(max(self._n_lines, 1), "no examples", None, "is this the right file?")
        shape = (n_rows, n_features or self._max_index + 1)
        if shape[1] > np.iinfo(np.int32).max:
            self._widen()
        indptr = np.zeros(n_rows + 1, self._index_dtype)
        indptr[1:] = self._row_ends.finish()
        X = csr_array((self._values.finish(), self._indices.finish(), indptr), shape=shape)
        X.has_canonical_format = True
        return X, self._labels.decode(self._codes.finish())

    def _append(self, chunk: _Chunk, share: float) -> None:
        n_before = self._indices.size
        self._codes.append(self._labels.merge(chunk, self._n_lines), share)
        self._n_lines += chunk.n_lines
        self._max_index = max(self._max_index, chunk.max_index)
        is_wide = chunk.indices.dtype == np.int64
        if is_wide or n_before + len(chunk.indices) > np.iinfo(np.int32).max:
            self._widen()
        self._indices.append(chunk.indices, share)
        self._values.append(chunk.values, share)
        self._row_ends.append(chunk.row_ends, share, shift=n_before)

    def _widen(self) -> None:
        if self._index_dtype is np.int32:
            self._index_dtype = np.int64
            self._indices.widen(np.int64)


def _fail(name: str, line: int, problem: str, found: bytes | str | None, advice: str) -> NoReturn:
    shown = "" if found is None else f" (found {_abbreviated(found)})"
    raise ValueError(f"{name}:{line}: {problem}{shown}; {advice}") from None


def _abbreviated(found: bytes | str) -> str:
    text = found if isinstance(found, str) else found.decode(errors="backslashreplace")
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return f"'{text}'" if len(text) <= 40 else f"'{text[:37]}...'"


def _in_order(
    parse: Callable[[Piece], _Chunk], parts: Iterable[Piece], n_jobs: int
) -> Generator[tuple[_Chunk, float]]:
    """Parse the pieces and yield what becomes of them, in order; few are in memory at once."""
    if n_jobs == 1:
        for piece in parts:
            yield parse(piece), piece.share
        return
    under_way: deque[tuple[Future[_Chunk], float]] = deque()
    executor = ThreadPoolExecutor(n_jobs, thread_name_prefix="load_svmlight")
    try:
        damage = None
        try:
            for piece in parts:
                under_way.append((executor.submit(parse, piece), piece.share))
                if len(under_way) > 2 * n_jobs:
                    future, share = under_way.popleft()
                    yield future.result(), share
                    del future
        except DamagedError as error:  # after the lines before it, which may hold errors
            damage = error
        while under_way:
            future, share = under_way.popleft()
            yield future.result(), share
        if damage is not None:
            raise damage
    finally:
        executor.shutdown(cancel_futures=True)
