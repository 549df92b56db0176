"""Rates of the cost model from measured runs, and how well they predict other runs."""

from __future__ import annotations

import os
from collections import defaultdict
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.rank_settings import TOL
from experiments import ROOT, read_results, write_between, write_results
from manyclass.planning.cost_model import data_bytes, memory, work
from manyclass.planning.rates import FILE as RATES
from manyclass.planning.rates import name_of as solver_name
from manyclass.planning.work import LOCAL, Habits, Shape, Work
from manyclass.problem.formulations import FORMULATIONS
from manyclass.solvers.engine import Engine, select_engine

PAGE = ROOT / "docs" / "plan.md"
GAINS_PAGE = ROOT / "docs" / "development" / "class_partitioned_training.md"
Entry = dict[str, Any]
MULTIPLIED = ("dense", "far", "lists")


def shape_of(entry: Entry) -> Shape:
    """Return the sizes of a run's data."""
    return Shape(entry["n"], entry["d"], entry["k"], entry["nnz"], entry["largest"])


def mean_of(entry: Entry, name: str) -> float:
    """Return the mean over the epochs; the first, from z = 0, is unlike all others."""
    return float(np.mean([epoch[name] for epoch in entry["epochs"][1:] or entry["epochs"]]))


def habits_of(entry: Entry) -> Habits:
    """Return what training did."""
    return Habits(
        scores=mean_of(entry, "evaluations") / (entry["n"] * entry["k"]),
        duals=mean_of(entry, "n_duals") / entry["n"],
        density=entry["density"],
        fill=entry["fill"],
        packed=entry["packed"],
        epochs=entry["n_epochs"],
    )


def engine(entry: Entry) -> Engine:
    """Return which solver it was."""
    return select_engine(FORMULATIONS[entry["formulation"]], entry["ranks"])


def name_of(entry: Entry) -> str:
    """Return under which name the rates are kept."""
    return solver_name(entry["formulation"], entry["weights"], engine(entry))


def work_of(entry: Entry) -> Work:
    """Count the work of a run from its sizes and habits."""
    return work(engine(entry), entry["weights"], shape_of(entry), habits_of(entry), entry["ranks"])


def fitted_rates(entries: list[Entry]) -> dict[str, dict[str, float]]:
    """Fit the rates of each solver: non-negative, least squares of the relative errors.

    A multiply-add costs ranks no less than one process: runs where several kinds of work go
    together do not tell which of them takes the time, and the rates have to hold far beyond.
    """
    groups = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: int(entry["ranks"])):
        groups[name_of(entry)].append(entry)
    found: dict[str, dict[str, float]] = {}
    for name, some in groups.items():
        counts = np.array([[getattr(work_of(entry), part) for part in LOCAL] for entry in some])
        seconds = np.array([mean_of(entry, "at_work") for entry in some])
        formulation, weights = some[0]["formulation"], some[0]["weights"]
        alone = found.get(
            solver_name(formulation, weights, select_engine(FORMULATIONS[formulation], 1)), {}
        )
        least = np.array([alone.get(part, 0.0) if part in MULTIPLIED else 0.0 for part in LOCAL])
        relative = counts / seconds[:, None]
        more, _ = nnls(relative, np.ones(len(some)) - relative @ least)
        found[name] = {part: float(rate) for part, rate in zip(LOCAL, least + more, strict=True)}
    return found


def fitted_network(entries: list[Entry]) -> dict[str, float]:
    """Fit latency and bandwidth between ranks of this machine, as many as it has cores."""
    some = [e for e in entries if 1 < e["ranks"] <= (os.cpu_count() or 1)]
    counts = np.array([[mean_of(e, "messages"), mean_of(e, "bytes")] for e in some])
    seconds = np.array([mean_of(e, "talking") for e in some])
    (latency, per_byte), _ = nnls(counts / seconds[:, None], np.ones(len(some)))
    return {"latency": float(latency), "bandwidth": float(1 / max(per_byte, 1e-12))}


