"""Markdown tables of what ``benchmarks.stochastic.run`` wrote down."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from benchmarks.stochastic.costs import BATCHES, LOSSES, THREADS, Setting
from benchmarks.stochastic.solvers import AVERAGE, OURS, SGD, SGD_AVERAGE, SOLVERS_OF_EPOCHS
from measuring.results import markdown

Entry = Mapping[str, Any]
LEVELS = ("sgd", "best")
MEGABYTES = ("megabytes", "training_megabytes")


def seconds_tables(result: Entry) -> str:
    """Return the seconds to both accuracies of all solvers, and the ratios to ours."""
    parts = []
    for loss in LOSSES:
        rows = [
            row
            for name, entry in result["data"].items()
            if "seconds" in entry
            for row in _solver_rows(name, entry, loss)
        ]
        header = ["data", "solver", "alpha", "accuracy in the end"]
        for level in ("99 % of SGDClassifier's", "99 % of the best"):
            header += [f"epochs to {level}", "CPU seconds", "/ ours", "elapsed / ours"]
        parts += [f"**{loss}**", markdown(header, rows, n_words=2)]
    return "\n\n".join([*parts, _note(result)])


def _solver_rows(name: str, entry: Entry, loss: str) -> list[list[str]]:
    found = entry["seconds"]
    ours = found.get(f"{OURS}_{loss}")
    rows = []
    for solver in SOLVERS_OF_EPOCHS:
        if solver.family == loss and solver.name in found:
            own = found[solver.name]
            alpha, end = f"{own['alpha']:g}", f"{100 * own['final']:.1f} %"
            row = [name, title(solver.name), alpha, end]
            for level in LEVELS:
                row += _to_level(own, ours, level)
            rows.append(row)
    return rows


def _to_level(own: Entry, ours: Entry | None, level: str) -> list[str]:
    """Return epochs, median seconds with their spread, and the ratio to ours."""
    seconds = seconds_to(own, level)
    if not seconds:
        return ["", "not reached", "", ""]
    usual = statistics.median(seconds)
    spread = f"{min(seconds):.2g} to {max(seconds):.2g}" if len(seconds) > 1 else "once"
    ratios = [_times_ours(own, ours, level, clock) for clock in ("cpu_seconds", "seconds")]
    return [str(own["levels"][level]["epochs"]), f"{usual:.2g} ({spread})", *ratios]


def _times_ours(own: Entry, ours: Entry | None, level: str, clock: str) -> str:
    best = seconds_to(ours, level, clock) if ours else []
    if not best:
        return ""
    return f"{statistics.median(seconds_to(own, level, clock)) / statistics.median(best):.2g}"


def seconds_to(own: Entry, level: str, clock: str = "cpu_seconds") -> list[float]:
    """Return the times of the fits that reach a level; none if it isn't reached."""
    epochs = own["levels"].get(level, {}).get("epochs")
    return list(own["runs"][str(epochs)][clock]) if epochs else []


def short_table(result: Entry) -> str:
    """Return what our default takes to nearly SGDClassifier's accuracy, and elapsed ratios."""
    header = ["data", "loss", "epochs", "CPU seconds", "SGDClassifier / manyclass"]
    rows = [
        _short_row(name, entry, loss)
        for loss in LOSSES
        for name, entry in result["data"].items()
        if f"{OURS}_{loss}" in entry.get("seconds", {})
    ]
    return markdown([*header, "MulticlassSVC / manyclass"], rows, n_words=2)


def _short_row(name: str, entry: Entry, loss: str) -> list[str]:
    found = entry["seconds"]
    ours = found[f"{OURS}_{loss}"]
    row = [f"{name} ({entry['sizes']['k']:,} classes)", loss]
    seconds = seconds_to(ours, "sgd")
    if not seconds:
        return [*row, "not reached", "", "", ""]
    others = [[f"{SGD}_{loss}", f"{SGD_AVERAGE}_{loss}"], ["manyclass_svc"] * (loss == "hinge")]
    ratios = [
        [
            float(_times_ours(found[each], ours, "sgd", "seconds"))
            for each in names
            if each in found and seconds_to(found[each], "sgd")
        ]
        for names in others
    ]
    quickest = [f"{min(some):.2g}" if some else "" for some in ratios]
    return [
        *row,
        str(ours["levels"]["sgd"]["epochs"]),
        f"{statistics.median(seconds):.2g}",
        *quickest,
    ]


