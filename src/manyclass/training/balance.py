"""Correction of the class sums of z after rows were removed, which keeps the intercepts.

An intercept is the weight of a constant feature, so it is the sum of the coefficients of all rows,

    s_c(z) = sum_i a_ic,    a_ic = [c = y_i] sum_m z_im - z_ic    (relative margins),
                                   +z_ic for c = y_i, -z_ic else  (absolute margins)

in which large numbers cancel: without the removed rows, intercepts are wrong by more than a margin,
and every row of the class would change. So the z of other rows that can increase are multiplied by
factors near 1 that restore s: 1 +- p_c for absolute margins; 1 + p_y - p_c for relative margins,
where p solves a Laplacian system, L p = (missing part of s), with the sums of z from class y to c
as edge weights. z stays feasible, so that only the start changes.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg

from manyclass.problem.free_duals import can_grow, rows_of
from manyclass.problem.problem import Problem
from manyclass.utils.types import CsrArray, Numbers

TIMES = 3  # repetitions, as some z are at their bounds
MOST = 0.5  # largest relative change of z at a time
SOLVED, MOST_STEPS = 1e-3, 100  # tolerance of conjugate gradients


def class_sums(
    z: CsrArray, own: NDArray[np.bool_], owners: NDArray[np.int32] | None = None
) -> Numbers:
    """Return s(z), shape (k,).

    Parameters
    ----------
    z : CSR array of shape (n, k)
    own : ndarray of shape (nnz,), bool
        Whether the row of each number of z has the class of its column.
    owners : ndarray of shape (nnz,), int32, default=None
        The class of each number's row, for relative margins.
    """
    k = z.shape[1]
    if owners is not None:
        return np.asarray(np.bincount(owners, z.data, k) - np.bincount(z.indices, z.data, k))
    return np.asarray(np.bincount(z.indices, np.where(own, z.data, -z.data), k))


def class_sums_of(problem: Problem, labels: NDArray[np.int32], z: CsrArray) -> Numbers:
    """Return s(z) for rows with one class each."""
    owners = labels[rows_of(z)]
    return class_sums(z, owners == z.indices, owners if problem.formulation.is_relative else None)


def balance(z: CsrArray, problem: Problem, wanted: Numbers, own: NDArray[np.bool_]) -> None:
    """Move s(z) of a problem towards the requested sums; z changes in place and stays feasible.

    See ``class_sums`` for `own`.
    """
    rows, k = rows_of(z), z.shape[1]
    owners = problem.dataset.labels[rows] if problem.formulation.is_relative else None
    for _ in range(TIMES):
        missing = wanted - class_sums(z, own, owners)
        grows = can_grow(problem, z)
        free = np.where(grows, z.data, 0).astype(np.float64)
        if owners is not None:
            flows = sp.csr_array((free, (owners, z.indices)), shape=(k, k))
            p = _potentials(flows, missing)
            by = p[owners] - p[z.indices]
        else:
            sums = np.bincount(z.indices, free, k)
            p = np.divide(missing, sums, out=np.zeros(k), where=sums > 0)
            by = np.where(own, p[z.indices], -p[z.indices])
        z.data[grows] *= (1 + np.clip(by[grows], -MOST, MOST)).astype(z.dtype)
        _lower(z, problem, rows)


def _potentials(flows: CsrArray, missing: Numbers) -> Numbers:
    """Solve the Laplacian system; p = 0 for classes without a flow.

    The missing part of s cannot move between classes that are not connected.
    """
    both = sp.csr_array(flows + flows.T)
    both.setdiag(0)
    degrees = np.asarray(both.sum(axis=1))
    some, p = np.flatnonzero(degrees > 0), np.zeros(len(missing))
    laplacian = sp.csr_array(sp.diags_array(degrees) - both)[some][:, some]
    _, groups = connected_components(laplacian, directed=False)
    means = np.bincount(groups, missing[some]) / np.bincount(groups)
    scale = sp.diags_array(1 / degrees[some])
    with np.errstate(all="ignore"):  # for directions without curvature, and for huge numbers
        found = cg(
            laplacian, missing[some] - means[groups], rtol=SOLVED, maxiter=MOST_STEPS, M=scale
        )[0]
    p[some] = found
    return p if np.isfinite(p).all() else np.zeros(len(missing))


def _lower(z: CsrArray, problem: Problem, rows: NDArray[np.intp]) -> None:
    """Clip z to its bounds."""
    if problem.formulation.takes_maximum:
        sums = np.bincount(rows, z.data, z.shape[0])
        over = sums > problem.costs
        factors = np.where(over, problem.costs / np.where(over, sums, 1), 1.0)
        z.data *= factors[rows].astype(z.dtype)
    else:
        np.minimum(z.data, problem.upper(rows, z.indices).astype(z.dtype), out=z.data)
