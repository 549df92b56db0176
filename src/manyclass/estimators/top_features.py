"""The features of the largest weights, class by class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from manyclass.prediction.scoring import Coefficients
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.utils.types import Array

Largest = tuple[NDArray[np.int64], Array]  # features and their weights, the largest first
WEIGHTS_AT_A_TIME = 1 << 22


def largest_weights(coef: Coefficients, n: int) -> Iterator[Largest]:
    """Yield, for every class, the features of its n largest positive weights.

    Parameters
    ----------
    coef : ndarray or SparseCoefficients of shape (n_classes, n_features), or (1, n_features)
        One row is of the second of two classes; its negative is of the first. Sparse ones are
        turned round, in a second array of their size.
    n : int

    Yields
    ------
    features : ndarray of shape (at most n,), int64
        The largest weight first, equal ones in the order of the features.
    weights : ndarray of shape (at most n,)
    """
    if coef.shape[0] == 1:
        (row,) = _rows(coef)
        yield _largest(row[0], -row[1], n)
        yield _largest(*row, n)
        return
    for row in _rows(coef):
        yield _largest(*row, n)


def _rows(coef: Coefficients) -> Iterator[Largest]:
    """Yield the weights of every class, and the features that they are of, ascending."""
    if isinstance(coef, SparseCoefficients):
        turned = coef.by_feature().T.tocsr()
        for begin, end in zip(turned.indptr[:-1], turned.indptr[1:], strict=True):
            yield turned.indices[begin:end], turned.data[begin:end]
        return
    features = np.arange(coef.shape[1])
    step = max(1, WEIGHTS_AT_A_TIME // coef.shape[1])
    for begin in range(0, coef.shape[0], step):
        for weights in np.ascontiguousarray(coef[begin : begin + step]):
            yield features, weights


def _largest(features: NDArray[np.int64], weights: Array, n: int) -> Largest:
    positive = np.flatnonzero(weights > 0)
    if len(positive) > n:
        smallest = np.partition(weights[positive], -n)[-n]
        positive = positive[weights[positive] >= smallest]  # more than n, where some are equal
    order = positive[np.argsort(-weights[positive], kind="stable")][:n]
    return features[order].astype(np.int64), weights[order]


def names_of_features(given: object, known: Array | None, n_features: int) -> Array | None:
    """Return the names of the features: those given, or those known, or None.

    Raises
    ------
    ValueError
        If there are not as many as features.
    """
    if given is None:
        return known
    names = np.asarray(given, dtype=object)
    if names.shape != (n_features,):
        raise ValueError(
            f"feature_names must hold {n_features} names, one for each feature of the model; its "
            f"shape is {names.shape}"
        )
    return names
