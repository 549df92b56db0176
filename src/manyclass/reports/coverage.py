"""Error of the most confident rows, and accuracy of the best k classes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from manyclass.estimators.decisions import parts, top2_margins
from manyclass.reports.confusion import LabelCodes, columns
from manyclass.utils.types import Array, Numbers, Settings

SHARES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
TOP = (3, 5)  # best classes
SHOWN = ("coverage", "error")


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """Error rates of the rows that ``predict(X, reject=threshold)`` does not reject.

    The measure is "probability", the largest one of a row, or "top-2 margin", the largest score
    less the second. About 100, 95, 90, 80, 70, 60 and 50 % of the rows have at least the confidence
    of a threshold.
    """

    measure: str
    thresholds: Numbers
    coverage: Numbers  # share of the rows that do; more where rows are equally confident
    errors: Numbers  # share of these rows that are wrong

    @classmethod
    def from_confidence(cls, measure: str, confidence: Numbers, right: Array) -> Coverage:
        """Compute it from the confidence of every row, and whether its prediction is right.

        Examples
        --------
        >>> import numpy as np
        >>> right = np.array([True, False])
        >>> found = Coverage.from_confidence("top-2 margin", np.array([0.9, 0.1]), right)
        >>> found.errors.tolist()[0], found.errors.tolist()[-1]
        (0.5, 0.0)
        """
        order = np.argsort(-confidence, kind="stable")
        ranked = confidence[order]
        wrong = np.cumsum(~right[order])
        n = len(ranked)
        needed = np.ceil(np.array(SHARES) * n - 1e-9).astype(int).clip(1, n)
        thresholds = np.unique(ranked[needed - 1])
        counts = n - np.searchsorted(ranked[::-1], thresholds)
        return cls(measure, thresholds, counts / n, wrong[counts - 1] / counts)

    def as_dicts(self) -> list[Settings]:
        """Return all thresholds, the lowest first, ready for JSON."""
        numbers = self.thresholds, self.coverage, self.errors
        return [
            {"threshold": t, "coverage": c, "error": e}
            for t, c, e in zip(*(a.tolist() for a in numbers), strict=True)
        ]

    def lines(self) -> list[str]:
        """Return a table as text."""
        cells = [
            (threshold(row), *(f"{100 * row[name]:.1f} %" for name in SHOWN))
            for row in self.as_dicts()
        ]
        return columns([(f"least {self.measure}", "rows", "errors"), *cells], n_left=0)


def threshold(row: Settings) -> str:
    """Return a threshold with four digits, rounded down, so that it keeps the same rows."""
    return str(Decimal(row["threshold"]).normalize(Context(prec=4, rounding=ROUND_FLOOR)))


def top2_margins_of(model: ClassifierMixin, X: ArrayLike) -> Numbers:
    """Return the top-2 margin of every row, a few rows at a time."""
    found = [np.empty(0)]
    for part in parts(_num_samples(X), len(model.classes_)):
        scores = np.asarray(model.decision_function(_safe_indexing(X, part)))
        found.append(top2_margins(scores.reshape(len(scores), -1)))
    return np.concatenate(found)


def top_k_accuracy(classes: Array, best: Array, codes: LabelCodes) -> dict[int, float]:
    """Return the fraction of rows whose label is among the k best classes, for some k.

    `best`, shape (n_samples, n_best), has entries of the classes, the best first.
    """
    order = np.argsort(classes, kind="stable")
    positions = order[np.searchsorted(classes, best, sorter=order)]
    hits = codes.classes[positions] == codes.true[:, None]
    return {k: float(hits[:, :k].any(axis=1).mean()) for k in TOP if k <= best.shape[1]}
