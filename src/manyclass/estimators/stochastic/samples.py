"""Rows of a stream, and held-out rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from manyclass.estimators.validation import complete, weighted
from manyclass.problem.dataset import Dataset
from manyclass.utils.types import Array, Label, Rows

Sample = tuple[Rows, Array, NDArray[np.float64]]  # rows, their classes, their weights


def stream_data(
    X: Rows,
    y: Array,
    sample_weight: ArrayLike | None,
    class_weight: Mapping[Label, float] | None,
    classes: Array,
    bias: float,
) -> Dataset:
    """Turn some rows of a stream with known classes into a data set.

    Parameters
    ----------
    X, y, sample_weight, class_weight, bias
        As in ``training_data``.
    classes : ndarray of shape (k,), ascending

    Returns
    -------
    Dataset
        The rows with a positive weight; there may be none.

    Raises
    ------
    ValueError
        If y holds a label that is not in `classes`.
    """
    if sample_weight is not None and not np.any(sample_weight):  # scikit-learn refuses empty arrays
        check_consistent_length(X, sample_weight)
        X, y, weights = X[:0], y[:0], np.zeros(0)
    else:
        X, y, weights = weighted(X, y, sample_weight, complete(class_weight, np.unique(y)))
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(
            f"y holds {unknown.tolist()[0]!r}, which is none of the classes that were given; give "
            'all at the beginning, or partial_fit(..., classes="grow")'
        )
    labels = np.searchsorted(classes, y)
    return Dataset.from_matrix(
        X, labels, n_classes=len(classes), weights=weights, bias=bias, keeps_dense=False
    )


def hold_out(
    X: Rows,
    y: Array,
    sample_weight: ArrayLike | None,
    share: float,
    rng: np.random.Generator,
) -> tuple[Sample, Sample]:
    """Draw held-out rows from the rows with a positive weight; one row of every class stays.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
    y : ndarray of shape (n,)
    sample_weight : array-like of shape (n,) or None
    share : float
        Fraction of the rows to hold out.
    rng : numpy.random.Generator

    Returns
    -------
    kept, held : (X, y, weights)
        In the order of the rows.

    Raises
    ------
    ValueError
        If a weight is negative, or no class has two rows.
    """
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    rows = rng.permutation(np.flatnonzero(weights))
    _, first = np.unique(y[rows], return_index=True)
    spare = np.delete(rows, first)
    if len(spare) == 0:
        raise ValueError(
            "early_stopping holds out rows of classes with two rows at least; there is no such "
            "class; use early_stopping=False"
        )
    held = np.sort(spare[: max(1, round(share * len(rows)))])
    kept = np.setdiff1d(np.flatnonzero(weights), held, assume_unique=True)
    return (X[kept], y[kept], weights[kept]), (X[held], y[held], weights[held])
