"""Label sets as an indicator matrix: Y_ic = 1 if example i has label c."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain, pairwise
from typing import TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from manyclass.utils.input_rows import check_sparse, is_sparse
from manyclass.utils.labels import classes_of_sets, labels_of
from manyclass.utils.types import Array, CsrArray, Label

SETS = (set, frozenset, tuple, list)
Sets: TypeAlias = Sequence[Collection[Label]]  # label set of each row
# As given by users: sets, or a matrix of 0 and 1, dense, sparse or a data frame.
LabelSets: TypeAlias = "Sets | ArrayLike | CsrArray"


def encoded(
    Y: LabelSets, classes: Array | None = None, *, holds_sets: bool = False
) -> tuple[CsrArray, Array]:
    """Turn labels into an indicator matrix.

    Parameters
    ----------
    Y : {array-like, sparse matrix, data frame} of shape (n_samples, n_labels), or sequence
        A matrix of 0 and 1; or for every row a set (list, tuple, array) of its labels, which may
        be empty; or a column of lists from a data frame. Lists of equal length with only 0 and 1
        are a matrix.
    classes : ndarray of shape (n_labels,), default=None
        The known labels. None: the column names of a data frame, the column numbers of a matrix,
        or all labels in the sets, ascending.
    holds_sets : bool, default=False
        Whether lists of equal length with only 0 and 1 are also sets.

    Returns
    -------
    indicator : CSR array of shape (n_samples, n_labels), int8
    classes : ndarray of shape (n_labels,)

    Raises
    ------
    ValueError
        If Y is neither, or holds a label that is not in `classes`.
    """
    if holds_sets_of_labels(Y, bits=holds_sets):
        return _encoded_sets(Y, classes)
    names = _names(list(Y.columns)) if hasattr(Y, "columns") else None
    if np.ma.is_masked(Y):
        raise ValueError("Y has masked entries; every cell needs 0 or 1")
    _refuse_missing(Y)
    matrix = _matrix(Y)
    known = classes if classes is not None else names
    if known is None:
        known = np.arange(matrix.shape[1])
    if matrix.shape[1] != len(known):
        raise ValueError(f"Y has {matrix.shape[1]} columns, and there are {len(known)} labels")
    return matrix, known


def _names(columns: list[Label]) -> Array:
    """Return the column names of a data frame, which are the labels."""
    twice = next((name for place, name in enumerate(columns) if name in columns[:place]), None)
    if twice is not None:
        raise ValueError(f"Y has the column {twice!r} twice; rename one")
    if "" in columns:
        raise ValueError("Y has a column without a name; name it, or leave it out")
    if len({isinstance(name, str) for name in columns}) > 1:
        raise ValueError("Y has columns named by numbers and by text; labels must be of one kind")
    return np.asarray(labels_of(columns))


def decoded(indicator: CsrArray, classes: Array) -> list[set[Label]]:
    """Return the label set of every row of an indicator matrix."""
    names = classes[indicator.indices].tolist()
    ends = indicator.indptr.tolist()
    return [set(names[begin:end]) for begin, end in pairwise(ends)]


def is_dense(Y: LabelSets) -> bool:
    """Whether Y is a dense matrix."""
    return not (is_sparse(Y) or holds_sets_of_labels(Y))


def holds_sets_of_labels(Y: LabelSets, *, bits: bool = False) -> TypeGuard[Sets]:
    """Whether Y is a sequence of label sets, not a matrix; ``bits`` as in ``encoded``."""
    if is_sparse(Y) or hasattr(Y, "columns") or (isinstance(Y, np.ndarray) and Y.ndim != 1):
        return False
    is_listed = isinstance(Y, Sequence) or hasattr(Y, "__array__")
    rows = list(map(_as_list, Y)) if isinstance(Y, Iterable) and is_listed else []
    if not rows or not all(isinstance(row, SETS) for row in rows):
        return False
    are_vectors = all(isinstance(row, (list, tuple)) for row in rows)
    if bits or not are_vectors or len({len(row) for row in rows}) > 1:
        return True
    bit = int, float, np.number, np.bool_
    labels = chain.from_iterable(rows)
    return not all(isinstance(label, bit) and label in (0, 1) for label in labels)


def _as_list(row: Collection[Label]) -> Collection[Label]:
    """Return a row that is a one-dimensional array, or a list of polars or pyarrow, as a list."""
    if isinstance(row, np.ndarray):
        labels: list[Label] = row.tolist()
        return labels if row.ndim == 1 else row
    for method in ("to_list", "as_py"):
        if hasattr(row, method):
            values: list[Label] = getattr(row, method)()
            return values
    return row


def _matrix(Y: LabelSets) -> CsrArray:
    """Return a matrix of 0 and 1 as a CSR array."""
    if is_sparse(Y):
        check_sparse(Y)
        matrix = sp.csr_array(Y, copy=True)
        matrix.sum_duplicates()
    else:
        dense = np.asarray(Y)
        if dense.ndim == 1 and dense.dtype.kind == "O":  # a column of lists
            dense = np.asarray([_as_list(row) for row in dense])
        if dense.ndim == 1 and len(dense) and all(isinstance(row, str) for row in dense):
            mark = next((mark for mark in ";|" if any(mark in row for row in dense)), ",")
            raise ValueError(
                f"Y holds a text for every row ({dense[0]!s:.20}), not a label set; split "
                f"them, as [set(filter(None, text.split({mark!r}))) for text in Y]"
            )
        if dense.ndim != 2:
            raise ValueError(
                "Y must be a matrix of shape (n_samples, n_labels), or hold a label set for "
                f"every row; its shape is {dense.shape}. For one class per row use MulticlassSVC; "
                "continuous targets are not labels"
            )
        if dense.dtype.kind not in "biufO":
            raise ValueError(f"Y must hold only 0 and 1 (or a label set); it is {dense.dtype}")
        if dense.dtype.kind == "O":
            try:
                dense = dense.astype(np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(f"Y must hold only 0 and 1: {error}") from None
        matrix = sp.csr_array(dense)
    if matrix.shape[1] == 0:
        raise ValueError("Y has no columns, so there is no label to learn")
    matrix.eliminate_zeros()
    wrong = matrix.data[matrix.data != 1]
    if len(wrong):
        is_plain = np.isnan(wrong[0]) or float(wrong[0]).is_integer()
        kind = "" if is_plain else "continuous values such as "
        raise ValueError(
            f"Y must hold only 0 and 1 (or a label set for every row); it holds {kind}{wrong[0]!s}"
        )
    return matrix.astype(np.int8)


def _refuse_missing(Y: LabelSets) -> None:
    """Refuse missing rows next to rows with labels."""
    if is_sparse(Y) or hasattr(Y, "columns") or len(getattr(Y, "shape", (0,))) > 1:
        return
    rows = list(Y) if isinstance(Y, Iterable) else []
    missing = [row is None or (isinstance(row, float) and row != row) for row in rows]
    if any(missing) and any(isinstance(_as_list(row), SETS) for row in rows):
        i = missing.index(True)
        raise ValueError(f"Y holds {rows[i]} for row {i}; a row without labels has an empty set")


def _encoded_sets(Y: Sets, classes: Array | None) -> tuple[CsrArray, Array]:
    try:
        rows = [_as_list(row) for row in Y]
        sets = [list(dict.fromkeys(row)) for row in rows]
    except TypeError:
        raise ValueError("labels must be all numbers or all text") from None
    found = list(chain.from_iterable(sets))
    if any(label != label for label in found):
        raise ValueError("Y holds NaN, which is not a label")
    if classes is None:
        classes = classes_of_sets(rows)
    if not len(classes):
        raise ValueError("all label sets are empty: there is no label to learn")
    places = {label: place for place, label in enumerate(classes.tolist())}
    unknown = next((label for label in found if label not in places), None)
    if unknown is not None:
        raise ValueError(f"Y holds the label {unknown!r}, which is not a label of fit")
    indices = np.fromiter((places[label] for label in found), np.int32, len(found))
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in sets], dtype=np.int64)])
    data = np.ones(len(found), np.int8)
    matrix = sp.csr_array((data, indices, indptr), shape=(len(sets), len(classes)))
    matrix.sort_indices()
    return matrix, classes
