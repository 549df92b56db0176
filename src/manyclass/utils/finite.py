"""The place of the first number of X that is not finite, for messages of errors."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from manyclass.utils.input_rows import is_sparse
from manyclass.utils.types import Array, CsrArray, DType, Label

NUMBERS_AT_A_TIME = 1 << 22
# scikit-learn's messages; the second one names the type in which X is infinite.
NAN, INFINITY = "Input X contains NaN", "Input X contains infinity"
TYPE = re.compile(r"dtype\('(float\d+)'\)")
ADVICE = {
    NAN: "fill it in, such as by SimpleImputer in a pipeline, or drop the row",
    INFINITY: "correct it, or drop the row",
}


def located(error: Exception, X: object, names: Sequence[Label] | None) -> str | None:
    """Return scikit-learn's message about NaN or infinity with the first row and column.

    Parameters
    ----------
    error : Exception
    X : {array-like, sparse matrix, data frame} of shape (n, d)
    names : sequence of labels, or None
        The names of the columns.

    Returns
    -------
    str or None
        None for other errors.
    """
    message = str(error).partition("\n")[0].rstrip(".")
    kind = next((kind for kind in ADVICE if message.startswith(kind)), None)
    if kind is None:
        return None
    found = TYPE.search(message)
    place = place_of_first(X, np.dtype(found[1] if found else np.float64), names)
    return f"{message}{place}; {ADVICE[kind]}"


def place_of_first(X: object, dtype: DType, names: Sequence[Label] | None = None) -> str:
    """Return row and column of the first number that is not finite in a type, or "".

    Examples
    --------
    >>> import numpy as np
    >>> from manyclass.utils.finite import place_of_first
    >>> place_of_first([[1.0, 2.0], [3.0, np.nan]], np.dtype(np.float64), ["width", "length"])
    ": row 1, column 'length'"
    """
    try:
        found = _of_sparse(X, dtype) if is_sparse(X) else _of_dense(_as_array(X), dtype)
    except (TypeError, ValueError):  # X holds other objects
        found = None
    if found is None:
        return ""
    row, column = found
    name = column if names is None else repr(names[column])
    return f": row {row}, column {name}"


def _as_array(X: object) -> Array:
    """Return X as an array; in data frames of pandas, missing values are NaN."""
    if hasattr(X, "notna") and hasattr(X, "astype"):
        X = X.astype(object).where(X.notna(), np.nan)
    return np.asarray(X)


def _of_dense(X: Array, dtype: DType) -> tuple[int, int] | None:
    step = max(1, NUMBERS_AT_A_TIME // max(1, X.shape[1]))
    for begin in range(0, len(X), step):
        with np.errstate(over="ignore"):
            bad = np.argwhere(~np.isfinite(X[begin : begin + step].astype(dtype)))
        if len(bad):
            return begin + int(bad[0, 0]), int(bad[0, 1])
    return None


def _of_sparse(X: CsrArray, dtype: DType) -> tuple[int, int] | None:
    entries = X.tocoo()
    with np.errstate(over="ignore"):
        bad = ~np.isfinite(entries.data.astype(dtype))
    places = zip(entries.row[bad].tolist(), entries.col[bad].tolist(), strict=True)
    return min(places, default=None)
