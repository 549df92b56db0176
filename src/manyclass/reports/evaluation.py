"""All that a model does on labelled data: accuracy, scores of classes, confusions, calibration."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length

from manyclass.reports.calibration import Calibration, calibration, has_probabilities
from manyclass.reports.class_scores import ClassScores
from manyclass.reports.confusion import ConfusionPairs
from manyclass.reports.label_codes import LabelCodes, as_labels, label_codes
from manyclass.utils.types import Settings

PAIRS = 20  # the most confused ones of a report


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """A model's predictions of labelled rows, judged.

    Attributes
    ----------
    codes : LabelCodes
    classes : ClassScores
    confusion : ConfusionPairs
    calibration : Calibration or None
        None for a model without probabilities.
    """

    codes: LabelCodes
    classes: ClassScores
    confusion: ConfusionPairs
    calibration: Calibration | None

    @property
    def n_rows(self) -> int:
        """All rows."""
        return len(self.codes.true)

    @property
    def accuracy(self) -> float:
        """Share of the rows that are right."""
        return float(np.mean(self.codes.true == self.codes.predicted))

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the labels that occur, as true or as predicted ones."""
        return float(np.mean(self.classes.f1))

    def scores(self) -> Settings:
        """Return the scores of all rows, ready for JSON."""
        return {
            "accuracy": self.accuracy,
            "micro_f1": self.accuracy,  # the same, as every row has one label and gets one
            "macro_f1": self.macro_f1,
            "n": self.n_rows,
        }

    def as_dict(self) -> Settings:
        """Return all of it, ready for JSON; of the confused pairs, the most frequent."""
        found = self.calibration
        about = {} if found is None else {"log_loss": found.log_loss, "ece": found.ece}
        return {
            **self.scores(),
            **about,
            "classes": self.classes.as_dicts(),
            "confused_pairs": [asdict(pair) for pair in self.confusion.top(PAIRS)],
        }

    def lines(self) -> list[str]:
        """Return it as text for people, but for the scores of all rows."""
        lines = ["", *self.classes.lines(), "", *str(self.confusion).splitlines()]
        found = self.calibration
        if found is not None:
            loss = "" if found.log_loss is None else f"log loss {found.log_loss:.4f}, "
            lines += ["", f"probabilities: {loss}expected calibration error {found.ece:.4f}"]
        return lines


def evaluate(model: Any, X: Any, y: ArrayLike, *, probabilities: bool = True) -> Evaluation:
    """Judge a model on labelled rows.

    Parameters
    ----------
    model : fitted classifier
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels; one that is no class of the model counts as an error.
    probabilities : bool, default=True
        Whether to judge probabilities, where the model has them.

    Returns
    -------
    Evaluation

    Raises
    ------
    ValueError
        If X or y do not fit the model, or each other, or there is no row.
    """
    truth = as_labels(y, "y")
    X = X.tocsr() if sp.issparse(X) else X
    check_consistent_length(X, truth)
    classifier = model
    if len(getattr(model, "steps", [])) > 1:
        classifier, X = model.steps[-1][1], _transformed(model[:-1], X)
    codes = label_codes(classifier.classes_, truth, classifier.predict(X))
    judged = probabilities and has_probabilities(classifier)
    return Evaluation(
        codes,
        ClassScores.of(codes),
        ConfusionPairs(codes),
        calibration(classifier, X, codes) if judged else None,
    )


def _transformed(steps: Any, X: Any) -> Any:
    """Return rows as the steps leave them; those with copy=False would overwrite X."""
    params = steps.get_params().items()
    overwrites = any(name.endswith("__copy") and not value for name, value in params)
    X = steps.transform(X.copy() if overwrites and hasattr(X, "copy") else X)
    return X.tocsr() if sp.issparse(X) else X
