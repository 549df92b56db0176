"""Conversion between W and coefficients of an estimator; features of the largest weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.prediction.scoring import Coefficients
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.problem.solution import Weights
from manyclass.utils.types import Array


def split_weights(
    W: Weights, bias: float, *, one_is_enough: bool = False
) -> tuple[Coefficients, Array]:
    """Turn W into coefficients and intercepts.

    Parameters
    ----------
    W : ndarray or CSR array of shape (d + 1, k)
    bias : float
        Value of the appended feature; 0 = no intercept.
    one_is_enough : bool, default=False
        When k = 2: whether the coefficients are the second class's weights, not the difference.

    Returns
    -------
    coef : ndarray of shape (k, d), or (1, d) when k = 2; or SparseCoefficients
    intercept : ndarray of shape (k,) or (1,)
    """
    if W.shape[1] == 2:
        W = W[:, 1:] if one_is_enough else W[:, 1:] - W[:, :1]
    if isinstance(W, np.ndarray):
        return W[:-1].T, bias * W[-1]
    coef = SparseCoefficients.from_rows(W, W.shape[0] - 1)
    return coef, bias * W[-1:].toarray().ravel()


def join_weights(coef: Coefficients, intercept: Array, bias: float) -> Weights:
    """Turn coefficients and intercepts into W, shape (d + 1, k).

    When k = 2, they are split evenly between the two classes.
    """
    halves = np.array([-0.5, 0.5], coef.dtype)
    last = intercept / bias if bias else np.zeros_like(intercept)
    if isinstance(coef, SparseCoefficients):
        W = sp.vstack([coef.by_feature(), sp.csr_array(last[None])], format="csr")
        return sp.csr_array(W @ sp.csr_array(halves[None])) if coef.shape[0] == 1 else W
    W = np.vstack([coef.T, last[None].astype(coef.dtype)])
    return W * halves if coef.shape[0] == 1 else W


def coefficients_of(model: Any) -> Coefficients:
    """Return the weights of a fitted linear classifier as it keeps them: sparse ones by feature."""
    coef: Coefficients = model._coefficients
    return coef


def set_coefficients(model: Any, coef: Coefficients) -> None:
    """Let a linear classifier keep these weights, of shape (k, d), or (1, d) when k = 2."""
    model._coefficients = coef


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
