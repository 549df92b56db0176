"""Figures 1 to 4, from what was measured; needs matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from experiments.chen2011.measured import (
    Curve,
    Results,
    curves_of,
    levels,
    methods,
    middle,
    quartiles,
    reached,
)
from experiments.chen2011.settings import METHODS
from measuring.results import place
from measuring.style import STYLE, plt

# Okabe and Ito's colours; markers distinguish the lines without them.
LOOKS = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"))
LOOK_OF = dict(zip(METHODS, LOOKS, strict=True)) | {
    "K-Pegasos": ("#56B4E9", "v"),
    "K-binaryLR": ("#E69F00", "P"),
    "MulticlassSVC": ("black", "*"),
    "LinearSVC": ("0.55", "X"),
    "cutting plane": ("#8C564B", "d"),
}
Found = dict[str, Any]


def by_size(
    path: Path, results: Results, draw: Callable[[Axes, list[Curve]], None], sharey: str
) -> None:
    """Draw a row of panels for each data set, a column for each method."""
    with plt.rc_context(STYLE):
        size = (3.05 * len(METHODS), 2.35 * len(results) + 0.2)
        figure, panels = plt.subplots(
            len(results),
            len(METHODS),
            figsize=size,
            layout="constrained",
            squeeze=False,
            sharey=sharey,
        )
        for row, (name, found) in zip(panels, results.items(), strict=True):
            for axes, method in zip(row, METHODS, strict=True):
                axes.set_title(f"{name}: {method}")
                if method in methods(found):
                    draw(axes, curves_of(found, method))
                    _logarithmic(axes.xaxis)
                    axes.set_xlabel("training examples")
                else:
                    axes.set_axis_off()
                    axes.text(0.5, 0.5, "not run", ha="center", transform=axes.transAxes)
        _save(figure, path)


def draw_times(axes: Axes, curves: list[Curve]) -> None:
    """Figure 1: seconds to reach accuracies against training size."""
    for level, look in zip(levels(curves), LOOKS, strict=False):
        times = np.array([quartiles(reached(level, curve)) for curve in curves])
        shown = np.isfinite(times[:, 1])
        sizes = np.array([curve["n"] for curve in curves])
        _error_bars(axes, sizes[shown], times[shown], look, f"{100 * level:.1f} %")
    axes.margins(y=0.2)  # room for the legend
    _logarithmic(axes.yaxis)
    if axes.get_subplotspec().is_first_col():
        axes.set_ylabel("seconds to accuracy")
    tight = {"handlelength": 1.2, "handletextpad": 0.4, "columnspacing": 0.9}
    axes.legend(fontsize=7.5, ncols=3, loc="upper right", **tight)


def draw_accuracies(axes: Axes, curves: list[Curve]) -> None:
    """Figure 2: accuracy after some numbers of steps against training size."""
    steps = np.array(curves[0]["steps"])
    for share, look in zip((1, 0.3, 0.1, 0.03), LOOKS, strict=True):
        at = int(np.argmin(np.abs(np.log(steps / (share * steps[-1])))))
        heights = np.array([quartiles(curve["accuracies"])[:, at] for curve in curves])
        sizes = np.array([curve["n"] for curve in curves])
        _error_bars(axes, sizes, 100 * heights, look, f"{steps[at]:,}")
    _per_cent(axes)
    if axes.get_subplotspec().is_first_col():
        axes.set_ylabel("test accuracy")
    if axes.get_subplotspec().is_last_col():
        beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        axes.legend(fontsize=7.5, title="steps", title_fontsize=7.5, **beside)


def draw_one_vs_rest(axes: Axes, found: Found) -> None:
    """Figure 3: accuracy against steps, multi-class and binary machines."""
    for number, curve in enumerate(found["one_vs_rest"]):
        method, own = curve["method"], number >= 4
        style = {"color": LOOK_OF[method][0], "marker": LOOK_OF[method][1]}
        label = f"{method}, own alpha" if own else method
        heights = 100 * middle(curve)
        line = "--" if own else "-"
        axes.plot(curve["steps"], heights, line, markersize=4, lw=1.3, label=label, **style)
    _per_cent(axes)
    axes.set_xlabel("steps (of each machine)")


def draw_alphas(axes: Axes, found: Found) -> None:
    """Accuracy on held-out rows against alpha, after figure 3's steps."""
    for method, tried in found["held_out_one_vs_rest"].items():
        style = {"color": LOOK_OF[method][0], "marker": LOOK_OF[method][1], "label": method}
        heights = 100 * np.array(list(tried.values()))
        axes.plot([float(alpha) for alpha in tried], heights, markersize=4, lw=1.3, **style)
    _per_cent(axes, largest_span=15.0)
    axes.set_xlabel("alpha")


