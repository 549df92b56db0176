"""v = log u of logistic regression, after rows and classes have changed.

Every u_i is a distribution over the classes, so that any is feasible. Rows that were there before
keep theirs, less what it gave to classes that are gone; new rows begin at the softmax of their
scores. A new class begins with its share of the costs in every row.
"""

from __future__ import annotations

import numpy as np
import scipy.special
from numpy.typing import NDArray

from manyclass.problem.problem import Problem
from manyclass.training.row_matching import Match
from manyclass.utils.types import Array, Numbers

ROWS = 200  # whose scores say where the intercepts of new classes begin


def weights_of_columns(W: Array, n_features: int) -> Array:
    """Return W for other columns at the end: zeros, or less; the last row stays the intercepts'."""
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


def _scores(problem: Problem, W: Array, rows: NDArray[np.intp]) -> Numbers:
    """Return the scores of some rows, base scores included, shape (rows, k)."""
    data = problem.dataset
    found = np.asarray(data.rows(rows) @ W[:-1] + data.rounded_bias * W[-1], np.float64)
    return found if problem.base is None else found + problem.base.of(rows)


def _log_softmax(scores: Numbers) -> Numbers:
    return np.asarray(scores - scipy.special.logsumexp(scores, axis=1, keepdims=True))


def _shares(problem: Problem) -> Numbers:
    """Return the share of the costs that each class's rows have, shape (k,)."""
    data = problem.dataset
    sums = np.bincount(data.labels, problem.costs, data.n_classes)
    return np.asarray(sums / problem.costs.sum())
