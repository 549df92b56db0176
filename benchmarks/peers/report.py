"""Records of a run as JSON."""

from __future__ import annotations

import datetime
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.measure import Limits, Run, Sweep, Task
from benchmarks.peers.reference import Reference
from measuring.results import read_results, write_whole


def record(
    name: str, task: Task, sweeps: Sequence[Sweep], reference: Reference, limits: Limits
) -> dict[str, Any]:
    """Describe what was measured for one problem on one data set."""
    best = reference.primal
    return {
        "problem": task.problem.name,
        "data": name,
        **task.data.describe(),
        "date": datetime.date.today().isoformat(),
        "C": task.C,
        "repeats": limits.repeats,
        "time_limit": limits.seconds,
        "best_primal": best,
        "best_primal_error": _short(reference.relative_gap),
        "levels": [f"{level:g}" for level in limits.levels],
        "solvers": [_sweep(sweep, task, best, limits) for sweep in sweeps],
    }


def merged(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put new entries in the place of old ones of the same problem and data, or behind them."""
    by_key = {(entry["problem"], entry["data"]): entry for entry in [*old, *new]}
    return list(by_key.values())


def write(path: Path, result: dict[str, Any]) -> None:
    """Write JSON with a line for each solver: short, and its changes can be read."""
    head = {key: value for key, value in result.items() if key != "entries"}
    entries = ",\n".join(_entry_text(entry) for entry in result["entries"])
    write_whole(path, f'{json.dumps(head, indent=1)[:-2]},\n "entries": [\n{entries}\n]}}\n')


def read(path: Path) -> dict[str, Any]:
    """Read what ``write`` wrote."""
    return read_results(path)


def _entry_text(entry: dict[str, Any]) -> str:
    head = json.dumps({key: value for key, value in entry.items() if key != "solvers"})
    solvers = ",\n".join("  " + json.dumps(solver) for solver in entry["solvers"])
    return f'{head[:-1]}, "solvers": [\n{solvers}\n]}}'


def _sweep(sweep: Sweep, task: Task, best: float, limits: Limits) -> dict[str, Any]:
    levels = {f"{level:g}": _level(sweep, level, best) for level in limits.levels}
    return {
        "name": sweep.solver.name,
        "package": sweep.solver.package,
        "threads": sweep.solver.threads,
        "minimizes": task.problem.name in sweep.solver.problems,
        "ending": sweep.ending(limits, best),
        "levels": levels,
        "runs": [_run(run, best) for run in sweep.runs],
    }


def _run(run: Run, best: float) -> dict[str, Any]:
    excess = run.excess(best)
    return {
        "tolerance": run.tolerance,
        "seconds": [_short(seconds) for seconds in run.seconds],
        "excess": None if excess is None else _short(excess),
        "accuracy": _short(statistics.median(run.accuracies)),
        **({"warnings": run.warnings} if run.warnings else {}),
    }


def _level(sweep: Sweep, level: float, best: float) -> dict[str, Any] | None:
    run = sweep.deciding(level, best)
    if run is None:
        return None
    return {
        "tolerance": run.tolerance,
        "seconds": _short(run.median_seconds),
        "n": len(run.seconds),
    }


def _short(value: float) -> float:
    return float(f"{value:.5g}")
