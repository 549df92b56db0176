"""Evaluation of a model on labelled rows: accuracy, scores of classes, confusions, calibration."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import precision_recall_fscore_support
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_consistent_length

from manyclass.estimators.costs import by_label, mean_cost
from manyclass.problem.taxonomy import Taxonomy, WithProbabilities
from manyclass.reports.confusion import (
    ConfusionPairs,
    LabelCodes,
    as_labels,
    columns,
    label_codes,
    shown,
)
from manyclass.reports.coverage import TOP, Coverage, top2_margins_of, top_k_accuracy
from manyclass.reports.tree_metrics import TreeMetrics
from manyclass.utils.input_rows import is_sparse
from manyclass.utils.types import Array, Label, Numbers, Rows, Settings

PAIRS = 20  # most confused pairs in a report
# With more than ALL classes, only the worst and the largest are listed.
ALL, WORST, LARGEST = 40, 20, 10
BINS = 10
PROBABILITIES_AT_A_TIME = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Scores of a model's predictions of labelled rows."""

    codes: LabelCodes
    classes: ClassScores
    confusion: ConfusionPairs
    calibration: Calibration | None  # None without probabilities
    coverage: Coverage | None = None  # None without confidence
    top_k: dict[int, float] = field(default_factory=dict)  # of the k best classes
    mean_cost: float | None = None  # of rows whose label is a class
    tree: TreeMetrics | None = None  # scores by a taxonomy

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes.true)

    @property
    def accuracy(self) -> float:
        """Fraction of rows that are predicted correctly."""
        return float(np.mean(self.codes.true == self.codes.predicted))

    @property
    def f1_macro(self) -> float:
        """Mean F1 of the labels that occur among the true or the predicted labels."""
        return float(np.mean(self.classes.f1))

    def scores(self) -> Settings:
        """Return the scores over all rows, as JSON values."""
        return {
            "accuracy": self.accuracy,
            "f1_micro": self.accuracy,  # the same, as every row has one label and one prediction
            "f1_macro": self.f1_macro,
            **({} if self.mean_cost is None else {"mean_cost": self.mean_cost}),
            **({} if self.tree is None else self.tree.as_dict()),
            "n": self.n_rows,
        }

    def as_dict(self) -> Settings:
        """Return all scores and the most confused pairs, as JSON values."""
        found = self.calibration
        about = {} if found is None else {"log_loss": found.log_loss, "ece": found.ece}
        covered = self.coverage
        return {
            **self.scores(),
            **{f"top_{k}_accuracy": share for k, share in self.top_k.items()},
            **about,
            **({} if covered is None else {"confidence": covered.measure}),
            **({} if covered is None else {"coverage": covered.as_dicts()}),
            "classes": self.classes.as_dicts(),
            "confused_pairs": [asdict(pair) for pair in self.confusion.top(PAIRS)],
        }

    def lines(self) -> list[str]:
        """Return the scores as text, without the scores over all rows."""
        lines = [f"top {k}     {100 * share:6.2f} %" for k, share in self.top_k.items()]
        lines += ["", *self.classes.lines(), "", *str(self.confusion).splitlines()]
        if self.coverage is not None:
            lines += ["", *self.coverage.lines()]
        found = self.calibration
        if found is not None:
            loss = "" if found.log_loss is None else f"log loss {found.log_loss:.4f}, "
            lines += ["", f"probabilities: {loss}expected calibration error {found.ece:.4f}"]
        return lines


def evaluate(
    model: ClassifierMixin,
    X: ArrayLike,
    y: ArrayLike,
    *,
    confidence: bool = True,
    taxonomy: Taxonomy | None = None,
) -> Evaluation:
    """Evaluate a model on labelled rows.

    Parameters
    ----------
    model : fitted classifier
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        True labels; labels that are not a class of the model count as errors.
    confidence : bool, default=True
        Whether to evaluate the best k classes, the confidence of the predictions, and the
        probabilities, if the model has them.
    taxonomy : Taxonomy, default=None
        A tree whose nodes are the labels, for the mean distance of predictions, hierarchical F1 and
        the accuracy of each level. None: the one that the model was trained with, if there is one.
    """
    truth = as_labels(y, "y")
    X = X.tocsr() if is_sparse(X) else X
    check_consistent_length(X, truth)
    classifier = model
    if len(getattr(model, "steps", [])) > 1:
        classifier, X = model.steps[-1][1], _transformed(model[:-1], X)
    k = min(max(TOP), len(classifier.classes_) - 1) if confidence else 1
    best = classifier.predict_top_k(X, k) if k > 1 else classifier.predict(X)[:, None]
    codes = label_codes(classifier.classes_, truth, best[:, 0])
    scores, pairs = ClassScores.from_codes(codes), ConfusionPairs(codes)
    cost, tree = _mean_cost(classifier, codes), _by_tree(classifier, codes, taxonomy)
    if not confidence:
        return Evaluation(codes, scores, pairs, None, mean_cost=cost, tree=tree)
    top_k = top_k_accuracy(classifier.classes_, best, codes)
    if not has_probabilities(classifier):
        right = codes.true == codes.predicted
        covered = Coverage.from_confidence("top-2 margin", top2_margins_of(classifier, X), right)
        return Evaluation(codes, scores, pairs, None, covered, top_k, cost, tree)
    found, covered = calibration(classifier, X, codes)
    return Evaluation(codes, scores, pairs, found, covered, top_k, cost, tree)


