"""Probabilities of the classes, from the scores of a logistic model."""

from __future__ import annotations

import numpy as np
import scipy.special
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from manyclass.estimators.linear import LinearClassifier
from manyclass.utils.types import Array


def _gives_probabilities(estimator: ProbabilitiesMixin) -> bool:
    if estimator.loss != "log_loss":
        raise AttributeError(f"probabilities need loss='log_loss', not {estimator.loss!r}")
    return True


class ProbabilitiesMixin(LinearClassifier):
    """Mixin for linear classifiers with a ``loss``, which may be "log_loss"."""

    loss: str

    @available_if(_gives_probabilities)
    def predict_proba(self, X: ArrayLike) -> Array:
        """Estimate the probability of every class for every row; only with loss="log_loss".

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            exp(w_c . x) / sum_m exp(w_m . x), intercepts included; rows sum to 1.

        Raises
        ------
        ValueError
            If X has another number of features than in ``fit``, NaN or infinity.
        FloatingPointError
            If scores overflow.
        """
        return np.asarray(scipy.special.softmax(self._all_scores(X), axis=1))

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of ``predict_proba``; -inf where that is 0.

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
        logs = scipy.special.log_softmax(self._all_scores(X), axis=1)
        logs[np.exp(logs) == 0] = -np.inf
        return np.asarray(logs)

    def _all_scores(self, X: ArrayLike) -> Array:
        now = self._as_of_now()
        scores = now._scores(now._check_rows(X))
        if not np.isfinite(scores).all():
            raise FloatingPointError("the scores of X overflow; scale its features as in fit")
        return scores * np.array([-0.5, 0.5], scores.dtype) if scores.shape[1] == 1 else scores
