"""Charts of a report in SVG: convergence, loss, reliability.

They do not use matplotlib, because its SVG has style attributes, which the page's
Content-Security-Policy forbids, a single color scheme, and five times the size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyclass.persistence.history_table import Record
from manyclass.problem.solution import Certificate, EpochRecord
from manyclass.reports.evaluation import Calibration
from manyclass.reports.html import Markup, element, joined

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST_TICKS = 6
WIDTH, HEIGHT = 440, 280
LEFT, RIGHT, TOP, BOTTOM = 64, 22, 12, 46
DOTTED_POINTS = 60  # number of points up to which each point of a line is marked
Points = list[tuple[float, float]]
# Ranges of drawn values, as history and certificate may hold any number: on a logarithmic scale,
# and on a linear scale, where differences must neither overflow nor underflow.
SMALLEST, LARGEST = 1e-18, 1e18
NARROWEST, FARTHEST = 1e-300, 1e300
WIDE = 20.0  # ratio of objectives beyond which their scale is logarithmic


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values along an axis; positive values on a logarithmic scale."""

    title: str
    low: float
    high: float
    log: bool = False

    @classmethod
    def from_values(
        cls, title: str, values: list[float], *, log: bool = False, zero: bool = False
    ) -> Axis:
        """Return the axis that contains all values; with ``zero``, it begins at 0."""
        low, high = min(values), max(values)
        if log:
            low, high = 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high))
            return cls(title, low, high if high > low else 10 * low, log=True)
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        room = high - low
        if room < NARROWEST:
            room = abs(high) if abs(high) > NARROWEST else 1.0
        return cls(title, low if zero else low - 0.05 * room, high + 0.05 * room)

    def share(self, value: float) -> float:
        """Return the position of a value, from 0 at ``low`` to 1 at ``high``."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the marked values and their labels."""
        if self.log:
            first, last = round(math.log10(self.low)), round(math.log10(self.high))
            decades = range(first, last + 1, -(-(last - first + 1) // MOST_TICKS))
            return [(10.0**n, f"10{str(n).translate(SUPERSCRIPTS)}") for n in decades]
        least = (self.high - self.low) / MOST_TICKS
        decade = 10.0 ** math.floor(math.log10(least))
        step = next(n * decade for n in (1, 2, 5, 10) if n * decade >= least)
        steps = range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)
        return [(n * step, f"{n * step:.6g}") for n in steps]


@dataclass(frozen=True, slots=True)
class Series:
    """Points of a chart, drawn as the "main" line, a dashed "guide" or a "proof" diamond."""

    name: str
    points: Points
    style: str = "main"


def chart(
    titles: tuple[str, str],
    series: Sequence[Series],
    description: str,
    *,
    log: bool = False,
    zero: bool = False,
) -> Markup:
    """Return a figure: the chart and its legend.

    Titles are for the x and the y axis; the x axis begins at 0. Series without points are left out.
    The description is for readers who do not see the chart; ``log`` and ``zero`` apply to the y
    axis.
    """
    series = [one for one in series if one.points]
    across, up = zip(*(point for one in series for point in one.points), strict=True)
    x = Axis.from_values(titles[0], list(across), zero=True)
    y = Axis.from_values(titles[1], list(up), log=log, zero=zero)
    drawing = element(
        "svg",
        _frame(x, y),
        *(_drawn(one.style, [_at(x, y, point) for point in one.points]) for one in series),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=description,
        class_="chart",
    )
    legend = [element("li", _swatch(one.style), one.name) for one in series]
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
    turned = f"translate(14 {(TOP + bottom) / 2:g}) rotate(-90)"
    parts.append(element("text", x.title, x=(LEFT + right) / 2, y=HEIGHT - 8, text_anchor="middle"))
    parts.append(element("text", y.title, text_anchor="middle", transform=turned))
    return joined(parts)


def _drawn(style: str, places: Points) -> Markup:
    if style == "proof":
        diamonds = "".join(f"M{a:.1f} {b - 6:.1f}l6 6l-6 6l-6 -6z" for a, b in places)
        return element("path", d=diamonds, class_=f"dot {style}")
    corners = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    line = element("polyline", points=corners, class_=f"line {style}")
    dotted = style == "main" and len(places) <= DOTTED_POINTS
    dots = [element("circle", cx=a, cy=b, r=3, class_=f"dot {style}") for a, b in places]
    return joined([line, *(dots if dotted else [])])


def _swatch(style: str) -> Markup:
    dash = element("path", d="M1 7h22", class_=f"line {style}")
    mark = _drawn(style, [(12, 7)]) if style == "proof" else dash
    return element("svg", mark, viewBox="0 0 24 14", class_="swatch", aria_hidden="true")


def gap_chart(
    history: Sequence[EpochRecord], proof: Certificate | None, tol: float | None
) -> Markup | None:
    """Return the relative gap against seconds, or None without any."""
    with np.errstate(all="ignore"):
        points = _drawable([(r.seconds, r.relative_gap) for r in history], positive=True)
    if not points:
        return None
    end = points[-1][0]
    series = [Series("relative gap, estimated", points)]
    if tol:
        asked = _drawable([(0.0, tol), (end, tol)], positive=True)
        series.append(Series(f"requested: {tol:g}", asked, "guide"))
    if proof:
        gap = proof.relative_gap
        series.append(Series(f"proven: {gap:.2g}", _drawable([(end, gap)], positive=True), "proof"))
    text = f"Relative gap against seconds: from {points[0][1]:.2g} to {points[-1][1]:.2g}"
    return chart(("seconds", "relative gap"), series, f"{text} in {end:.3g} seconds.", log=True)


def objective_chart(history: Sequence[EpochRecord], proof: Certificate | None) -> Markup | None:
    """Return the objective against seconds, or None without any."""
    points = _drawable([(r.seconds, r.primal_estimate) for r in history])
    if not points:
        return None
    end = points[-1][0]
    series = [Series("objective P, estimated", points)]
    if proof:
        primal, dual = proof.primal_objective, proof.dual_objective
        lower = _drawable([(0.0, dual), (end, dual)])
        series.append(Series(f"lower bound D = {dual:.6g}", lower, "guide"))
        series.append(Series(f"proven: P = {primal:.6g}", _drawable([(end, primal)]), "proof"))
    text = f"Objective against seconds: from {points[0][1]:.4g} to {points[-1][1]:.4g}."
    return chart(("seconds", "objective"), series, text, log=_is_wide(series))


def loss_chart(history: Sequence[Record]) -> Markup | None:
    """Return the mean loss of the epochs of stochastic training, or None without any."""
    points = _drawable([(r.seconds, getattr(r, "loss", math.nan)) for r in history])
    if not points:
        return None
    text = f"Mean loss against seconds: from {points[0][1]:.4g} to {points[-1][1]:.4g}."
    series = [Series("mean loss of an epoch", points)]
    log = _is_wide(series)
    return chart(("seconds", "mean loss"), series, text, log=log, zero=not log)


def reliability_chart(found: Calibration) -> Markup:
    """Return the fraction of correct predictions against the largest probability."""
    bins = list(zip(found.confidence.tolist(), found.accuracy.tolist(), strict=True))
    series = [
        Series("perfectly calibrated", [(0.0, 0.0), (1.0, 1.0)], "guide"),
        Series("predictions, in ten bins", _drawable(bins)),
    ]
    text = f"Reliability curve: expected calibration error {found.ece:.3f}."
    return chart(("largest probability", "fraction correct"), series, text, zero=True)


def _is_wide(series: Sequence[Series]) -> bool:
    values = [value for one in series for _, value in one.points]
    return min(values) > SMALLEST and max(values) > WIDE * min(values)


def _drawable(pairs: Points, *, positive: bool = False) -> Points:
    """Return the points that can be drawn, in the order of time."""
    fits = [(s, v) for s, v in pairs if 0 <= s < LARGEST and abs(v) < FARTHEST]
    if positive:
        fits = [(s, v) for s, v in fits if SMALLEST < v < LARGEST]
    return sorted(fits, key=lambda pair: pair[0])
