"""Draw accuracy against seconds, as ``benchmarks.stochastic.run`` wrote it down."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from benchmarks.stochastic.costs import LOSSES
from benchmarks.stochastic.seconds import NEARLY, read_curves
from benchmarks.stochastic.solvers import OURS, SOLVERS_OF_EPOCHS
from benchmarks.stochastic.tables import TITLES
from measuring.results import FIGURES, place
from measuring.style import STYLE, plt

FIGURE = "bench-stochastic.png"
# Percentage points below the lowest end of a line; more would squeeze what solvers differ in there.
_BELOW = 3.0
# Colours of Okabe and Ito, distinct with any colour vision.
_LOOKS = {
    "manyclass": ("#0072B2", "o"),
    "manyclass_average": ("#56B4E9", "o"),
    "manyclass_plain": ("#56B4E9", "v"),
    "manyclass_average_16": ("#56B4E9", "^"),
    "manyclass_svc": ("black", "D"),
    "sklearn_sgd_average": ("#D55E00", "s"),
    "sklearn_sgd": ("#E69F00", "v"),
    "sklearn_saga": ("#009E73", "P"),
}


def points(entry: Mapping[str, Any], name: str) -> list[tuple[float, float]]:
    """Return (seconds, accuracy) after each epoch of a solver at its alpha.

    Seconds are epochs times those of an epoch, the median over the timed fits.
    """
    found = entry["seconds"][name]
    curve = read_curves(entry["curves"][name])[found["alpha"]]
    each = seconds_per_epoch(found)
    return [(each * epochs, value) for epochs, value in curve]


def seconds_per_epoch(found: Mapping[str, Any]) -> float:
    """Return the median of those fits that had the most epochs: set-up counts least there."""
    longest = max(found["runs"], key=int)
    return statistics.median(found["runs"][longest]["cpu_seconds"]) / int(longest)


def picture(result: Mapping[str, Any]) -> str:
    """Draw a panel for each data set and loss; return the picture's link."""
    entries = {name: entry for name, entry in result["data"].items() if "seconds" in entry}
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(
            len(entries),
            len(LOSSES),
            figsize=(9.0, 2.6 * len(entries) + 0.8),
            layout="constrained",
            squeeze=False,
            sharex="row",
        )
        for row, (name, entry) in zip(panels, entries.items(), strict=True):
            for axes, loss in zip(row, LOSSES, strict=True):
                _draw_panel(axes, name, entry, loss)
        labels = dict(_legend(panels))
        figure.legend(labels.values(), labels, loc="outside lower center", ncols=2, fontsize=8)
        figure.savefig(place(FIGURES / FIGURE))
        plt.close(figure)
    return f"![test accuracy against seconds](../figures/{FIGURE})"


def _draw_panel(axes: Any, name: str, entry: Mapping[str, Any], loss: str) -> None:
    levels: set[float] = set()
    ends: list[float] = []
    for solver in SOLVERS_OF_EPOCHS:
        found = entry["seconds"].get(solver.name)
        if solver.family == loss and found:
            line = points(entry, solver.name)
            _draw_line(axes, solver.name.removesuffix(f"_{loss}"), line)
            levels |= {100 * level["accuracy"] for level in found["levels"].values()}
            ends.append(100 * line[-1][1])
    for level in levels:
        axes.axhline(level, color="0.8", linewidth=0.8, zorder=0)
    if ends:
        axes.set_ylim(min(ends) - _BELOW, max(levels) / NEARLY + 0.2 * _BELOW)
    _label(axes, f"{name}, {loss}")


def _draw_line(axes: Any, kind: str, line: list[tuple[float, float]]) -> None:
    colour, marker = _LOOKS[kind]
    axes.plot(
        [seconds for seconds, _ in line],
        [100 * value for _, value in line],
        color=colour,
        marker=marker,
        markersize=3.8,
        linewidth=1.3,
        label=TITLES[kind],
        zorder=4 if kind == OURS else 3,
    )


def _label(axes: Any, words: str) -> None:
    axes.set_title(words)
    axes.set_xscale("log")
    axes.set_xlabel("CPU seconds")
    axes.set_ylabel("test accuracy")
    axes.xaxis.set_major_locator(LogLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))


def _legend(panels: Any) -> Iterator[tuple[str, Any]]:
    for axes in panels.flat:
        handles, names = axes.get_legend_handles_labels()
        yield from zip(names, handles, strict=True)
