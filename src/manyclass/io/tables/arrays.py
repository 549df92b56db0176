"""Tables in NumPy files: an array with the labels in a column, or an archive of two arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.lib.npyio import NpzFile

from manyclass.io.tables.base import (
    DOUBLE,
    SINGLE,
    Table,
    checked_labels,
    listed,
    no_column,
    readable,
)
from manyclass.io.tables.coded_labels import CodedLabels
from manyclass.utils.types import Array, DType

BATCH_ROWS = 1 << 15


class ArrayTable:
    """A table of arrays, in memory or memory-mapped."""

    names: list[str] | None = None

    def __init__(self, where: str, X: Array, y: Array | None, dtype: DType | None) -> None:
        self._where, self._X, self._y = where, X, y
        self.taken = f"features are {X.shape[1]} columns"
        natural = SINGLE if X.dtype in (np.float16, np.float32) else DOUBLE
        self._dtype = dtype or natural

    def coded_labels(self) -> CodedLabels:
        """Return the object that collects the labels of the batches."""
        return CodedLabels(self._where, "the labels")

    def batches(self) -> Iterator[tuple[Array, Array | None]]:
        """Yield rows and labels."""
        for begin in range(0, len(self._X), BATCH_ROWS):
            rows = slice(begin, begin + BATCH_ROWS)
            with np.errstate(over="ignore"):
                X = np.ascontiguousarray(self._X[rows], self._dtype)
            bad = np.argwhere(~np.isfinite(X))
            if len(bad):
                row, column = bad[0].tolist()
                raise ValueError(
                    f"{self._where}: row {begin + row} has {X[row, column]} in column {column}; "
                    "training needs finite numbers"
                )
            yield X, None if self._y is None else self._y[rows]


def read_npy(
    name: str,
    label: str | None,
    features: Sequence[str] | None,
    dtype: DType | None,
    dropped: Sequence[str] = (),
) -> Table:
    """Return a memory-mapped array; columns are numbered from 0."""
    with readable(name):
        array = np.load(name, mmap_mode="r")
    _check_array(name, array)
    width = array.shape[1]
    at = None if label is None else _number(name, label, width)
    wanted = listed(features)
    given = None if wanted is None else [_number(name, one, width) for one in wanted]
    less = {at, *(_number(name, one, width) for one in dropped)}
    columns = given or [column for column in range(width) if column not in less]
    if not columns:
        raise ValueError(f"{name}: has no columns except the label and dropped columns")
    if at in columns:
        raise ValueError(f"{name}: column {at} is both the label and a feature")
    X = array if len(columns) == width else array[:, columns]
    y = None if at is None else checked_labels(array[:, at], name, f"column {at}")
    return ArrayTable(name, X, None if y is None else _whole(y), dtype)


def _number(name: str, text: str, width: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = width
    if not -width <= number < width:
        raise ValueError(
            f"{name}: has no column {text!r}; its columns have numbers, from 0 to {width - 1}"
        )
    return number % width


def _whole(y: Array) -> Array:
    """Convert whole numbers to integer labels, as an array has one dtype for all columns."""
    whole = y.dtype.kind == "f" and (y == np.rint(y)).all()
    return y.astype(np.int64) if whole else y


def read_npz(
    name: str,
    label: str | None,
    features: Sequence[str] | None,
    dtype: DType | None,
    dropped: Sequence[str] = (),
) -> Table:
    """Return the arrays of an archive."""
    if dropped:
        raise ValueError(f"{name}: holds arrays, which have no columns to drop")
    names = listed(features) or ["X"]
    if len(names) > 1:
        raise ValueError(f"{name}: X is one of its arrays; name one with features=")
    with readable(name), Path(name).open("rb") as file, np.load(file) as arrays:
        wanted = [names[0], *([] if label is None else [label])]
        for one in wanted:
            if one not in arrays.files:
                raise ValueError(f"{name}: {no_column(one, arrays.files, 'array')}")
        X = _array(name, arrays, names[0])
        y = None if label is None else _array(name, arrays, label)
    _check_array(name, X)
    if y is None:
        return ArrayTable(name, X, None, dtype)
    if y.shape != (len(X),):
        raise ValueError(f"{name}: {label!r} has the shape {y.shape}, and X {len(X)} rows")
    return ArrayTable(name, X, checked_labels(y, name, f"the array {label!r}"), dtype)


def _array(name: str, arrays: NpzFile, one: str) -> Array:
    """Return an array of an archive; arrays of Python objects are pickles, and are not read."""
    try:
        return np.asarray(arrays[one])
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise ValueError(
            f"{name}: {one!r} holds Python objects; save text as str (y.astype(str))"
        ) from None


def _check_array(name: str, array: Array) -> None:
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name}: holds {array.dtype} of shape {array.shape}; rows and columns of numbers are "
            "needed"
        )
