"""Places of cells of X that are not finite numbers, or text among numbers, for messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from numbers import Number

import numpy as np
import scipy.sparse as sp

from manyclass.utils.types import Array, CsrArray, DType, Label

NUMBERS_AT_A_TIME = 1 << 22
SHOWN = 40  # characters of a cell in a message
# scikit-learn's messages; the second one names the type in which X is infinite.
NAN, INFINITY = "Input X contains NaN", "Input X contains infinity"
TYPE = re.compile(r"dtype\('(float\d+)'\)")
ADVICE = {
    NAN: "fill it in, such as by SimpleImputer in a pipeline, or drop the row",
    INFINITY: "correct it, or drop the row",
}
# Columns of these kinds are refused.
NOT_NUMBERS = {
    "dates or times": "{}; give numbers, such as the days since a fixed date",
    "text": "{}, but rows must be numbers; put TfidfVectorizer before the estimator in a pipeline, "
    "or OneHotEncoder for categories",
    "categories": "{}, but rows must be numbers; put OneHotEncoder before the estimator in a "
    "pipeline",
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
    >>> from manyclass.utils.bad_cells import place_of_first
    >>> place_of_first([[1.0, 2.0], [3.0, np.nan]], np.dtype(np.float64), ["width", "length"])
    ": row 1, column 'length'"
    """
    try:
        cells: Array | CsrArray = X if sp.issparse(X) else _as_array(X)
        find = _of_sparse if sp.issparse(X) else _of_dense
        found = find(cells, dtype)
    except (TypeError, ValueError):  # X holds other objects
        found = None
    if found is None:
        return ""
    row, column = found
    if names is not None and len(names) != cells.shape[1]:
        names = None  # they belong to the rows of an earlier fit
    name = column if names is None else repr(names[column])
    return f": row {row}, column {name}"


def text_among_numbers(cells: Iterable[object]) -> tuple[int, str] | None:
    """Return position and text of the first cell that is not a number, if most cells are numbers.

    Parameters
    ----------
    cells : iterable
        A column; text such as "1.5" is a number, and missing cells do not count.

    Returns
    -------
    (int, str) or None
        Long text is cut. (-1, text), with the first text, if all cells are numbers. None if there
        is no text, or most cells are not numbers.

    Examples
    --------
    >>> from manyclass.utils.bad_cells import text_among_numbers
    >>> text_among_numbers([1.5, "2.5", "n/a", None])
    (2, 'n/a')
    """
    n_numbers = 0
    written: list[tuple[int, str]] = []
    words: list[tuple[int, str]] = []
    for place, cell in enumerate(cells):
        if isinstance(cell, str):
            (written if _is_number(cell) else words).append((place, _beginning(cell)))
        n_numbers += isinstance(cell, Number) and cell == cell
    if words:
        return words[0] if n_numbers + len(written) > len(words) else None
    return (-1, written[0][1]) if written else None


def text_error(cells: Sequence[object], where: str, *, shows: bool) -> str:
    """Refuse a column of text, or text among numbers; return the error if all text is numbers.

    Parameters
    ----------
    cells : sequence
    where : str
        The column, such as " in the column 'length'", or "".
    shows : bool
        Whether the message shows the first text, not the column.
    """
    stray = text_among_numbers(cells)
    if stray is None:
        text = next((f" ({_beginning(cell)!r})" for cell in cells if isinstance(cell, str)), "")
        shown = f"text{text if shows else where}"
        raise ValueError(f"X holds {NOT_NUMBERS['text'].format(shown)}")
    row, text = stray
    if row < 0:
        return (
            f"X holds text{where}, all of it numbers ({text!r}); convert it, such as by "
            "X.astype(float)"
        )
    raise ValueError(
        f"X holds the text {text!r} among numbers, in row {row}{where.replace(' in', ' of', 1)}; "
        "correct it, or make it NaN (pandas.to_numeric with errors='coerce') and add SimpleImputer"
    )


def _beginning(text: str) -> str:
    """Return text that a message can show: a cell may be a document."""
    return str(text) if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
