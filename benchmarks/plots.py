"""Draw what the last run wrote down; measures nothing.

    python -m benchmarks.plots [FOLDER]

reads FOLDER/latest.json (by default the folder that ``python -m benchmarks.run`` writes to) and
puts two pictures per data set next to it: NAME-excess.png and NAME-accuracy.png.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")  # no window

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    PercentFormatter,
)

RESULTS = Path(__file__).with_name("results")

# Okabe and Ito's colours, told apart by readers with any colour vision; the marker repeats them.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = "osD^vP"
_STYLE = {
    "figure.figsize": (6.4, 4.4),
    "figure.dpi": 150,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "legend.frameon": False,
}
# Below this an excess is zero as far as P* is known, which no logarithmic axis can show.
_SMALLEST_EXCESS = 1e-8

# Percentage points; a picture of less would show the noise of a few test rows.
_SMALLEST_SPAN = 2.0


def main() -> None:
    """Draw all data sets."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plots")
    parser.add_argument("folder", nargs="?", type=Path, default=RESULTS)
    folder = parser.parse_args().folder
    source = folder / "latest.json"
    if not source.exists():
        parser.exit(2, f"{source} does not exist; run python -m benchmarks.run first\n")
    result = json.loads(source.read_text())
    for entry in result["datasets"]:
        for kind, draw in (("excess", draw_excess), ("accuracy", draw_accuracy)):
            path = folder / f"{entry['name']}-{kind}.png"
            _save(path, entry, result, draw)
            print(path)


def draw_excess(axes: Axes, entry: dict[str, Any], order: list[str]) -> None:
    """(P - P*)/P* against seconds, both logarithmic."""
    _draw_lines(axes, entry, order, lambda run: max(run["excess"], _SMALLEST_EXCESS))
    axes.set_yscale("log")
    axes.set_ylabel("(P $-$ P*) / P*")
    for level in entry["solvers"][0]["levels"]:
        axes.axhline(float(level), color="0.85", linewidth=0.8, zorder=0)


def draw_accuracy(axes: Axes, entry: dict[str, Any], order: list[str]) -> None:
    """Accuracy on the test part against seconds."""
    _draw_lines(axes, entry, order, lambda run: 100 * run["test_accuracy"])
    axes.set_ylabel("test accuracy")
    low, high = axes.get_ylim()
    missing = max(0.0, _SMALLEST_SPAN - (high - low)) / 2
    axes.set_ylim(low - missing, high + missing)
    axes.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))  # ticks of whole tenths
    axes.yaxis.set_major_formatter(PercentFormatter(decimals=1))
    axes.grid(axis="y", color="0.9", linewidth=0.8)


def _draw_lines(
    axes: Axes, entry: dict[str, Any], order: list[str], height: Callable[[dict[str, Any]], float]
) -> None:
    """One line per solver, with one colour and marker in all pictures; hollow: a single run."""
    for solver in entry["solvers"]:
        place = order.index(solver["name"])
        colour = _COLOURS[place % len(_COLOURS)]
        points = _points(solver["runs"], height)
        zorder = len(order) - place + 2
        style = {"color": colour, "marker": _MARKERS[place % len(_MARKERS)], "markersize": 5}
        axes.plot(
            [x for x, _, _ in points],
            [y for _, y, _ in points],
            linewidth=1.6,
            label=solver["name"],
            zorder=zorder,
            **style,
        )
        lone = [(x, y) for x, y, n_runs in points if n_runs == 1]
        if lone:
            xs, ys = zip(*lone, strict=True)
            axes.plot(xs, ys, linestyle="", markerfacecolor="white", zorder=zorder, **style)
    axes.set_xscale("log")
    axes.set_xlabel("seconds to fit (filled: median of several runs, hollow: one run)")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _points(
    runs: list[dict[str, Any]], height: Callable[[dict[str, Any]], float]
) -> list[tuple[float, float, int]]:
    """Return (seconds, height, number of runs) from coarse to fine.

    Neighbouring tolerances that ended at the very same weights did the same work: one point.
    """
    points = []
    for _, group in itertools.groupby(runs, key=lambda run: run["excess"]):
        same = list(group)
        seconds = [value for run in same for value in run["seconds"]]
        points.append((statistics.median(seconds), height(same[0]), len(seconds)))
    return points


def _save(
    path: Path,
    entry: dict[str, Any],
    result: dict[str, Any],
    draw: Callable[[Axes, dict[str, Any], list[str]], None],
) -> None:
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(layout="constrained")
        draw(axes, entry, result["solvers"])
        axes.set_title(
            f"{entry['name']}: {entry['n']:,} x {entry['d']:,}, {entry['k']:,} classes, "
            f"C = {result['C']:g}"
        )
        axes.legend()
        figure.savefig(path)
        plt.close(figure)


if __name__ == "__main__":
    main()
