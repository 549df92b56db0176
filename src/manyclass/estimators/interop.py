"""Callbacks of scikit-learn, and fitted models as its own estimators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

from manyclass.prediction.scoring import Coefficients
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.problem.formulations import full_name
from manyclass.problem.solution import Progress, Start, Weights
from manyclass.utils.types import Array, CsrArray, Rows, Settings

F = TypeVar("F", bound=Callable[..., object])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    WRAPPERS = 1  # stack frames that with_callbacks puts around a method
except ImportError:  # scikit-learn before 1.9
    WRAPPERS = 0

    class CallbackSupportMixin:  # type: ignore[no-redef]  # where the import failed
        """Stand-in for estimators whose scikit-learn knows no callbacks."""

    def with_callbacks(method: F) -> F:
        """Return the method as it is."""
        return method


__all__ = ["WRAPPERS", "CallbackSupportMixin", "EpochCallbacks", "FitTask", "with_callbacks"]


class FitTask:
    """The fit of an estimator as callbacks see it: one task, with one subtask per epoch.

    Parameters
    ----------
    estimator : estimator
        One with ``CallbackSupportMixin``.
    X, y : array-like
        What callbacks may score on.
    metadata : dict
        Such as the sample weights.
    max_epochs : int or None
        None if it is not known.
    """

    def __init__(
        self, estimator: Any, X: Rows, y: object, metadata: Settings, max_epochs: int | None
    ) -> None:
        self._arguments = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._context = None
        if getattr(estimator, "_skl_callbacks", None):
            self._context = estimator._init_callback_context(max_subtasks=max_epochs)
            self._context.call_on_fit_task_begin(**self._arguments)

    def epoch(self, fitted: Callable[[], Settings]) -> bool:
        """Report one epoch; ``fitted`` gives the attributes to predict with. True: stop."""
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
        Turns W into the attributes to predict with.
    """

    def __init__(self, task: FitTask, attributes: Callable[[Weights], Settings]) -> None:
        self.task, self.attributes = task, attributes

    def epoch(self, progress: Progress) -> bool:
        """Report an epoch; True stops."""
        return self.task.epoch(lambda: self.attributes(progress.weights()))

    def end(self, _start: Start) -> None:
        """Do nothing: the fitted attributes are not set yet."""


Plain: TypeAlias = LinearSVC | LogisticRegression | SGDClassifier
# Parameters that mean the same there.
COMMON = ("C", "alpha", "fit_intercept", "class_weight", "random_state")


class Fitted(Protocol):
    """A fitted linear classifier of ours."""

    classes_: Array
    intercept_: Array
    loss: str
    n_iter_: int
    _coefficients: Coefficients

    def get_params(self) -> Settings:
        """Return the parameters by name."""


def plain_estimator(model: Fitted) -> Plain:
    """Return an estimator of scikit-learn with the weights and classes of a fitted model."""
    params = model.get_params()
    plain = _unfitted(model.loss, params)
    plain.coef_ = _copied(model._coefficients)
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


def _copied(coef: Coefficients) -> Array | CsrArray:
    """Return weights of their own; an ndarray in C order, which scikit-learn trains on."""
    if isinstance(coef, SparseCoefficients):
        return coef.by_feature().T.tocsr()
    return np.array(coef, order="C")
