"""Metrics of multi-label predictions: F1 over all labels, precision of the best k."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyclass.multilabel.label_sets import LabelSets, encoded, holds_sets_of_labels
from manyclass.utils.types import Array, CsrArray


class F1Scores(NamedTuple):
    """F1 over all pairs of row and label (micro), and the mean F1 of the labels (macro)."""

    micro: float
    macro: float


def f1_scores(Y: LabelSets, predicted: LabelSets, classes: Array | None = None) -> F1Scores:
    """Compute micro and macro F1.

    Parameters
    ----------
    Y, predicted : matrix of 0 and 1 of shape (n_samples, n_labels), or sequence of sets
        The true labels and the predicted ones.
    classes : ndarray of shape (n_labels,), default=None
        The labels, ascending; required for sets.

    Returns
    -------
    F1Scores
        micro, macro. The F1 of a label that is neither present nor predicted is 0, as in
        ``sklearn.metrics.f1_score``.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    truth, found = _pair(Y, predicted, classes)
    hits = _counts(truth.multiply(found))
    total = _counts(truth) + _counts(found)
    each = np.divide(2.0 * hits, total, out=np.zeros(len(hits)), where=total > 0)
    micro = 2.0 * hits.sum() / total.sum() if total.sum() else 0.0
    return F1Scores(float(micro), float(each.mean()))


def precision_at_k(
    Y: LabelSets,
    scores: ArrayLike,
    k: int,
    propensity: ArrayLike | None = None,
    classes: Array | None = None,
) -> float:
    """Compute the precision of the k labels with the largest scores.

    Parameters
    ----------
    Y : matrix of 0 and 1 of shape (n_samples, n_labels), or sequence of sets
        The true labels.
    scores : array-like of shape (n_samples, n_labels)
        Scores of all labels, for example from ``decision_function``.
    k : int
        From 1 to n_labels.
    propensity : array-like of shape (n_labels,), default=None
        Probability that a true label of a row is recorded in Y (see ``propensities``). If given, a
        hit counts 1 / propensity, and the sum is divided by its largest possible value for k
        labels.
    classes : ndarray of shape (n_labels,), default=None
        The labels, ascending; required if Y holds sets.

    Returns
    -------
    float
        Mean over the rows.

    Raises
    ------
    ValueError
        If k is out of range, the shapes differ, or Y holds sets and there are no `classes`.

    Notes
    -----
    Source: H. Jain, Y. Prabhu, M. Varma: Extreme multi-label loss functions. KDD 2016, eq. 2
    (PSP@k), divided by its largest possible value, as in the tables of the paper.
    """
    if classes is None and holds_sets_of_labels(Y):
        raise ValueError(
            "classes is required if Y holds label sets: the labels of the columns of scores, such "
            "as model.classes_"
        )
    truth, _ = encoded(Y, classes)
    numbers = np.asarray(scores)
    if numbers.shape != truth.shape:
        raise ValueError(f"Y is of shape {truth.shape}, the scores of {numbers.shape}")
    n_labels = truth.shape[1]
    if not 1 <= k <= n_labels:
        raise ValueError(f"k must be from 1 to {n_labels}, the number of labels; got {k}")
    gain = np.ones(n_labels) if propensity is None else 1 / np.asarray(propensity, np.float64)
    if gain.shape != (n_labels,):
        raise ValueError(f"there are {n_labels} labels and {gain.size} propensities")
    best = np.argpartition(-numbers, k - 1, axis=1)[:, :k]
    hits = sum(
        float(gain[np.intersect1d(_labels_of(truth, i), best[i])].sum()) for i in range(len(best))
    )
    if propensity is None:
        return hits / (k * len(best))
    possible = sum(float(np.sort(gain[_labels_of(truth, i)])[-k:].sum()) for i in range(len(best)))
    return hits / possible if possible else 0.0


def propensities(
    Y: LabelSets, a: float = 0.55, b: float = 1.5, classes: Array | None = None
) -> NDArray[np.float64]:
    """Estimate the propensity of every label from its frequency in training.

    Parameters
    ----------
    Y : matrix of 0 and 1 of shape (n_samples, n_labels), or sequence of sets
        The labels of the training rows.
    a, b : float, default=0.55, 1.5
        Parameters of the formula. The defaults suit most data sets; use 0.5 and 0.4 for Wikipedia,
        0.6 and 2.6 for Amazon.
    classes : ndarray of shape (n_labels,), default=None
        The labels, ascending. None: the labels in Y.

    Returns
    -------
    ndarray of shape (n_labels,)
        1 / (1 + (log n - 1) (1 + b)^a exp(-a log(n_c + b))), from Jain, Prabhu and Varma (2016).
    """
    truth, _ = encoded(Y, classes)
    factor = (np.log(truth.shape[0]) - 1) * (1 + b) ** a
    return np.asarray(1 / (1 + factor * (_counts(truth) + b) ** -a), np.float64)


def _pair(Y: LabelSets, predicted: LabelSets, classes: Array | None) -> tuple[CsrArray, CsrArray]:
    both = [holds_sets_of_labels(labels) for labels in (Y, predicted)]
    if classes is None and any(both):
        if not (holds_sets_of_labels(Y) and holds_sets_of_labels(predicted)):
            raise ValueError(
                "classes is required if one of them holds label sets and the other is a matrix"
            )
        classes = encoded([*Y, *predicted], holds_sets=True)[1]
    truth, _ = encoded(Y, classes, holds_sets=any(both))
    found, _ = encoded(predicted, classes, holds_sets=any(both))
    if truth.shape != found.shape:
        raise ValueError(f"Y is of shape {truth.shape}, the predictions of {found.shape}")
    return truth, found


def _counts(matrix: CsrArray) -> NDArray[np.int64]:
    return np.asarray(matrix.sum(axis=0, dtype=np.int64)).ravel()


def _labels_of(matrix: CsrArray, i: int) -> NDArray[np.int32]:
    return np.asarray(matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]])
