"""What a run writes down: the machine, the measurements as JSON, the Markdown table."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.datasets.base import Data
from benchmarks.measure import Limits, Run, Sweep
from benchmarks.reference import Reference

OURS = "manyclass"


def machine(packages: Iterable[str]) -> dict[str, Any]:
    """Describe where a run took place."""
    names = sorted({*packages, "numpy", "scipy"})
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: found for name in names if (found := _version(name))},
    }


def record(
    name: str, data: Data, sweeps: Sequence[Sweep], reference: Reference, limits: Limits
) -> dict[str, Any]:
    """Turn what was measured on one data set into what JSON can hold."""
    best = reference.primal
    return {
        "name": name,
        **data.describe(),
        "best_primal": best,
        "best_primal_error": reference.relative_gap,
        "solvers": [
            {
                "name": sweep.solver.name,
                "ending": sweep.ending(limits, best),
                "runs": [_run(run, best) for run in sweep.runs],
                "levels": {f"{level:g}": _level(sweep, level, best) for level in limits.levels},
            }
            for sweep in sweeps
        ],
    }


def table(result: dict[str, Any]) -> str:
    """Format seconds to each level, and ratios to ours, as a Markdown table with its notes."""
    peers = [name for name in result["solvers"] if name != OURS]
    header = ["data", "n x d, classes", "excess", OURS]
    for peer in peers:
        header += [peer, "ratio"]
    rows = [row for entry in result["datasets"] for row in _rows(entry, peers, result["repeats"])]
    ruler = ["---", "---", "---:", *("---:" for _ in header[3:])]
    lines = [_line(header), _line(ruler), *map(_line, rows)]
    return "\n\n".join(["\n".join(lines), *_notes(result)]) + "\n"


def _run(run: Run, best: float) -> dict[str, Any]:
    return {
        "tolerance": run.tolerance,
        "median_seconds": run.median_seconds,
        "excess": run.excess(best),
        "test_accuracy": statistics.median(run.accuracies),
        "seconds": run.seconds,
        "primals": run.primals,
        "warnings": run.warnings,
    }


def _level(sweep: Sweep, level: float, best: float) -> dict[str, Any] | None:
    run = sweep.deciding(level, best)
    if run is None:
        return None
    return {"tolerance": run.tolerance, "seconds": run.median_seconds, "n": len(run.seconds)}


def _rows(entry: dict[str, Any], peers: Sequence[str], repeats: int) -> list[list[str]]:
    reached = {solver["name"]: solver["levels"] for solver in entry["solvers"]}
    rows = []
    for level in entry["solvers"][0]["levels"]:
        ours = reached.get(OURS, {}).get(level)
        is_vague = entry["best_primal_error"] > float(level) / 10
        is_first = not rows
        row = [
            entry["name"] if is_first else "",
            f"{entry['n']:,} x {entry['d']:,}, {entry['k']:,}" if is_first else "",
            f"{level}{' ~' if is_vague else ''}",
            _seconds(ours, repeats),
        ]
        for peer in peers:
            theirs = reached.get(peer, {}).get(level)
            row += [_seconds(theirs, repeats), _ratio(theirs, ours)]
        rows.append(row)
    return rows


def _notes(result: dict[str, Any]) -> list[str]:
    where = result["machine"]
    versions = ", ".join(f"{name} {found}" for name, found in where["versions"].items())
    return [
        f"{result['date']}, {where['cpu']}, {where['cores']} cores, {where['system']}, Python "
        f"{where['python']}, {versions}.",
        f"Seconds at the coarsest tolerance with (P - P\\*)/P\\* at most the excess, medians of "
        f"{result['repeats']} runs in turn; ratio = theirs / ours; C = {result['C']:g}, no "
        "intercept.",
        f"`-`: not reached before a fit seemed to need more than {result['time_limit']:g} s, or "
        "before the solver gave up. `*`: fewer runs, as they are long. `~`: P\\* is not proven to "
        "a tenth of the excess.",
        *(f"Skipped: {skip['name']} ({skip['reason']})." for skip in result["skipped"]),
    ]


def _seconds(reached: dict[str, Any] | None, repeats: int) -> str:
    if reached is None:
        return "-"
    seconds = reached["seconds"]
    digits = 4 if seconds < 0.1 else 3 if seconds < 1 else 2 if seconds < 10 else 1
    return f"{seconds:.{digits}f}{'' if reached['n'] >= repeats else '*'}"


def _ratio(theirs: dict[str, Any] | None, ours: dict[str, Any] | None) -> str:
    return "-" if theirs is None or ours is None else f"{theirs['seconds'] / ours['seconds']:.1f}"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
