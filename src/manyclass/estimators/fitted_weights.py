"""Weights of fitted linear classifiers: dense or sparse, their largest, for scikit-learn."""

from __future__ import annotations

from typing import Self

import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from manyclass.estimators.coefficients import (
    largest_weights,
    names_of_features,
    set_certificate,
)
from manyclass.estimators.validation import checked_count
from manyclass.prediction.scoring import Coefficients, count_nonzero, thresholded
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.problem.solution import Certificate
from manyclass.utils.types import Array, CsrArray, Label


class FittedWeights:
    """Mixin for estimators with ``coef_``."""

    intercept_: Array
    classes_: Array
    n_features_in_: int
    _coefficients: Coefficients
    certificate_: Certificate  # after fit; None where nothing is proven of the weights

    def _as_of_now(self) -> Self:
        """Return a snapshot of this model; other threads may train it."""
        now = object.__new__(type(self))
        now.__dict__ = self.__dict__.copy()
        return now

    @property
    def coef_(self) -> Array | CsrArray:
        """Weights of shape (n_classes, n_features), or (1, n_features) when binary.

        An ndarray, or a CSR array after sparse training or ``sparsify``: a sparse model is kept by
        features, for prediction; its CSR array is a second one of its size, made when it is asked
        for, kept and read-only. Assigning an ndarray or any sparse matrix replaces the weights.
        """
        coef = getattr(self, "_coefficients", None)
        if coef is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'coef_'")
        return coef.by_class() if isinstance(coef, SparseCoefficients) else coef

    @coef_.setter
    def coef_(self, value: Array | CsrArray) -> None:
        self._coefficients = SparseCoefficients.from_matrix(value) if sp.issparse(value) else value
        self.__dict__.pop("temperature_", None)

    def sparsify(self, threshold: float = 0.0) -> Self:
        """Leave out small weights and keep the others as a sparse array.

        Parameters
        ----------
        threshold : float, default=0.0
            Weights of at most this magnitude become zero; the intercepts stay.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the threshold is negative.
        """
        check_is_fitted(self)
        sparse = thresholded(self._coefficients, threshold)
        if hasattr(self, "certificate_") and count_nonzero(sparse) < count_nonzero(
            self._coefficients
        ):
            set_certificate(self, None)
            self.__dict__.pop("temperature_", None)
        self._coefficients = sparse
        return self

    def densify(self) -> Self:
        """Turn ``coef_`` back into an ndarray.

        Returns
        -------
        self

        Raises
        ------
        MemoryError
            If n_classes x n_features weights do not fit into the machine's memory.

        Examples
        --------
        >>> from manyclass import MulticlassSVC
        >>> model = MulticlassSVC().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).sparsify()
        >>> model.densify().coef_.shape
        (1, 2)
        """
        check_is_fitted(self)
        if isinstance(self._coefficients, SparseCoefficients):
            self._coefficients = self._coefficients.toarray()
        return self

    def top_features(
        self, n: int = 10, feature_names: ArrayLike | None = None
    ) -> dict[Label, list[tuple[Label, float]]]:
        """List the features of the largest weights of each class.

        Parameters
        ----------
        n : int, default=10
            How many for each class.
        feature_names : array-like of shape (n_features,), default=None
            ``feature_names_in_`` when None; where there are none, features are named by their
            indices.

        Returns
        -------
        dict of list of tuple
            For every class of ``classes_``, pairs of name and weight, the largest weight first and
            equal ones in the order of the features. Weights that are not positive are left out, so
            there may be fewer than n.

        Raises
        ------
        ValueError
            If n is no integer of at least 1, or there are not as many names as features.

        Notes
        -----
        Weights compare only between features of about the same scale. Sparse weights are not made
        dense; a second array of their size is made for the time of the call.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from manyclass import MulticlassSVC
        >>> iris = load_iris()
        >>> model = MulticlassSVC(random_state=0).fit(iris.data, iris.target_names[iris.target])
        >>> best = model.top_features(1, iris.feature_names)
        >>> best["virginica"][0][0]
        'petal width (cm)'
        """
        check_is_fitted(self)
        n = checked_count(n, "n")
        known = getattr(self, "feature_names_in_", None)
        names = names_of_features(feature_names, known, self.n_features_in_)
        found = largest_weights(self._coefficients, n)
        return {
            label: list(
                zip((best if names is None else names[best]).tolist(), w.tolist(), strict=True)
            )
            for label, (best, w) in zip(self.classes_.tolist(), found, strict=True)
        }


STATE = "_warm_start"  # of an estimator: where its next fit starts


def keeps_state(estimator: object) -> bool:
    """Whether an estimator knows where its next fit starts."""
    return STATE in vars(estimator)


def kept_state(estimator: object) -> object:
    """Return where the next fit of an estimator starts: a WarmStart, or a LabelStart."""
    found: object = vars(estimator)[STATE]
    return found


def keep_state(estimator: object, state: object) -> None:
    """Let the next fit of an estimator start there."""
    vars(estimator)[STATE] = state