def beside(entry: Entry) -> float:
    """Return how many epochs' time more all took; no less than nothing."""
    return max(0.0, entry["at_work"] / mean_of(entry, "at_work") - entry["n_epochs"])


def predicted(entry: Entry, rates: dict[str, dict[str, float]]) -> float:
    """Return the processor's seconds of a rank in an epoch."""
    return work_of(entry).seconds(rates[name_of(entry)])


def usual(entries: list[Entry], counted: list[Entry]) -> dict[str, dict[str, float]]:
    """Return the medians of what training did, and the epochs it needed, for each solver.

    Of what comes beside epochs only the runs tell that the model is fitted to.
    """
    groups = defaultdict(list)
    for entry in entries:
        groups[name_of(entry)].append(entry)
    found = {}
    for name, some in groups.items():
        formulation = some[0]["formulation"]
        habits = [habits_of(entry) for entry in some]
        found[name] = {"scores": median(habit.scores for habit in habits)}
        if FORMULATIONS[formulation].margin == "relative":
            found[name]["duals"] = median(habit.duals for habit in habits)
        else:
            shares = (h.duals / e["k"] for h, e in zip(habits, some, strict=True))
            found[name]["dual_share"] = median(shares)
        found[name] |= usual_epochs(counted, formulation, engine(some[0]))
        found[name]["beside"] = median(beside(entry) for entry in some if entry["fitted"])
    return found


def usual_epochs(counted: list[Entry], formulation: str, solver: Engine) -> dict[str, float]:
    """Return the epochs on one rank or two, and how they grow from there."""
    mine = [entry for entry in counted if entry["formulation"] == formulation]
    begins = 1 if solver == "serial" else 2
    first = {entry["data"]: entry["epochs"] for entry in mine if entry["ranks"] == begins}
    more = [entry for entry in mine if entry["ranks"] > 2 and begins == 2]
    logs = np.array([np.log(entry["ranks"] / 2) for entry in more])
    grown = np.array([np.log(entry["epochs"] / first[entry["data"]]) for entry in more])
    growth = float(logs @ grown / (logs @ logs)) if len(more) else 0.0
    return {"epochs": float(median(first.values() or [20.0])), "growth": max(0.0, growth)}


def write(measured: dict[str, Any], counted: dict[str, Any]) -> None:
    """Write the rates, and the tables of docs/plan.md."""
    entries = measured["runs"]
    fitted = [entry for entry in entries if entry["fitted"]]
    rates = fitted_rates(fitted)
    before = read_results(RATES)  # of solvers that were not measured this time
    found = {
        "machine": measured["machine"],
        "date": measured["date"],
        "local": fitted_network(fitted),
        "rates": before.get("rates", {}) | rates,
        "usual": before.get("usual", {}) | usual(entries, counted.get("entries", [])),
    }
    write_results(RATES, found)
    write_between(PAGE, "checked", checked_table(entries, rates, found["usual"]))
    write_between(PAGE, "runs", runs_table(entries, rates))
    write_between(PAGE, "epochs", epochs_table(counted.get("entries", [])))
    write_between(GAINS_PAGE, "gains", gains_table(entries))


def errors(entries: list[Entry], rates: dict[str, dict[str, float]]) -> list[float]:
    """Return by how much each prediction is off, as a share of what was measured."""
    return [predicted(entry, rates) / mean_of(entry, "at_work") - 1 for entry in entries]


def errors_in_all(
    entries: list[Entry], rates: dict[str, dict[str, float]], usual: dict[str, dict[str, float]]
) -> list[float]:
    """Return the same for all that training took, in as many epochs as it did."""
    return [
        predicted(entry, rates)
        * (entry["n_epochs"] + usual[name_of(entry)]["beside"])
        / entry["at_work"]
        - 1
        for entry in entries
    ]


