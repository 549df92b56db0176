"""Write and read LIBLINEAR models: text with a line of weights for each feature.

Format: lines ``solver_type NAME``, ``nr_class K``, ``label L1 ... LK`` (integers, in the order of
the columns), ``nr_feature D``, ``bias B`` (value of the constant feature after the others;
negative: no such feature) and ``w``; then D (+ 1) lines of K weights. With two classes, there is
one weight per line, positive for the first label, unless the solver is MCSVM_CS.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.utils.validation import check_is_fitted

from manyclass.estimators.coefficients import coefficients_of, set_certificate
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.stochastic.classifier import StochasticClassifier
from manyclass.estimators.svc import MulticlassSVC
from manyclass.io.atomic import check_path_first, replacement
from manyclass.persistence.liblinear_text import (
    JOINT,
    LOGISTIC_SOLVERS,
    SEPARATE,
    Stored,
    read_text,
)
from manyclass.persistence.model_schema import ONE_CLASS_KINDS, Estimator
from manyclass.persistence.search_schema import chosen
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.problem.formulations import full_name
from manyclass.utils.types import Array, LossName, Settings

WEIGHTS_AT_A_TIME = 1 << 20
MAX_WEIGHTS = (1 << 31) - 1  # LIBLINEAR counts weights by int


def save_liblinear(
    path: str | os.PathLike[str], model: Estimator, *, encode_labels: bool = False
) -> None:
    """Write a fitted model as a model file for LIBLINEAR's ``predict``.

    Weights are written with all digits. Predictions equal ``model.predict``, except for rows whose
    best two scores are equal up to rounding. One-vs-rest models are written as L2R_L2LOSS_SVC_DUAL
    or L2R_L1LOSS_SVC_DUAL, all others as MCSVM_CS, because predictions do not depend on the
    training. With two classes, models with probabilities are written as L2R_LR, with the same
    probabilities. With more classes, LIBLINEAR's probabilities are for one-vs-rest models and would
    differ; the solver is then MCSVM_CS, for which ``predict -b 1`` is refused.

    Parameters
    ----------
    path : str or path-like
        File to write; an existing file is replaced once the new file is complete.
    model : MulticlassSVC, MultinomialLogisticRegression, StochasticClassifier, or one with CV
        A fitted model.
    encode_labels : bool, default=False
        Whether to write the classes as 0, 1, ..., their positions in ``classes_``, because
        LIBLINEAR supports only integers.

    Raises
    ------
    TypeError
        If `model` is not one of these.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError
        If classes are not 32-bit integers, there are more than 2^31 - 1 weights (including
        zeros), or weights are not finite.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from manyclass import MulticlassSVC, load_liblinear, save_liblinear
    >>> model = MulticlassSVC(C=10).fit([[0.0], [1.0], [2.0]], [1, 2, 3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "model")
    ...     save_liblinear(file, model)
    ...     print(file.read_text().splitlines()[:2])
    ...     load_liblinear(file).predict([[2.0]]).tolist()
    ['solver_type MCSVM_CS', 'nr_class 3']
    [3]
    """
    check_path_first(path, "save_liblinear(path, model)")
    parts = liblinear_text(model, encode_labels=encode_labels)
    with replacement(os.fspath(path)) as file:
        file.writelines(parts)


def liblinear_text(model: Estimator, *, encode_labels: bool = False) -> Iterator[bytes]:
    """Return the text of ``save_liblinear`` in parts; all but the weights is checked before."""
    model = chosen(model)
    if type(model).__name__ not in ONE_CLASS_KINDS:
        kinds = " or a ".join(ONE_CLASS_KINDS)
        hint = "; give its best_estimator_" if hasattr(model, "best_estimator_") else ""
        hint = "; give its last step" if hasattr(model, "steps") else hint
        raise TypeError(f"save_liblinear takes a {kinds}, not {type(model).__name__}{hint}")
    check_is_fitted(model)
    labels, has_bias = _labels(model.classes_, encode_labels), bool(np.any(model.intercept_))
    if (model.n_features_in_ + 1) * len(labels) > MAX_WEIGHTS:
        raise ValueError(
            f"{len(labels)} classes and {model.n_features_in_} features are more weights than the "
            "2^31 - 1 that LIBLINEAR reads"
        )
    return _parts(model, _head(model, labels, has_bias), has_bias)


def _parts(model: Estimator, head: str, has_bias: bool) -> Iterator[bytes]:
    yield head.encode()
    for rows in _rows_of_weights(model, has_bias):
        if not np.isfinite(rows).all():
            raise ValueError("weights or intercepts are not finite")
        lines = (" ".join(map(repr, row)) for row in rows.tolist())
        yield "".join(f"{line}\n" for line in lines).encode()


def load_liblinear(path: str | os.PathLike[str]) -> MulticlassSVC | MultinomialLogisticRegression:
    """Read a classifier that LIBLINEAR trained.

    Predictions and decision values equal LIBLINEAR's ``predict``, except for rows with several best
    classes: LIBLINEAR predicts the first in the order of its labels, this model the smallest label.
    The parameters follow from LIBLINEAR's solver; C, which is not in the file, is 1. There is no
    certificate.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    MulticlassSVC or MultinomialLogisticRegression
        MultinomialLogisticRegression for logistic regression (-s 0, 6, 7) with two classes, with
        the same probabilities. With more classes, LIBLINEAR's logistic regression is one-vs-rest
        instead of softmax, so the model is a MulticlassSVC with formulation "one_vs_rest",
        without probabilities.

    Raises
    ------
    ValueError
        If the file is not a LIBLINEAR model, is truncated or damaged, or is a model of regression
        or of a one-class SVM; the message names the line.
    OSError
        If the file cannot be read.
    """
    stored = read_text(Path(path))
    classes, bias = np.sort(np.array(stored.labels, np.int64)), max(stored.bias, 0.0)
    with np.errstate(over="ignore"):
        weights = _by_class(stored)
        intercept = bias * weights[-1] if bias > 0 else np.zeros(weights.shape[1])
    if not (np.isfinite(weights).all() and np.isfinite(intercept).all()):
        raise ValueError(f"{os.fspath(path)}: the weights overflow")
    model = _unfitted(stored.solver, bias, len(classes))
    model.coef_, model.intercept_ = weights[: stored.n_features].T, intercept
    model.classes_, model.n_features_in_ = classes, stored.n_features
    model.n_iter_ = 0
    set_certificate(model, None)
    return model


def _unfitted(
    solver: str, bias: float, n_classes: int
) -> MulticlassSVC | MultinomialLogisticRegression:
    """Return the unfitted estimator of a LIBLINEAR solver."""
    params: Settings = {"fit_intercept": bias > 0, "intercept_scaling": bias if bias > 0 else 1.0}
    if solver in LOGISTIC_SOLVERS and n_classes == 2:
        return MultinomialLogisticRegression(regularize_intercept=True, **params)
    if solver == JOINT:
        return MulticlassSVC(**params)
    loss: LossName = "squared_hinge" if "L2LOSS" in solver else "hinge"
    return MulticlassSVC(formulation="one_vs_rest", loss=loss, **params)


def _head(model: Estimator, labels: list[int], has_bias: bool) -> str:
    """Return the lines before the weights."""
    solver = _solver_type(model)
    if len(labels) == 2 and solver != JOINT:  # the weights belong to the first label
        labels = labels[::-1]
    lines = (
        f"solver_type {solver}",
        f"nr_class {len(labels)}",
        f"label {' '.join(map(str, labels))}",
        f"nr_feature {model.n_features_in_}",
        f"bias {1 if has_bias else -1}",
        "w",
    )
    return "".join(f"{line}\n" for line in lines)


def _solver_type(model: Estimator) -> str:
    if model.loss == "log_loss":
        return "L2R_LR" if len(model.classes_) == 2 else JOINT
    if isinstance(model, StochasticClassifier | MultinomialLogisticRegression):
        return JOINT
    return SEPARATE[model.loss] if full_name(model.formulation) == "one_vs_rest" else JOINT


def _labels(classes: Array, encode_labels: bool) -> list[int]:
    if encode_labels:
        return list(range(len(classes)))
    wrong = next((label for label in classes.tolist() if not _fits(label)), None)
    if wrong is not None:
        raise ValueError(
            f"LIBLINEAR's labels are 32-bit integers, unlike the class {wrong!r}; use "
            "encode_labels=True to write positions of classes in their place"
        )
    return [int(label) for label in classes]


def _fits(label: object) -> bool:
    """Whether LIBLINEAR can represent a label."""
    if not isinstance(label, int | float):
        return False
    return int(label) == label and -(1 << 31) <= label < 1 << 31


def _rows_of_weights(model: Estimator, has_bias: bool) -> Iterator[Array]:
    """Yield the weights to write, some features at a time, float64, shape (n, n_scores)."""
    coef = coefficients_of(model)
    n_scores, n_features = coef.shape
    # A binary model written as MCSVM_CS has a score for each class: -s/2 and s/2.
    turned = n_scores == 1 and _solver_type(model) == JOINT
    scale = np.array([-0.5, 0.5]) if turned else np.ones(1)
    weights = coef.by_feature() if isinstance(coef, SparseCoefficients) else coef.T
    step = max(1, WEIGHTS_AT_A_TIME // n_scores)
    for begin in range(0, n_features, step):
        rows = weights[begin : begin + step]
        yield (rows if isinstance(rows, np.ndarray) else rows.toarray()) * scale
    if has_bias:
        yield model.intercept_[None] * scale


def _by_class(stored: Stored) -> Array:
    """Return weights by feature and class, with ascending labels; one column when binary."""
    weights, labels = stored.weights, stored.labels
    if weights.shape[1] == 1:
        return weights if labels[0] > labels[1] else -weights
    ordered = weights[:, np.argsort(labels)]
    return ordered[:, 1:] - ordered[:, :1] if len(labels) == 2 else ordered
