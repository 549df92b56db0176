"""A multi-label model as a scikit-learn estimator: a LinearSVC for each label."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import LinearSVC

from manyclass.prediction.scoring import Coefficients
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.utils.types import Array

SAME = ("C", "loss", "fit_intercept", "intercept_scaling", "random_state")
OF_ROWS = ("n_features_in_", "feature_names_in_")


class FittedMultilabel(Protocol):
    """A fitted multi-label model."""

    intercept_: Array
    thresholds_: NDArray[np.float64]
    n_iter_: int
    predicts_sparse_: bool
    _coefficients: Coefficients


def as_one_vs_rest_classifier(model: FittedMultilabel) -> OneVsRestClassifier:
    """Return a fitted OneVsRestClassifier of LinearSVC with the weights of a model.

    It predicts labels with scores above 0, so the thresholds are subtracted from the intercepts.

    Parameters
    ----------
    model : MultilabelSVC
    """
    params = {name: getattr(model, name) for name in SAME}
    names = {name: getattr(model, name) for name in OF_ROWS if hasattr(model, name)}
    coef = model._coefficients
    rows = coef.by_feature().T.tocsr() if isinstance(coef, SparseCoefficients) else np.array(coef)
    intercept = model.intercept_ - model.thresholds_
    plain = OneVsRestClassifier(LinearSVC(**params))
    plain.estimators_ = [LinearSVC(**params) for _ in intercept]
    for c, each in enumerate(plain.estimators_):
        own = {"coef_": rows[c : c + 1], "intercept_": intercept[c : c + 1]}
        vars(each).update(own, classes_=np.arange(2), n_iter_=model.n_iter_, **names)
    plain.label_binarizer_ = LabelBinarizer(sparse_output=True)
    vars(plain.label_binarizer_).update(
        classes_=np.arange(len(intercept)),
        y_type_="multilabel-indicator",
        sparse_input_=model.predicts_sparse_,
    )
    vars(plain).update(names)
    return plain