def levels_table(result: Entry) -> str:
    """Sizes of the data, and the accuracies that are to be reached."""
    header = ["data", "examples", "features", "classes", "non-zeros per row"]
    header += ["99 % of SGDClassifier's, hinge", "log_loss", "99 % of the best"]
    rows = []
    for name, entry in result["data"].items():
        sizes, found = entry["sizes"], entry.get("seconds", {})
        row = [name, *(f"{sizes[size]:,}" for size in ("n", "d", "k"))]
        row.append(f"{sizes['nnz'] / sizes['n']:.0f}")
        wanted = [(f"{OURS}_hinge", "sgd"), (f"{OURS}_log_loss", "sgd"), (f"{OURS}_hinge", "best")]
        for solver, level in wanted:
            goal = found.get(solver, {}).get("levels", {}).get(level)
            row.append(f"{100 * goal['accuracy']:.1f} %" if goal else "")
        rows.append(row)
    return markdown(header, rows, n_words=1)


def epochs_table(result: Entry) -> str:
    """Milliseconds of an epoch: threads, types, and what the average costs."""
    header = ["data", "loss", "batch_size", "CPU, float32", "CPU, float64", "CPU, average=True"]
    header += ["elapsed, 1 thread", "elapsed, 2 threads", "speed-up"]
    rows = [
        _epoch_row(name, entry["costs"], loss, batch_size)
        for name, entry in result["data"].items()
        if "costs" in entry
        for loss in LOSSES
        for batch_size in BATCHES
    ]
    return markdown(header, rows, n_words=2)


def _epoch_row(name: str, costs: Entry, loss: str, batch_size: int) -> list[str]:
    one, two = (costs[Setting(loss, batch_size, threads).key()] for threads in THREADS)
    double = costs[Setting(loss, batch_size, dtype="float64").key()]
    average = costs.get(Setting(loss, batch_size, average=True).key())
    return [
        name,
        loss,
        str(batch_size),
        _milliseconds(one["cpu_seconds"]),
        _milliseconds(double["cpu_seconds"]),
        _milliseconds(average["cpu_seconds"]) if average else "",
        _milliseconds(one["seconds"]),
        _milliseconds(two["seconds"]),
        _ratio(one["seconds"], two["seconds"]),
    ]


def _milliseconds(seconds: list[float]) -> str:
    few, usual, many = (1000 * f(seconds) for f in (min, statistics.median, max))
    return f"{usual:.0f} ({few:.0f} to {many:.0f})"


def _ratio(above: list[float], below: list[float]) -> str:
    """Return the ratio of the medians: a single difference of two fits may even be negative."""
    return f"{statistics.median(above) / statistics.median(below):.2f}"


def memory_table(result: Entry) -> str:
    """Megabytes of a process that trains one epoch, and those that training added."""
    names = {name for entry in result["data"].values() for name in entry.get("memory", {})}
    rows = [
        [
            data,
            title(name),
            *(f"{entry['memory'][name][what]:,.0f}" for what in MEGABYTES),
        ]
        for data, entry in result["data"].items()
        for name in (solver.name for solver in SOLVERS_OF_EPOCHS)
        if name in names and name in entry.get("memory", {})
    ]
    return markdown(["data", "solver", "peak, MB", "of training"], rows, n_words=2)


TITLES = {
    "manyclass_plain": "StochasticClassifier(intercept_scaling=1)",
    "manyclass_average_16": "StochasticClassifier(average=True, intercept_scaling=1, "
    "batch_size=16)",
    OURS: "StochasticClassifier(average=True)",
    AVERAGE: "StochasticClassifier(average=True, intercept_scaling=1)",
    "manyclass_svc": "MulticlassSVC",
    SGD_AVERAGE: "SGDClassifier(average=True)",
    SGD: "SGDClassifier",
    "sklearn_saga": "LogisticRegression, saga",
}


def title(name: str) -> str:
    """Return what tables and pictures call a solver.

    Examples
    --------
    >>> title("sklearn_sgd_average_log_loss")
    'SGDClassifier(average=True), log_loss'
    """
    for loss in LOSSES:
        if name.endswith(f"_{loss}"):
            return f"{TITLES[name.removesuffix(f'_{loss}')]}, {loss}"
    return TITLES[name]


def _note(result: Entry) -> str:
    machine = result["machine"]
    versions = machine["versions"]
    return (
        f"Python {machine['python']}, scikit-learn {versions['scikit-learn']}, NumPy "
        f"{versions['numpy']}; one thread each. "
        "In brackets the least and the largest; (once): a fit too long to be repeated."
    )
