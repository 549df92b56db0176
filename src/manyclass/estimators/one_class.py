"""Models that answer one class for nearly all training rows, though these are of several.

Where classes overlap and one is frequent, the optimum of the largest hinge loss may be W near 0:
the certificate is true, and the model is of no use. A few rows show it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyclass.estimators.decisions import ScoringModel
from manyclass.problem.dataset import Dataset

SPREAD, OTHERS = 200, 1000  # rows that are looked at: of all, and of the other classes
NEARLY = 0.1  # share of the rows of other classes that may be given one of these


class OnlyClass(NamedTuple):
    """The class that nearly all rows are given, and the share of rows that are of others."""

    number: int
    others: float


def only_class(model: ScoringModel, dataset: Dataset) -> OnlyClass | None:
    """Return the one class that nearly all training rows are given; None where there are more.

    Parameters
    ----------
    model : LinearClassifier
        Fitted.
    dataset : Dataset
        Its training rows.
    """
    if not dataset.n_examples:
        return None
    given = _given(model, dataset, np.arange(dataset.n_examples), SPREAD)
    number = int(np.bincount(given).argmax())
    if (given != number).mean() > NEARLY:
        return None
    others = np.flatnonzero(dataset.labels != number)
    if not len(others) or (_given(model, dataset, others, OTHERS) != number).mean() > NEARLY:
        return None
    return OnlyClass(number, len(others) / dataset.n_examples)


def _given(
    model: ScoringModel, dataset: Dataset, rows: NDArray[np.intp], most: int
) -> NDArray[np.int64]:
    """Return the numbers of the classes that some rows, evenly spread, are given."""
    some = rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(np.intp)]
    return np.asarray(model._labels(dataset.rows(some), 1)).ravel()
