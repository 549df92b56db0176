"""The charts of a report: convergence, loss of stochastic steps, reliability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from manyclass.persistence.history import Record
from manyclass.problem.solution import Certificate, EpochRecord
from manyclass.reports.calibration import Calibration
from manyclass.reports.page.axes import Axis, axis_of
from manyclass.reports.page.charts import Series, chart
from manyclass.reports.page.elements import Markup

Points = list[tuple[float, float]]
# What is drawn on a logarithmic scale: history may come from a damaged file.
SMALLEST, LARGEST = 1e-18, 1e18
WIDE = 20.0  # ratio of objectives beyond which their scale is logarithmic


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
    told = f"Relative gap against seconds: from {points[0][1]:.2g} to {points[-1][1]:.2g}"
    return chart(_seconds(points), y, series, f"{told} in {end:.3g} seconds.")


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
    told = f"Objective against seconds: from {points[0][1]:.4g} to {points[-1][1]:.4g}."
    return chart(_seconds(points), axis_of("objective", values, log=log), series, told)


def loss_chart(history: Sequence[Record]) -> Markup | None:
    """Return the mean loss of the epochs of stochastic steps, or None without any."""
    points = _points([(r.seconds, getattr(r, "loss", math.nan)) for r in history])
    if not points:
        return None
    told = f"Mean loss against seconds: from {points[0][1]:.4g} to {points[-1][1]:.4g}."
    values = [v for _, v in points]
    log = _is_wide(values)
    y = axis_of("mean loss", values, log=log, zero=not log)
    return chart(_seconds(points), y, [Series("mean loss of an epoch", points)], told)


def reliability_chart(found: Calibration) -> Markup:
    """Return the share of right predictions against the largest probability."""
    pairs = zip(found.confidence.tolist(), found.accuracy.tolist(), strict=True)
    x = Axis("largest probability", 0.0, 1.0)
    y = Axis("share that is right", 0.0, 1.0)
    series = [
        Series("as probable as it says", [(0.0, 0.0), (1.0, 1.0)], "guide"),
        Series("predictions, in ten bins", _points(list(pairs))),
    ]
    told = f"Reliability curve: expected calibration error {found.ece:.3f}."
    return chart(x, y, series, told)


def _is_wide(values: list[float]) -> bool:
    return min(values) > SMALLEST and max(values) > WIDE * min(values)


def _points(pairs: Points, *, positive: bool = False) -> Points:
    """Return those that can be drawn."""
    fits = [(s, v) for s, v in pairs if math.isfinite(s) and math.isfinite(v)]
    if positive:
        fits = [(s, v) for s, v in fits if SMALLEST < v < LARGEST]
    ordered = all(a <= b for (a, _), (b, _) in pairwise(fits))
    return fits if ordered else sorted(fits)


def _seconds(points: Points) -> Axis:
    return axis_of("seconds", [s for s, _ in points], zero=True)
