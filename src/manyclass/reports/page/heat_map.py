"""The confusion matrix of few classes, as a heat map in SVG."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyclass.reports.label_codes import LabelCodes, shown
from manyclass.reports.page.elements import Markup, element, joined

MOST_CLASSES = 40
LONGEST = 22  # characters of a label at the side
CHARACTER = 7.0  # pixels
COUNTED = 26  # classes up to which counts are written
STRONGEST = 0.6  # opacity of a cell, so that its count can be read


def heat_map(codes: LabelCodes) -> Markup | None:
    """Return the matrix of the labels that occur, or None if there are too many of them.

    A cell is coloured by its share of the rows of the true class.
    """
    used = np.union1d(codes.true, codes.predicted)
    k = len(used)
    if k > MOST_CLASSES:
        return None
    true, predicted = np.searchsorted(used, codes.true), np.searchsorted(used, codes.predicted)
    counts = np.bincount(true * k + predicted, minlength=k * k).reshape(k, k)
    names = [shown(codes.labels[i]) for i in used]
    return _drawing(counts, names)


def _drawing(counts: NDArray[np.int64], names: list[str]) -> Markup:
    k = len(names)
    size = 28 if k <= COUNTED else 18
    side = 30 + CHARACTER * min(LONGEST, max(map(len, names)))
    end = side + k * size
    labels = [_labels(i, _cut(name), side, size) for i, name in enumerate(names)]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    cells = [
        _cell(side, size, int(t), int(p), int(counts[t, p]), float(shares[t, p]), names)
        for t, p in np.argwhere(counts)
    ]
    frame = element("rect", x=side, y=side, width=k * size, height=k * size, class_="frame")
    titles = [
        element("text", "predicted", x=(side + end) / 2, y=14, text_anchor="middle", class_="of"),
        element(
            "text",
            "true",
            x=0,
            y=0,
            text_anchor="middle",
            transform=f"translate(14 {(side + end) / 2:g}) rotate(-90)",
            class_="of",
        ),
    ]
    return element(
        "svg",
        joined([frame, *labels, *cells, *titles]),
        viewBox=f"0 0 {end + 8:g} {end + 8:g}",
        width=end + 8,
        height=end + 8,
        role="img",
        aria_label=f"Confusion matrix of {k} classes; the most confused pairs are listed below.",
        class_="heat",
    )


def _labels(i: int, name: str, side: float, size: float) -> Markup:
    middle = side + (i + 0.5) * size
    return joined(
        [
            element("text", name, x=side - 6, y=middle + 4, text_anchor="end"),
            element(
                "text",
                name,
                x=0,
                y=0,
                transform=f"translate({middle + 4:g} {side - 6:g}) rotate(-90)",
            ),
        ]
    )


def _cell(
    side: float, size: float, t: int, p: int, count: int, share: float, names: list[str]
) -> Markup:
    x, y = side + p * size, side + t * size
    # The square root shows rare confusions, too.
    strength = STRONGEST * share**0.5
    kind = "right" if t == p else "wrong"
    square = element("rect", x=x, y=y, width=size, height=size, fill_opacity=strength, class_=kind)
    told = element("title", f"{names[t]} → {names[p]}: {count} rows, {100 * share:.1f} %")
    if len(names) > COUNTED:
        return element("g", told, square)
    number = element("text", count, x=x + size / 2, y=y + size / 2 + 4, text_anchor="middle")
    return element("g", told, square, number)


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
