"""Fitted models as estimators of scikit-learn alone."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

from manyclass.prediction.scoring import Coefficients
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.problem.formulations import full_name
from manyclass.utils.types import Array, CsrArray, Settings

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
