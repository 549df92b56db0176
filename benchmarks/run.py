"""Run the benchmark: seconds of each solver to equal quality on each data set.

    python -m benchmarks.run [--data news20 sector] [--solvers manyclass liblinear_official]

prints a Markdown table and writes latest.json, which ``python -m benchmarks.plots`` draws.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.datasets.base import BaseDataset, find_datasets
from benchmarks.measure import Limits, race
from benchmarks.reference import reference_for
from benchmarks.solvers.base import BaseSolver, find_solvers

RESULTS = Path(__file__).with_name("results")


def main() -> None:
    """Run what the command line asks for."""
    datasets, solvers = find_datasets(), find_solvers()
    arguments = _parser(datasets, solvers).parse_args()
    result = _empty_result(arguments)
    chosen = _usable([solvers[name] for name in arguments.solvers], result)
    result["solvers"] = [solver.name for solver in chosen]
    result["machine"] = report.machine(solver.package for solver in chosen)
    if not chosen:
        sys.exit(f"no solver can be used here: {result['skipped']}")
    for dataset in _usable([datasets[name] for name in arguments.data], result):
        result["datasets"].append(_measure(dataset, chosen, arguments))
        # Written each time, so that Ctrl-C leaves what has been measured.
        arguments.output.mkdir(parents=True, exist_ok=True)
        text = json.dumps(result, indent=1)
        (arguments.output / "latest.json").write_text(text + "\n")
    print(report.table(result))


def _parser(
    datasets: dict[str, BaseDataset], solvers: dict[str, BaseSolver]
) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run",
        description="Time solvers of the Crammer-Singer SVM to equal quality.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    usual = [dataset.name for dataset in datasets.values() if dataset.default]
    contenders = [solver.name for solver in solvers.values() if solver.default]
    add = parser.add_argument
    add("--data", nargs="+", choices=datasets, default=usual, help="data sets")
    add("--solvers", nargs="+", choices=solvers, default=contenders, help="solvers")
    add("--levels", nargs="+", type=float, default=[1e-2, 1e-3, 1e-4], help="(P - P*)/P*")
    add("--cost", type=float, default=1.0, help="C of the problem")
    add("--repeats", type=int, default=5, help="runs per median")
    add("--time-limit", type=float, default=30.0, help="seconds that a single fit may need")
    add("--reference-limit", type=float, default=60.0, help="seconds to find an unknown P*")
    add("--output", type=Path, default=RESULTS, help="folder of latest.json")
    return parser


def _empty_result(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "date": datetime.date.today().isoformat(),
        "machine": {},
        "C": arguments.cost,
        "repeats": arguments.repeats,
        "time_limit": arguments.time_limit,
        "solvers": [],
        "skipped": [],
        "datasets": [],
    }


def _usable(candidates: list[Any], result: dict[str, Any]) -> list[Any]:
    """Drop the solvers or data sets that can't be used here, and note down why."""
    usable = []
    for candidate in candidates:
        skipped, reason = candidate.skip()
        if skipped:
            result["skipped"].append({"name": candidate.name, "reason": reason})
        else:
            usable.append(candidate)
    return usable


def _measure(
    dataset: BaseDataset, solvers: list[BaseSolver], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Measure all solvers on one data set."""
    start = time.perf_counter()
    data = dataset.load()
    levels = tuple(sorted(arguments.levels, reverse=True))
    limits = Limits(levels, arguments.repeats, arguments.time_limit)
    reference = reference_for(dataset.name, data, arguments.cost, arguments.reference_limit)
    sweeps, reference = race(solvers, data, arguments.cost, limits, reference)
    print(
        f"{dataset.name}: {time.perf_counter() - start:.0f} s, "
        f"P* = {reference.primal:.7g}, proven to {reference.relative_gap:.1e}",
        file=sys.stderr,
        flush=True,
    )
    return report.record(dataset.name, data, sweeps, reference, limits)


if __name__ == "__main__":
    main()