def _mean_cost(classifier: ClassifierMixin, codes: LabelCodes) -> float | None:
    """Return the mean cost of predictions, with the costs that the model was trained with."""
    if getattr(classifier, "costs", None) is None or codes.n_unseen == len(codes.true):
        return None
    known, labels = codes.true < codes.n_known, classifier.classes_[codes.columns()]
    costs = by_label(classifier.costs, classifier.classes_)
    return mean_cost(costs, labels[codes.true[known]], labels[codes.predicted[known]])


def _by_tree(
    classifier: ClassifierMixin, codes: LabelCodes, taxonomy: Taxonomy | None
) -> TreeMetrics | None:
    """Return the scores by the given tree, or by the tree that the model was trained with.

    With the latter, only rows with a label in the tree count.
    """
    own = getattr(classifier, "costs", None)
    tree = own if taxonomy is None and isinstance(own, Taxonomy) else taxonomy
    if tree is None:
        return None
    labels, rows = np.empty(len(codes.labels), object), np.arange(len(codes.true))
    labels[:] = codes.labels
    if taxonomy is None:
        nodes = np.isin(np.arange(len(labels)), [i for i, x in enumerate(labels) if x in tree])
        rows = rows[nodes[codes.true]]
    if not len(rows):
        return None
    return TreeMetrics.from_predictions(
        tree, labels[codes.true[rows]], labels[codes.predicted[rows]]
    )


def _transformed(steps: Pipeline, X: object) -> ArrayLike:
    """Return transformed rows; X is copied for steps with copy=False, which would overwrite it."""
    params = steps.get_params().items()
    overwrites = any(name.endswith("__copy") and not value for name, value in params)
    rows: Rows = steps.transform(X.copy() if overwrites and hasattr(X, "copy") else X)
    return rows.tocsr() if is_sparse(rows) else rows


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """Scores of the labels that occur, as true or as predicted ones; 0 where nothing is counted."""

    labels: list[Label]  # classes in the order of the model, then labels that are none of them
    precision: Numbers
    recall: Numbers
    f1: Numbers
    support: NDArray[np.int64]  # rows that have the label

    @classmethod
    def from_codes(cls, codes: LabelCodes) -> ClassScores:
        """Compute the scores, in time and memory O(n_samples + n_labels)."""
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
        """Return positions by F1, the lowest first; for equal F1, the largest class first."""
        return np.lexsort((-self.support, self.f1))

    def as_dicts(self) -> list[Settings]:
        """Return all labels, ready for JSON."""
        numbers = self.precision, self.recall, self.f1, self.support
        return [
            {"label": label, "precision": p, "recall": r, "f1": f, "support": s}
            for label, p, r, f, s in zip(self.labels, *(a.tolist() for a in numbers), strict=True)
        ]

    def lines(self) -> list[str]:
        """Return tables: all classes, or the worst and the largest, and a summary of the others."""
        n = len(self.labels)
        if n <= ALL:
            return self._table(np.arange(n))
        worst = self.worst_first()
        largest = np.argsort(-self.support, kind="stable")[:LARGEST]
        left = np.setdiff1d(worst[WORST:], largest)
        return [
            f"the {WORST} classes with the lowest F1",
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


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Reliability of the largest probability of every row, in bins of equal width."""

    counts: NDArray[np.int64]  # rows in each bin
    confidence: NDArray[np.float64]  # their mean largest probability; NaN without rows
    accuracy: NDArray[np.float64]  # share of them that are right
    log_loss: float | None  # mean of -log p(true class), of rows whose label is a class
    ece: float  # expected calibration error: mean of |accuracy - confidence| over the rows

    @classmethod
    def from_probabilities(
        cls, largest: Array, right: Array, log_loss: float | None
    ) -> Calibration:
        """Compute it from the probability of each row's predicted class, and whether that is right.

        Examples
        --------
        >>> import numpy as np
        >>> largest, right = np.array([0.85, 0.85]), np.array([True, False])
        >>> found = Calibration.from_probabilities(largest, right, None)
        >>> round(found.ece, 6)
        0.35
        """
        bins = np.minimum((largest * BINS).astype(int), BINS - 1)
        counts = np.bincount(bins, minlength=BINS)
        sums = np.bincount(bins, largest, BINS), np.bincount(bins, right, BINS)
        empty = np.full(BINS, np.nan)
        confidence, accuracy = (
            np.divide(s, counts, out=empty.copy(), where=counts > 0) for s in sums
        )
        ece = float(np.abs(sums[0] - sums[1]).sum() / len(largest))
        return cls(counts, confidence, accuracy, log_loss, ece)


def has_probabilities(model: object) -> bool:
    """Whether a model has probabilities."""
    return hasattr(model, "predict_proba")


def calibration(
    model: WithProbabilities, X: ArrayLike, codes: LabelCodes
) -> tuple[Calibration, Coverage]:
    """Compute calibration and coverage of a model with probabilities, a few rows at a time."""
    columns = codes.columns()
    largest, losses = np.empty(len(codes.true)), [np.empty(0)]
    step = max(1, PROBABILITIES_AT_A_TIME // len(model.classes_))
    for begin in range(0, len(largest), step):
        part = slice(begin, begin + step)
        p = model.predict_proba(_safe_indexing(X, part))
        largest[part] = p.max(axis=1)
        known = np.flatnonzero(codes.true[part] < codes.n_known)
        true = p[known, columns[codes.true[part][known]]]
        losses.append(-np.log(np.maximum(true, np.finfo(p.dtype).eps, dtype=np.float64)))
    loss = np.concatenate(losses)
    right = codes.true == codes.predicted
    found = Calibration.from_probabilities(
        largest, right, float(loss.mean()) if len(loss) else None
    )
    return found, Coverage.from_confidence("probability", largest, right)
