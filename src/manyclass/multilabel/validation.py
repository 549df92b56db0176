"""Validation of the arguments of ``fit``, and conversion to a multi-label problem."""

from __future__ import annotations

from functools import partial
from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, validate_data

from manyclass.arrays.dataset import DeviceDataset, training_type
from manyclass.arrays.input_arrays import placed, rows_of, rows_on_device
from manyclass.arrays.namespace import is_on_device
from manyclass.estimators.validation import check_scaling, check_size, checked_weights
from manyclass.multilabel.label_sets import LabelSets, encoded
from manyclass.multilabel.training import Labelled
from manyclass.problem.dataset import Dataset
from manyclass.utils.input_rows import rows_as_given
from manyclass.utils.scikit_learn import explain_rows, named_rows
from manyclass.utils.types import Array, Rows, RowsLike


def checked_sets(
    estimator: BaseEstimator,
    X: RowsLike,
    y: LabelSets,
    sample_weight: ArrayLike | None,
    *,
    bias: float,
    C: float,
    loss: str,
) -> tuple[Labelled, Array]:
    """Check the arguments of ``fit``; leave out rows of weight 0.

    Parameters
    ----------
    estimator : estimator
        Sets ``n_features_in_`` and, for a data frame, ``feature_names_in_``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : {array-like, sparse matrix, data frame} of shape (n_samples, n_labels), or sequence
        See ``encoded``.
    sample_weight : array-like of shape (n_samples,) or None
    bias : float
        Value of the appended constant feature; 0 = no intercept.
    C : float
    loss : {"hinge", "squared_hinge"}

    Returns
    -------
    labelled : Labelled
        The problem of the rows with a positive weight.
    classes : ndarray of shape (n_labels,)
        The labels, in the order of the columns of the indicator matrix.

    Raises
    ------
    ValueError
        If X or y have the wrong shape, hold NaN or infinity, there is no label, or a weight is
        negative.
    FloatingPointError
        If a value of X is too large for its dtype.
    """
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None")
    rows = _checked_rows(estimator, X)
    on_device = is_on_device(rows)
    check_scaling(bias, training_type(rows) if on_device else rows.dtype)
    indicator, classes = encoded(y)
    check_consistent_length(rows, indicator)
    weights = checked_weights(sample_weight, rows)
    if not weights.any():
        raise ValueError("sample_weight must not be negative, nor 0 everywhere")
    if not weights.all():
        kept = np.flatnonzero(weights)
        rows, indicator, weights = rows_of(rows, kept), indicator[kept], weights[kept]
    make = DeviceDataset.from_array if on_device else Dataset.from_matrix
    none = np.zeros(len(weights), np.int32)
    dataset = make(rows, none, n_classes=1, weights=weights, bias=bias)
    check_size(dataset)
    return Labelled.from_rows(dataset, indicator, C, loss), classes


def _checked_rows(estimator: BaseEstimator, X: RowsLike) -> Rows:
    """Check X; it stays on its device, or is copied to the device of the estimator."""
    if not isinstance(X, np.ndarray) and is_on_device(X):
        return rows_on_device(estimator, X, reset=True)
    given, types = rows_as_given(X)
    check = validate_data if given is X else partial(named_rows, X)
    try:
        rows = cast("Rows", check(estimator, given, accept_sparse="csr", dtype=types, order="C"))
    except ValueError as error:
        explain_rows(error, given, getattr(estimator, "feature_names_in_", None))
        raise
    device = getattr(estimator, "device", None)
    return rows if device is None else placed(rows, device)
