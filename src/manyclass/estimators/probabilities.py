"""Probabilities of linear classifiers: softmax of the scores, or of scores over a temperature.

Calibration by a temperature minimizes the log loss of held-out rows over one number T > 0,

    min_T  sum_i v_i (log sum_c exp(s_ic / T) - s_{i,y_i} / T),

which is convex in 1 / T. The order of the scores does not change. Input: a fitted model, held-out
rows and their weights v_i. Output: T.
Source: Guo, Pleiss, Sun, Weinberger 2017 (On calibration of modern neural networks), sec. 4.2.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from manyclass.arrays.input_arrays import on_host
from manyclass.arrays.prediction import like
from manyclass.estimators.linear import LinearClassifier
from manyclass.utils.machine import weighted_sum
from manyclass.utils.scikit_learn import available_if
from manyclass.utils.types import Array, Rows, RowsLike
from manyclass.utils.user_warning import warn_user

# Limits of the search for T: beyond them, probabilities are 0 and 1, or all equal.
COLDEST, HOTTEST = 1e-6, 1e6
LIMITS = {
    COLDEST: "every row is predicted correctly",
    HOTTEST: "the scores are no better than chance",
}
DIGITS = 1e-10  # of log T
SCORES_AT_A_TIME = 1 << 22


def _gives_probabilities(estimator: ProbabilitiesMixin) -> bool:
    if hasattr(estimator, "temperature_") or estimator.loss == "log_loss":
        return True
    can = hasattr(estimator, "calibrate")
    advice = "call calibrate(X, y) first" if can else "train with loss='log_loss'"
    raise AttributeError(f"loss={estimator.loss!r} has no probabilities; {advice}")


class ProbabilitiesMixin(LinearClassifier):
    """Mixin for linear classifiers with probabilities, from "log_loss" or calibration."""

    loss: str

    @available_if(_gives_probabilities)
    def predict_proba(self, X: RowsLike) -> Array:
        """Compute the probability of every class for every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            exp(s_c / T) / sum_m exp(s_m / T) with the scores s. T is ``temperature_`` of a
            calibrated model, else 1. Rows sum to 1.

        Raises
        ------
        ValueError
            If the number of features of X differs from ``fit``, or X holds NaN or infinity.
        FloatingPointError
            If scores overflow.
        """
        now = self._as_of_now()
        return like(X, now._probabilities(now._check_rows(X)))

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: RowsLike) -> Array:
        """Return the logarithms of the class probabilities; -inf if a probability is 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)

        Raises
        ------
        ValueError, FloatingPointError
            As in ``predict_proba``.
        """
        now = self._as_of_now()
        logs = scipy.special.log_softmax(now._all_scores(now._check_rows(X)), axis=1)
        logs[np.exp(logs) == 0] = -np.inf
        return like(X, np.asarray(logs))

    def _probabilities(self, rows: Rows) -> Array:
        """Return the probabilities for rows that are checked."""
        return np.asarray(scipy.special.softmax(self._all_scores(rows), axis=1))

    def _all_scores(self, rows: Rows) -> Array:
        scores = self._scores(rows)
        with np.errstate(over="ignore"):
            scores = scores / scores.dtype.type(getattr(self, "temperature_", 1.0))
        if not np.isfinite(scores).all():
            raise FloatingPointError("the scores of X overflow; scale its features as in fit")
        halves = np.array([-0.5, 0.5], scores.dtype)
        return np.asarray(scores * halves if scores.shape[1] == 1 else scores)


class CalibrationMixin(ProbabilitiesMixin):
    """Mixin for linear classifiers whose scores need calibration to give probabilities."""

    temperature_: float

    def calibrate(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Calibrate the scores by a temperature, for ``predict_proba``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A few hundred or more held-out rows, including some that the model predicts wrongly.
            With training rows, the probabilities would be too large.
        y : array-like of shape (n_samples,)
            Classes of the rows.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
            With ``temperature_``.

        Raises
        ------
        ValueError
            If y holds a label that is not in ``classes_``, no weight is positive, or X does not fit
            the model.
        FloatingPointError
            If scores overflow.

        Warns
        -----
        UserWarning
            If the log loss has no minimum, for example if every row is predicted correctly.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from manyclass import MulticlassSVC
        >>> X, y = load_iris(return_X_y=True)
        >>> model = MulticlassSVC(random_state=0).fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2])
        >>> model.predict_proba(X[83:84]).round(2).tolist()
        [[0.0, 0.06, 0.94]]
        """
        now = self._as_of_now()
        now.__dict__.pop("temperature_", None)
        rows, targets = now._check_rows(X), column_or_1d(on_host(y))
        check_consistent_length(rows, targets)
        given = on_host(sample_weight, "sample_weight")
        weights = _check_sample_weight(given, rows, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("sample_weight must contain at least one non-zero number")
        weights = np.ldexp(weights, -math.frexp(weights.max())[1])  # of any size
        unknown = np.setdiff1d(targets, now.classes_)
        if len(unknown):
            raise ValueError(f"y holds {unknown.tolist()[0]!r}, which is not a class of the model")
        labels = np.searchsorted(now.classes_, targets)
        try:
            temperature = best_temperature(now, rows, labels, weights)
        except ValueError:
            now._check_finite(rows)  # its error counts all rows
            raise
        if temperature in LIMITS:
            warn_user(
                f"temperature_ is at its limit, {temperature:g}: {LIMITS[temperature]}, so that no "
                f"temperature is best for these {len(labels)} rows; calibrate on more rows",
            )
        self._set_temperature(temperature)
        return self

    def _set_temperature(self, temperature: float) -> None:
        self.temperature_ = temperature


def best_temperature(
    model: ProbabilitiesMixin,
    rows: ArrayLike,
    labels: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> float:
    """Return the temperature with the least log loss; one of its limits if all rows are right."""

    def slope(log_T: float) -> float:
        """Return the derivative of the log loss by 1 / T."""
        step, total = max(1, SCORES_AT_A_TIME // len(model.classes_)), 0.0
        for begin in range(0, len(labels), step):
            part = slice(begin, begin + step)
            total += _slope(
                model._all_scores(_safe_indexing(rows, part)), labels[part], weights[part], log_T
            )
        return total

    coldest, hottest = math.log(COLDEST), math.log(HOTTEST)
    if slope(coldest) <= 0:
        return COLDEST
    if slope(hottest) >= 0:
        return HOTTEST
    return math.exp(brentq(slope, coldest, hottest, xtol=DIGITS))


def _slope(
    scores: Array, labels: NDArray[np.int64], weights: NDArray[np.float64], log_T: float
) -> float:
    wide = scores.astype(np.float64)
    wide -= wide[np.arange(len(labels)), labels][:, None]
    p = scipy.special.softmax(wide / math.exp(log_T), axis=1)
    return weighted_sum(weights, (p * wide).sum(axis=1))
