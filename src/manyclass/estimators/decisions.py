"""Decisions by cost, and rows without a decision.

Costs: for probabilities p_j of the classes j and costs Delta(j, c) of predicting c where j is true,

    argmin_c  sum_j p_j Delta(j, c),    Delta(j, j) = 0,  Delta >= 0:

the class of least expected cost. With Delta = 1 it is the class of the largest probability.
Rejection: a row gets no class where its confidence is below a threshold. Confidence is the largest
probability; of a model without probabilities the lead, the largest score less the second.
Sources: Duda, Hart, Stork 2001 (Pattern Classification), sec. 2.2; Chow 1970 (On optimum
recognition error and reject tradeoff), eq. 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyclass.utils.types import Array, Rows

LARGEST_TABLE = 4096  # classes
SCORES_AT_A_TIME = 1 << 22
Numbers = NDArray[np.float64]


class Scored(Protocol):
    """A fitted model that scores rows."""

    classes_: Array

    def _scores(self, rows: Rows) -> Array: ...
    def _labels(self, rows: Rows, top: int) -> NDArray[np.int64]: ...


def decided(model: Scored, rows: Rows, costs: Any, reject: Any, reject_label: Any) -> Array:
    """Return the labels of rows by cost, or of the rows that are not rejected.

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
        If costs, threshold or label do not fit the model, or costs need probabilities.
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
        threshold = checked_threshold(reject)
        label = label_of_rejected(reject_label, model.classes_)
    best, confidence = np.empty(rows.shape[0], np.int64), np.empty(rows.shape[0])
    for part in parts(rows.shape[0], len(model.classes_)):
        best[part], confidence[part] = _decide(model, rows[part], table)
    chosen = np.asarray(model.classes_[best])
    if reject is None:
        return chosen
    return np.where(confidence < threshold, np.asarray(label), chosen)


def parts(n_rows: int, n_classes: int) -> Iterator[slice]:
    """Yield slices of rows whose scores take little memory."""
    step = max(1, SCORES_AT_A_TIME // n_classes)
    for begin in range(0, n_rows, step):
        yield slice(begin, min(begin + step, n_rows))


def _decide(model: Scored, rows: Rows, table: Numbers | None) -> tuple[NDArray[np.int64], Numbers]:
    """Return positions in ``classes_``, and the confidence of each row."""
    if not hasattr(model, "predict_proba"):
        return model._labels(rows, 1)[:, 0], leads(model._scores(rows))
    p = model.predict_proba(rows).astype(np.float64)
    best = model._labels(rows, 1)[:, 0] if table is None else (p @ table).argmin(axis=1)
    return best, p.max(axis=1)


def leads(scores: Array) -> Numbers:
    """Return the largest score less the second of every row.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes), or (n_samples, 1) when binary
        When binary, the difference of both classes' scores.
    """
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0]).astype(np.float64)
    two = np.partition(scores.astype(np.float64), scores.shape[1] - 2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0])


def cost_table(costs: Any, classes: Array) -> Numbers:
    """Return the costs of mistakes as a table, checked.

    Parameters
    ----------
    costs : array-like of shape (n_classes, n_classes), or dict of dicts
        Row j, column c: the cost of predicting class c where class j is true, in the order of
        ``classes``; of a pandas DataFrame, by the labels of its index and its columns. Of a dict,
        ``costs[j][c]`` with labels; pairs that it lacks cost 1.
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    ndarray of shape (n_classes, n_classes), float64

    Raises
    ------
    ValueError
        If the shape is another one, a label is no class, a cost is negative, infinite or NaN, a
        class costs something where it is right, or there are more than 4,096 classes.

    Examples
    --------
    >>> import numpy as np
    >>> from manyclass.estimators.decisions import cost_table
    >>> cost_table({"ill": {"well": 10}}, np.array(["ill", "well"])).tolist()
    [[0.0, 10.0], [1.0, 0.0]]
    """
    k = len(classes)
    if k > LARGEST_TABLE:
        raise ValueError(f"costs are for up to {LARGEST_TABLE} classes, and there are {k}")
    table = (
        _from_labels(costs, classes)
        if isinstance(costs, Mapping)
        else _as_numbers(_in_order(costs, classes))
    )
    if table.shape != (k, k):
        raise ValueError(
            f"costs have the shape {table.shape}; a row for each of the {k} true classes and a "
            "column for each predicted one are needed, in the order of classes_"
        )
    wrong = np.argwhere(
        ~(np.isfinite(table) & (table >= 0)) | (np.eye(k, dtype=bool) & (table > 0))
    )
    if len(wrong):
        j, c = wrong[0]
        rule = "a right prediction costs 0" if j == c else "costs are finite and at least 0"
        raise ValueError(
            f"costs: predicting {classes.tolist()[c]!r} where {classes.tolist()[j]!r} is true "
            f"costs {table[j, c]}; {rule}"
        )
    return table


def _in_order(costs: Any, classes: Array) -> Any:
    """Return a table in the order of the classes: of a frame with an index, by its labels."""
    if not (hasattr(costs, "index") and hasattr(costs, "columns")):
        return costs
    labels = set(classes.tolist())
    for name, found in (("index", costs.index.tolist()), ("columns", costs.columns.tolist())):
        if set(found) != labels or len(found) != len(labels):
            raise ValueError(
                f"costs: the {name} of the frame must hold the label of each class once; give an "
                "array for costs in the order of classes_"
            )
    return costs.loc[classes.tolist(), classes.tolist()].to_numpy()


def _as_numbers(costs: ArrayLike) -> Numbers:
    try:
        table = np.asarray(costs)
        if table.dtype.kind == "c":
            raise ValueError("it holds complex numbers")
        return table.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"costs must be a table of numbers or a dict of dicts: {error}") from error


def _from_labels(costs: Mapping[Any, Any], classes: Array) -> Numbers:
    k, positions = len(classes), {label: c for c, label in enumerate(classes.tolist())}
    table = np.ones((k, k)) - np.eye(k)
    for true, row in costs.items():
        if not isinstance(row, Mapping):
            raise ValueError(
                f"costs[{true!r}] must be a dict of predicted labels and their costs, not "
                f"{type(row).__name__}"
            )
        for predicted, cost in row.items():
            unknown = [label for label in (true, predicted) if label not in positions]
            if unknown:
                raise ValueError(f"costs: {unknown[0]!r} is no class of the model")
            if not isinstance(cost, Real):
                raise ValueError(f"costs[{true!r}][{predicted!r}] must be a number, not {cost!r}")
            table[positions[true], positions[predicted]] = cost
    return table


def checked_threshold(reject: Any) -> float:
    """Return the threshold of confidence.

    Raises
    ------
    ValueError
        If it is no finite number of at least 0.
    """
    is_number = isinstance(reject, Real) and not isinstance(reject, bool | np.bool_)
    if not is_number or not 0 <= reject < np.inf:
        raise ValueError(f"reject must be a finite number of at least 0; got {reject!r}")
    return float(reject)


def label_of_rejected(label: Any, classes: Array) -> Any:
    """Return the label of rejected rows: as given, or "" beside text and -1 beside numbers.

    Raises
    ------
    ValueError
        If it is a class, or text beside numbers, or the reverse.
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