def checked_table(
    entries: list[Entry], rates: dict[str, dict[str, float]], usual: dict[str, dict[str, float]]
) -> str:
    """Return how far off the predictions are, for each solver: of an epoch, then of all."""
    lines = [
        "| solver | fitted to | off by | checked on | off by | at most | within 25 % "
        "| in all off by | at most |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name in rates:
        mine = [entry for entry in entries if name_of(entry) == name]
        fitted, others = ([e for e in mine if e["fitted"] == which] for which in (True, False))
        if not others:
            continue
        off, checked = (np.abs(errors(some, rates)) for some in (fitted, others))
        in_all = np.abs(errors_in_all(others, rates, usual))
        cells = [
            f"{len(fitted)} runs",
            f"{100 * np.median(off):.0f} %",
            f"{len(others)} runs",
            f"{100 * np.median(checked):.0f} %",
            f"{100 * checked.max():.0f} %",
            f"{np.count_nonzero(checked <= 0.25)} of {len(others)}",
            f"{100 * np.median(in_all):.0f} %",
            f"{100 * in_all.max():.0f} %",
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def runs_table(entries: list[Entry], rates: dict[str, dict[str, float]]) -> str:
    """Return what was measured and predicted for the runs that the model was not fitted to."""
    lines = [
        "| data | solver | ranks | ms | predicted | off | MB moved | predicted | MB of memory "
        "| predicted |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for entry in entries:
        if entry["fitted"]:
            continue
        seconds, guess = mean_of(entry, "at_work"), predicted(entry, rates)
        shape, habits = shape_of(entry), habits_of(entry)
        needed = memory(engine(entry), entry["weights"], shape, habits, entry["ranks"])
        cells = [
            str(entry["ranks"]),
            f"{1e3 * seconds:.0f}",
            f"{1e3 * guess:.0f}",
            f"{100 * (guess / seconds - 1):+.0f} %",
            f"{1e-6 * mean_of(entry, 'bytes'):.1f}",
            f"{1e-6 * work_of(entry).bytes:.1f}",
            f"{entry['megabytes'] + 1e-6 * data_bytes(shape):.0f}",
            f"{1e-6 * needed:.0f}",
        ]
        lines.append(f"| {entry['data']} | {name_of(entry)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def epochs_table(counted: list[Entry]) -> str:
    """Return the epochs to a gap of 1e-3."""
    ranks = sorted({entry["ranks"] for entry in counted})
    lines = [
        "| data | formulation | " + " | ".join(map(str, ranks)) + " |",
        "|---|---|" + "--:|" * len(ranks),
    ]
    groups = defaultdict(dict)
    for entry in counted:
        text = str(entry["epochs"]) if entry["gap"] <= TOL else f"more than {entry['epochs']}"
        groups[entry["data"], entry["formulation"]][entry["ranks"]] = text
    for names, cells in groups.items():
        line = " | ".join(cells.get(n_ranks, "") for n_ranks in ranks)
        lines.append(f"| {' | '.join(names)} | {line} |")
    return "\n".join(lines)


def gains_table(entries: list[Entry]) -> str:
    """Return the elapsed seconds of an epoch, the first too, of one process and two ranks."""
    lines = [
        "| data | classes | formulation | W | one process | two ranks | ratio |",
        "|---|--:|---|---|--:|--:|--:|",
    ]
    groups = defaultdict(dict)
    for entry in entries:
        groups[entry["data"], entry["formulation"], entry["weights"]][entry["ranks"]] = entry
    for (data, formulation, weights), some in groups.items():
        if not {1, 2} <= some.keys():
            continue
        one, two = (float(np.mean([e["seconds"] for e in some[p]["epochs"]])) for p in (1, 2))
        cells = [data, f"{some[1]['k']:,}", formulation, weights]
        cells += [f"{1e3 * one:.0f} ms", f"{1e3 * two:.0f} ms", f"{one / two:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def line(entry: Entry) -> str:
    """Describe a run."""
    cells = [f"{1e3 * mean_of(entry, name):8.1f} ms {name}" for name in ("seconds", "at_work")]
    return f"{entry['data']:14} {name_of(entry):36} p={entry['ranks']} {' '.join(cells)}"
