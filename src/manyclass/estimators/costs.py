"""Costs of mistakes: Delta(j, c) for predicting class c if class j is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyclass.arrays.input_arrays import on_host
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.formulations import FORMULATIONS, Formulation
from manyclass.problem.taxonomy import Taxonomy
from manyclass.problem.tree_scores import TreeScores
from manyclass.utils.suggestions import first_of, meant_label
from manyclass.utils.types import Array, Label, Numbers

if TYPE_CHECKING:
    import pandas as pd

LARGEST_TABLE = 4096  # classes
SMALLEST, LARGEST = 1e-9, 1e9  # of the largest cost, as weights scale with it
COST_SCALINGS = ("margin", "slack")
NOTHING_COSTS = "costs: at least one mistake must have a positive cost"
# As given by users: a table or data frame, a dict by label, or distances of a tree.
Costs: TypeAlias = "ArrayLike | Mapping[Label, Mapping[Label, float]] | Taxonomy"


@dataclass(frozen=True, slots=True, eq=False)
class LabelledCosts:
    """Costs of predictions, looked up by label.

    Attributes
    ----------
    table : ndarray of shape (k, k), float64
    classes : ndarray of shape (k,), ascending
    """

    table: Numbers
    classes: Array

    @classmethod
    def from_costs(cls, costs: Costs, classes: Array) -> LabelledCosts:
        """Return costs from any form that ``cost_table`` accepts."""
        return cls(cost_table(costs, classes), classes)

    def of_predictions(self, y: Array, predicted: Array) -> Numbers:
        """Return the cost of each prediction, shape (n,).

        Raises
        ------
        ValueError
            If a label has no costs.
        """
        return np.asarray(self.table[self._positions(y), self._positions(predicted)])

    def _positions(self, labels: Array) -> NDArray[np.intp]:
        found = np.searchsorted(self.classes, labels).clip(max=len(self.classes) - 1)
        wrong = self.classes[found] != labels
        if wrong.any():
            label = labels[wrong].tolist()[0]
            hint = meant_label(label, self.classes.tolist())
            raise ValueError(f"costs: there are none of class {label!r}{hint}")
        return found


def by_label(costs: Costs, classes: Array) -> LabelledCosts | Taxonomy:
    """Return the costs by label: a table, or a taxonomy for many classes."""
    if isinstance(costs, Taxonomy) and (costs.scale or len(classes) > LARGEST_TABLE):
        return costs.scaled_for(classes)
    return LabelledCosts.from_costs(costs, classes)


def mean_cost(
    costs: LabelledCosts | Taxonomy, y: Array, predicted: Array, sample_weight: Array | None = None
) -> float:
    """Return the mean cost of predictions.

    Parameters
    ----------
    costs : LabelledCosts or Taxonomy
        As ``by_label`` returns them.
    y, predicted : ndarray of shape (n,)
        Labels.
    sample_weight : ndarray of shape (n,), default=None

    Raises
    ------
    ValueError
        If a label has no costs.

    Examples
    --------
    >>> import numpy as np
    >>> from manyclass.estimators.costs import LabelledCosts, mean_cost
    >>> costs = LabelledCosts.from_costs({"ill": {"well": 10}}, np.array(["ill", "well"]))
    >>> mean_cost(costs, np.array(["ill", "well"]), np.array(["well", "well"]))
    5.0
    """
    if isinstance(costs, Taxonomy):
        return costs.mean_cost(y, predicted, sample_weight)
    return float(np.average(costs.of_predictions(y, predicted), weights=sample_weight))


def base_of_costs(
    costs: Costs, classes: Array, labels: NDArray[np.int32], formulation: Formulation
) -> BaseScores | TreeScores | None:
    """Return the base scores of costs of mistakes for training; None if all costs are 1.

    Parameters
    ----------
    costs : array-like, dict of dicts or Taxonomy
    classes : ndarray of shape (n_classes,)
    labels : ndarray of shape (n_samples,), int32
    formulation : Formulation

    Raises
    ------
    ValueError
        If the costs do not fit the classes, all are 0 or the largest is of an extreme size, or
        the formulation has no margins of the other classes.
    """
    if formulation.targets == "own":
        name = next(name for name, known in FORMULATIONS.items() if known is formulation)
        raise ValueError(
            f"costs are margins of the other classes, but formulation={name!r} uses the margin of "
            "the true class alone; use another formulation"
        )
    if len(classes) > LARGEST_TABLE and isinstance(costs, Taxonomy):
        return costs.scores_of(classes, labels)
    table = cost_table(costs, classes)
    if (table + np.eye(len(table)) == 1).all():
        return None
    largest = float(table.max())
    if largest == 0:
        raise ValueError(NOTHING_COSTS)
    if not SMALLEST <= largest <= LARGEST:
        raise ValueError(
            f"costs: the largest is {largest:g}, and weights are of its size; scale it to about 1"
        )
    return BaseScores.from_costs(table, labels)


def factors_of_costs(
    costs: Costs, classes: Array, labels: NDArray[np.int32], formulation: Formulation
) -> tuple[BaseScores | None, Numbers | None]:
    """Return base scores and factors of the losses if costs of mistakes scale the losses.

    Parameters
    ----------
    costs, classes, labels, formulation
        See ``base_of_costs``.

    Returns
    -------
    base : BaseScores or None
        Excludes mistakes of cost 0.
    factors : ndarray of shape (n_classes, n_classes), float64, or None
        Factors of the losses; None if all costs are 1.

    Raises
    ------
    ValueError
        If the costs do not fit the classes, all are 0 or one is of an extreme size, there are too
        many classes for a table, or the formulation is not "weston_watkins".
    """
    if formulation is not FORMULATIONS["weston_watkins"]:
        raise ValueError(
            "cost_scaling='slack' scales the loss of each class, which formulation="
            "'weston_watkins' sums; use that, or cost_scaling='margin'"
        )
    if len(classes) > LARGEST_TABLE:
        raise ValueError(
            f"cost_scaling='slack' is for up to {LARGEST_TABLE} classes, but there are "
            f"{len(classes)}; use cost_scaling='margin' with a Taxonomy"
        )
    table = cost_table(costs, classes)
    own = np.eye(len(table), dtype=bool)
    if (table + own == 1).all():
        return None, None
    if not table.any():
        raise ValueError(NOTHING_COSTS)
    least, largest = float(table[table > 0].min()), float(table.max())
    if not SMALLEST <= least <= largest <= LARGEST:
        raise ValueError(
            f"costs: they are from {least:g} to {largest:g}, and scale the losses; scale them to "
            f"about 1, and those below {SMALLEST:g} to 0"
        )
    free = (table == 0) & ~own
    base = BaseScores.from_excluded(free, labels) if free.any() else None
    return base, np.where(table > 0, table, 1.0)


def cost_table(costs: Costs, classes: Array) -> Numbers:
    """Return the costs of mistakes as a table, checked.

    Parameters
    ----------
    costs : array-like of shape (n_classes, n_classes), dict of dicts or Taxonomy
        Array: row j, column c is the cost of predicting class c if class j is true, in the order
        of ``classes``. DataFrame: by the labels of its index and its columns. Dict:
        ``costs[j][c]`` with labels; missing pairs cost 1.
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    ndarray of shape (n_classes, n_classes), float64

    Raises
    ------
    ValueError
        If the shape is wrong, a label is not a class, a cost is negative, infinite or NaN, a
        right prediction has a cost, or there are more than 4,096 classes.

    Examples
    --------
    >>> import numpy as np
    >>> from manyclass.estimators.costs import cost_table
    >>> cost_table({"ill": {"well": 10}}, np.array(["ill", "well"])).tolist()
    [[0.0, 10.0], [1.0, 0.0]]
    """
    k = len(classes)
    if k > LARGEST_TABLE:
        raise ValueError(
            f"costs are for up to {LARGEST_TABLE} classes, but there are {k}; costs=Taxonomy(...) "
            "of MulticlassSVC are for more"
        )
    if isinstance(costs, Taxonomy):
        return costs.costs_of(classes)
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


def _in_order(costs: ArrayLike, classes: Array) -> ArrayLike:
    """Return a table in the order of the classes; a frame with an index is sorted by its labels."""
    if not _is_frame(costs):
        return costs
    _check_labels("index", costs.index.tolist(), classes.tolist())
    _check_labels("columns", costs.columns.tolist(), classes.tolist())
    return np.asarray(costs.loc[classes.tolist(), classes.tolist()].to_numpy())


def _check_labels(name: str, found: list[Label], labels: list[Label]) -> None:
    """Refuse labels of a frame that are not the labels of the classes, each once."""
    known, given = set(labels), set(found)
    if given == known and len(found) == len(labels):
        return
    missing = [label for label in labels if label not in given]
    unknown = [label for label in dict.fromkeys(found) if label not in known]
    twice = [label for label in dict.fromkeys(found) if found.count(label) > 1]
    problems = {"missing": missing, "not classes": unknown, "more than once": twice}
    shown = "".join(f"; {what}: {first_of(which)}" for what, which in problems.items() if which)
    hint = meant_label(unknown[0], missing or labels) if unknown else ""
    if not given & known:
        hint = hint or "; give an array for costs in the order of classes_"
    raise ValueError(
        f"costs: the {name} of the frame must hold the label of each class once{shown}{hint}"
    )


def _is_frame(costs: object) -> TypeGuard[pd.DataFrame]:
    return hasattr(costs, "index") and hasattr(costs, "columns")


def without_frame(costs: object) -> object:
    """Return costs, with a pandas DataFrame as a dict by label, because skops cannot write it."""
    if not _is_frame(costs) or not (costs.index.is_unique and costs.columns.is_unique):
        return costs
    by_label: object = costs.to_dict("index")
    return by_label


def _as_numbers(costs: ArrayLike) -> Numbers:
    try:
        table = np.asarray(on_host(costs, "costs"))
        if table.dtype.kind == "c":
            raise ValueError("it holds complex numbers")
        if table.dtype.kind in "OUS" and any(isinstance(cell, str | bytes) for cell in table.flat):
            raise ValueError(
                "it holds text; labels are the index and the columns of a frame of pandas"
            )
        return table.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"costs must be a table of numbers, a data frame of pandas or a dict of dicts: {error}"
        ) from None


def _from_labels(costs: Mapping[Label, object], classes: Array) -> Numbers:
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
                hint = meant_label(unknown[0], positions)
                raise ValueError(f"costs: {unknown[0]!r} is not a class of the model{hint}")
            if not isinstance(cost, Real):
                raise ValueError(f"costs[{true!r}][{predicted!r}] must be a number, not {cost!r}")
            table[positions[true], positions[predicted]] = float(cost)
    return table
