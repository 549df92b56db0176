"""Arguments of ``fit`` as a data set."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from manyclass.dataset import Dataset


def training_data(
    X: Any,
    y: NDArray[Any],
    sample_weight: ArrayLike | None,
    class_weight: dict[Any, float] | str | None,
    bias: float,
) -> tuple[Dataset, NDArray[Any]]:
    """Turn rows and their classes into a data set; rows of weight 0 go.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
    y : ndarray of shape (n,)
    sample_weight : array-like of shape (n,) or None
    class_weight : dict, "balanced" or None
    bias : float
        Value of the appended constant feature; 0 = no intercept.

    Returns
    -------
    Dataset
    ndarray of shape (k,)
        The classes, ascending.

    Raises
    ------
    ValueError
        If a weight is negative, or fewer than two classes have a row with a positive weight.
    """
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    weights = weights * _class_weights(class_weight, y, weights)
    if not weights.all():
        kept = np.flatnonzero(weights)
        X, y, weights = X[kept], y[kept], weights[kept]
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        found = f"one class, {classes.tolist()[0]!r}" if len(classes) else "no row"
        raise ValueError(
            f"training needs rows of at least two classes with a positive weight; there is {found}"
        )
    dataset = Dataset.from_matrix(X, labels, n_classes=len(classes), weights=weights, bias=bias)
    return dataset, classes


def _class_weights(
    class_weight: dict[Any, float] | str | None, y: NDArray[Any], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weight of each row's class, shape (n,), given the rows' own weights."""
    classes, labels = np.unique(y, return_inverse=True)
    if class_weight == "balanced":
        totals = np.bincount(labels, weights=weights)
        present = totals > 0
        share = np.divide(weights.sum(), present.sum() * totals, where=present, out=totals.copy())
        return np.asarray(share[labels])
    if isinstance(class_weight, dict) and not all(
        isinstance(w, Real) and w >= 0 for w in class_weight.values()
    ):
        raise ValueError(f"class weights must be numbers and not negative, got {class_weight}")
    per_class = compute_class_weight(class_weight, classes=classes, y=y)
    return np.asarray(per_class, dtype=np.float64)[labels]
