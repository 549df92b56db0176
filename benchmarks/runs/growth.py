"""Growth of the time of an epoch with n, k and the non-zeros of a row.

    python -m benchmarks.runs.growth [--formulations crammer_singer one_vs_rest] [--quick]

trains on text of ``manyclass.datasets.synthetic``, one size growing over two decades while the
others stay,
prints the slopes in log-log scale (1: linear), and writes growth.json.

An epoch is as many loops over the shrunk problem as look worthwhile, and a full one; so beside its
seconds stand those per n k scores, which is the work of one full loop.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from manyclass import MulticlassSVC
from manyclass.datasets.synthetic import make_text_corpus
from measuring import training
from measuring.datasets.shaped_text import ShapedText
from measuring.header import header
from measuring.processes import in_fresh_process
from measuring.quick import parse
from measuring.results import FIGURES, RESULTS, place, write_results

EPOCHS = 3
# Words repeat, so that rows hold fewer non-zeros than words.
_GROWING = {
    "n": (600, 2_000, 6_000, 20_000, 60_000),
    "k": (20, 60, 200, 600, 2_000),
    "words": (10, 35, 125, 500, 2_500),
}
_FIXED = {"n": 4_000, "k": 50, "words": 60}
_QUICK = {"n": (200, 400), "k": (5, 10), "words": (10, 20)}
N_FEATURES = 40_000
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
_AXES = {"n": "examples", "k": "classes", "words": "non-zeros per row"}


@dataclass(frozen=True)
class Size:
    """A corpus: documents, classes, words per document."""

    n: int
    k: int
    words: int

    def make(self) -> tuple[sp.csr_array, NDArray[np.int64]]:
        """Make it; the same one every time."""
        return make_text_corpus(
            self.n, N_FEATURES, self.k, words_per_example=self.words, random_state=2008
        )


def sizes(what: str, *, quick: bool) -> list[Size]:
    """Return the sizes in which ``what`` grows."""
    if quick:
        fixed = {name: few for name, (few, _) in _QUICK.items()}
        return [Size(**{**fixed, what: value}) for value in _QUICK[what]]
    return [Size(**{**_FIXED, what: value}) for value in _GROWING[what]]


def measure(size: Size, formulations: list[str], repeats: int) -> dict[str, Any]:
    """Medians for each formulation, in turn, and the peak memory of a fit."""
    X, y = size.make()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in formulations}
    for _ in range(repeats):
        for name in formulations:
            found[name].append(_fit(name, X, y))
    medians = {
        name: [statistics.median(values) for values in zip(*pairs, strict=True)]
        for name, pairs in found.items()
    }
    return {
        "n": size.n,
        "k": size.k,
        "nnz_per_row": X.nnz / size.n,
        "epoch": {name: epoch for name, (epoch, _) in medians.items()},
        "full_loop": {name: full_loop for name, (_, full_loop) in medians.items()},
        "megabytes": peaks(size, formulations),
        "megabytes_of_W": 4 * N_FEATURES * size.k / 1e6,
    }


def _fit(formulation: str, X: sp.csr_array, y: NDArray[np.int64]) -> tuple[float, float]:
    """Train for some epochs; return the seconds of one, and those of n k scores."""
    model = MulticlassSVC(
        formulation=formulation, fit_intercept=False, tol=1e-12, max_iter=EPOCHS, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    seconds = model.history_[-1].seconds
    n_scores = sum(record.evaluations for record in model.history_)
    return seconds / len(model.history_), seconds * len(y) * len(model.classes_) / n_scores


def peaks(size: Size, formulations: list[str]) -> dict[str, float]:
    """Return the megabytes by which a process grows while it fits, one for each formulation."""
    shape = {"n_examples": size.n, "n_classes": size.k, "words_per_example": size.words}
    text = ShapedText("text", {**shape, "n_features": N_FEATURES}, n_test=1)
    settings = {"tol": 1e-12, "max_iter": EPOCHS}
    with tempfile.TemporaryDirectory() as scratch:
        saved = Path(scratch), training.save(text, Path(scratch))
        return {
            name: in_fresh_process(training.train, *saved, {"formulation": name, **settings})[
                "training_megabytes"
            ]
            for name in formulations
        }


def slope(xs: list[float], ys: list[float]) -> float:
    """Exponent of the power law that fits best.

    Examples
    --------
    >>> round(slope([1.0, 10.0, 100.0], [2.0, 20.0, 200.0]), 6)
    1.0
    """
    return float(np.polyfit(np.log(xs), np.log(ys), 1)[0])


def table(grown: dict[str, Any]) -> str:
    """Return slopes and peak memory, in Markdown."""
    lines = [
        "| growing | from | to | formulation | seconds per epoch | slope | slope per n k scores |"
    ]
    lines.append("|---|--:|--:|---|--:|--:|--:|")
    for what, points in grown["series"].items():
        xs = [_x(what, point) for point in points]
        for name in points[0]["epoch"]:
            epochs, loops = ([point[of][name] for point in points] for of in ("epoch", "full_loop"))
            lines.append(
                f"| {_AXES[what]} | {xs[0]:,.0f} | {xs[-1]:,.0f} | `{name}` "
                f"| {epochs[0]:.2g} to {epochs[-1]:.2g} | {slope(xs, epochs):.2f} "
                f"| {slope(xs, loops):.2f} |"
            )
    widest = grown["series"]["k"][-1]
    peaks = ", ".join(f"{name} {peak:.0f}" for name, peak in widest["megabytes"].items())
    note = (
        f"One thread, float32, medians of {grown['repeats']}; sizes that do not grow: "
        f"{_FIXED['n']:,} examples, {_FIXED['k']} "
        f"classes, {_FIXED['words']} words, {N_FEATURES:,} features. Peak memory of a fit with "
        f"{widest['k']:,} classes, without the data, in MB: {peaks}; W takes "
        f"{widest['megabytes_of_W']:.0f}."
    )
    return "\n".join(lines) + f"\n\n{note}"


def picture(grown: dict[str, Any]) -> str:
    """Draw seconds against each size, both logarithmic, with a line of slope 1."""
    from measuring.style import STYLE, plt

    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(1, 3, figsize=(11.1, 3.6), layout="constrained", sharey=True)
        for axes, (what, points) in zip(panels, grown["series"].items(), strict=True):
            xs = [_x(what, point) for point in points]
            for colour, name in zip(_COLOURS, points[0]["epoch"], strict=False):
                ys = [point["epoch"][name] for point in points]
                label = f"{name.replace('_', ' ')}: slope {slope(xs, ys):.2f}"
                axes.loglog(xs, ys, "o-", color=colour, markersize=4, linewidth=1.3, label=label)
            middle = statistics.geometric_mean(points[len(points) // 2]["epoch"].values())
            linear = [0.3 * middle * x / xs[len(xs) // 2] for x in xs]
            axes.loglog(xs, linear, ":", color="0.5", label="slope 1")
            axes.set_xlabel(_AXES[what])
            axes.legend(fontsize=8)
        panels[0].set_ylabel("seconds per epoch")
        figure.savefig(place(FIGURES / "bench-growth.png"))
        plt.close(figure)
    return "![seconds per epoch against n, k and non-zeros](../figures/bench-growth.png)"


def _x(what: str, point: dict[str, Any]) -> float:
    return float(point["nnz_per_row" if what == "words" else what])


def main() -> None:
    """Measure, print, write and draw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs.growth")
    usual = ["crammer_singer", "weston_watkins", "one_vs_rest"]
    parser.add_argument("--formulations", nargs="+", default=usual)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parse(parser, formulations=["one_vs_rest"], repeats=1)
    start = time.perf_counter()
    grown = {
        **header(),
        "repeats": arguments.repeats,
        "series": {
            what: [
                measure(size, arguments.formulations, arguments.repeats)
                for size in sizes(what, quick=arguments.quick)
            ]
            for what in _AXES
        },
    }
    write_results(arguments.output / "growth.json", grown)
    print(f"{table(grown)}\n\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
