"""v = log u of logistic regression, after rows and classes have changed.

Every u_i is a distribution over the classes, and any distribution is feasible. Earlier rows keep
their u_i, without the shares of removed classes. New rows begin at the softmax of their scores. A
new class begins with its share of the costs in every row.

The sums sum_i C_i (e_{y_i} - u_i), which determine the intercepts, lose the terms of removed rows
and gain the terms of new rows: intercepts would be wrong by the difference, which changes every
row. So u_i becomes softmax(v_i + p), where p restores the earlier sums, and intercepts move by p.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
import scipy.special
from numpy.typing import NDArray

from manyclass.prediction.scoring import scores_of
from manyclass.problem.problem import Problem
from manyclass.training.row_matching import Match
from manyclass.utils.input_rows import is_sparse
from manyclass.utils.types import Array, Numbers, Rows

ROWS = 200  # rows whose scores determine the first intercepts of new classes
NUMBERS = 1 << 16  # entries of v at a time
STEPS, MOST = 2, 1.0  # steps towards the earlier sums, and the largest step


def weights_of_columns(W: Array, n_features: int) -> Array:
    """Return W with more (zero) or fewer features; the last row stays the intercepts."""
    d = len(W) - 1
    if n_features <= d:
        return np.vstack([W[:n_features], W[-1:]]) if n_features < d else W
    return np.vstack([W[:-1], np.zeros((n_features - d, W.shape[1]), W.dtype), W[-1:]])


def log_duals_of(
    problem: Problem, W: Array, log_u: Array | None, match: Match
) -> tuple[Array, Array | None]:
    """Return W and v of a problem.

    Parameters
    ----------
    problem : Problem
    W : ndarray of shape (d + 1, k_before)
    log_u : ndarray of shape (n_before, k_before), or None
    match : Match

    Returns
    -------
    W : ndarray of shape (d + 1, k)
    log_u : ndarray of shape (n, k), or None
    """
    if match.keeps_all and np.array_equal(match.rows, np.arange(match.n_before)):
        return W, log_u
    fresh = np.flatnonzero(~match.kept)
    if match.has_same_classes:
        if log_u is None:
            return W, None
        v = log_u[match.rows]
        v[fresh] = _log_softmax(_scores(problem, W, fresh))
        return W, v
    stays = match.classes >= 0
    columns = match.classes[stays]
    shares = _shares(problem)
    is_new = np.ones(match.n_classes, bool)
    is_new[columns] = False
    wide = np.zeros((len(W), match.n_classes), W.dtype)
    wide[:, columns] = W[:, stays]
    left = float(np.log1p(-shares[is_new].sum()))
    if is_new.any() and problem.dataset.bias:
        some = np.linspace(0, len(match.rows) - 1, min(len(match.rows), ROWS)).astype(np.intp)
        level = scipy.special.logsumexp(_scores(problem, wide, some)[:, columns], axis=1).mean()
        wide[-1, is_new] = (np.log(shares[is_new]) - left + level) / problem.dataset.rounded_bias
    if log_u is None:
        return wide, None
    v = np.empty((len(match.rows), match.n_classes), log_u.dtype)
    known = np.empty((len(match.rows), len(columns)))
    known[match.kept] = log_u[match.rows[match.kept]][:, stays]
    known[fresh] = _scores(problem, wide, fresh)[:, columns]
    v[:, columns] = _log_softmax(known) + left
    v[:, is_new] = np.log(shares[is_new])
    return wide, v


def class_sums(labels: NDArray[np.int32], costs: NDArray[np.float64], v: Array) -> Numbers:
    """Return sum_i C_i (e_{y_i} - u_i), shape (k,)."""
    sums = np.zeros(v.shape[1])
    for rows in _blocks(v):
        sums += _weighted(np.exp(v[rows]), costs[rows]).sum(axis=0)
    return np.asarray(np.bincount(labels, costs, v.shape[1]) - sums)


def balance(problem: Problem, v: Array, wanted: Numbers) -> Numbers:
    """Move v by p, so that the sums of the classes approach the requested sums; return p.

    Each step is a Newton step with the diagonal of the Hessian, shortened, because a gain of one
    class is a loss of the others. v changes in place.
    """
    data, costs = problem.dataset, problem.costs
    k = data.n_classes
    of_labels = np.bincount(data.labels, costs, k)
    p, step = np.zeros(k), np.zeros(k)
    for _ in range(STEPS):
        sums, curvature = _move(v, step, costs)
        missing = of_labels - sums - wanted
        step = np.divide(missing, curvature, out=np.zeros(k), where=curvature > 0)
        step = np.clip((1 - 1 / k) * step, -MOST, MOST)
        p += step
    _move(v, step, costs)
    return p


def _move(v: Array, step: Numbers, costs: NDArray[np.float64]) -> tuple[Numbers, Numbers]:
    """Set v to log softmax(v + step); return sum_i C_i u_i and sum_i C_i u_i (1 - u_i)."""
    sums, squares = np.zeros(len(step)), np.zeros(len(step))
    by = step.astype(v.dtype)
    for rows in _blocks(v):
        moved = v[rows] + by
        u = np.exp(moved)
        totals = u.sum(axis=1, keepdims=True)
        v[rows] = moved - np.log(totals)
        u /= totals
        weighted = _weighted(u, costs[rows])
        sums += weighted.sum(axis=0)
        squares += (weighted * u).sum(axis=0)
    return sums, sums - squares


def _weighted(u: Array, costs: NDArray[np.float64]) -> Array:
    """Multiply rows by their costs, without BLAS, which would start threads."""
    return np.asarray(u * costs[:, None].astype(u.dtype))


def _blocks(v: Array) -> Iterator[slice]:
    """Yield blocks of rows that fit into a cache."""
    n, k = v.shape
    step = max(1, NUMBERS // k)
    return (slice(begin, begin + step) for begin in range(0, n, step))


def _scores(problem: Problem, W: Array, rows: NDArray[np.intp]) -> Numbers:
    """Return the scores of some rows, including base scores, shape (rows, k)."""
    data = problem.dataset
    X: Rows = data.rows(rows)
    of_features = W[:-1]
    if is_sparse(X):  # most features of wide text do not occur in these rows
        used, columns = np.unique(X.indices, return_inverse=True)
        X = sp.csr_array((X.data, columns, X.indptr), shape=(len(rows), len(used)))
        of_features = of_features[used]
    scores = scores_of(X, of_features.T, data.rounded_bias * W[-1], 1)
    found = np.asarray(scores, np.float64)
    return found if problem.base is None else found + problem.base.of(rows)


def _log_softmax(scores: Numbers) -> Numbers:
    return np.asarray(scores - scipy.special.logsumexp(scores, axis=1, keepdims=True))


def _shares(problem: Problem) -> Numbers:
    """Return the share of each class in the costs of the rows, shape (k,)."""
    data = problem.dataset
    sums = np.bincount(data.labels, problem.costs, data.n_classes)
    return np.asarray(sums / problem.costs.sum())
