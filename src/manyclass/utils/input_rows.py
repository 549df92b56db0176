"""Input rows: data frames, tensors, kinds of values, SciPy's sparse matrices.

Columns of text, categories or dates are refused, and so are sparse matrices with inconsistent
arrays, because compiled code trusts them.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Sized
from datetime import date, time, timedelta
from numbers import Integral
from typing import TYPE_CHECKING, Protocol, TypeGuard, runtime_checkable

import numpy as np
import scipy.sparse as sp

from manyclass.utils.bad_cells import NOT_NUMBERS, text_error
from manyclass.utils.types import Array, CsrArray, DType, Label

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

NUMBERS = "biufc"  # kinds of types of NumPy
TEXT, BOOLEAN, INTEGER, FLOAT = "text", "a boolean", "a whole number", "a number"
COLLECTION, GAP, TIME, OTHER = "a collection", "missing", "a date or time", "something else"
# In this order, as a Python bool is also an int.
KINDS: Mapping[str, tuple[type, ...]] = {
    TEXT: (str,),
    BOOLEAN: (bool, np.bool_),
    TIME: (date, time, timedelta, np.datetime64, np.timedelta64),
    INTEGER: (Integral,),
    FLOAT: (float, np.floating),
    OTHER: (bytes, bytearray),
    COLLECTION: (Collection,),
}
# Names of column types in pandas, polars, pyarrow and NumPy, in lower case.
COLUMNS = {
    "dates or times": re.compile(r"date|time|duration|period|interval|month|[<>]?m8"),
    "text": re.compile(r"(large_)?str|utf8|(large_)?binary|bytes|[|<>][su]"),
    "categories": re.compile(r"categor|enum|dictionary"),
}


def kinds_of(values: Iterable[object]) -> dict[type, str]:
    """Return the kind of the objects of each type."""
    return {one: _kind_of(one) for one in set(map(type, values))}


def _kind_of(one: type) -> str:
    if one.__name__ in ("NoneType", "NAType", "NaTType"):
        return GAP
    return next((kind for kind, types in KINDS.items() if issubclass(one, types)), OTHER)


@functools.lru_cache
def kind_of_column(written: str) -> str | None:
    """Return the kind of values of a column type, a key of COLUMNS, or None for other types."""
    kind = written.lower()
    return next((name for name, pattern in COLUMNS.items() if pattern.match(kind)), None)


def check_numbers(X: object) -> None:
    """Refuse arrays and columns of data frames that hold text, categories or dates.

    Parameters
    ----------
    X : object
        Other types are left to scikit-learn.

    Raises
    ------
    ValueError
        With the name of the column.
    """
    written = None
    for where, kind, cells in _columns(X):
        found = _check(kind, cells, where, shows=isinstance(X, np.ndarray))
        written = written or found
    if written is not None:
        raise ValueError(written)


def _columns(X: object) -> Iterator[tuple[str, object, Iterable[object]]]:
    """Yield place and type of each column, and its cells if they may be text."""
    if isinstance(X, np.ndarray):
        has_cells, has_columns = X.dtype.kind in "OU", X.ndim == 2
        for place, cells in enumerate(X.T if has_cells and has_columns else [X.ravel()]):
            where = f" in column {place}" if has_cells and has_columns else ""
            yield where, X.dtype, cells.tolist() if has_cells else ()
    elif hasattr(X, "column_names") and hasattr(X, "schema") and hasattr(X, "column"):  # of pyarrow
        for place, (name, kind) in enumerate(zip(X.column_names, X.schema.types, strict=False)):
            yield _named(name), kind, X.column(place).to_pylist() if _may_be_text(kind) else ()
    elif hasattr(X, "dtypes") and _is_frame(X):
        for place, (name, kind) in enumerate(zip(X.columns, X.dtypes, strict=True)):
            column: Iterable[object] = ()
            if _may_be_text(kind):
                column = X.iloc[:, place] if hasattr(X, "iloc") else X[name]
            yield _named(name), kind, column
    elif isinstance(X, Series):
        yield _named(X.name), X.dtype, X


def _named(name: Label) -> str:
    return "" if name is None else f" in the column {name!r}"


def _may_be_text(kind: object) -> bool:
    return str(kind) == "object" or kind_of_column(str(kind)) == "text"


def _check(kind: object, cells: Iterable[object], where: str, *, shows: bool) -> str | None:
    """Refuse values by their type; Python objects by their own types. See ``text_error``."""
    what = kind_of_column(str(kind))
    if str(kind) == "object":
        found = set(kinds_of(cells).values())
        what = "dates or times" if TIME in found else "text" if TEXT in found else None
    if what == "text":
        return text_error(list(cells), where, shows=shows)
    if what is not None:
        raise ValueError(f"X holds {NOT_NUMBERS[what].format(what + where)}")
    return None


COMPRESSED = ("csr", "csc", "bsr")
# Constructors of data frames, by library.
MAKERS = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
FLOATS: list[type] = [np.float64, np.float32]
SHORT = "float16", "bfloat16", "float32"  # dtypes that become float32


class Tensor(Protocol):
    """A tensor of a different package, which NumPy can convert."""

    def __dlpack__(self, *, stream: None = None) -> CapsuleType: ...


class Frame(Protocol):
    """A data frame of pandas or polars."""

    columns: Sequence[Label]
    dtypes: Sequence[object]

    def __getitem__(self, name: Label) -> Iterable[object]: ...


@runtime_checkable
class Series(Protocol):
    """A single column of a data frame."""

    name: Label
    dtype: object

    def __iter__(self) -> Iterator[object]: ...


class Column(Protocol):
    """A column of vectors in a data frame, or a list of arrays."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Array | None]: ...


