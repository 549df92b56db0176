"""Write and read models of LIBLINEAR: text, a line of weights for each feature.

Format. Lines ``solver_type NAME``, ``nr_class K``, ``label L1 ... LK`` (integers, in the order of
the columns), ``nr_feature D``, ``bias B`` (value of the constant feature, behind the others; none
when negative) and ``w``; then D (+ 1) lines of K weights. With two classes there is one weight in a
line, positive for the first label, unless the solver is MCSVM_CS.
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
from manyclass.io.atomic import replacement
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
MAX_WEIGHTS = (1 << 31) - 1  # LIBLINEAR counts them by int


def save_liblinear(
    path: str | os.PathLike[str], model: Estimator, *, encode_labels: bool = False
) -> None:
    """Write a fitted model as a model file of LIBLINEAR, which its ``predict`` reads.

    Weights are written with all their digits. Its labels are those of ``model.predict``; rows whose
    best two scores are equal up to rounding may differ. One-vs-rest machines are written as
    L2R_L2LOSS_SVC_DUAL or L2R_L1LOSS_SVC_DUAL, all others as MCSVM_CS: predictions do not depend on
    how a machine was trained. Probabilities: LIBLINEAR's are of one-vs-rest models. Of two classes
    they are the same, and the solver is L2R_LR. Of more classes they would differ, so MCSVM_CS is
    written, for which ``predict -b 1`` refuses to give any.

    Parameters
    ----------
    path : str or path-like
        Where to; an existing file is replaced, when the new one is complete.
    model : MulticlassSVC, MultinomialLogisticRegression, StochasticClassifier, or one with CV
        Fitted.
    encode_labels : bool, default=False
        Whether to write the classes as 0, 1, ..., their positions in ``classes_``: LIBLINEAR knows
        integers only.

    Raises
    ------
    TypeError
        If it is another model.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError
        If classes are no integers of 32 bits, there are more than 2^31 - 1 weights (zeros
        included), or weights are not finite.
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

    Its labels and decision values are those of LIBLINEAR's ``predict``, but for rows with several
    best classes: LIBLINEAR takes the first in the order of its labels, this model the smallest.
    The parameters are those that LIBLINEAR's solver stands for; C, which the file does not hold, is
    1. There is no certificate.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    MulticlassSVC or MultinomialLogisticRegression
        The latter for a logistic regression (-s 0, 6, 7) of two classes, with its probabilities.
        Of more classes LIBLINEAR's are one-vs-rest, no softmax, so the model is a MulticlassSVC
        with formulation "one_vs_rest", which has none.

    Raises
    ------
    ValueError
        With the line, if the file is no such model, truncated or damaged, or of a regression or a
        one-class machine.
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
    if len(labels) == 2 and solver != JOINT:  # the weights are those of the first label
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
            f"LIBLINEAR's labels are integers of 32 bits, unlike the class {wrong!r}; use "
            "encode_labels=True to write positions of classes in their place"
        )
    return [int(label) for label in classes]


def _fits(label: object) -> bool:
    """Whether LIBLINEAR can hold a label."""
    if not isinstance(label, int | float):
        return False
    return int(label) == label and -(1 << 31) <= label < 1 << 31


def _rows_of_weights(model: Estimator, has_bias: bool) -> Iterator[Array]:
    """Yield some features' weights at a time, float64, shape (n, n_scores), as they are written."""
    coef = coefficients_of(model)
    n_scores, n_features = coef.shape
    # One machine for two classes has a score for each: -s/2 and s/2.
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
    """Return weights by feature and class, of ascending labels; one column when binary."""
    weights, labels = stored.weights, stored.labels
    if weights.shape[1] == 1:
        return weights if labels[0] > labels[1] else -weights
    ordered = weights[:, np.argsort(labels)]
    return ordered[:, 1:] - ordered[:, :1] if len(labels) == 2 else ordered
