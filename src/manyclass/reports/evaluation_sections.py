"""Sections of a report about predictions on labelled data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyclass.reports.charts import reliability_chart
from manyclass.reports.confusion import LabelCodes, shown
from manyclass.reports.coverage import threshold
from manyclass.reports.evaluation import PAIRS, Calibration, ClassScores, Evaluation
from manyclass.reports.html import (
    Markup,
    Section,
    element,
    facts,
    paragraph,
    percent,
    scrolling,
    side_by_side,
    table,
)
from manyclass.reports.tree_metrics import TreeMetrics

SCORES = (
    "Precision: the share of the rows predicted as a class that are of it. Recall: the share of "
    "the rows of a class that are predicted as it. F1: their harmonic mean. Support: rows of the "
    "class."
)
MATRIX = (
    "A row for each true class, a column for each predicted one. The color of a cell shows its "
    "share of the row."
)
CALIBRATION = (
    "Of the predictions whose probability is about p, a share of p should be right. Above the "
    "dashed line probabilities are too small, below it too large. The expected calibration error "
    "is the mean distance from it, over all rows; the log loss is the mean of minus the logarithm "
    "of the true class's probability."
)
COVERAGE = (
    "Errors of the rows that predict(X, reject=threshold) does not reject: those whose confidence "
    "is at least the threshold. "
)
CONFIDENCE = {
    "probability": "Confidence is the largest probability.",
    "top-2 margin": "Confidence is the top-2 margin: the largest score less the second.",
}
LEVELS = (
    "Of the rows whose true class is as deep, the share that is predicted below the same node of "
    "this depth."
)
WORST, LARGEST = 2000, 200  # classes on a page, if there are more
MATRIX_CLASSES = 40
COUNTED = 26  # number of classes up to which the matrix shows counts
LONGEST_HEADING = 22  # characters of a class next to the matrix
STRENGTHS = 10  # levels of the color of a cell, as in style.css
BELOW_MATRIX = 10  # confused pairs that are listed below a matrix


def classes_section(found: Evaluation) -> Section:
    """Return precision, recall and F1 of every class."""
    scores = found.classes
    many = len(scores.labels) > MATRIX_CLASSES
    order = scores.worst_first() if many else np.arange(len(scores.labels))
    listed = _listed(scores, order)
    left = len(order) - len(listed)
    note = SCORES
    if left > 0:
        note += f" {left:,} smaller classes of a higher F1 are left out; evaluate --report --json "
        note += "has all."
    shares = scores.precision, scores.recall, scores.f1
    rows = [
        [shown(scores.labels[i]), *(percent(s[i]) for s in shares), str(scores.support[i])]
        for i in listed
    ]
    what = "Classes, the lowest F1 first" if many else "Classes"
    titles = ("class", "precision", "recall", "F1", "support")
    whole = table(what, titles, rows, n_left=1, search="classes")
    return Section("classes", "Classes", "Classes", [paragraph(note), whole])


def _listed(scores: ClassScores, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first classes of an order, and the largest of the other classes."""
    largest = np.argsort(-scores.support, kind="stable")[:LARGEST]
    others = order[WORST:]
    return np.concatenate([order[:WORST], others[np.isin(others, largest)]])


def levels_section(found: TreeMetrics) -> Section:
    """Return the accuracy of each level of a taxonomy."""
    rows = [
        [str(depth), percent(share)]
        for depth, share in enumerate(found.by_level.tolist(), 1)
        if not np.isnan(share)
    ]
    titles = ("depth", "below the same node")
    whole = table("Accuracy by level", titles, rows, n_left=0)
    return Section("levels", "Levels", "Levels of the taxonomy", [paragraph(LEVELS), whole])


