"""Measured results: their files, and the values read from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.chen2011.settings import SETTINGS
from measuring.results import place

Curve = dict[str, Any]
Results = dict[str, dict[str, Any]]


def save(path: Path, found: dict[str, Any]) -> None:
    """Write JSON with a line for each curve: short, and its changes can be read."""
    parts = []
    for key, value in found.items():
        if isinstance(value, list):
            lines = ",\n".join("  " + json.dumps(_short(curve)) for curve in value)
            parts.append(f' "{key}": [\n{lines}\n ]')
        else:
            parts.append(f' "{key}": {json.dumps(_short(value))}')
    path = place(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def _short(value: Any) -> Any:
    """Round all numbers to five digits."""
    if isinstance(value, dict):
        return {key: _short(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_short(part) for part in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def read_all(folder: Path) -> Results:
    """Read what is saved, by data set."""
    paths = {name: place(folder / f"{name}.json") for name in SETTINGS}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def methods(found: dict[str, Any]) -> list[str]:
    """Return the methods of figures 1 and 2."""
    return list(dict.fromkeys(curve["method"] for curve in found["by_size"]))


def curves_of(found: dict[str, Any], method: str) -> list[Curve]:
    """Return a method's curves, one per training size."""
    return [curve for curve in found["by_size"] if curve["method"] == method]


def middle(curve: Curve) -> NDArray[np.float64]:
    """Median accuracy over the seeds, at each checkpoint."""
    return np.median(curve["accuracies"], axis=0)


def quartiles(values: Any, axis: int = 0) -> NDArray[np.float64]:
    """Lower quartile, median and upper quartile; of infinite values where so many are infinite."""
    return np.quantile(values, [0.25, 0.5, 0.75], axis=axis, method="inverted_cdf")


def levels(curves: Sequence[Curve]) -> list[float]:
    """Return the accuracies of figure 1: what the three smallest training sizes come to.

    That is the median's highest point, rounded down to a tenth of a per cent. So the first level
    is reached from the smallest size on, the others from a larger one on.
    """
    peaks = [np.floor(1000 * middle(curve).max() + 1e-9) / 1000 for curve in curves[:3]]
    return sorted({float(peak) for peak in peaks})


def reached(level: float, curve: Curve, effort: str = "seconds") -> NDArray[np.float64]:
    """Return each seed's seconds (or steps) until the accuracy is reached; infinity if never.

    Between two checkpoints they are interpolated.
    """
    return np.array([_crossing(level, curve[effort], row) for row in curve["accuracies"]])


def _crossing(level: float, efforts: list[float], accuracies: list[float]) -> float:
    if accuracies[0] >= level:
        return float(efforts[0])
    for (a, b), (before, after) in zip(pairwise(efforts), pairwise(accuracies), strict=True):
        if after >= level:
            return a + (b - a) * (level - before) / (after - before)
    return float("inf")


def usually_reached(level: float, curve: Curve, effort: str = "seconds") -> float:
    """Return the median over the seeds, the lower one of two: finite if half of them get there."""
    return float(quartiles(reached(level, curve, effort))[1])


def flat_from(curves: Sequence[Curve], level: float, slack: float = 1.15) -> int | None:
    """Return the smallest training size with as few steps as all rows, but for the slack.

    None if half of the seeds don't get there with all rows.
    """
    limit = slack * usually_reached(level, curves[-1], "steps")
    if not np.isfinite(limit):
        return None
    steps = ((curve["n"], usually_reached(level, curve, "steps")) for curve in curves)
    return next(int(n) for n, taken in steps if taken <= limit)


def exact_seconds_to(level: float, points: list[dict[str, float]]) -> float:
    """Return the seconds of the coarsest tolerance that reaches an accuracy, or infinity."""
    return next((p["seconds"] for p in points if p["accuracy"] >= level), float("inf"))


def final_levels(found: dict[str, Any]) -> list[float]:
    """Return the accuracies of figure 4's table: 2, 1 and 0.3 points below the exact solution's."""
    best = found["exact"]["MulticlassSVC"][-1]["accuracy"]
    return [round(best - points / 100, 5) for points in (2.0, 1.0, 0.3)]
