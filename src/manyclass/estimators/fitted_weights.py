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
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate
from manyclass.training.warm_start import WarmStart
from manyclass.utils.suggestions import first_of
from manyclass.utils.types import Array, CsrArray, Label


class FittedWeights:
    """Mixin for estimators with ``coef_``."""

    intercept_: Array
    classes_: Array
    n_features_in_: int
    _coefficients: Coefficients
    certificate_: Certificate  # after fit; None if nothing is proven for the weights

    def _as_of_now(self) -> Self:
        """Return a snapshot of this model, as other threads may train it."""
        now = object.__new__(type(self))
        now.__dict__ = self.__dict__.copy()
        return now

    @property
    def coef_(self) -> Array | CsrArray:
        """Weights of shape (n_classes, n_features), or (1, n_features) when binary.

        An ndarray, or a CSR array after sparse training or ``sparsify``. A sparse model stores its
        weights by feature, for prediction; the CSR array is a read-only copy of the same size,
        created on first access and kept. Assigning an ndarray or any sparse matrix replaces the
        weights.
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
        """Remove small weights and store the others as a sparse array.

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
        """List the features with the largest weights of each class.

        Parameters
        ----------
        n : int, default=10
            Number of features per class.
        feature_names : array-like of shape (n_features,), default=None
            None: ``feature_names_in_``, or the indices of the features if they have no names.

        Returns
        -------
        dict of list of tuple
            For every class of ``classes_``, pairs of name and weight, the largest weight first, and
            equal weights in the order of the features. Only positive weights are listed, so there
            may be fewer than n.

        Raises
        ------
        ValueError
            If n is not an integer of at least 1, or the number of names differs from the number of
            features.

        Notes
        -----
        Weights can be compared only between features of about the same scale. Sparse weights stay
        sparse; the call makes one temporary copy of them.

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


STATE = "_warm_start"  # attribute of an estimator: the start of its next fit


def keeps_state(estimator: object) -> bool:
    """Whether an estimator keeps the start of its next fit."""
    return STATE in vars(estimator)


def kept_state(estimator: object) -> object:
    """Return the start of the next fit of an estimator: a WarmStart, or a LabelStart."""
    found: object = vars(estimator)[STATE]
    return found


def keep_state(estimator: object, state: object) -> None:
    """Set the start of the next fit of an estimator."""
    vars(estimator)[STATE] = state


def differences(state: WarmStart, problem: Problem, classes: Array) -> str:
    """Return in what an earlier fit differs from a problem for which its state cannot be used."""
    data, found = problem.dataset, []
    if state.formulation != problem.formulation:
        found.append(f"formulation={_name(problem)!r} instead of {_name(state)!r}")
    if state.loss != problem.loss:
        found.append(f"loss={problem.loss!r} instead of {state.loss!r}")
    if state.n_features != data.n_features:
        found.append(f"{data.n_features} columns instead of {state.n_features}")
    now, before = dict.fromkeys(classes.tolist()), dict.fromkeys(state.classes.tolist())
    for what, labels, others in (("new classes", now, before), ("classes gone", before, now)):
        missing = [label for label in labels if label not in others]
        found += [f"{what}: {first_of(missing)}"] if missing else []
    return "; ".join(found) or "the content of nearly all rows"


def _name(fit: WarmStart | Problem) -> str:
    names = (name for name, known in FORMULATIONS.items() if known == fit.formulation)
    return next(names, "another")
