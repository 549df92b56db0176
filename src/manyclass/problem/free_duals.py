"""Dual variables strictly inside their bounds, which change with small changes of the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.utils.types import CsrArray


def rows_of(z: CsrArray) -> NDArray[np.intp]:
    """Return the row of every entry of z."""
    return np.repeat(np.arange(z.shape[0]), np.diff(z.indptr))


def can_grow(problem: Problem, z: CsrArray) -> NDArray[np.bool_]:
    """Whether positive z, or the sum of their row, are below the bound; shape (nnz,)."""
    below = _core.AT_BOUND32 if z.dtype == np.float32 else _core.AT_BOUND64
    rows = rows_of(z)
    if problem.formulation.takes_maximum:
        sums = np.bincount(rows, z.data, z.shape[0])
        return np.asarray((sums < below * problem.costs)[rows])
    return np.asarray(z.data < below * problem.upper(rows, z.indices))


def has_free(problem: Problem, z: CsrArray) -> NDArray[np.bool_]:
    """Whether rows have a z that can increase and decrease, shape (n,)."""
    found = np.bincount(rows_of(z), can_grow(problem, z), z.shape[0]) > 0
    if problem.formulation.takes_maximum:  # part of the sum may move between classes
        found |= np.diff(z.indptr) > 1
    return np.asarray(found)
