"""Precision, recall and F1 of every class, with its support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_fscore_support

from manyclass.reports.label_codes import LabelCodes, shown
from manyclass.reports.text_table import columns
from manyclass.utils.types import Label

Numbers = NDArray[np.float64]
# Of more classes than this, the worst and the largest are listed.
ALL, WORST, LARGEST = 40, 20, 10


class ScoresOfClass(TypedDict):
    """One class, ready for JSON."""

    label: Label
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """Scores of the labels that occur, as true or as predicted ones.

    Attributes
    ----------
    labels : list of length n_labels
        Classes in the order of the model, then labels that are none of them.
    precision, recall, f1 : ndarray of shape (n_labels,), float64
        From 0 to 1; 0 where a label was never predicted, or has no row.
    support : ndarray of shape (n_labels,), int64
        Rows that have the label.
    """

    labels: list[Label]
    precision: Numbers
    recall: Numbers
    f1: Numbers
    support: NDArray[np.int64]

    @classmethod
    def of(cls, codes: LabelCodes) -> ClassScores:
        """Compute them, in time and memory of n_samples + n_labels."""
        n = len(codes.labels)
        precision, recall, f1, support = precision_recall_fscore_support(
            codes.true, codes.predicted, labels=np.arange(n), average=None, zero_division=0
        )
        occur = (support > 0) | (np.bincount(codes.predicted, minlength=n) > 0)
        labels = [codes.labels[i] for i in np.flatnonzero(occur)]
        return cls(
            labels, precision[occur], recall[occur], f1[occur], support[occur].astype(np.int64)
        )

    def worst_first(self) -> NDArray[np.int64]:
        """Return positions by F1, the lowest first; of equal ones the largest class first."""
        return np.lexsort((-self.support, self.f1))

    def as_dicts(self) -> list[ScoresOfClass]:
        """Return all labels, ready for JSON."""
        numbers = self.precision, self.recall, self.f1, self.support
        return [
            {"label": label, "precision": p, "recall": r, "f1": f, "support": s}
            for label, p, r, f, s in zip(self.labels, *(a.tolist() for a in numbers), strict=True)
        ]

    def lines(self) -> list[str]:
        """Return tables: all classes, or the worst and the largest, and what is left out."""
        n = len(self.labels)
        if n <= ALL:
            return self._table(np.arange(n))
        worst = self.worst_first()
        largest = np.argsort(-self.support, kind="stable")[:LARGEST]
        left = np.setdiff1d(worst[WORST:], largest)
        return [
            f"the {WORST} classes of the lowest F1",
            *self._table(worst[:WORST]),
            "",
            f"the {len(largest)} largest classes",
            *self._table(largest),
            "",
            f"{len(left)} more classes, F1 {100 * self.f1[left].min():.1f} to "
            f"{100 * self.f1[left].max():.1f} %",
        ]

    def _table(self, positions: NDArray[np.int64]) -> list[str]:
        cells = [
            (
                shown(self.labels[i]),
                *(f"{100 * s[i]:.1f} %" for s in (self.precision, self.recall, self.f1)),
                str(self.support[i]),
            )
            for i in positions
        ]
        return columns([("class", "precision", "recall", "F1", "support"), *cells], n_left=1)
