"""The sections of a report that need labelled data: scores of classes, confusions, calibration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyclass.reports.calibration import Calibration
from manyclass.reports.class_scores import ClassScores
from manyclass.reports.confusion import ConfusionPairs
from manyclass.reports.evaluation import PAIRS, Evaluation
from manyclass.reports.label_codes import shown
from manyclass.reports.page.elements import Markup, element
from manyclass.reports.page.figures import reliability_chart
from manyclass.reports.page.heat_map import MOST_CLASSES, heat_map
from manyclass.reports.page.tables import (
    facts,
    paragraph,
    percent,
    section,
    side_by_side,
    table,
)

WORST, LARGEST = 2000, 200  # classes of a page, where there are more
BESIDE_MATRIX = 10  # confused pairs that are listed then


def classes_section(found: Evaluation) -> Markup:
    """Return precision, recall and F1 of every class."""
    scores = found.classes
    many = len(scores.labels) > MOST_CLASSES
    order = scores.worst_first() if many else np.arange(len(scores.labels))
    listed = _listed(scores, order)
    left = len(order) - len(listed)
    note = "Precision: the share of the rows predicted as a class that are of it. Recall: the "
    note += "share of the rows of a class that are predicted as it. F1: their harmonic mean. "
    note += "Support: rows of the class."
    if left > 0:
        note += (
            f" {left:,} smaller classes of a higher F1 are left out; evaluate --report --json has "
        )
        note += "all."
    rows = [_row(scores, int(i)) for i in listed]
    what = "Classes, the lowest F1 first" if many else "Classes"
    titles = ("class", "precision", "recall", "F1", "support")
    whole = table(what, titles, rows, n_left=1, search="classes")
    return section("classes", "Classes", paragraph(note), whole)


def _listed(scores: ClassScores, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first of an order, and the largest classes of the others."""
    largest = np.argsort(-scores.support, kind="stable")[:LARGEST]
    others = order[WORST:]
    return np.concatenate([order[:WORST], others[np.isin(others, largest)]])


def _row(scores: ClassScores, i: int) -> list[str]:
    shares = [percent(s[i]) for s in (scores.precision, scores.recall, scores.f1)]
    return [shown(scores.labels[i]), *shares, str(scores.support[i])]


def confusion_section(found: Evaluation) -> Markup:
    """Return the confusion matrix of few classes, and the most confused pairs."""
    pairs = found.confusion
    matrix = heat_map(found.codes)
    parts: list[Markup] = []
    if matrix is not None:
        parts.append(
            paragraph(
                "A row for each true class, a column for each predicted one. The colour of a "
                "cell shows its share of the row."
            )
        )
        label = "Confusion matrix"
        box = element("div", matrix, class_="scroll", tabindex="0", role="region", aria_label=label)
        parts.append(box)
    n_shown = min(PAIRS if matrix is None else BESIDE_MATRIX, len(pairs))
    parts.append(paragraph(_told(pairs, n_shown)))
    if n_shown:
        rows = [
            [shown(p.true), shown(p.predicted), str(p.count), percent(p.share)]
            for p in pairs.top(n_shown)
        ]
        titles = ("true class", "predicted as", "rows", "of the true class")
        parts.append(table("The most confused pairs", titles, rows, n_left=2))
    return section("confusions", "Confusions", *parts)


def _told(pairs: ConfusionPairs, n_shown: int) -> str:
    if not pairs.n_errors:
        return f"All {pairs.n_rows:,} rows are right."
    return (
        f"{pairs.n_errors:,} of {pairs.n_rows:,} rows are predicted as another class, in "
        f"{len(pairs):,} pairs of classes; here {'are' if n_shown > 1 else 'is'} the "
        f"{n_shown} most frequent."
    )


def calibration_section(found: Calibration) -> Markup:
    """Return how far the probabilities are right."""
    numbers = [
        ("log loss", None if found.log_loss is None else f"{found.log_loss:.4f}"),
        ("expected calibration error", f"{found.ece:.4f}"),
    ]
    titles = ("largest probability", "rows", "mean", "share that is right")
    rows = [
        [
            f"{i / 10:.1f} to {(i + 1) / 10:.1f}",
            str(n),
            percent(found.confidence[i]) if n else "",
            percent(found.accuracy[i]) if n else "",
        ]
        for i, n in enumerate(found.counts.tolist())
    ]
    bins = table("Predictions by their probability", titles, rows, n_left=1)
    return section(
        "calibration",
        "Calibration",
        paragraph(
            "Of the predictions whose probability is about p, a share of p should be right. Above "
            "the dashed line probabilities are too small, below it too large. The expected "
            "calibration error is the mean distance from it, over all rows; the log loss is the "
            "mean of minus the logarithm of the true class's probability."
        ),
        facts(numbers),
        side_by_side(reliability_chart(found), bins),
    )
