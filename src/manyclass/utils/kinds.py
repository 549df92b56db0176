"""Kinds of values: text, numbers, dates; and the refusal of rows whose columns are no numbers."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date, time, timedelta
from numbers import Integral

import numpy as np

from manyclass.utils.types import Label

NUMBERS = "biufc"  # kinds of types of NumPy
TEXT, BOOLEAN, INTEGER, FLOAT = "text", "a boolean", "a whole number", "a number"
COLLECTION, GAP, TIME, OTHER = "a collection", "missing", "a date or time", "something else"
# In this order: a boolean of Python is a whole number, too.
KINDS: Mapping[str, tuple[type, ...]] = {
    TEXT: (str,),
    BOOLEAN: (bool, np.bool_),
    TIME: (date, time, timedelta, np.datetime64, np.timedelta64),
    INTEGER: (Integral,),
    FLOAT: (float, np.floating),
    OTHER: (bytes, bytearray),
    COLLECTION: (Collection,),
}
# Types of columns, as pandas, polars, pyarrow and NumPy write them in small letters.
COLUMNS = {
    "dates or times": re.compile(r"date|time|duration|period|interval|month|[<>]?m8"),
    "text": re.compile(r"(large_)?str|utf8|(large_)?binary|bytes|[|<>][su]"),
    "categories": re.compile(r"categor|enum|dictionary"),
}
ADVICE = {
    "dates or times": "{}; give numbers, such as the days since one of them",
    "text": "{}, and rows are numbers; put TfidfVectorizer before the estimator in a pipeline, or "
    "OneHotEncoder for categories",
    "categories": "{}, and rows are numbers; put OneHotEncoder before the estimator in a pipeline",
}


def kinds_of(values: Iterable[object]) -> dict[type, str]:
    """Return what objects of each type are."""
    return {one: _kind_of(one) for one in set(map(type, values))}


def _kind_of(one: type) -> str:
    if one.__name__ in ("NoneType", "NAType", "NaTType"):
        return GAP
    return next((kind for kind, types in KINDS.items() if issubclass(one, types)), OTHER)


@functools.lru_cache
def kind_of_column(written: str) -> str | None:
    """Return what a type of columns holds, as it is written: a key of COLUMNS, None for others."""
    kind = written.lower()
    return next((name for name, pattern in COLUMNS.items() if pattern.match(kind)), None)


def check_numbers(X: object) -> None:
    """Refuse an array, or the columns of a data frame, that hold text, categories or dates.

    Parameters
    ----------
    X : object
        Others are left to scikit-learn.

    Raises
    ------
    ValueError
        Naming the column.
    """
    if isinstance(X, np.ndarray):
        if X.dtype.kind in NUMBERS:
            return
        cells: Iterable[object] = X.ravel() if X.dtype.kind in "OU" else ()
        text = next((f"text ({str(cell)!r})" for cell in cells if isinstance(cell, str)), "text")
        _check(X.dtype, cells, "", text)
        return
    for name, kind, cells in _columns(X):
        _check(kind, cells, f" in the column {name!r}")


def _columns(X: object) -> Iterator[tuple[Label, object, Iterable[object]]]:
    """Yield name and type of each column of a data frame, and the objects of Python in it."""
    if hasattr(X, "column_names") and hasattr(X, "schema"):  # of pyarrow
        yield from zip(X.column_names, X.schema.types, itertools.repeat(()), strict=False)
    elif hasattr(X, "dtypes") and hasattr(X, "columns"):
        for place, (name, kind) in enumerate(zip(X.columns, X.dtypes, strict=True)):
            cells = X.iloc[:, place] if hasattr(X, "iloc") and str(kind) == "object" else ()
            yield name, kind, cells


def _check(kind: object, cells: Iterable[object], where: str, text: str = "text") -> None:
    """Refuse values of a type, those of Python's objects by what they are."""
    what = kind_of_column(str(kind))
    if str(kind) == "object":
        found = set(kinds_of(cells).values())
        what = "dates or times" if TIME in found else "text" if TEXT in found else None
    if what is not None:
        shown = (text if what == "text" else what) + where
        raise ValueError(f"X holds {ADVICE[what].format(shown)}")
