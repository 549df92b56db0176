"""Draw what the last run wrote down; measures nothing.

    python -m benchmarks.peers.plots [FOLDER] [--quick]

reads FOLDER/latest.json (by default that of ``python -m benchmarks.peers.run``) and
puts two pictures per problem next to it, with a panel for each data set: bench-NAME-excess.png and
bench-NAME-accuracy.png.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
)

from benchmarks.peers import report
from benchmarks.peers.problems import PROBLEMS, Problem
from measuring.quick import parse
from measuring.results import FIGURES, RESULTS, place
from measuring.style import STYLE, plt

# A colour of Okabe and Ito's per program, distinct with any colour vision, and a marker per
# method of it, the same in all pictures; two threads are dashed.
_LOOKS = {
    "manyclass": ("#0072B2", "o"),
    "manyclass_float64": ("#56B4E9", "o"),
    "liblinear_official": ("#D55E00", "D"),
    "liblinear_official_primal": ("#D55E00", "^"),
    "liblinear_multicore": ("#D55E00", "D"),
    "liblinear_multicore_primal": ("#D55E00", "^"),
    "sklearn_linear_svc": ("#009E73", "s"),
    "sklearn_sgd": ("#E69F00", "v"),
    "sklearn_logistic_saga": ("black", "P"),
    "lightning_linear_svc": ("#CC79A7", "D"),
    "lightning_sdca": ("#CC79A7", "v"),
    "lightning_cd": ("#CC79A7", "^"),
    "napkinxc": ("0.45", "X"),
    "cyanure": ("#999933", "*"),
    "snapml": ("#882255", "p"),
    "intelex_logistic_lbfgs": ("#44AA99", "d"),
}
_OTHER_LOOK = ("0.7", "h")

_COLUMNS = 3
_EXCESS_SHOWN = (2e-6, 2.0)

# Percentage points; a picture of less would show the noise of a few test rows, one of more would
# squeeze what solvers differ in near the end.
_SMALLEST_SPAN, _LARGEST_SPAN = 2.0, 12.0

Entry = dict[str, Any]
Runs = list[dict[str, Any]]


def main() -> None:
    """Draw all problems."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.plots")
    parser.add_argument("folder", nargs="?", type=Path, default=RESULTS)
    options = parse(parser, folder=RESULTS)
    folder = options.folder
    source = folder / "latest.json"
    if not source.exists():
        parser.exit(2, f"{source} does not exist; run python -m benchmarks.peers.run first\n")
    result = report.read(source)
    if options.quick:
        result["entries"] = result["entries"][:1]
    for path in draw_all(result, folder):
        print(path)


def draw_all(result: dict[str, Any], folder: Path) -> Iterator[Path]:
    """Draw two pictures for each problem that was measured; return their paths."""
    for problem in PROBLEMS.values():
        entries = [entry for entry in result["entries"] if entry["problem"] == problem.name]
        for kind, draw in (("excess", draw_excess), ("accuracy", draw_accuracy)):
            if entries:
                path = folder / f"bench-{problem.name}-{kind}.png"
                _save(place(path), problem, entries, draw)
                yield path


def pictures(result: dict[str, Any]) -> str:
    """Draw all problems for the page; return the links of the pictures."""
    kinds = {"excess": "excess against seconds", "accuracy": "test accuracy against seconds"}
    links = []
    for path in draw_all(result, FIGURES):
        problem, kind = path.stem.removeprefix("bench-").rsplit("-", 1)
        links.append(f"![{PROBLEMS[problem].title}: {kinds[kind]}](../figures/{path.name})")
    return "\n\n".join(links)


