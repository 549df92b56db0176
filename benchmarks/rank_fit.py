"""Rates of the cost model from measured runs, and how well they predict other runs."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

import numpy as np
from scipy.optimize import nnls

from experiments import ROOT
from manyclass.formulations import FORMULATIONS
from manyclass.parallel.cost_model import LOCAL, Engine, Habits, Shape, Work, engine_of, work

RATES = ROOT / "src" / "manyclass" / "parallel" / "cost_rates.json"
PAGE = ROOT / "docs" / "plan.md"
Entry = dict[str, Any]


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
        epochs=entry["n_epochs"],
    )


def engine(entry: Entry) -> Engine:
    """Return which solver it was."""
    formulation = FORMULATIONS[entry["formulation"]]
    return engine_of(
        separate=formulation.sum_to_zero == "no",
        centred=formulation.centred,
        n_ranks=entry["ranks"],
    )


def name_of(entry: Entry) -> str:
    """Return under which name the rates are kept."""
    return f"{entry['formulation']} {entry['weights']} {engine(entry)}"


def work_of(entry: Entry) -> Work:
    """Count the work of a run from its sizes and habits."""
    return work(engine(entry), entry["weights"], shape_of(entry), habits_of(entry), entry["ranks"])


def fitted_rates(entries: list[Entry]) -> dict[str, dict[str, float]]:
    """Fit the rates of each solver: non-negative, least squares of the relative errors."""
    groups = defaultdict(list)
    for entry in entries:
        groups[name_of(entry)].append(entry)
    found = {}
    for name, some in groups.items():
        counts = np.array([[getattr(work_of(entry), part) for part in LOCAL] for entry in some])
        seconds = np.array([mean_of(entry, "busiest") for entry in some])
        rates, _ = nnls(counts / seconds[:, None], np.ones(len(some)))
        found[name] = {part: float(rate) for part, rate in zip(LOCAL, rates, strict=True)}
    return found


def fitted_network(entries: list[Entry]) -> dict[str, float]:
    """Fit latency and bandwidth between ranks of this machine, as many as it has cores."""
    some = [e for e in entries if 1 < e["ranks"] <= (os.cpu_count() or 1)]
    counts = np.array([[mean_of(e, "messages"), mean_of(e, "bytes")] for e in some])
    seconds = np.array([mean_of(e, "talking") for e in some])
    (latency, per_byte), _ = nnls(counts / seconds[:, None], np.ones(len(some)))
    return {"latency": float(latency), "bandwidth": float(1 / max(per_byte, 1e-12))}


def predicted(entry: Entry, rates: dict[str, dict[str, float]]) -> float:
    """Return the processor's seconds in an epoch of the busiest rank."""
    return work_of(entry).seconds(rates[name_of(entry)])


def line(entry: Entry) -> str:
    """Describe a run."""
    cells = [f"{1e3 * mean_of(entry, name):8.1f} ms {name}" for name in ("seconds", "busiest")]
    return f"{entry['data']:14} {name_of(entry):36} p={entry['ranks']} {' '.join(cells)}"
