"""Charts of a report in SVG: convergence, loss, reliability, confusion matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from manyclass.persistence.model_schema import Record
from manyclass.problem.solution import Certificate, EpochRecord
from manyclass.reports.evaluation import Calibration
from manyclass.reports.html import Markup, element, joined
from manyclass.reports.labels import LabelCodes, shown

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST_TICKS = 6
WIDTH, HEIGHT = 440, 280
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 12, 46
DOTTED_POINTS = 60  # up to which each point of a line is marked
Points = list[tuple[float, float]]
# What is drawn, as history and certificate may hold any number: on a logarithmic scale, and else,
# where differences must neither overflow nor underflow.
SMALLEST, LARGEST = 1e-18, 1e18
NARROWEST, FARTHEST = 1e-300, 1e300
WIDE = 20.0  # ratio of objectives beyond which their scale is logarithmic
MATRIX_CLASSES = 40
LONGEST = 22  # characters of a label at the side
CHARACTER = 7.0  # pixels
COUNTED = 26  # classes up to which counts are written
STRONGEST = 0.6  # opacity of a cell, so that its count can be read


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values along a length.

    Attributes
    ----------
    title : str
    low, high : float
        low < high; positive on a logarithmic scale.
    log : bool, default=False
    """

    title: str
    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """Return the position of a value, from 0 at ``low`` to 1 at ``high``."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the marked values and their labels."""
        return _decades(self.low, self.high) if self.log else _steps(self.low, self.high)


