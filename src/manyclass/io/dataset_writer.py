"""Write converted data files from arrays, from batches of rows, and from blocks of text."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from manyclass.io.atomic import check_path_first, naming, replacement
from manyclass.io.dataset_file import FORMAT, pack
from manyclass.io.stored_rows import StoredLabelSets, numbered
from manyclass.io.svmlight_stream import SvmlightBlocks
from manyclass.io.tables.base import Table
from manyclass.io.tables.coded_labels import CodedLabels
from manyclass.io.tables.label_sets import CodedSets
from manyclass.io.tables.open_table import open_table, table_of
from manyclass.io.tensors import PART, TensorWriter
from manyclass.utils.bad_cells import place_of_first
from manyclass.utils.input_rows import rows_as_given
from manyclass.utils.labels import finite_labels_of
from manyclass.utils.progress import counted, reading
from manyclass.utils.types import Array, CsrArray, DType, Rows

Batch: TypeAlias = tuple[object, ArrayLike]  # given rows, and their labels


def save_data(
    path: str | os.PathLike[str],
    X: object,
    y: ArrayLike | None = None,
    *,
    label: str | None = None,
    features: Sequence[str] | None = None,
    verbose: int = 0,
) -> None:
    """Write rows and labels to a data file that ``load_data`` memory-maps.

    The file is written completely or not at all. Dense rows stay dense, sparse rows stay sparse.

    Parameters
    ----------
    path : str or path-like
        File to write; an existing file is replaced.
    X : array, SciPy sparse matrix or array or data frame of shape (n, d), or iterable of batches
        Rows in float32 or float64; float16 and bfloat16 become float32, other types float64.
        Without `y`: an iterable of batches ``(X, y)``, such as a generator. With `label`: a table,
        which is a data frame (pandas, polars, Arrow, DuckDB), an iterable of data frames, or the
        path of a Parquet, Arrow, CSV, ``.npy`` or ``.npz`` file. Batches and files need not fit
        into memory; they need the same disk space again for temporary files in the folder of
        `path`.
    y : array-like of shape (n,), default=None
        Labels: numbers or text, one per row; or a list of label sets, one per row, for
        ``load_data(multilabel=True)``.
    label : str, default=None
        Name of the column of the labels in a table; for an ``.npy`` file the number of the
        column, from 0; for an ``.npz`` file the name of an array.
    features : str or sequence of str, default=None
        Columns of a table that are used as X, in this order; None: all other columns. They hold
        numbers, or lists of numbers, such as embeddings. For an ``.npz`` file the name of one array
        (default "X").
    verbose : int, default=0
        1: print the columns that are used from a file, and show the number of rows read so far, if
        standard error is a terminal.

    Raises
    ------
    ValueError
        If there are no rows, a number is complex or not finite, X is not a valid sparse matrix,
        labels are neither numbers nor text, batches differ in columns, dtype or kind, or a table
        lacks a column or a value.
    ImportError
        If X is a table and pyarrow is not installed.
    OSError
        If a file cannot be read or written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from manyclass import load_data, save_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_data(pathlib.Path(folder, "data"), [[0.0, 1.0], [2.0, 0.0]], ["no", "yes"])
    ...     X, y = load_data(pathlib.Path(folder, "data"))
    >>> X
    array([[0., 1.],
           [2., 0.]])
    >>> y
    array(['no', 'yes'], dtype='<U3')
    """
    check_path_first(path, "save_data(path, X, y)")
    if y is None and isinstance(X, str | os.PathLike):
        name = os.fspath(X)
        if label is None:
            raise ValueError(f"{name}: has the labels in a column; name it with label=")
        table = open_table(X, label, features)
        if verbose:
            print(f"{name}: {table.taken}".encode(errors="backslashreplace").decode())
        save_table(path, table, name, verbose)
        return
    if y is None:
        with reading(verbose, "batches", "rows") as see:
            batches = counted(_batches(X, label, features), see, _rows_of)
            _save_batches(path, batches, CodedLabels("batches", "the labels"))
        return
    if label is not None or features is not None:
        raise ValueError("y is given, so X is not a table; leave out label= and features=")
    rows = checked_rows(X)
    targets = _labels_of_rows(rows, y)
    if not len(targets):
        raise ValueError("X has no rows")
    nnz = None if isinstance(rows, np.ndarray) else rows.nnz
    labels: Array | StoredLabelSets
    are_sets = [isinstance(row, set | frozenset) for row in targets.tolist()]
    if any(are_sets) and not all(are_sets):
        i = are_sets.index(False)
        raise ValueError(f"y holds label sets, but {targets[i]!r} in row {i}")
    if any(are_sets):
        labels, classes = numbered(targets.tolist())
        n_labels = len(labels.places)
        _write(path, [(rows, labels)], classes, rows.shape, nnz, rows.dtype, n_labels)
    else:
        classes, labels = np.unique(targets, return_inverse=True)
        _write(path, [(rows, labels)], classes, rows.shape, nnz, rows.dtype)


def save_table(path: str | os.PathLike[str], table: Table, name: str, verbose: int = 0) -> None:
    """Write a table with labels, read from `name`, as ``save_data`` does, in batches."""
    with reading(verbose, name, "rows") as see:
        batches = counted(table.batches(), see, _rows_of)
        _save_batches(path, batches, table.coded_labels())  # type: ignore[arg-type]  # with labels


def _rows_of(batch: tuple[object, object]) -> int:
    rows = batch[0]
    shape = getattr(rows, "shape", None) or (len(rows) if hasattr(rows, "__len__") else 0,)
    return int(shape[0])


def save_blocks(path: str | os.PathLike[str], blocks: SvmlightBlocks, verbose: int = 0) -> None:
    """Write a file in svmlight format, read in blocks, to a data file that is memory-mapped.

    Parameters
    ----------
    path : str or path-like
        File to write; an existing file is replaced.
    blocks : SvmlightBlocks
        Iterated once; about two blocks are in memory at a time.
    verbose : int, default=0
        See ``save_data``.

    Raises
    ------
    ValueError, MemoryError
        As raised by the blocks; or if there are more rows or columns than training supports.
    OSError
        If a file cannot be read or written.
    """
    shape, sets = (blocks.n_rows, blocks.n_features), blocks.sets
    with reading(verbose, blocks.name, "rows") as see, closing(iter(blocks)) as each:
        rows = counted(each, see, _rows_of, blocks.n_rows)
        known = rows if sets is None else ((X, sets.take(codes)) for X, codes in rows)
        n_labels = None if sets is None else int(blocks.class_counts.sum())
        _write(path, known, blocks.classes, shape, blocks.n_nonzero, blocks.dtype, n_labels)


def checked_rows(X: object) -> Rows:
    """Return rows as a file has them: an array in C order or canonical CSR, of finite floats."""
    given, types = rows_as_given(X)
    matrix: Rows = sp.csr_array(given, copy=True) if sp.issparse(given) else np.asarray(given)
    if matrix.dtype.kind == "c":
        raise ValueError("X holds complex numbers; give real ones, such as X.real and X.imag")
    if matrix.ndim != 2:
        raise ValueError(f"X has the shape {matrix.shape}: there must be rows and columns")
    dtype = matrix.dtype if matrix.dtype in (np.float32, np.float64) else np.dtype(types[0])
    if isinstance(matrix, np.ndarray):
        matrix = np.ascontiguousarray(matrix, dtype)
    else:
        matrix = matrix.astype(dtype)
        matrix.sum_duplicates()
    if not np.isfinite(getattr(matrix, "data" if sp.issparse(matrix) else "real")).all():
        names = getattr(X, "columns", None) if given is X else None
        place = place_of_first(matrix, matrix.dtype, names)
        raise ValueError(f"X holds NaN or infinity{place}; training needs finite numbers")
    return matrix


def _labels_of_rows(X: Rows, y: ArrayLike) -> Array:
    """Return the labels of rows, one for each; labels that are not sets are checked."""
    targets, n_rows = np.asarray(finite_labels_of(y)), X.shape[0]
    if targets.shape != (n_rows,):
        raise ValueError(
            f"X has {n_rows} rows, y the shape {targets.shape}: there must be a label for each row"
        )
    return targets


def _write(
    path: str | os.PathLike[str],
    blocks: Iterable[tuple[Rows, Array | StoredLabelSets]],
    classes: Array,
    shape: tuple[int, int],
    n_nonzero: int | None,
    dtype: DType,
    n_labels: int | None = None,
) -> None:
    shapes, about = pack(classes, shape, n_nonzero, dtype, n_labels)
    metadata = FORMAT.metadata(data=json.dumps(about))
    with replacement(os.fspath(path)) as new:
        file = TensorWriter(new, shapes, metadata)
        if "classes" in shapes:
            file.append("classes", classes)
        if n_nonzero is not None:
            file.append("indptr", np.zeros(1, np.int64))
        if n_labels is not None:
            file.append("label_indptr", np.zeros(1, np.int64))
        n_before = n_labels_before = 0
        for X, labels in blocks:
            if isinstance(X, np.ndarray):
                file.append("values", X)
            else:
                _append_sparse(file, X, n_before)
                n_before += X.nnz
            if isinstance(labels, StoredLabelSets):
                file.append("label_indptr", n_labels_before + labels.indptr[1:])
                file.append("labels", labels.places)
                n_labels_before += len(labels.places)
            else:
                file.append("labels", labels)
        file.finish()


def _append_sparse(file: TensorWriter, X: CsrArray, n_before: int) -> None:
    file.append("indptr", n_before + X.indptr[1:].astype(np.int64))
    file.append("indices", X.indices)
    file.append("values", X.data)


def _save_batches(
    path: str | os.PathLike[str], batches: Iterable[Batch], labels: CodedLabels | CodedSets
) -> None:
    """Write batches (X, y) of unknown size."""
    with _Spool(Path(path).parent) as spool:
        for number, batch in enumerate(batches):
            try:
                rows = checked_rows(batch[0])
                labels.add(_labels_of_rows(rows, batch[1]))
                spool.add(rows)
            except ValueError as error:
                raise ValueError(f"batch {number}: {error}") from error
        if not spool.n_rows:
            raise ValueError("the batches have no rows")
        nnz = None if spool.is_dense else spool.n_values
        shape = spool.n_rows, spool.n_features
        if isinstance(labels, CodedSets):
            sets, classes, codes = labels.finish()
            named = ((X, sets.take(own)) for X, own in spool.blocks(codes))
            n_labels = int(np.diff(sets.indptr)[codes].sum())
            _write(path, named, classes, shape, nnz, spool.dtype, n_labels)
            return
        classes, codes = labels.finish()
        _write(path, spool.blocks(codes), classes, shape, nnz, spool.dtype)


def _batches(X: object, label: str | None, features: Sequence[str] | None) -> Iterator[Batch]:
    """Yield pairs (X, y) of a data frame, or an iterable of batches."""
    if hasattr(X, "__arrow_c_stream__") and label is not None:
        yield from table_of(X, label, features).batches()  # type: ignore[misc]  # with labels
    elif hasattr(X, "shape") or not isinstance(X, Iterable):
        raise ValueError(
            "y is missing: give the labels, the column of X that holds them with label=, or an "
            "iterable of batches (X, y)"
        )
    else:
        yield from _tables(X, label, features) if label is not None else _pairs(X)


def _tables(
    batches: Iterable[object], label: str, features: Sequence[str] | None
) -> Iterator[Batch]:
    """Yield pairs (X, y) of tables that must have the columns of the first."""
    for number, batch in enumerate(batches):
        table = table_of(batch, label, features, f"batch {number}")
        features = table.features
        yield from table.batches()  # type: ignore[misc]  # with labels


def _pairs(batches: Iterable[object]) -> Iterator[Batch]:
    names: list[object] | None = None
    for number, batch in enumerate(batches):
        if not isinstance(batch, tuple) or len(batch) != 2:
            what = type(batch).__name__
            raise ValueError(f"batch {number}: must be a pair (X, y), not {what}")
        own = list(getattr(batch[0], "columns", ()))
        names = own if names is None else names
        if own != names:
            raise ValueError(f"batch {number}: has different columns than the previous batches")
        yield batch


class _Spool:
    """Rows of batches in temporary files of a folder, until their number is known."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._stack = folder, ExitStack()
        self._files: dict[str, IO[bytes]] = {}
        self._lengths: list[NDArray[np.int64]] = []  # number of stored values of each row
        self._first: tuple[tuple[str, object], ...] = ()  # properties that all batches must share
        self.n_rows = self.n_values = self.n_features = 0
        self.is_dense = True
        self.dtype: DType = np.dtype(np.float64)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, rows: Rows) -> None:
        """Append the rows of a batch; refuse another kind than the rows before."""
        dense = isinstance(rows, np.ndarray)
        kind = ("columns", rows.shape[1]), ("dtype", rows.dtype), ("dense", dense)
        if not self._first:
            self._first = kind
            self.is_dense, self.dtype, self.n_features = dense, rows.dtype, rows.shape[1]
            self._open()
        for (what, found), (_, before) in zip(kind, self._first, strict=True):
            if found != before:
                raise ValueError(f"X has {what} {found}, in the batches before {before}")
        values = rows.reshape(-1) if isinstance(rows, np.ndarray) else rows.data
        with naming(os.fspath(self._folder)):
            self._files["values"].write(values.tobytes())
            if not isinstance(rows, np.ndarray):
                self._lengths.append(np.diff(rows.indptr).astype(np.int64))
                self._files["indices"].write(rows.indices.astype(np.int32).tobytes())
        self.n_rows, self.n_values = self.n_rows + rows.shape[0], self.n_values + len(values)

    def _open(self) -> None:
        for name in ("values",) if self.is_dense else ("values", "indices"):
            with naming(os.fspath(self._folder)):
                file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (the stack closes it)
            self._files[name] = self._stack.enter_context(file)

    def blocks(self, codes: NDArray[np.int32]) -> Iterator[tuple[Rows, Array]]:
        """Yield the stored rows and their labels, in blocks of some megabytes."""
        for file in self._files.values():
            file.seek(0)
        ends = np.arange(self.n_rows + 1, dtype=np.int64) * self.n_features
        if not self.is_dense:
            ends = np.concatenate([np.zeros(1, np.int64), *self._lengths]).cumsum()
        begin = 0
        while begin < self.n_rows:
            goal = ends[begin] + PART // self.dtype.itemsize
            end = max(begin + 1, int(np.searchsorted(ends, goal, side="right")) - 1)
            yield self._block(ends[begin : end + 1]), codes[begin:end]
            begin = end

    def _block(self, ends: NDArray[np.int64]) -> Rows:
        n_rows, n_values = len(ends) - 1, int(ends[-1] - ends[0])
        values = np.fromfile(self._files["values"], self.dtype, n_values)
        if self.is_dense:
            return values.reshape(n_rows, self.n_features)
        indices = np.fromfile(self._files["indices"], np.int32, n_values)
        indptr = (ends - ends[0]).astype(np.int32)
        return sp.csr_array((values, indices, indptr), shape=(n_rows, self.n_features))
