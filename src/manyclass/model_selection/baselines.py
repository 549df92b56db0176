"""Models that ignore the features, whose scores show whether a search found anything."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from manyclass.utils.types import Array, CsrArray, Rows


class MajorityClass(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier that predicts the most frequent class for all rows.

    Parameters
    ----------
    classes : ndarray of shape (k,)
    shares : ndarray of shape (k,)
        Frequencies of the classes, which are their probabilities.
    """

    def __init__(self, classes: Array, shares: NDArray[np.float64]) -> None:
        self.classes, self.shares = classes, shares
        self.classes_ = classes

    def predict(self, X: Rows) -> Array:
        """Return the most frequent class of every row."""
        return np.repeat(self.classes_[[self.shares.argmax()]], X.shape[0])

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Return the frequencies of the classes for every row."""
        return np.tile(self.shares, (X.shape[0], 1))

    def predict_top_k(self, X: Rows, k: int) -> Array:
        """Return the k most frequent classes for every row."""
        best = np.argsort(-self.shares, kind="stable")[:k]
        return np.tile(self.classes_[best], (X.shape[0], 1))


class MajorityLabels(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A model that gives all rows the labels of most rows.

    Parameters
    ----------
    given : ndarray of shape (k,), bool
    """

    def __init__(self, given: NDArray[np.bool_]) -> None:
        self.given = given

    def predict(self, X: Rows) -> CsrArray:
        """Return the labels of every row as an indicator matrix."""
        return sp.csr_array(np.tile(self.given.astype(np.int64), (X.shape[0], 1)))


def mean_of(scores: Callable[[], Iterable[float]]) -> float | None:
    """Return the mean score of such models, or None if the scorer fails; warnings are ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(np.mean(list(scores())))
        except Exception:  # scorers may be made for other models
            return None
