"""Comparison of values of C by their scores in the folds.

Two values are compared by the corrected resampled t-test on the differences of their scores in J
folds (Nadeau, Bengio: Inference for the generalization error, Machine Learning 52, 2003, eq. 9):

    t = mean / sqrt((1/J + n_test / n_train) var)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

Scores = NDArray[np.float64]  # of shape (n_folds, n_Cs)

LEVEL = 0.05  # of the one-sided test
# The search stops climbing after so many values in a row that are significantly worse.
PATIENCE = 2


def worse(scores: Scores, test_share: float) -> NDArray[np.bool_]:
    """Return which columns are significantly worse than that of the best mean.

    Parameters
    ----------
    scores : ndarray of shape (n_folds, n_Cs)
    test_share : float
        n_test / n_train, on average.

    Returns
    -------
    ndarray of shape (n_Cs,)
        All False with one fold.
    """
    n_folds = len(scores)
    best = int(np.argmax(scores.mean(axis=0)))
    differences = scores[:, [best]] - scores
    if n_folds < 2:
        return np.zeros(scores.shape[1], np.bool_)
    variance = differences.var(axis=0, ddof=1)
    error = np.sqrt((1 / n_folds + test_share) * variance)
    quantile = float(student_t.ppf(1 - LEVEL, n_folds - 1))
    return np.asarray(differences.mean(axis=0) > quantile * error)


def has_passed(scores: Scores, test_share: float) -> bool:
    """Whether the last few columns are all significantly worse than the best."""
    return bool(worse(scores, test_share)[-PATIENCE:].sum() == PATIENCE)


def near_best(scores: Scores) -> NDArray[np.bool_]:
    """Return which columns' means are within one standard error of the best one's."""
    means = scores.mean(axis=0)
    best = int(np.argmax(means))
    if len(scores) < 2:
        return np.asarray(means == means[best])
    error = float(scores[:, best].std(ddof=1) / np.sqrt(len(scores)))
    return np.asarray(means >= means[best] - error)


def chosen(scores: Scores, *, one_standard_error: bool) -> int:
    """Return the column of the best mean, or the first one within one standard error of it.

    Columns are ascending in C.
    """
    candidates = near_best(scores) if one_standard_error else scores.mean(axis=0)
    return int(np.argmax(candidates))