def axis_of(title: str, values: list[float], *, log: bool = False, zero: bool = False) -> Axis:
    """Return the axis that holds all values; ``zero``: from 0 on."""
    low, high = min(values), max(values)
    if log:
        low, high = 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high))
        return Axis(title, low, high if high > low else 10 * low, log=True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = high - low
    if room < NARROWEST:
        room = abs(high) if abs(high) > NARROWEST else 1.0
    return Axis(title, low if zero else low - 0.05 * room, high + 0.05 * room)


def _decades(low: float, high: float) -> list[tuple[float, str]]:
    first, last = round(math.log10(low)), round(math.log10(high))
    step = -(-(last - first + 1) // MOST_TICKS)
    return [(10.0**n, f"10{str(n).translate(SUPERSCRIPTS)}") for n in range(first, last + 1, step)]


def _steps(low: float, high: float) -> list[tuple[float, str]]:
    least = (high - low) / MOST_TICKS
    decade = 10.0 ** math.floor(math.log10(least))
    step = next(n * decade for n in (1, 2, 5, 10) if n * decade >= least)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [(n * step, f"{n * step:.6g}") for n in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Series:
    """Points of a chart.

    Attributes
    ----------
    name : str
    points : sequence of (float, float)
        Within the axes.
    style : {"one", "two", "three", "guide"}
        A colour; guide: a thin dashed line.
    shape : {"line", "points", "diamond"}
    """

    name: str
    points: Sequence[tuple[float, float]]
    style: str = "one"
    shape: str = "line"


def chart(x: Axis, y: Axis, series: Sequence[Series], description: str) -> Markup:
    """Return a figure: the chart and its legend.

    Parameters
    ----------
    x, y : Axis
    series : sequence of Series
    description : str
        Text for readers who do not see the chart.
    """
    drawing = element(
        "svg",
        _frame(x, y),
        *(_drawn(one, x, y) for one in series),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=description,
        class_="chart",
    )
    legend = [element("li", _swatch(one), one.name) for one in series]
    caption = element("figcaption", element("ul", *legend, class_="legend"))
    return element("figure", drawing, caption)


def _at(x: Axis, y: Axis, point: tuple[float, float]) -> tuple[float, float]:
    across = LEFT + x.share(point[0]) * (WIDTH - LEFT - RIGHT)
    return across, HEIGHT - BOTTOM - y.share(point[1]) * (HEIGHT - TOP - BOTTOM)


def _frame(x: Axis, y: Axis) -> Markup:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for value, name in y.ticks():
        _, down = _at(x, y, (x.low, value))
        parts.append(element("line", x1=LEFT, x2=right, y1=down, y2=down, class_="grid"))
        parts.append(element("text", name, x=LEFT - 8, y=down + 4, text_anchor="end"))
    for value, name in x.ticks():
        across, _ = _at(x, y, (value, y.low))
        parts.append(element("line", x1=across, x2=across, y1=bottom, y2=bottom + 5, class_="tick"))
        parts.append(element("text", name, x=across, y=bottom + 19, text_anchor="middle"))
    parts.append(element("line", x1=LEFT, x2=right, y1=bottom, y2=bottom, class_="tick"))
    middle = (TOP + bottom) / 2
    titles = [
        element("text", x.title, x=(LEFT + right) / 2, y=HEIGHT - 8, text_anchor="middle"),
        element(
            "text",
            y.title,
            x=0,
            y=0,
            text_anchor="middle",
            transform=f"translate(14 {middle:g}) rotate(-90)",
        ),
    ]
    return joined([*parts, *titles])


def _drawn(series: Series, x: Axis, y: Axis) -> Markup:
    places = [_at(x, y, point) for point in series.points]
    if series.shape == "diamond":
        return joined(_diamond(*place, series.style) for place in places)
    line = element(
        "polyline",
        points=" ".join(f"{a:.1f},{b:.1f}" for a, b in places),
        class_=f"line {series.style}",
    )
    dotted = series.style != "guide" and len(places) <= DOTTED_POINTS
    dots = [element("circle", cx=a, cy=b, r=3, class_=f"dot {series.style}") for a, b in places]
    return joined([line, *(dots if dotted else [])])


def _diamond(across: float, down: float, style: str) -> Markup:
    path = f"M{across:.1f} {down - 6:.1f}l6 6l-6 6l-6 -6z"
    return element("path", d=path, class_=f"dot {style}")


def _swatch(series: Series) -> Markup:
    if series.shape == "diamond":
        mark = _diamond(12, 7, series.style)
    else:
        mark = element("line", x1=1, x2=23, y1=7, y2=7, class_=f"line {series.style}")
    return element("svg", mark, viewBox="0 0 24 14", class_="swatch", aria_hidden="true")


def gap_chart(
    history: Sequence[EpochRecord], proof: Certificate | None, tol: float | None
) -> Markup | None:
    """Return the relative gap against seconds, or None without any."""
    with np.errstate(all="ignore"):
        points = _points([(r.seconds, r.relative_gap) for r in history], positive=True)
    if not points:
        return None
    end = points[-1][0]
    proven = _points([(end, proof.relative_gap)], positive=True) if proof else []
    asked = _points([(0.0, tol), (end, tol)], positive=True) if tol else []
    y = axis_of("relative gap", [v for _, v in points + proven + asked], log=True)
    series = [Series("relative gap, estimated", points)]
    if asked:
        series.append(Series(f"asked for: {tol:g}", asked, "guide"))
    if proven:
        series.append(Series(f"proven: {proven[0][1]:.2g}", proven, "two", "diamond"))
    text = f"Relative gap against seconds: from {points[0][1]:.2g} to {points[-1][1]:.2g}"
    return chart(_seconds(points), y, series, f"{text} in {end:.3g} seconds.")


def objective_chart(history: Sequence[EpochRecord], proof: Certificate | None) -> Markup | None:
    """Return the objective against seconds, or None without any."""
    points = _points([(r.seconds, r.primal_estimate) for r in history])
    if not points:
        return None
    end = points[-1][0]
    upper = _points([(end, proof.primal_objective)]) if proof else []
    lower = _points([(0.0, proof.dual_objective), (end, proof.dual_objective)]) if proof else []
    values = [v for _, v in points + upper + lower]
    log = _is_wide(values)
    series = [Series("objective P, estimated", points)]
    if lower:
        series.append(Series(f"lower bound D = {lower[0][1]:.6g}", lower, "guide"))
    if upper:
        series.append(Series(f"proven: P = {upper[0][1]:.6g}", upper, "two", "diamond"))
    text = f"Objective against seconds: from {points[0][1]:.4g} to {points[-1][1]:.4g}."
    return chart(_seconds(points), axis_of("objective", values, log=log), series, text)


def loss_chart(history: Sequence[Record]) -> Markup | None:
    """Return the mean loss of the epochs of stochastic steps, or None without any."""
    points = _points([(r.seconds, getattr(r, "loss", math.nan)) for r in history])
    if not points:
        return None
    text = f"Mean loss against seconds: from {points[0][1]:.4g} to {points[-1][1]:.4g}."
    values = [v for _, v in points]
    log = _is_wide(values)
    y = axis_of("mean loss", values, log=log, zero=not log)
    return chart(_seconds(points), y, [Series("mean loss of an epoch", points)], text)


def reliability_chart(found: Calibration) -> Markup:
    """Return the share of right predictions against the largest probability."""
    pairs = zip(found.confidence.tolist(), found.accuracy.tolist(), strict=True)
    x = Axis("largest probability", 0.0, 1.0)
    y = Axis("share that is right", 0.0, 1.0)
    series = [
        Series("as probable as it says", [(0.0, 0.0), (1.0, 1.0)], "guide"),
        Series("predictions, in ten bins", _points(list(pairs))),
    ]
    text = f"Reliability curve: expected calibration error {found.ece:.3f}."
    return chart(x, y, series, text)


def _is_wide(values: list[float]) -> bool:
    return min(values) > SMALLEST and max(values) > WIDE * min(values)


def _points(pairs: Points, *, positive: bool = False) -> Points:
    """Return the points that can be drawn, in the order of time."""
    fits = [(s, v) for s, v in pairs if 0 <= s < LARGEST and abs(v) < FARTHEST]
    if positive:
        fits = [(s, v) for s, v in fits if SMALLEST < v < LARGEST]
    ordered = all(a <= b for (a, _), (b, _) in pairwise(fits))
    return fits if ordered else sorted(fits)


def _seconds(points: Points) -> Axis:
    return axis_of("seconds", [s for s, _ in points], zero=True)


def heat_map(codes: LabelCodes) -> Markup | None:
    """Return the matrix of the labels that occur, or None if there are too many of them.

    A cell is coloured by its share of the rows of the true class.
    """
    used = np.union1d(codes.true, codes.predicted)
    k = len(used)
    if k > MATRIX_CLASSES:
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
    # The square root makes rare confusions visible.
    strength = STRONGEST * share**0.5
    kind = "right" if t == p else "wrong"
    square = element("rect", x=x, y=y, width=size, height=size, fill_opacity=strength, class_=kind)
    tooltip = element("title", f"{names[t]} → {names[p]}: {count} rows, {100 * share:.1f} %")
    if len(names) > COUNTED:
        return element("g", tooltip, square)
    number = element("text", count, x=x + size / 2, y=y + size / 2 + 4, text_anchor="middle")
    return element("g", tooltip, square, number)


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
