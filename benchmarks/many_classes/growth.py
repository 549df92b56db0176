"""Growth of time and memory with thousands of classes, and with examples.

    python -m benchmarks.many_classes.growth [--formulations crammer_singer weston_watkins]

trains to a gap of 1e-2 on text of ``manyclass.datasets.synthetic``, classes or examples growing
while the
rest stays, each training in a process of its own. Prints the slopes in log-log scale (1: linear),
and writes many_classes_growth.json.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.runs.growth import slope
from measuring import training
from measuring.datasets.shaped_text import ShapedText
from measuring.header import header
from measuring.processes import FailedError, in_fresh_process
from measuring.quick import parse
from measuring.results import FIGURES, RESULTS, markdown, place, write_results

FIGURE = "bench-many-classes-growth.png"
GROWING = {
    "k": (1_000, 2_000, 4_000, 8_000, 16_000, 30_000),
    "n": (5_000, 10_000, 20_000, 40_000, 80_000),
}
FIXED = {"n": 40_000, "k": 4_000}
_QUICK = {"k": (10, 20), "n": (300, 600)}
TEXT = {"n_features": 40_000, "words_per_example": 15.0, "topic_share": 0.2}
_AXES = {"k": "classes", "n": "examples"}
_VALUES = {"seconds": "seconds", "training_megabytes": "peak memory of training, MB"}
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")

Point = dict[str, Any]


def measure(what: str, arguments: argparse.Namespace) -> list[Point]:
    """Train each formulation at each size; one that fails is not tried at larger sizes."""
    points: list[Point] = []
    formulations = list(arguments.formulations)
    growing, fixed = (GROWING, FIXED)
    if arguments.quick:
        growing, fixed = _QUICK, {name: few for name, (few, _) in _QUICK.items()}
    for value in growing[what]:
        point = _point({**fixed, what: value}, formulations, arguments)
        formulations = list(point["found"])
        points.append(point)
    return points


def _point(sizes: dict[str, int], formulations: list[str], arguments: argparse.Namespace) -> Point:
    """Train once with each of the formulations on text of n documents in k classes."""
    text = ShapedText("text", {"n_examples": sizes["n"], "n_classes": sizes["k"], **TEXT})
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        described = training.save(text, folder)
        for name in formulations:
            setting = {"formulation": name, "tol": arguments.tol, "weights": arguments.weights}
            place = (folder, described, setting)
            try:
                found[name] = in_fresh_process(training.train, *place, limit=arguments.time_limit)
                outcome = f"{found[name]['seconds']:.3g} s"
            except FailedError as error:
                outcome = f"not measured, {error}"
            print(f"n = {sizes['n']:,}, k = {sizes['k']:,}, {name}: {outcome}", file=sys.stderr)
    return {**described, "found": found}


def lines(points: list[Point], what: str, name: str, value: str) -> tuple[list[Any], list[Any]]:
    """Return sizes and values of one formulation, as far as it was measured."""
    measured = [point for point in points if name in point["found"]]
    return [p[what] for p in measured], [p["found"][name][value] for p in measured]


def growth_table(grown: dict[str, Any]) -> str:
    """Return first and last values and the slopes, in Markdown."""
    header = ["growing", "formulation", "from", "to", "seconds", "slope", "MB", "slope"]
    rows = []
    for what, points in grown["series"].items():
        for name in points[0]["found"]:
            xs, seconds = lines(points, what, name, "seconds")
            megabytes = lines(points, what, name, "training_megabytes")[1]
            row = [_AXES[what], f"`{name}`", f"{xs[0]:,}", f"{xs[-1]:,}"]
            for ys in (seconds, megabytes):
                exponent = f"{slope(xs, ys):.2f}" if len(xs) > 1 else ""
                row += [f"{ys[0]:,.3g} to {ys[-1]:,.3g}", exponent]
            rows.append(row)
    note = (
        f"One thread, float32, gap {grown['tol']:g}, "
        f'`weights="{grown["weights"]}"`; sizes that do not grow: {FIXED["n"]:,} examples, '
        f"{FIXED['k']:,} classes; {TEXT['n_features']:,} features, "
        f"{TEXT['words_per_example']:g} words per row. At most {grown['time_limit']:g} s each."
    )
    return f"{markdown(header, rows, 2)}\n\n{note}"


def picture(grown: dict[str, Any]) -> str:
    """Draw seconds and memory against each size, all logarithmic, with what a dense W takes."""
    from matplotlib.ticker import NullFormatter

    from measuring.style import STYLE, plt

    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(2, 2, figsize=(7.4, 5.4), layout="constrained", sharey="row")
        for column, (what, points) in zip(panels.T, grown["series"].items(), strict=True):
            for axes, value in zip(column, _VALUES, strict=True):
                for colour, name in zip(_COLOURS, points[0]["found"], strict=False):
                    xs, ys = lines(points, what, name, value)
                    label = name.replace("_", " ")
                    axes.loglog(xs, ys, "o-", color=colour, markersize=4, label=label)
            sizes = [point[what] for point in points]
            dense = [4e-6 * point["d"] * point["k"] for point in points]
            column[1].loglog(sizes, dense, ":", color="0.5", label="a dense W alone")
            column[1].set_xlabel(_AXES[what])
            for axes in column:
                axes.xaxis.set_minor_formatter(NullFormatter())
            column[1].legend(fontsize=8)
        for axes, title in zip(panels[:, 0], _VALUES.values(), strict=True):
            axes.set_ylabel(title)
        figure.savefig(place(FIGURES / FIGURE))
        plt.close(figure)
    return f"![seconds and memory while k or n grows](../figures/{FIGURE})"


def main() -> None:
    """Measure, print, write and draw."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.many_classes.growth",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    usual = ["crammer_singer", "weston_watkins"]
    add("--formulations", nargs="+", default=usual, help="what MulticlassSVC calls them")
    add("--weights", default="auto", help="how W is kept")
    add("--tol", type=float, default=1e-2, help="relative duality gap")
    add("--time-limit", type=float, default=120.0, help="seconds of one training")
    add("--output", type=Path, default=RESULTS, help="folder of the results")
    arguments = parse(parser, formulations=["crammer_singer"])
    start = time.perf_counter()
    grown = {
        **header(),
        **{key: getattr(arguments, key) for key in ("tol", "weights", "time_limit")},
        "series": {what: measure(what, arguments) for what in GROWING},
    }
    write_results(arguments.output / "many_classes_growth.json", grown)
    print(f"{growth_table(grown)}\n\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