def is_sparse(X: object) -> TypeGuard[CsrArray]:
    """Whether X is a SciPy sparse matrix or array."""
    return bool(sp.issparse(X))


def check_sparse(X: object, *, indices: bool = True) -> None:
    """Refuse sparse matrices that would make compiled code access memory outside the arrays.

    Parameters
    ----------
    X : object
        Checked if it is a SciPy sparse matrix or array.
    indices : bool, default=True
        Whether to check the indices of CSR, too; otherwise the caller checks them.

    Raises
    ------
    ValueError
        If the arrays of X are inconsistent.
    """
    if not is_sparse(X):
        return
    flaw = None
    if X.format in COMPRESSED:
        flaw = _flaw_of_indptr(X)
        if flaw is None and (indices or X.format != "csr"):
            flaw = _flaw_of_range(X.indices[: X.indptr[-1]], _sizes(X)[1])
    elif X.format == "coo":
        flaw = _flaw_of_coordinates(X)
    if flaw:
        raise ValueError(f"X is not a valid {X.format.upper()} matrix: {flaw}")


def _flaw_of_indptr(X: CsrArray) -> str | None:
    """Return the error in the row pointer (for BSR, of blocks) of a compressed matrix."""
    arrays = [np.asarray(part) for part in (X.indptr, X.indices, X.data)]
    indptr, indices, values = arrays
    if indptr.ndim != 1 or indices.ndim != 1 or values.ndim != (3 if X.format == "bsr" else 1):
        return "its arrays have the wrong number of dimensions"
    if indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
        return "its indices are not integers"
    if len(indptr) != _sizes(X)[0] + 1:
        return f"it has {_sizes(X)[0]} rows, but its indptr {len(indptr)} entries"
    n_entries = min(len(indices), len(values))
    if indptr[0] != 0 or indptr[-1] > n_entries or (indptr[1:] < indptr[:-1]).any():
        return "its indptr is inconsistent"
    return None


def _flaw_of_coordinates(X: CsrArray) -> str | None:
    coordinates = X.coords if hasattr(X, "coords") else (X.row, X.col)  # SciPy 1.12
    arrays = [np.asarray(part) for part in (*coordinates, X.data)]
    if any(part.ndim != 1 or len(part) != len(arrays[-1]) for part in arrays):
        return "its arrays have different lengths"
    if any(part.dtype.kind not in "iu" for part in arrays[:-1]):
        return "its indices are not integers"
    flaws = (_flaw_of_range(part, n) for part, n in zip(arrays[:-1], X.shape, strict=True))
    return next(filter(None, flaws), None)


def _flaw_of_range(indices: Array, n: int) -> str | None:
    if len(indices) and (indices.min() < 0 or indices.max() >= n):
        return f"an index is not from 0 to {n - 1}"
    return None


def _sizes(X: CsrArray) -> tuple[int, int]:
    """Return the numbers of rows for ``indptr`` and of columns for ``indices``."""
    n_rows, n_columns = X.shape
    if X.format == "bsr":
        height, width = X.blocksize
        return n_rows // height, n_columns // width
    return (n_columns, n_rows) if X.format == "csc" else (n_rows, n_columns)


def rows_as_given(X: object, *, indices: bool = True) -> tuple[object, list[type]]:
    """Return X in a form that scikit-learn can validate, and its dtypes, the natural one first.

    float32 in data frames (polars, pyarrow, pandas), lists of arrays and tensors stays float32;
    float16 and bfloat16 become float32. Objects that only have ``__dlpack__``, and a column of
    vectors, such as embeddings in a data frame, become an array. Sparse rows are checked, with
    `indices` as in ``check_sparse``.
    """
    if is_sparse(X):
        check_sparse(X, indices=indices)
        return X, FLOATS
    if type(X).__name__ == "LazyFrame":
        raise ValueError("X is a LazyFrame, which has no rows yet; give X.collect()")
    if isinstance(X, np.ma.MaskedArray):
        if np.ma.getmaskarray(X).any():
            raise ValueError("X has masked entries, which are missing; fill them: X.filled(...)")
        X = X.data
    if not isinstance(X, np.ndarray):
        X = without_index(X)
        if _is_tensor(X) and not _is_frame(X):
            _check_place(X)
            X = _array_of_tensor(X)
        column = only_column(X)
        stacked = _stacked(column) if _is_column(column) else column
        X = X if stacked is column else stacked
        X = _array_of_list(X) if isinstance(X, list | tuple) else X
    if not (isinstance(X, np.ndarray) and X.dtype.kind in NUMBERS):
        check_numbers(X)
    kind = X.dtype if isinstance(X, np.ndarray) else _natural_type(X)
    return X, FLOATS[::-1] if kind.name in SHORT else FLOATS


