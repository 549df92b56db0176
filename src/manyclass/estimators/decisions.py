"""Prediction by expected cost, and rejection of rows.

Costs: for probabilities p_j of the classes j and costs Delta(j, c) of predicting c if j is true,

    argmin_c  sum_j p_j Delta(j, c),    Delta(j, j) = 0,  Delta >= 0

is the class of least expected cost. With Delta = 1 it is the class of the largest probability.
Rejection: a row gets no class if its confidence is below a threshold. Confidence is the largest
probability or, without probabilities, the top-2 margin: the largest score minus the second.
Sources: Duda, Hart, Stork 2001 (Pattern Classification), sec. 2.2; Chow 1970 (On optimum
recognition error and reject tradeoff), eq. 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from manyclass.estimators.costs import Costs, cost_table
from manyclass.utils.types import Array, Label, Numbers, Rows

SCORES_AT_A_TIME = 1 << 22


class ScoringModel(Protocol):
    """A fitted model that scores rows."""

    classes_: Array

    def _scores(self, rows: Rows) -> Array: ...
    def _labels(self, rows: Rows, top: int) -> NDArray[np.int64]: ...
    def _probabilities(self, rows: Rows) -> Array: ...
    def _check_finite(self, rows: Rows) -> None: ...


def decided(
    model: ScoringModel,
    rows: Rows,
    costs: Costs | None,
    reject: float | None,
    reject_label: Label | None,
) -> Array:
    """Return the predicted labels by least cost, with a label for rejected rows.

    Parameters
    ----------
    model : fitted estimator
    rows : {ndarray, CSR array} of shape (n_samples, n_features)
    costs : array-like of shape (n_classes, n_classes), dict of dicts, or None
    reject : float or None
    reject_label : label or None

    Raises
    ------
    ValueError
        If costs, threshold or label do not fit the model, or the model lacks probabilities for
        the costs.
    """
    table = None if costs is None else cost_table(costs, model.classes_)
    if table is not None and not hasattr(model, "predict_proba"):
        raise ValueError(
            "costs need probabilities, which this model does not have; call calibrate(X, y) with "
            "rows that fit has not seen, or train a MultinomialLogisticRegression"
        )
    label = None
    if reject is None and reject_label is not None:
        raise ValueError("reject_label is of rejected rows; give reject, the threshold, too")
    if reject is not None:
        threshold = checked_threshold(reject, model)
        label = label_of_rejected(reject_label, model.classes_)
    best, confidence = np.empty(rows.shape[0], np.int64), np.empty(rows.shape[0])
    for part in parts(rows.shape[0], len(model.classes_)):
        try:
            best[part], confidence[part] = _decide(model, rows[part, :], table)
        except ValueError:
            model._check_finite(rows)  # its error counts all rows
            raise
    chosen = np.asarray(model.classes_[best])
    if reject is None:
        return chosen
    if chosen.dtype == bool:
        chosen = chosen.astype(object)  # next to a number they would become numbers
    return np.where(confidence < threshold, np.asarray(label), chosen)


def parts(n_rows: int, n_classes: int) -> Iterator[slice]:
    """Yield slices of the rows, small enough that their scores need little memory."""
    step = max(1, SCORES_AT_A_TIME // n_classes)
    for begin in range(0, n_rows, step):
        yield slice(begin, min(begin + step, n_rows))


def _decide(
    model: ScoringModel, rows: Rows, table: Numbers | None
) -> tuple[NDArray[np.int64], Numbers]:
    """Return the position in ``classes_`` and the confidence of each row."""
    if not hasattr(model, "predict_proba"):
        return model._labels(rows, 1)[:, 0], top2_margins(model._scores(rows))
    p = np.asarray(model._probabilities(rows), np.float64)
    best = model._labels(rows, 1)[:, 0] if table is None else (p @ table).argmin(axis=1)
    return best, p.max(axis=1)


def top2_margins(scores: Array) -> Numbers:
    """Return the largest score of every row minus the second.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes), or (n_samples, 1) when binary
        When binary, the difference of both classes' scores.
    """
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0]).astype(np.float64)
    two = np.partition(scores.astype(np.float64), scores.shape[1] - 2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0])


def checked_threshold(reject: object, model: object) -> float:
    """Return the threshold of confidence.

    Raises
    ------
    ValueError
        If it is not a finite number of at least 0, or is above 1 and the model has probabilities.
    """
    is_flag = isinstance(reject, bool | np.bool_)
    if is_flag or not isinstance(reject, Real) or not 0 <= float(reject) < np.inf:
        raise ValueError(f"reject must be a finite number of at least 0; got {reject!r}")
    if float(reject) > 1 and hasattr(model, "predict_proba"):
        raise ValueError(
            f"reject must be from 0 to 1, as it is compared with probabilities; got {reject!r}"
        )
    return float(reject)


def label_of_rejected(label: Label | None, classes: Array) -> Label:
    """Return the label of rejected rows: as given, or "" if classes are text, else -1.

    Raises
    ------
    ValueError
        If it is a class, or if one of them is text and the other a number.
    """
    text = isinstance(classes.tolist()[0], str)
    if label is None:
        label = "" if text else -1
    if isinstance(label, str) != text or not isinstance(label, str | Real):
        kind = "text" if text else "a number"
        raise ValueError(f"reject_label must be {kind}, as the classes are; got {label!r}")
    if label in classes.tolist():
        raise ValueError(f"reject_label: {label!r} is a class; give another label")
    return label
