"""Validation of labels: each label is preserved exactly, or refused.

Labels are text; 64-bit integers; other numbers, as floats, if they are smaller than the size from
which floats skip integers; or booleans. ``labels_of`` checks typed labels: arrays, lists, columns
of pandas, polars and pyarrow. ``labels_of_text`` determines the type of the labels of a text file
(CSV, svmlight). Every reader of labels uses one of these functions.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from manyclass.utils.input_rows import (
    BOOLEAN,
    COLLECTION,
    FLOAT,
    GAP,
    INTEGER,
    OTHER,
    TEXT,
    TIME,
    kind_of_column,
    kinds_of,
    only_column,
    without_index,
)
from manyclass.utils.types import Array, IntArray, Label

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

INT64 = np.iinfo(np.int64)
EXACT = 2**53  # float64 skips integers from here on
MOST_DIGITS = 4000  # digits that int accepts
BOM, NUL = "\ufeff", "\0"
# Not "007", as codes with leading zeros are text.
WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]*)")
NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
BOOLEANS = ("False", "True"), ("false", "true"), ("FALSE", "TRUE")
# Among numbers and booleans, these words mean a missing label; otherwise they are text.
MISSING = frozenset(
    ["#N/A", "#NA", "-1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "None", "n/a", "null"]
)
EMPTY = "is empty; fill it in, or drop the row"
GAPS = "is missing; every row needs a class"
WIDE = "is {}, which does not fit in 64 bits; renumber the classes, or give text"
COARSE = "is {}, and floats of that size skip whole numbers; give integers or text"
ENDS_IN_NUL = "is {}, and NumPy drops NUL at the end of text; strip it"
JOINED = "is {}, which begins with a byte order mark, as joined files do; remove the mark"
EMPTY_OF_SET = (
    "has an empty label, as from splitting an empty cell; give such rows an empty set: "
    "[set(filter(None, cell.split(';'))) for cell in cells]"
)
ONE_KIND = "labels must be all numbers, all text or all booleans"
NOT_FINITE = "is {}, which is not finite; correct it, or drop the row"
NO_CLASS = "is {}, which is not a class; correct it, or drop the row"
TIMES = "{}, but classes must be text or numbers; give dates and times as text"
COMPLEX = "holds {}. Complex data not supported; give text or real numbers"
NEITHER = "{}, but classes must be text or numbers; convert it to one of them"
SHOWN = 40  # characters of a label in a message


class LabelError(ValueError):
    """A label that cannot be preserved.

    Parameters
    ----------
    position : int or None
        Position of the label; None: all labels are wrong.
    words : str
        Problem and advice.
    """

    def __init__(self, position: int | None, words: str) -> None:
        super().__init__(position, words)
        self.position, self.words = position, words

    def __str__(self) -> str:
        return self.within("y")

    def within(self, labels: str, first: int = 0) -> str:
        """Return the message with a name for the labels, and rows counted from ``first``."""
        row = "" if self.position is None else f"row {first + self.position} of "
        return f"{row}{labels} {self.words}"


def labels_of(y: object) -> object:
    """Return a vector of labels as an array; other objects unchanged.

    Parameters
    ----------
    y : array-like of shape (n,), or anything else

    Returns
    -------
    ndarray of shape (n,), or y
        Text, booleans, whole numbers in int64, or floats. Anything but a vector of labels, such
        as a matrix or a list of sets, is y itself.

    Raises
    ------
    LabelError
        If a label is missing or empty, would be confused with a different label, or is neither text
        nor a number, such as a date; or if some are text and others numbers.

    Examples
    --------
    >>> from manyclass.utils.labels import labels_of
    >>> labels_of([3, 1, 3])
    array([3, 1, 3])
    >>> try:
    ...     labels_of([2**63, 1])
    ... except ValueError as error:
    ...     print(error)
    row 0 of y is 9223372036854775808, which does not fit in 64 bits; renumber the classes, or \
