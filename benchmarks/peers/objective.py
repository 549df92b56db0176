"""Objective P(W) of ``problems.py`` and test accuracy: the same measures for all solvers.

Conventions, everywhere in this folder: X is a CSR array (n, d) in float32, labels are 0..k-1 in the
order of the sorted classes, W is an ndarray (d, k) with its columns in the same order. In
multi-label problems, labels are a bool array (n, k).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logsumexp

from benchmarks.peers.problems import Problem

# An n x k array of scores would not fit for thousands of classes; 32 MB of them do.
_SCORES_AT_A_TIME = 1 << 22


def primal(
    problem: Problem,
    X: sp.csr_array,
    labels: NDArray[np.integer | np.bool_],
    W: NDArray[np.floating],
    C: float,
) -> float:
    """P(W) in float64, whatever the solver computed in.

    Examples
    --------
    >>> from benchmarks.peers.problems import PROBLEMS
    >>> X = sp.csr_array(np.eye(2))
    >>> primal(PROBLEMS["crammer_singer"], X, np.array([0, 1]), np.zeros((2, 2)), C=3.0)
    6.0
    """
    W = np.asarray(W, dtype=np.float64)
    loss = sum(
        float(_losses(problem, scores, labels[part]).sum()) for part, scores in _scores(X, W)
    )
    return 0.5 * float(np.sum(W * W)) + C * loss


def accuracy(
    X: sp.csr_array, labels: NDArray[np.integer | np.bool_], W: NDArray[np.floating]
) -> float:
    """Share of the rows whose largest score is that of their own class; of label sets, micro F1.

    A label of -1 stands for a class that was not trained, so it is never right.
    """
    W = np.asarray(W, dtype=np.float64)
    if labels.ndim == 2:
        predicted = np.concatenate([scores > 0 for _, scores in _scores(X, W)])
        found = int(np.count_nonzero(predicted & labels))
        return 2 * found / max(1, int(predicted.sum() + labels.sum()))
    right = sum(
        int(np.count_nonzero(scores.argmax(axis=1) == labels[part]))
        for part, scores in _scores(X, W)
    )
    return right / X.shape[0]


def _losses(
    problem: Problem, scores: NDArray[np.float64], labels: NDArray[np.integer | np.bool_]
) -> NDArray[np.float64]:
    """loss_i for some rows, whose scores are overwritten."""
    if problem.multilabel:
        return _powers(problem, 1.0 - np.where(labels, scores, -scores)).sum(axis=1)
    own = (np.arange(len(scores)), labels)
    margin = scores[own]
    if problem.formulation == "logistic":
        return logsumexp(scores, axis=1) - margin
    is_relative = problem.formulation != "one_vs_rest"
    slack = np.add(scores, (1.0 - margin)[:, None] if is_relative else 1.0, out=scores)
    slack[own] = 0.0 if is_relative else 1.0 - margin
    _powers(problem, slack)
    return slack.max(axis=1) if problem.formulation == "crammer_singer" else slack.sum(axis=1)


def _powers(problem: Problem, slack: NDArray[np.float64]) -> NDArray[np.float64]:
    """Overwrite slacks by their losses; return the losses."""
    np.maximum(slack, 0.0, out=slack)
    return np.square(slack, out=slack) if problem.loss == "squared_hinge" else slack


def _scores(X: sp.csr_array, W: NDArray[np.float64]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield w_c . x_i for some rows at a time, with the slice that says which."""
    size = max(1, _SCORES_AT_A_TIME // W.shape[1])
    for begin in range(0, X.shape[0], size):
        part = slice(begin, begin + size)
        yield part, X[part].astype(np.float64) @ W
