"""Thresholds of the scores of labels: given, or tuned for cross-validated F1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from manyclass.arrays.namespace import is_on_device
from manyclass.arrays.prediction import scores_on_device
from manyclass.multilabel.groups import Labels
from manyclass.multilabel.training import Labelled, solutions
from manyclass.prediction.scoring import scores_of
from manyclass.training.epoch_loop import Options
from manyclass.utils.types import Array


def thresholds_of(
    labelled: Labelled, threshold: str | float, options: Options, seed: int, n_folds: int
) -> NDArray[np.float64]:
    """Return the threshold of every label.

    Parameters
    ----------
    labelled : Labelled
    threshold : {"zero", "tuned"} or float
    options : Options
    seed : int
    n_folds : int
        The last three are parameters of ``tuned_thresholds``.

    Returns
    -------
    ndarray of shape (k,)
        0 for labels that all or no rows have.

    Raises
    ------
    ValueError
        If there are fewer rows than folds.
    """
    if threshold == "tuned":
        n = labelled.rows.n_examples
        if n < n_folds:
            raise ValueError(f"there are {n} rows, fewer than n_folds={n_folds} folds")
        return tuned_thresholds(labelled, options, seed, n_folds)
    number = 0.0 if threshold == "zero" else float(threshold)
    constant = labelled.constant()
    return np.where(constant, 0.0, number) if number else np.zeros(len(constant))


def tuned_thresholds(
    labelled: Labelled, options: Options, seed: int, n_folds: int
) -> NDArray[np.float64]:
    """Choose the threshold with the best cross-validated F1 for every label.

    The rows are divided into random folds; each fold is scored by a model trained on the others.
    All folds of some groups of labels are trained before the next groups, so that the scores of all
    labels are never in memory together.

    Parameters
    ----------
    labelled : Labelled
    options : Options
    seed : int
        Seed of the folds and of the random orders of training.
    n_folds : int
        Number of folds.

    Returns
    -------
    ndarray of shape (k,)
        0 for labels with fewer than `n_folds` rows, and for labels that all rows have.
    """
    labelled = labelled.in_single(options.tol)
    n, k = labelled.indicator.shape
    counts = np.bincount(labelled.indicator.indices, minlength=k)
    labels = np.flatnonzero((counts >= n_folds) & (counts < n))
    groups = labelled.groups(labels)
    fold_of = np.random.default_rng(seed).permutation(n) % n_folds
    by_label = labelled.indicator.tocsc()
    thresholds = np.zeros(k)
    folds = [(labelled.some(np.flatnonzero(fold_of != f)), fold_of == f) for f in range(n_folds)]
    at_once = max(1, options.n_jobs)
    for begin in range(0, len(groups), at_once):
        some = groups[begin : begin + at_once]
        for group, scores in _scores(labelled, folds, some, options, seed):
            for place, c in enumerate(group.tolist()):
                positive = np.zeros(n, bool)
                positive[by_label.indices[by_label.indptr[c] : by_label.indptr[c + 1]]] = True
                thresholds[c] = best_threshold(scores[:, place], positive)
    return thresholds


def best_threshold(scores: Array, positive: NDArray[np.bool_]) -> float:
    """Return the threshold with the largest F1.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    positive : ndarray of shape (n,), bool
        At least one is True.

    Returns
    -------
    float
        The midpoint between two scores; the highest threshold if several have the largest F1.
    """
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order].astype(np.float64)
    ends = np.append(np.flatnonzero(np.diff(ordered)), len(ordered) - 1)  # of equal scores
    hits = np.cumsum(positive[order])[ends]
    f1 = 2 * hits / (ends + 1 + hits[-1])
    best = int(ends[f1.argmax()])
    if best == len(ordered) - 1:
        return float(np.nextafter(ordered[-1], -np.inf))
    return float((ordered[best] + ordered[best + 1]) / 2)


def _scores(
    labelled: Labelled,
    folds: list[tuple[Labelled, NDArray[np.bool_]]],
    groups: list[Labels],
    options: Options,
    seed: int,
) -> Iterator[tuple[Labels, Array]]:
    """Yield the cross-validated scores of groups of labels, shape (n, size of the group)."""
    data, dtype = labelled.rows, labelled.rows.dtype
    X = None if data.lies_on_device else data.matrix()
    out = [np.empty((labelled.indicator.shape[0], len(group)), dtype) for group in groups]
    for training, held in folds:
        found = solutions(training, groups, options, seed)
        for scores, (_, solution) in zip(out, found, strict=True):
            W = np.asarray(solution.weights)
            coef, intercept = W[:-1].T, labelled.rows.bias * W[-1]
            rows = data.rows(np.flatnonzero(held)) if X is None else X[held]
            if is_on_device(rows):
                scores[held] = scores_on_device(rows, coef, intercept)
            else:
                scores[held] = scores_of(rows, coef, intercept, options.n_jobs)
    yield from zip(groups, out, strict=True)