def draw_excess(axes: Axes, entry: Entry) -> None:
    """(P - P*)/P* against seconds, both logarithmic."""
    lowest, highest = _EXCESS_SHOWN
    for solver in entry["solvers"]:
        if solver["minimizes"]:
            # A little below the frame: a line that continues differs from one that ends.
            _draw_line(axes, solver, lambda run: max(run["excess"], lowest / 10))
    axes.set_yscale("log")
    axes.set_ylim(lowest, highest)
    axes.set_ylabel("(P $-$ P*) / P*")
    for level in entry["levels"]:
        axes.axhline(float(level), color="0.88", linewidth=0.8, zorder=0)


def draw_accuracy(axes: Axes, entry: Entry) -> None:
    """Accuracy on the test part against seconds."""
    for solver in entry["solvers"]:
        _draw_line(axes, solver, lambda run: 100 * run["accuracy"])
    heights = [100 * run["accuracy"] for solver in entry["solvers"] for run in solver["runs"]]
    low, high = max(min(heights), max(heights) - _LARGEST_SPAN), max(heights)
    missing = max(0.05 * (high - low), (_SMALLEST_SPAN - (high - low)) / 2)
    axes.set_ylim(low - missing, high + missing)
    axes.set_ylabel("test accuracy")
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))  # whole tenths
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    axes.grid(axis="y", color="0.9", linewidth=0.8)


def _draw_line(axes: Axes, solver: dict[str, Any], height: Callable[[Any], float]) -> None:
    """One line per solver; hollow: a single run."""
    two = solver["threads"] > 1
    name = solver["name"].removesuffix("_2")
    colour, marker = _LOOKS.get(name, _OTHER_LOOK)
    points = _points(solver["runs"], height)
    style = {
        "color": colour,
        "marker": marker,
        "markersize": 3.8,
        "zorder": 4 if solver["package"] == "manyclass" else 3,
    }
    label = name.replace("_", " ") + (", 2 threads" if two else "")
    xs, ys, counts = zip(*points, strict=True)
    axes.plot(xs, ys, linestyle="--" if two else "-", linewidth=1.3, label=label, **style)
    lone = [(x, y) for x, y, n_runs in zip(xs, ys, counts, strict=True) if n_runs == 1]
    if lone:
        axes.plot(*zip(*lone, strict=True), linestyle="", markerfacecolor="white", **style)


def _points(runs: Runs, height: Callable[[Any], float]) -> list[tuple[float, float, int]]:
    """Return (seconds, height, number of runs) from coarse to fine.

    Neighboring tolerances that ended at the very same weights did the same work: one point.
    """
    points = []
    for _, group in itertools.groupby(runs, key=lambda run: (run["excess"], run["accuracy"])):
        same = list(group)
        seconds = [value for run in same for value in run["seconds"]]
        points.append((statistics.median(seconds), height(same[0]), len(seconds)))
    return points


def _save(
    path: Path, problem: Problem, entries: list[Entry], draw: Callable[[Axes, Entry], None]
) -> None:
    columns = min(_COLUMNS, len(entries))
    rows = -(-len(entries) // columns)
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(
            rows,
            columns,
            figsize=(3.7 * columns, 2.7 * rows + 1.0),
            layout="constrained",
            squeeze=False,
        )
        for axes, entry in itertools.zip_longest(panels.flat, entries):
            if entry is None:
                axes.set_axis_off()
                continue
            draw(axes, entry)
            _label(axes, entry)
        labels = {}
        for axes in panels.flat:
            handles, names = axes.get_legend_handles_labels()
            labels |= dict(zip(names, handles, strict=True))
        figure.suptitle(f"{problem.title}, C = {entries[0]['C']:g}", x=0.01, ha="left")
        figure.legend(
            labels.values(), labels, loc="outside lower center", ncols=columns + 1, fontsize=8
        )
        figure.savefig(path)
        plt.close(figure)


def _label(axes: Axes, entry: Entry) -> None:
    axes.set_title(f"{entry['data']}: {entry['n']:,} x {entry['d']:,}, {entry['k']:,} classes")
    axes.set_xscale("log")
    axes.set_xlabel("seconds")
    axes.xaxis.set_major_locator(LogLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


if __name__ == "__main__":
    main()
