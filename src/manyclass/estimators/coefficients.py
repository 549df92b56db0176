"""Conversion between W and the coefficients and intercepts of an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

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