def _check_place(X: Tensor) -> None:
    """Refuse a tensor that the CPU cannot read."""
    device, package = str(getattr(X, "device", "cpu")), type(X).__module__.partition(".")[0]
    if package in ("torch", "cupy") and device not in ("cpu", "meta"):
        raise ValueError(
            f"X lies on the device {device}, where MulticlassSVC, MultilabelSVC and "
            "MultinomialLogisticRegression train; copy X to the CPU for this"
        )


def without_index(X: object) -> object:
    """Return a pyarrow table without the index of the data frame that it was created from."""
    about = getattr(getattr(X, "schema", None), "pandas_metadata", None) or {}
    index = [name for name in about.get("index_columns", ()) if isinstance(name, str)]
    known = set(index) & set(getattr(X, "column_names", ()))
    return X.drop_columns(sorted(known)) if known and hasattr(X, "drop_columns") else X


def frame_of_vectors(X: object, rows: object) -> Frame | None:
    """Return column names for an array that was converted from a column of vectors.

    They are ``name[0]``, ``name[1]``, ..., as in commands that read tables.

    Parameters
    ----------
    X : object
        A column, or a data frame with one column.
    rows : object
        The result of ``rows_as_given``.

    Returns
    -------
    data frame without rows, of the library of X, or None
        None if X is not a column of vectors, has no name, or belongs to a different library.
    """
    if not isinstance(rows, np.ndarray) or rows.ndim != 2:
        return None
    X = without_index(X)
    names = list(getattr(X, "column_names", getattr(X, "columns", [getattr(X, "name", None)])))
    if len(names) != 1 or not (isinstance(names[0], str) and names[0]):
        return None
    roots = [kind.__module__.partition(".")[0] for kind in type(X).__mro__]
    root = next((root for root in roots if root in MAKERS), None)
    if root is None:
        return None
    make = getattr(sys.modules[root], MAKERS[root])
    frame: Frame = make({f"{names[0]}[{i}]": [] for i in range(rows.shape[1])})
    return frame


def is_pandas(X: object) -> TypeGuard[Frame]:
    """Whether X is a pandas data frame."""
    return hasattr(X, "iloc")


def _is_tensor(X: object) -> TypeGuard[Tensor]:
    return hasattr(X, "__dlpack__")


def _is_frame(X: object) -> TypeGuard[Frame]:
    return hasattr(X, "columns")


def _is_column(X: object) -> TypeGuard[Column]:
    return len(X.shape) == 1 if hasattr(X, "shape") else hasattr(X, "to_pylist")


def _array_of_tensor(X: Tensor) -> Array:
    """Return a tensor as an array."""
    try:
        return np.asarray(X) if hasattr(X, "__array__") else np.from_dlpack(X)
    except (TypeError, BufferError, RuntimeError):  # bfloat16 of torch, gradients, other devices
        if not hasattr(X, "detach"):
            raise
        return np.asarray(X.detach().cpu().float())


def only_column(X: object) -> object:
    """Return the column of a data frame with one column, else X."""
    if getattr(X, "shape", ())[1:] != (1,) or not _is_frame(X):
        return X
    return X.column(0) if hasattr(X, "column") else X[X.columns[0]]


def _stacked(X: Column) -> Column | Array:
    """Return a column of vectors as an array, else X."""
    if not len(X):
        return X
    rows: list[Array | None] = list(X)
    if hasattr(X, "to_pylist"):
        rows = [getattr(row, "values", row) for row in rows]
    # Missing rows are None, NaN or NA.
    first = next((row for row in rows if isinstance(row, Sized)), None)
    if first is None or np.ndim(first) != 1:
        return X
    for i, row in enumerate(rows):
        if not isinstance(row, Sized) or len(row) != len(first):
            found = f"{len(row)} numbers" if isinstance(row, Sized) else str(row)
            raise ValueError(f"row {i} of the column of vectors holds {found}, not {len(first)}")
    return np.stack([np.asarray(row) for row in rows])


def _array_of_list(X: Sequence[object]) -> Sequence[object] | Array:
    """Return lists as an array; other lists unchanged, for scikit-learn's message."""
    try:
        return np.asarray(X)
    except (TypeError, ValueError):
        return X


def _natural_type(X: object) -> DType:
    """Return the dtype of X in NumPy; float64 if unknown."""
    try:
        if isinstance(X, (list, tuple)):
            types = {getattr(row, "dtype", None) for row in X}
        elif is_pandas(X):
            types = {
                getattr(kind, "numpy_dtype", getattr(kind, "subtype", kind)) for kind in X.dtypes
            }
        elif hasattr(X, "dtype"):
            types = {X.dtype}
        else:
            types = {np.asarray(X.slice(0, 1) if hasattr(X, "slice") else X).dtype}
        return np.result_type(*types)
    except (AttributeError, TypeError, ValueError):
        return np.dtype(np.float64)
