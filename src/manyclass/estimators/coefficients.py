"""Conversion of coefficients to scikit-learn's own estimators; callbacks; largest weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

from manyclass.prediction.scoring import Coefficients
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.problem.formulations import full_name
from manyclass.problem.solution import Certificate, Progress, Start, Weights
from manyclass.utils.types import Array, RowsLike, Settings


class WithCoefficients(Protocol):
    """A linear classifier with dense or sparse weights."""

    _coefficients: Coefficients


def coefficients_of(model: WithCoefficients) -> Coefficients:
    """Return the weights of a fitted linear classifier as stored: sparse weights by feature."""
    return model._coefficients


def set_coefficients(model: WithCoefficients, coef: Coefficients) -> None:
    """Set the weights of a linear classifier, of shape (k, d), or (1, d) when k = 2."""
    model._coefficients = coef


def set_certificate(model: object, certificate: Certificate | None) -> None:
    """Set ``certificate_`` of a model, also to None, which its declared type excludes."""
    model.__dict__["certificate_"] = certificate


Largest = tuple[NDArray[np.int64], Array]  # features and their weights, the largest first
WEIGHTS_AT_A_TIME = 1 << 22


def largest_weights(coef: Coefficients, n: int) -> Iterator[Largest]:
    """Yield, for every class, the features of its n largest positive weights.

    Parameters
    ----------
    coef : ndarray or SparseCoefficients of shape (n_classes, n_features), or (1, n_features)
        A single row belongs to the second of two classes; its negative belongs to the first.
        Sparse coefficients are copied in the order of the classes.
    n : int

    Yields
    ------
    features : ndarray of shape (at most n,), int64
        The largest weight first; equal weights in the order of the features.
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
    """Yield the weights of every class and their features, ascending."""
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
        positive = positive[weights[positive] >= smallest]  # more than n, if some are equal
    order = positive[np.argsort(-weights[positive], kind="stable")][:n]
    return features[order].astype(np.int64), weights[order]


def names_of_features(given: object, known: Array | None, n_features: int) -> Array | None:
    """Return the names of the features: as given, or ``feature_names_in_``, or None.

    Raises
    ------
    ValueError
        If the number of names differs from the number of features.
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


F = TypeVar("F", bound=Callable[..., object])

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _around_fit

except ImportError:  # scikit-learn before 1.9
    _around_fit = None

    class CallbackSupportMixin:  # type: ignore[no-redef]  # where the import failed
        """Replaces the mixin of scikit-learn if its version has no callbacks."""


def with_callbacks(method: F) -> F:
    """Add scikit-learn's callbacks to a method, if its version has them; the type stays."""
    followed: F = method if _around_fit is None else _around_fit(method)
    return followed


__all__ = ["CallbackSupportMixin", "EpochCallbacks", "FitTask", "with_callbacks"]


class FitTask:
    """The fit of an estimator as callbacks see it: one task, with one subtask per epoch.

    Parameters
    ----------
    estimator : estimator
        One with ``CallbackSupportMixin``.
    X, y : array-like
        Data that callbacks may compute scores on.
    metadata : dict
        For example the sample weights.
    max_epochs : int or None
        None if unknown.
    """

    def __init__(
        self,
        estimator: CallbackSupportMixin,
        X: RowsLike | None,
        y: ArrayLike | None,
        metadata: Settings,
        max_epochs: int | None,
    ) -> None:
        self._arguments = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._context = None
        if getattr(estimator, "_skl_callbacks", None):
            self._context = estimator._init_callback_context(max_subtasks=max_epochs)
            self._context.call_on_fit_task_begin(**self._arguments)

    def epoch(self, fitted: Callable[[], Settings]) -> bool:
        """Report one epoch; ``fitted`` returns the attributes for prediction. True: stop."""
        if self._context is None:
            return False
        task = self._context.subcontext(task_name="epoch")
        task.call_on_fit_task_begin(**self._arguments)
        return bool(task.call_on_fit_task_end(**self._arguments, reconstruction_attributes=fitted))

    def end(self) -> None:
        """Report the end of the fit."""
        if self._context is not None:
            self._context.call_on_fit_task_end(**self._arguments, reconstruction_attributes={})


class EpochCallbacks:
    """Hook that reports each epoch to the callbacks of a fit.

    Parameters
    ----------
    task : FitTask
    attributes : callable
        Turns W into the attributes for prediction.
    """

    def __init__(self, task: FitTask, attributes: Callable[[Weights], Settings]) -> None:
        self.task, self.attributes = task, attributes

    def epoch(self, progress: Progress) -> bool:
        """Report an epoch; return True to stop."""
        return self.task.epoch(lambda: self.attributes(progress.weights()))

    def end(self, _start: Start) -> None:
        """Do nothing: the fitted attributes are not set yet."""


Plain: TypeAlias = LinearSVC | LogisticRegression | SGDClassifier
# Parameters with the same meaning in scikit-learn.
COMMON = ("C", "alpha", "fit_intercept", "class_weight", "random_state")


class FittedClassifier(WithCoefficients, Protocol):
    """A fitted linear classifier of this package."""

    classes_: Array
    intercept_: Array
    loss: str
    n_iter_: int

    def get_params(self) -> Settings:
        """Return the parameters by name."""


def as_sklearn_classifier(model: FittedClassifier) -> Plain:
    """Return an estimator of scikit-learn with the weights and classes of a fitted model."""
    params = model.get_params()
    plain = _unfitted(model.loss, params)
    one_vs_rest = isinstance(plain, SGDClassifier) or getattr(plain, "multi_class", "") == "ovr"
    if one_vs_rest and len(model.classes_) > 2:
        plain.class_weight = None  # scikit-learn weights the positive rows of each binary problem
    coef = model._coefficients
    if isinstance(coef, SparseCoefficients):
        plain.coef_ = coef.by_feature().T.tocsr()
    else:
        plain.coef_ = np.array(coef, order="C")  # which scikit-learn trains on
    plain.intercept_ = model.intercept_.copy()
    plain.classes_ = model.classes_.copy()
    plain.n_iter_ = model.n_iter_
    if isinstance(plain, LogisticRegression):
        plain.n_iter_ = np.array([model.n_iter_], np.int32)
    if isinstance(plain, SGDClassifier):
        plain.t_ = 1.0 + vars(model)["n_steps_"]  # for its partial_fit
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(plain, name, getattr(model, name))
    return plain


def _unfitted(loss: str, params: Settings) -> Plain:
    common = {name: params[name] for name in COMMON if name in params}
    if loss == "log_loss":
        common.pop("alpha", None)
        return LogisticRegression(**common)
    if "alpha" in common:
        return SGDClassifier(loss=loss, **common)
    joint = full_name(params["formulation"]) == "crammer_singer"
    return LinearSVC(
        loss=loss,
        multi_class="crammer_singer" if joint else "ovr",
        intercept_scaling=params["intercept_scaling"],
        **common,
    )