def confusion_section(found: Evaluation) -> Section:
    """Return the confusion matrix, if there are few classes, and the most confused pairs."""
    pairs, matrix = found.confusion, confusion_matrix(found.codes)
    n_shown = min(PAIRS if matrix is None else BELOW_MATRIX, len(pairs))
    content: list[Markup] = [] if matrix is None else [paragraph(MATRIX), matrix]
    if not pairs.n_errors:
        content.append(paragraph(f"All {pairs.n_rows:,} rows are predicted correctly."))
    else:
        summary = (
            f"{pairs.n_errors:,} of {pairs.n_rows:,} rows are predicted as a different class, in "
        )
        summary += f"{len(pairs):,} pairs of classes; here {'are' if n_shown > 1 else 'is'} the "
        content.append(paragraph(f"{summary}{n_shown} most frequent."))
        rows = [
            [shown(p.true), shown(p.predicted), str(p.count), percent(p.share)]
            for p in pairs.top(n_shown)
        ]
        titles = ("true class", "predicted as", "rows", "of the true class")
        content.append(table("The most confused pairs", titles, rows, n_left=2))
    return Section("confusions", "Confusions", "Confusions", content)


def confusion_matrix(codes: LabelCodes) -> Markup | None:
    """Return the matrix of the labels that occur, or None if there are too many of them.

    The color of a cell shows its share of the rows of the true class.
    """
    used = np.union1d(codes.true, codes.predicted)
    k = len(used)
    if k > MATRIX_CLASSES:
        return None
    true, predicted = np.searchsorted(used, codes.true), np.searchsorted(used, codes.predicted)
    counts = np.bincount(true * k + predicted, minlength=k * k).reshape(k, k)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    names = [shown(codes.labels[i]) for i in used]
    headings = [n if len(n) <= LONGEST_HEADING else f"{n[: LONGEST_HEADING - 1]}…" for n in names]
    body = [
        element(
            "tr",
            element("th", heading, scope="row"),
            *(
                _cell(f"{names[t]} → {names[p]}", counts[t, p], shares[t, p], t == p, k)
                for p in range(k)
            ),
        )
        for t, heading in enumerate(headings)
    ]
    head = element("tr", element("td"), *(element("th", h, scope="col") for h in headings))
    matrix = element(
        "table",
        element("caption", "Confusion matrix: true classes down, predicted ones across"),
        element("thead", head),
        element("tbody", *body),
        class_="heat" if k <= COUNTED else "heat many",
    )
    return scrolling(matrix, "Confusion matrix")


def _cell(pair: str, count: int, share: float, is_right: bool, k: int) -> Markup:
    if not count:
        return element("td")
    # The square root makes rare confusions visible.
    strength = f"{'right' if is_right else 'wrong'} s{round(STRENGTHS * share**0.5)}"
    tooltip = f"{pair}: {count} rows, {percent(share)}"
    return element("td", count if k <= COUNTED else "", title=tooltip, class_=strength)


def calibration_section(found: Calibration) -> Section:
    """Return the calibration of the probabilities."""
    numbers = [
        ("log loss", None if found.log_loss is None else f"{found.log_loss:.4f}"),
        ("expected calibration error", f"{found.ece:.4f}"),
    ]
    rows = [
        [
            f"{i / 10:.1f} to {(i + 1) / 10:.1f}",
            str(n),
            percent(found.confidence[i]) if n else "",
            percent(found.accuracy[i]) if n else "",
        ]
        for i, n in enumerate(found.counts.tolist())
    ]
    titles = ("largest probability", "rows", "mean", "fraction correct")
    bins = table("Predictions by probability", titles, rows, n_left=1)
    figures = side_by_side(reliability_chart(found), bins)
    content = [paragraph(CALIBRATION), facts(numbers), figures]
    return Section("calibration", "Calibration", "Calibration", content)


def confidence_section(found: Evaluation) -> Section | None:
    """Return the accuracy of the best k classes, and the errors of the most confident rows."""
    covered = found.coverage
    if covered is None:
        return None
    best = [(f"label among the {k} best classes", percent(s, 2)) for k, s in found.top_k.items()]
    rows = [
        [threshold(row), percent(row["coverage"]), percent(row["error"])]
        for row in covered.as_dicts()
    ]
    titles = (f"least {covered.measure}", "rows", "errors")
    whole = table("Errors of the most confident rows", titles, rows, n_left=1)
    note = paragraph(COVERAGE, CONFIDENCE[covered.measure])
    content = [facts(best) if best else None, note, whole]
    return Section("confidence", "Confidence", "Confidence", content)