def draw_exact(axes: Axes, found: Found) -> None:
    """Figure 4: accuracy against seconds, all training rows."""
    for method in methods(found):
        curve = curves_of(found, method)[-1]
        style = {"color": LOOK_OF[method][0], "marker": LOOK_OF[method][1], "label": method}
        axes.plot(curve["seconds"], 100 * middle(curve), "-", markersize=3.5, lw=1.3, **style)
    for method, points in found["exact"].items():
        _exact_line(axes, method, points, "-", method)
    later = found.get("cutting_planes") or {}
    for method in ("MulticlassSVC", "cutting plane") if later else ():
        _exact_line(axes, method, later[method], ":", f"{method}, measured later")
    _per_cent(axes, largest_span=12.0)
    axes.set_xlabel("seconds")


def _exact_line(axes: Axes, method: str, points: list[Any], line: str, label: str) -> None:
    xs, ys = ([point[key] for point in points] for key in ("seconds", "accuracy"))
    style = {"color": LOOK_OF[method][0], "marker": LOOK_OF[method][1], "label": label}
    axes.plot(xs, 100 * np.array(ys), line, markersize=6, lw=1.3, zorder=4, **style)


def by_data(path: Path, results: Results, draw: Callable[[Axes, Found], None]) -> None:
    """Draw a panel for each data set, with one legend for all."""
    columns = 3
    rows = -(-len(results) // columns)
    with plt.rc_context(STYLE):
        size = (3.9 * columns, 2.8 * rows + 0.5)
        figure, panels = plt.subplots(
            rows, columns, figsize=size, layout="constrained", squeeze=False
        )
        labels: dict[str, Any] = {}
        for axes, (name, found) in zip(panels.flat, results.items(), strict=False):
            draw(axes, found)
            _logarithmic_x(axes)
            axes.set_title(f"{name}: {found['n']:,} rows, {found['k']:,} classes")
            axes.set_ylabel("accuracy")
            handles, names = axes.get_legend_handles_labels()
            labels |= dict(zip(names, handles, strict=True))
        for axes in panels.flat[len(results) :]:
            axes.set_axis_off()
        figure.legend(labels.values(), labels, loc="outside lower center", ncols=4, fontsize=8)
        _save(figure, path)


def _error_bars(axes: Axes, xs: Any, heights: Any, look: tuple[str, str], label: str) -> None:
    """Draw medians, and quartiles as bars; a quartile that is not finite ends the bar."""
    low, mid, high = heights.T if len(heights) else np.empty((3, 0))
    high = np.where(np.isfinite(high), high, mid)
    axes.errorbar(
        xs,
        mid,
        yerr=[mid - low, high - mid],
        color=look[0],
        marker=look[1],
        markersize=3.8,
        linewidth=1.3,
        elinewidth=0.9,
        capsize=2,
        label=label,
    )


def _logarithmic_x(axes: Axes) -> None:
    _logarithmic(axes.xaxis)


def _logarithmic(axis: Any) -> None:
    """Make an axis logarithmic, with plain numbers at 1, 2 and 5."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_data_interval()
    narrow = high < 30 * low
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def _per_cent(axes: Axes, largest_span: float | None = None) -> None:
    """Show per cent; of a larger span only the top."""
    low, high = axes.dataLim.intervaly
    if largest_span is not None:
        low = max(low, high - largest_span)
    axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    axes.grid(axis="y", color="0.9", linewidth=0.8)


def _save(figure: Any, path: Path) -> None:
    figure.savefig(place(path))
    plt.close(figure)


def draw_all(folder: Path, results: Results, groups: dict[str, Sequence[str]]) -> None:
    """Draw figures 1 and 2 for each group of data sets, 3 and 4 for all."""
    for group, names in groups.items():
        some = {name: results[name] for name in names if name in results}
        if some:
            by_size(folder / f"figure1-{group}.png", some, draw_times, "row")
            by_size(folder / f"figure2-{group}.png", some, draw_accuracies, "none")
    binary = {name: found for name, found in results.items() if found["one_vs_rest"]}
    by_data(folder / "figure3.png", binary, draw_one_vs_rest)
    by_data(folder / "figure3-alphas.png", binary, draw_alphas)
    by_data(folder / "figure4.png", results, draw_exact)
