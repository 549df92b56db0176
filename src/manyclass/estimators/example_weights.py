"""Weights of examples: their own, and those of their classes."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from manyclass.arrays.input_arrays import on_host
from manyclass.utils.suggestions import first_of, meant
from manyclass.utils.types import Array, ClassWeight, Label, Rows


def rows_with_weight(
    y: Array, sample_weight: ArrayLike | None, class_weight: ClassWeight
) -> NDArray[np.intp]:
    """Return the numbers of the rows that ``training_data`` keeps."""
    kept, _, _ = weighted(np.arange(len(y)), y, sample_weight, class_weight)
    return np.asarray(kept)


def weighted(
    X: Rows,
    y: Array,
    sample_weight: ArrayLike | None,
    class_weight: ClassWeight,
) -> tuple[Rows, Array, NDArray[np.float64]]:
    """Return the rows with a positive weight, their classes and weights."""
    if np.ma.is_masked(sample_weight):
        raise ValueError("sample_weight has masked entries; fill them, or drop the rows")
    weights = checked_weights(sample_weight, X)
    weights = weights * class_weights(class_weight, y, weights)
    if not weights.all():
        kept = np.flatnonzero(weights)
        X, y, weights = X[kept], y[kept], weights[kept]
    return X, y, weights


def checked_weights(sample_weight: ArrayLike | None, X: Rows) -> NDArray[np.float64]:
    """Return the weights of the rows of X, of any library and device; 1 when None.

    Raises
    ------
    ValueError
        If there are not as many as rows, or one is negative, infinite or NaN.
    """
    given = sample_weight if sample_weight is None else on_host(sample_weight, "sample_weight")
    if isinstance(given, np.ndarray) and given.ndim == 0:
        raise ValueError("sample_weight is one number; give one for each row, or leave it out")
    numbers = np.empty(X.shape[0])  # X may be of another library
    weights = _check_sample_weight(given, numbers, dtype=np.float64, ensure_non_negative=True)
    return np.asarray(weights)


def class_weights(
    class_weight: ClassWeight, y: Array, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weight of each row's class, shape (n,), given the rows' own weights."""
    if class_weight is None:
        return np.ones(len(y))
    classes, labels = np.unique(y, return_inverse=True)
    if class_weight == "balanced":
        totals = np.bincount(labels, weights=weights)
        present = totals > 0
        share = np.divide(weights.sum(), present.sum() * totals, where=present, out=totals.copy())
        return np.asarray(share[labels])
    if isinstance(class_weight, dict) and not all(
        isinstance(w, Real) and float(w) >= 0 for w in class_weight.values()
    ):
        raise ValueError(f"class weights must be numbers and not negative, got {class_weight}")
    if isinstance(class_weight, dict):
        _check_names(class_weight, classes)
    per_class = compute_class_weight(class_weight, classes=classes, y=y)
    return np.asarray(per_class, dtype=np.float64)[labels]


def _check_names(class_weight: dict[Label, float], classes: Array) -> None:
    """Refuse a label that is no class, where classes have no weight: it is a misspelt one."""
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown and any(label not in class_weight for label in labels):
        known = [label for label in labels if isinstance(label, str)]
        advice = meant(unknown[0], known) if isinstance(unknown[0], str) else ""
        raise ValueError(
            f"class_weight: {unknown[0]!r} is no class of y, whose classes are "
            f"{first_of(labels)}{advice}"
        )


def complete(
    class_weight: Mapping[Label, float] | None, classes: Array
) -> dict[Label, float] | None:
    """Give classes that a dict does not name the weight 1: some rows may hold no other."""
    if class_weight is None:
        return None
    return {c: class_weight.get(c, 1.0) for c in classes.tolist()}
