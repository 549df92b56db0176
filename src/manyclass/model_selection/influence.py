"""Influence of single rows: their dual variables, and the model without them.

A row with z_i = 0 does not affect W: without it, W is still optimal. If z_i is not 0, a few epochs
from z without z_i train the model without the row (training/warm_start.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from manyclass.arrays.input_arrays import on_host
from manyclass.estimators.exact_fit import Training
from manyclass.estimators.fitted_weights import keep_state, keeps_state, kept_state
from manyclass.estimators.svc import MulticlassSVC
from manyclass.estimators.validation import validated
from manyclass.model_selection.leave_one_out import exact_model
from manyclass.training.warm_start import WarmStart
from manyclass.utils.types import CsrArray, Rows


class Support(NamedTuple):
    """Support vectors: rows whose dual variables are not all 0.

    Attributes
    ----------
    rows : ndarray of shape (n_support,), int64
        Row numbers in X, ascending.
    duals : CSR array of shape (n_support, n_classes)
        Dual variables of these rows, with a column for each of ``classes_``.
    """

    rows: NDArray[np.int64]
    duals: CsrArray


class LeftOut(NamedTuple):
    """Effect of leaving out single rows, from ``leave_out``.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,), int64
        Numbers of the rows that were left out, one at a time.
    changes : ndarray of shape (n_rows,)
        Frobenius norm of the change of the weights without the row, including the intercepts
        (divided by ``intercept_scaling``).
    margins : ndarray of shape (n_rows,)
        Score of the row's class minus the largest other score, from the model without the row.
        Negative if that model predicts a different class, as for many wrong labels.
    """

    rows: NDArray[np.int64]
    changes: NDArray[np.float64]
    margins: NDArray[np.float64]


def support(model: MulticlassSVC) -> Support:
    """Find the support vectors of a fitted SVM.

    Training without the other rows would give the same weights.

    Parameters
    ----------
    model : MulticlassSVC
        Fitted with ``warm_start=True``, which keeps the dual variables.

    Returns
    -------
    Support

    Raises
    ------
    TypeError
        If `model` is not a MulticlassSVC.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError
        If the model was fitted with ``warm_start=False``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import MulticlassSVC, support
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVC(tol=1e-6, warm_start=True, random_state=0).fit(X, y)
    >>> found = support(model)
    >>> len(found.rows) < 50
    True
    >>> again = MulticlassSVC(tol=1e-6, random_state=0).fit(X[found.rows], y[found.rows])
    >>> bool(abs(again.coef_ - model.coef_).max() < 0.05)
    True
    """
    if not isinstance(model, MulticlassSVC):
        raise TypeError(f"support takes a MulticlassSVC, not {type(model).__name__}")
    check_is_fitted(model)
    if not keeps_state(model):
        raise ValueError("the model has no dual variables; fit it with warm_start=True")
    state = kept_state(model)
    assert isinstance(state, WarmStart)
    z = sp.csr_array(state.start.duals)
    rows = np.flatnonzero(np.diff(z.indptr))
    return Support(rows if state.numbers is None else state.numbers[rows], z[rows])


def leave_out(
    X: Rows, y: ArrayLike, rows: ArrayLike, *, tol: float = 1e-6, **parameters: object
) -> LeftOut:
    """Leave out single rows, one at a time, with a warm start from the model with all rows.

    ``loo_error_bounds`` bounds the effect of all rows with one fit; use this function for the rows
    with the largest bounds.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    rows : array-like of shape (n_rows,)
        Row numbers, counted from 0.
    tol : float, default=1e-6
        Relative gap of each fit.
    **parameters
        Parameters of ``MulticlassSVC``: formulation, C, loss, fit_intercept, class_weight, ...

    Returns
    -------
    LeftOut

    Raises
    ------
    ValueError
        As in ``MulticlassSVC.fit``; if a row does not exist or its class has weight 0; or if
        ``class_weight="balanced"``.
    TypeError
        If a parameter is unknown.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import leave_out, loo_error_bounds
    >>> X, y = load_iris(return_X_y=True)
    >>> y[3] = 2  # a wrong label
    >>> bounds = loo_error_bounds(X, y, C=1.0, random_state=0)
    >>> suspects = (bounds.verdicts == -1).nonzero()[0]
    >>> found = leave_out(X, y, suspects, C=1.0, random_state=0)
    >>> int(found.rows[found.margins.argmin()])
    3
    """
    model = exact_model("leave_out", tol, parameters).set_params(warm_start=True)
    given, targets = validated(model, X, y, dtype=np.float64)
    labels, chosen = np.asarray(on_host(targets)), _checked(rows, len(targets))
    whole = np.asarray(Training(model).run(given, labels, None).weights)
    for row in chosen.tolist():
        if labels[row] not in model.classes_:
            name = labels[row : row + 1].tolist()[0]
            raise ValueError(f"row {row} is not trained: its class {name!r} has the weight 0")
    bias = float(model.intercept_scaling) if model.fit_intercept else 0.0
    found, numbers = [], np.arange(len(labels))
    for row in chosen.tolist():
        others = numbers != row
        one = MulticlassSVC(**model.get_params(deep=False))
        keep_state(one, kept_state(model))
        # A class stays even if this was its only row.
        training = Training(one, is_final=False, classes=model.classes_)
        W = np.asarray(training.run(given[others], labels[others], None).weights)
        scores = np.asarray(given[[row]] @ W[:-1]).ravel() + bias * W[-1]
        own = model.classes_ == labels[row]
        margin = float(scores[own][0] - scores[~own].max())
        found.append((float(np.linalg.norm(W - whole)), margin))
    table = np.array(found, np.float64).reshape(-1, 2)
    return LeftOut(chosen, table[:, 0], table[:, 1])


def _checked(rows: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return the row numbers as an array, checked."""
    numbers = np.asarray(on_host(rows))
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ValueError(f"rows must be a list of row numbers, not {rows!r}")
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < n):
        wrong = numbers[(numbers < 0) | (numbers >= n)][0]
        raise ValueError(f"rows must be from 0 to {n - 1}; got {wrong}")
    return numbers.astype(np.int64)
