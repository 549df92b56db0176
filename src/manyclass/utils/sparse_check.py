"""Validation of sparse matrices before SciPy's compiled code, which trusts them."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np
import scipy.sparse as sp

from manyclass.utils.types import Array, CsrArray

COMPRESSED = ("csr", "csc", "bsr")


def is_sparse(X: object) -> TypeGuard[CsrArray]:
    """Whether X is a sparse matrix or array of SciPy's."""
    return bool(sp.issparse(X))


def check_sparse(X: object, *, indices: bool = True) -> None:
    """Refuse what would make compiled code read or write outside the arrays.

    Parameters
    ----------
    X : object
        Checked if it is a sparse matrix or array of SciPy's.
    indices : bool, default=True
        Whether to look at the indices of CSR, too; otherwise the caller does.

    Raises
    ------
    ValueError
        If the arrays of X do not fit together.
    """
    if not is_sparse(X):
        return
    flaw = None
    if X.format in COMPRESSED:
        flaw = _flaw_of_indptr(X) or (_flaw_of_indices(X) if indices or X.format != "csr" else None)
    elif X.format == "coo":
        flaw = _flaw_of_coordinates(X)
    if flaw:
        raise ValueError(f"X is not a valid {X.format.upper()} matrix: {flaw}")


def _flaw_of_indptr(X: CsrArray) -> str | None:
    """Return what is wrong with the rows (of BSR: of blocks) of a compressed matrix."""
    arrays = [np.asarray(part) for part in (X.indptr, X.indices, X.data)]
    indptr, indices, values = arrays
    if indptr.ndim != 1 or indices.ndim != 1 or values.ndim != (3 if X.format == "bsr" else 1):
        return "its arrays have other dimensions"
    if indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
        return "its indices are no integers"
    if len(indptr) != _sizes(X)[0] + 1:
        return f"it has {_sizes(X)[0]} rows, its indptr {len(indptr)} entries"
    n_entries = min(len(indices), len(values))
    if indptr[0] != 0 or indptr[-1] > n_entries or (indptr[1:] < indptr[:-1]).any():
        return "its indptr is inconsistent"
    return None


def _flaw_of_indices(X: CsrArray) -> str | None:
    used = X.indices[: X.indptr[-1]]
    return _flaw_of_range(used, _sizes(X)[1])


def _flaw_of_coordinates(X: CsrArray) -> str | None:
    coordinates = X.coords if hasattr(X, "coords") else (X.row, X.col)  # SciPy 1.12
    arrays = [np.asarray(part) for part in (*coordinates, X.data)]
    if any(part.ndim != 1 or len(part) != len(arrays[-1]) for part in arrays):
        return "its arrays have other lengths"
    if any(part.dtype.kind not in "iu" for part in arrays[:-1]):
        return "its indices are no integers"
    flaws = (_flaw_of_range(part, n) for part, n in zip(arrays[:-1], X.shape, strict=True))
    return next(filter(None, flaws), None)


def _flaw_of_range(indices: Array, n: int) -> str | None:
    if len(indices) and (indices.min() < 0 or indices.max() >= n):
        return f"an index lies outside 0 to {n - 1}"
    return None


def _sizes(X: CsrArray) -> tuple[int, int]:
    """Return how many rows ``indptr`` counts, and columns that ``indices`` name."""
    n_rows, n_columns = X.shape
    if X.format == "bsr":
        height, width = X.blocksize
        return n_rows // height, n_columns // width
    return (n_columns, n_rows) if X.format == "csc" else (n_rows, n_columns)
