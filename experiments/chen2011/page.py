"""Figures and tables of README.md, from what is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.chen2011.measured import (
    Curve,
    Results,
    curves_of,
    exact_seconds_to,
    final_levels,
    flat_from,
    levels,
    methods,
    read_all,
    usually_reached,
)
from experiments.chen2011.settings import ONE_VS_REST
from measuring.results import write_between

GROUPS = {"text": ("rcv1-4", "rcv1-53", "odp"), "real": ("news20", "sector", "mnist", "wordnet")}
Found = dict[str, Any]


def write(folder: Path) -> None:
    """Draw the figures and write the tables of all that is saved in ``folder/results``."""
    # Only here: training needs no matplotlib.
    from experiments.chen2011.plots import draw_all

    results = read_all(folder / "results")
    draw_all(folder, results, GROUPS)
    page = folder / "README.md"
    for marker, table in (
        ("data", data_table),
        ("inverse dependency", dependency_table),
        ("one-vs-rest", one_vs_rest_table),
        ("exact", exact_table),
        ("cutting planes", cutting_plane_table),
    ):
        write_between(page, marker, table(results))


def data_table(results: Results) -> str:
    """Return the data sets and the alphas of figures 1, 2 and 4."""
    lines = _head(
        ["data"],
        ["rows", "features", "classes", "nnz a row", "test rows", "alpha, SVM", "alpha, LR"],
    )
    for name, found in results.items():
        alpha = found["alpha"]
        cells = [
            *(f"{found[key]:,}" for key in ("n", "d", "k")),
            f"{found['nnz'] / found['n']:.0f}",
            f"{found['n_test']:,}",
            *(f"{alpha[method]:g}" if method in alpha else "-" for method in ("SVM", "LR")),
        ]
        lines.append(_line(name, *cells))
    return "\n".join(lines)


def dependency_table(results: Results) -> str:
    """Return how the time to an accuracy falls with the training size, and until when.

    For the lowest and the highest of figure 1's accuracies.
    """
    head = ["accuracy", "n", "seconds", "with all rows", "ratio", "ratio of steps", "flat from n"]
    lines = _head(["data", "method"], head)
    for name, found in results.items():
        for method in methods(found):
            curves = curves_of(found, method)
            for level in sorted({min(levels(curves)), max(levels(curves))}):
                lines.append(_line(name, method, *_dependency(curves, level)))
    return "\n".join(lines)


def _dependency(curves: list[Curve], level: float) -> list[str]:
    first = next(curve for curve in curves if np.isfinite(usually_reached(level, curve)))
    flat = flat_from(curves, level)
    seconds, steps = (
        [usually_reached(level, curve, effort) for curve in (first, curves[-1])]
        for effort in ("seconds", "steps")
    )
    return [
        f"{100 * level:.1f} %",
        f"{first['n']:,}",
        *map(_seconds, seconds),
        *("-" if flat is None else f"{few / many:.1f}" for few, many in (seconds, steps)),
        "-" if flat is None else f"{flat:,}",
    ]


def one_vs_rest_table(results: Results) -> str:
    """Return the accuracies of figure 3 after the last step, with shared and own alphas."""
    order = [method for binary, multi in ONE_VS_REST.items() for method in (multi, binary)]
    lines = _head(["data", "alpha"], ["steps", *order])
    for name, found in results.items():
        shared, own = found["one_vs_rest"][:4], found["one_vs_rest"][4:]
        for kind, curves in (("shared", shared), ("own", own)) if own else ():
            cells = {curve["method"]: _end(curve) for curve in curves}
            steps = f"{curves[0]['steps'][-1]:,}"
            lines.append(_line(name, kind, steps, *(cells[method] for method in order)))
    return "\n".join(lines)


def _end(curve: Curve) -> str:
    """Return mean and standard deviation over the seeds, in per cent, and the alpha."""
    last = 100 * np.array(curve["accuracies"])[:, -1]
    return f"{last.mean():.2f} ± {last.std(ddof=1):.2f} ({curve['alpha']:g})"


def exact_table(results: Results) -> str:
    """Return the seconds to accuracies near the exact solution's, with all training rows."""
    names = ["SVM", "SVM, averaged", "LR", "perceptron"]
    lines = _head(["data"], ["accuracy", *names, "MulticlassSVC", "LinearSVC"])
    for name, found in results.items():
        curves = {curve["method"]: curve for curve in found["by_size"] if curve["n"] == found["n"]}
        for level in final_levels(found):
            cells = [
                _seconds(usually_reached(level, curves[method])) if method in curves else "not run"
                for method in names
            ]
            for solver in ("MulticlassSVC", "LinearSVC"):
                points = found["exact"].get(solver)
                cells.append(
                    "not run" if points is None else _seconds(exact_seconds_to(level, points))
                )
            lines.append(_line(name, f"{100 * level:.2f} %", *cells))
    return "\n".join(lines)


def cutting_plane_table(results: Results) -> str:
    """Return the seconds of cutting planes and ``MulticlassSVC``, measured one after the other."""
    solvers = ["cutting plane", "MulticlassSVC", "ratio"]
    lines = _head(["data"], ["accuracy", *solvers, "cutting plane ended after", "at a gap of"])
    for name, found in results.items():
        beside = found.get("cutting_planes")
        if not beside:
            continue
        end = beside["cutting plane"][-1]
        for level in final_levels({"exact": beside}):
            slow, fast = (exact_seconds_to(level, beside[solver]) for solver in solvers[:2])
            ratio = f"{slow / fast:.0f}" if np.isfinite(slow) else "-"
            cells = [f"{100 * level:.2f} %", _seconds(slow), _seconds(fast), ratio]
            cells += [f"{end['seconds']:.2g}", f"{end['relative_gap']:.1g}"]
            lines.append(_line(name, *cells))
    return "\n".join(lines)


def _seconds(value: float) -> str:
    return f"{value:.2g}" if np.isfinite(value) else "-"


def _head(left: list[str], right: list[str]) -> list[str]:
    return [_line(*left, *right), "|" + "---|" * len(left) + "--:|" * len(right)]


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
