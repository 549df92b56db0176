"""The objective of the stochastic solver in NumPy, independent of the compiled core."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy.special
from numpy.typing import NDArray

from manyclass.prediction.scoring import SCORES_AT_A_TIME, Coefficients, scores_of, squared_norm
from manyclass.problem.dataset import Dataset
from manyclass.utils.machine import weighted_sum
from manyclass.utils.types import Array


def losses(loss: str, labels: Array, scores: Array) -> NDArray[np.float64]:
    """Compute l(W; x_i, y_i) of rows, from their scores.

    Parameters
    ----------
    loss : {"hinge", "log_loss", "perceptron"}
    labels : ndarray of shape (n,), integers
    scores : ndarray of shape (n, k)
        w_c . x_i

    Returns
    -------
    ndarray of shape (n,), float64
    """
    rows = np.arange(len(labels))
    s = np.array(scores, np.float64)
    own = s[rows, labels]
    if loss == "log_loss":
        return np.asarray(scipy.special.logsumexp(s, axis=1) - own)
    s[rows, labels] = -np.inf
    ahead = s.max(axis=1) - own
    return np.asarray(np.maximum(0, 1 + ahead if loss == "hinge" else ahead))


def stochastic_objective(
    blocks: Iterable[Dataset],
    loss: str,
    alpha: float,
    coef: Coefficients,
    intercept: Array,
    n_jobs: int = 1,
    offsets: NDArray[np.float64] | None = None,
) -> float:
    """Compute f = alpha/2 ||W||^2 + sum_i v_i l_i / sum_i v_i, some rows at a time.

    Parameters
    ----------
    blocks : iterable of Dataset
    loss : {"hinge", "log_loss", "perceptron"}
    alpha : float
    coef : ndarray or SparseCoefficients of shape (k, d), or (1, d) when binary
        Coefficients of the classes; when binary, w_1 - w_0, with w_0 = -w_1.
    intercept : ndarray of shape (k,) or (1,)
    n_jobs : int, default=1
        Threads.
    offsets : ndarray of shape (k,), default=None
        Class offsets, which are added to the scores.

    Returns
    -------
    float
    """
    scale = np.array([-0.5, 0.5]) if coef.shape[0] == 1 else np.ones(1)
    norm = squared_norm(coef)
    total = weight = 0.0
    for data in blocks:
        step = max(1, SCORES_AT_A_TIME // data.n_classes)
        matrix = data.matrix()
        for begin in range(0, data.n_examples, step):
            part = slice(begin, begin + step)
            scores = scores_of(matrix[part], coef, intercept, n_jobs).astype(np.float64) * scale
            scores = scores if offsets is None else scores + offsets
            total += weighted_sum(data.weights[part], losses(loss, data.labels[part], scores))
        weight += float(data.weights.sum())
        bias = data.bias
    if bias:
        norm += float(np.sum(np.square(np.divide(intercept, bias, dtype=np.float64))))
    return 0.5 * alpha * float(scale @ scale) * norm + total / weight
