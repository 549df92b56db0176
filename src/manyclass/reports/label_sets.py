"""Evaluation of predicted label sets: F1, the best labels, and the scores of each label."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_consistent_length

from manyclass.multilabel.label_sets import encoded
from manyclass.reports.confusion import shown
from manyclass.reports.html import Section, facts, paragraph, percent, table
from manyclass.utils.types import Array, CsrArray, Settings

if TYPE_CHECKING:
    from manyclass.multilabel.svc import MultilabelSVC

BEST = (1, 3, 5)  # labels whose precision is shown
ROWS_AT_A_TIME = 1 << 14
LISTED = 30  # most frequent labels in `lines`
LARGEST = 2000  # labels on a page
SCORES = (
    "Precision: the share of the rows given a label that have it. Recall: the share of the rows "
    "with a label that are given it. F1: their harmonic mean; micro F1 counts all pairs of row and "
    "label together, macro F1 is the mean over the labels. Precision at k: the share of the k "
    "labels of the largest scores that the row has."
)


@dataclass(slots=True, eq=False)
class MultilabelScores:
    """Quality of predicted label sets."""

    names: Array
    thresholds: NDArray[np.float64]
    support: NDArray[np.int64]  # rows that have a label
    predicted: NDArray[np.int64]  # rows that are given it
    hits: NDArray[np.int64]  # both
    n_rows: int = 0
    n_right: int = 0  # rows whose whole set is right
    # The precision of the labels of the k largest scores.
    best: dict[int, float] = field(default_factory=dict)

    @property
    def f1(self) -> NDArray[np.float64]:
        """F1 of every label; 0 if it is neither present nor predicted."""
        return _ratio(2 * self.hits, self.support + self.predicted)

    @property
    def precision(self) -> NDArray[np.float64]:
        """Precision of every label."""
        return _ratio(self.hits, self.predicted)

    @property
    def recall(self) -> NDArray[np.float64]:
        """Recall of every label."""
        return _ratio(self.hits, self.support)

    def scores(self) -> dict[str, float]:
        """Return the scores over all labels, by name."""
        total = int(self.support.sum() + self.predicted.sum())
        return {
            "f1_micro": 2 * int(self.hits.sum()) / total if total else 0.0,
            "f1_macro": float(self.f1.mean()),
            "accuracy": self.n_right / self.n_rows,
            **{f"precision_at_{k}": share for k, share in self.best.items()},
        }

    def as_dict(self) -> Settings:
        """Return all scores as JSON values, with labels in the order of the model."""
        columns = self.names, self.precision, self.recall, self.f1, self.support, self.predicted
        keys = "label", "precision", "recall", "f1", "support", "predicted"
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {**self.scores(), "labels": [dict(zip(keys, row, strict=True)) for row in rows]}

    def lines(self) -> list[str]:
        """Return a table of the most frequent labels."""
        order = self._by_support()[:LISTED]
        names = [shown(name) for name in self.names[order].tolist()]
        width = max(len("label"), *map(len, names))
        head = f"{'label':{width}}  precision  recall      F1  support  predicted"
        rows = [
            f"{name:{width}}  {100 * p:7.2f} %  {100 * r:4.1f} %  {100 * f:4.1f} %  {n:7}  {m:9}"
            for name, p, r, f, n, m in zip(
                names,
                self.precision[order],
                self.recall[order],
                self.f1[order],
                self.support[order],
                self.predicted[order],
                strict=True,
            )
        ]
        left = len(self.names) - len(order)
        return ["", head, *rows, *([f"and {left:,} labels of fewer rows"] if left else [])]

    def _by_support(self) -> NDArray[np.int64]:
        return np.argsort(-self.support, kind="stable")


def score_label_sets(model: MultilabelSVC, X: ArrayLike, y: object) -> MultilabelScores:
    """Evaluate a fitted model on rows with known sets; scores are computed for some at a time."""
    truth, _ = encoded(y, model.classes_, holds_sets=model.learnt_from_sets_)
    check_consistent_length(X, truth)
    n, k = truth.shape
    if not n:
        raise ValueError("X has no rows to evaluate the model on")
    support, predicted, hits = np.zeros((3, k), np.int64)
    found = MultilabelScores(model.classes_, model.thresholds_, support, predicted, hits, n)
    order = np.argsort(model.classes_)
    best = [b for b in BEST if b <= k]
    n_good = np.zeros(best[-1], np.int64)
    for begin in range(0, _num_samples(X), ROWS_AT_A_TIME):
        part = slice(begin, begin + ROWS_AT_A_TIME)
        rows, own = _safe_indexing(X, part), truth[part]
        _count(found, own, sp.csr_array(model.predict(rows)))
        top = model.predict_top_k(rows, best[-1])
        places = order[np.searchsorted(model.classes_, top, sorter=order)]
        n_good += _has(own, places).sum(axis=0)
    found.best = {b: float(n_good[:b].sum()) / (b * n) for b in best}
    return found


def _count(found: MultilabelScores, truth: CsrArray, predicted: CsrArray) -> None:
    k = truth.shape[1]
    both = sp.csr_array(truth.multiply(predicted))
    both.eliminate_zeros()
    found.support += np.bincount(truth.indices, minlength=k)
    found.predicted += np.bincount(predicted.indices, minlength=k)
    found.hits += np.bincount(both.indices, minlength=k)
    wrong = np.diff(truth.indptr) + np.diff(predicted.indptr) - 2 * np.diff(both.indptr)
    found.n_right += int((wrong == 0).sum())


def _has(truth: CsrArray, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether every row has each of some labels, shape (n, k)."""
    n, k = truth.shape
    owners = np.repeat(np.arange(n), np.diff(truth.indptr))
    known = owners * k + truth.indices
    return np.isin(np.arange(n)[:, None] * k + places, known)


def _ratio(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.divide(a, b, out=np.zeros(len(a)), where=b > 0)


def labels_section(found: MultilabelScores) -> Section:
    """Return the scores of the labels as a section of a report."""
    order = np.argsort(-found.support, kind="stable")[:LARGEST]
    titles = ["label", "precision", "recall", "F1", "support", "predicted", "threshold"]
    scores = found.precision, found.recall, found.f1
    columns: list[Array] = [found.names, *scores, found.support, found.predicted, found.thresholds]
    rows = [
        [shown(name), *map(percent, (p, r, f)), f"{n:,}", f"{m:,}", f"{t:.3g}"]
        for name, p, r, f, n, m, t in zip(*(c[order].tolist() for c in columns), strict=True)
    ]
    left = len(found.names) - len(order)
    more = paragraph(f"{left:,} labels of fewer rows are left out.") if left else None
    counts = [
        ("rows with exactly the right set", f"{found.n_right:,}"),
        ("labels per row, on average", f"{found.support.sum() / found.n_rows:.2f}"),
        ("predicted labels per row", f"{found.predicted.sum() / found.n_rows:.2f}"),
        *((f"precision at {k}", percent(share, 2)) for k, share in found.best.items()),
    ]
    listed = table("Labels, the most frequent first", titles, rows, n_left=1, search="labels")
    return Section("labels", "Labels", "Labels", [facts(counts), paragraph(SCORES), listed, more])