give text
    """
    if isinstance(y, np.ma.MaskedArray):
        refuse(np.ma.getmaskarray(y).ravel(), y.data.ravel(), GAPS)
        y = y.data
    package = type(y).__module__.partition(".")[0]
    if package == "pyarrow":
        y = without_index(y)
    if package in COLUMNS and len(getattr(y, "shape", (0,))) == 1:
        return COLUMNS[package](y)
    if package in COLUMNS and getattr(y, "shape", ())[1:] == (1,) and hasattr(y, "columns"):
        return COLUMNS[package](only_column(y))[:, None]
    if isinstance(y, np.ndarray):
        return of_array(y) if y.ndim == 1 else y
    if not isinstance(y, list | tuple) or not y:
        return y
    cells = _cells(y)
    return y if COLLECTION in kinds_of(cells).values() else _as_text(of_array(cells))


def finite_labels_of(y: object) -> object:
    """Return labels like ``labels_of``, but refuse numbers that are not finite."""
    labels = labels_of(y)
    if isinstance(labels, np.ndarray) and labels.dtype.kind == "f":
        refuse(~np.isfinite(labels).ravel(), labels, NOT_FINITE)
    return labels


def classes_of_sets(rows: Sequence[Collection[Label]]) -> Array:
    """Return the distinct labels of all rows, ascending.

    Parameters
    ----------
    rows : sequence of collections
        The labels of each row.

    Raises
    ------
    ValueError
        As in ``labels_of``, with the row; or if a label is neither text nor a number.
    """
    kinds = kinds_of(itertools.chain.from_iterable(rows))
    found: dict[tuple[str, Label], Label] = {}  # True equals 1, but is of a different kind
    for label in itertools.chain.from_iterable(rows):
        found.setdefault((kinds[type(label)], label), label)
    distinct = list(found.values())
    try:
        labels = finite_labels_of(distinct)
    except LabelError as error:
        label = distinct[error.position or 0]
        row = next(i for i, own in enumerate(rows) if any(one is label for one in own))
        words = EMPTY_OF_SET if label == "" else f"has a label that {error.words}"
        raise ValueError(f"row {row} of y {words}") from None
    if distinct and not isinstance(labels, np.ndarray):
        raise ValueError(f"labels in sets must be numbers or text, not {distinct[0]!r}")
    return np.unique(np.asarray(labels)) if distinct else np.zeros(0, np.int64)


def classes_and_numbers(y: Array) -> tuple[Array, IntArray]:
    """Return the distinct labels of an array, ascending, and the class index of each row.

    Like ``numpy.unique``, but without sorting if labels are small integers.
    """
    is_integer = y.dtype.kind in "iu" and len(y) > 0
    first, last = (int(y.min()), int(y.max())) if is_integer else (0, 0)
    if not is_integer or last - first >= 4 * len(y):
        found, places = np.unique(y, return_inverse=True)
        return found, places
    unsigned = np.dtype(f"u{y.dtype.itemsize}")  # so that differences do not overflow
    lowest = np.asarray(first, y.dtype).astype(unsigned)
    shifted = (y.astype(unsigned) - lowest).astype(np.intp)
    there = np.zeros(last - first + 1, np.bool_)
    there[shifted] = True
    found = np.flatnonzero(there)
    numbers = np.zeros(len(there), np.intp)
    numbers[found] = np.arange(len(found))
    classes = (found.astype(unsigned) + lowest).astype(y.dtype)
    return classes, numbers[shifted]


def labels_of_text(words: Sequence[str]) -> Array:
    """Return the distinct labels of a text file in a dtype that fits all of them.

    Whole numbers become int64, other numbers float64, "True" and "False" booleans. If a label is
    none of these, or a number with leading zeros, all labels are text.

    Parameters
    ----------
    words : sequence of str

    Returns
    -------
    ndarray of shape (len(words),)
        int64, float64, bool or text.

    Raises
    ------
    LabelError
        If a label is empty, begins with a byte order mark, means a missing number, or is a number
        that neither int64 nor float64 distinguishes from its neighbors.

    Examples
    --------
    >>> from manyclass.utils.labels import labels_of_text
    >>> labels_of_text(["7", "12", "-1"])
    array([ 7, 12, -1])
    >>> labels_of_text(["7", "007"])
    array(['7', '007'], dtype='<U3')
    """
    if not words:
        return np.zeros(0, np.int64)
    refuse([word.startswith(BOM) for word in words], words, JOINED)
    lost = list(map(_is_missing, words))
    values = typed([word for word, is_lost in zip(words, lost, strict=True) if not is_lost])
    if values is None:
        return _as_text(of_array(_cells(words)))
    # The error names the first bad label.
    before = lost.index(True) if True in lost else len(values)
    refuse([not math.isfinite(value) for value in values[:before]], words, NOT_FINITE)
    labels = of_array(_cells(values[:before]))
    refuse(lost, words, NO_CLASS)
    return labels


def boolean_of(word: str) -> bool | None:
    """Return a label of a text file as a boolean, or None."""
    return next((word == true for false, true in BOOLEANS if word in (false, true)), None)


def typed(words: Sequence[str]) -> Sequence[float] | None:
    """Return words as booleans or numbers, if all of them are; else None."""
    if any(set(words) <= {*pair} for pair in BOOLEANS):
        return [word.lower() == "true" for word in words]
    numbers = [number for number in map(number_of, words) if number is not None]
    return numbers if len(numbers) == len(words) else None


def number_of(word: str) -> float | None:
    """Return a label of a text file as a number, or None."""
    stripped = word.strip()
    if len(stripped) > MOST_DIGITS:
        return None
    if WHOLE.fullmatch(stripped):
        return int(stripped)
    return float(stripped) if NUMBER.fullmatch(stripped) else None


def _is_missing(word: str) -> bool:
    """Whether a label of a text file means a missing number: NA, NaN, infinity."""
    try:
        return word in MISSING or (not math.isfinite(float(word)) and number_of(word) is None)
    except ValueError:
        return False


def of_array(y: Array) -> Array:
    """Return a one-dimensional array of labels in native byte order."""
    kind = y.dtype.kind
    if kind == "c":
        raise LabelError(None, COMPLEX.format(y.dtype))
    if kind not in "biufUO":
        raise LabelError(None, _typed_words(y.dtype))
    if kind == "O":
        return _of_objects(y)
    y = y.astype(y.dtype.newbyteorder("="), copy=False)
    if kind == "u" and y.dtype.itemsize == INT64.bits // 8:
        refuse(y > INT64.max, y, WIDE)
        return y.astype(np.int64)
    if kind == "f":
        refuse(np.isfinite(y) & (np.abs(y) >= 2.0 ** (np.finfo(y.dtype).nmant + 1)), y, COARSE)
    if kind == "U":
        refuse(np.char.str_len(y) == 0, y, EMPTY)
    return y


def _typed_words(kind: object) -> str:
    """Return the message for a wrong type of labels."""
    is_time = kind_of_column(str(kind)) == "dates or times"
    return "holds " + (TIMES if is_time else NEITHER).format(kind)


def _of_objects(y: Array) -> Array:
    """Return Python objects as an array of their type; text and collections unchanged."""
    kinds = kinds_of(y)
    found = set(kinds.values())
    if not found or COLLECTION in found:
        return y
    if FLOAT in found:
        refuse([label != label for label in y], y, GAPS)
    if found not in ({TEXT}, {BOOLEAN}, {INTEGER}, {FLOAT}, {INTEGER, FLOAT}):
        _refuse_kinds(y, [kinds[type(label)] for label in y])
    if TEXT in found:
        refuse([not label for label in y], y, EMPTY)
        refuse([label.endswith(NUL) for label in y], y, ENDS_IN_NUL)
        return y
    if BOOLEAN in found:
        return y.astype(bool)
    if FLOAT not in found:
        refuse([not INT64.min <= int(label) <= INT64.max for label in y], y, WIDE)
        return y.astype(np.int64)
    refuse([isinstance(label, Integral) and abs(int(label)) >= EXACT for label in y], y, COARSE)
    return of_array(y.astype(np.float64))


def _refuse_kinds(y: Array, kinds: list[str]) -> NoReturn:
    """Refuse objects if some are not labels, or if labels are of several kinds."""
    for kind, words in ((GAP, GAPS), (TIME, f"is {TIMES}"), (OTHER, f"is {NEITHER}")):
        refuse([one == kind for one in kinds], y, words)
    other = next(i for i, kind in enumerate(kinds) if kind != kinds[0])
    raise LabelError(other, f"is {kinds[other]}, and previous labels are not; {ONE_KIND}")


def _of_pandas(y: pd.Series) -> Array:
    """Return a pandas column, index or array as an array."""
    values = getattr(y, "array", y)
    refuse(np.asarray(values.isna()), values, GAPS)
    if hasattr(values, "categories"):
        return _of_pandas(values.categories.take(values.codes))
    if hasattr(values.dtype, "pyarrow_dtype"):
        return of_arrow(values.__arrow_array__())
    numbers = getattr(values.dtype, "numpy_dtype", None)  # arrays of nullable numbers
    return of_array(np.asarray(values) if numbers is None else values.to_numpy(dtype=numbers))


def _of_polars(y: pl.Series) -> Array:
    """Return a polars column as an array."""
    if y.null_count():
        refuse(y.is_null().to_numpy(), y, GAPS)
    plain = re.fullmatch(r"Boolean|U?Int(8|16|32|64)|Float\d+", str(y.dtype))
    return of_array(y.to_numpy() if plain else _cells(y.to_list()))


def of_arrow(y: pa.Array) -> Array:
    """Return a pyarrow column as an array, with text as NumPy str."""
    column = y.combine_chunks() if hasattr(y, "combine_chunks") else y
    if column.null_count:
        refuse(column.is_null().to_numpy(zero_copy_only=False), column, GAPS)
    if hasattr(column, "dictionary"):
        entries = _cells(column.dictionary.to_pylist())
        return _as_text(of_array(entries[column.indices.to_numpy(zero_copy_only=False)]))
    if re.fullmatch("bool|u?int[0-9]+|halffloat|float|double", str(column.type)):
        return of_array(column.to_numpy(zero_copy_only=False))
    if not re.fullmatch("(large_)?string(_view)?", str(column.type)):
        raise LabelError(None, _typed_words(column.type))
    return _as_text(of_array(_cells(column.to_pylist())))


def refuse(
    wrong: Sequence[bool] | Array, labels: Sequence[object] | Array | pl.Series, words: str
) -> None:
    """Raise an error for the first wrong label, which replaces ``{}`` in the words."""
    places = np.flatnonzero(wrong)
    if len(places):
        label = labels[int(places[0])]
        shown = repr(str(label)) if isinstance(label, str) else str(label)
        shown = shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 3]}..."
        raise LabelError(int(places[0]), words.format(shown))


def _cells(values: Sequence[object]) -> Array:
    """Return values as an array of objects."""
    return np.fromiter(values, object, len(values))


def _as_text(y: Array) -> Array:
    """Return text in an array of NumPy str; other values unchanged."""
    is_text = y.dtype.kind == "O" and len(y) and isinstance(y[0], str)
    return y.astype(np.str_) if is_text else y


# Functions by the package of a column.
COLUMNS: Mapping[str, Callable[..., Array]] = {
    "pandas": _of_pandas,
    "polars": _of_polars,
    "pyarrow": of_arrow,
}
