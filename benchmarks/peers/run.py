"""Run the benchmark: seconds of each solver to equal quality, for each problem and data set.

    python -m benchmarks.peers.run [--data news20 sector] [--problems crammer_singer] [--quick]

prints Markdown tables and writes latest.json, which ``python -m benchmarks.peers.plots`` draws.
Problems and data sets that do not fit each other, one class per row and label sets, are left out.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.peers import report, tables
from benchmarks.peers.measure import Limits, Task, race
from benchmarks.peers.problems import PROBLEMS, Problem
from benchmarks.peers.reference import reference_for
from benchmarks.peers.solvers.base import BaseSolver, find_solvers
from measuring.datasets import tiny
from measuring.datasets.base import BaseDataset, Data, find_datasets
from measuring.header import header
from measuring.quick import parse
from measuring.results import RESULTS


def main() -> None:
    """Run what the command line asks for."""
    datasets, solvers = find_datasets(multilabel=True), find_solvers()
    arguments = parse(
        _parser(datasets, solvers),
        data=[tiny.NAME],
        solvers=["manyclass", "sklearn_linear_svc"],
        levels=[1e-1, 1e-2],
        repeats=1,
        time_limit=["1"],
        reference_limit=1.0,
    )
    limit, limits = _time_limits(arguments.time_limit, datasets)
    skipped: list[dict[str, str]] = []
    chosen = _usable(_named(arguments.solvers, solvers), skipped)
    if not chosen:
        sys.exit(f"no solver can be used here: {skipped}")
    path = arguments.output / arguments.file
    old = report.read(path) if arguments.update else {}
    result = {
        **header(old, {solver.package for solver in chosen}),
        "skipped": skipped,
        "entries": old.get("entries", []),
    }
    for dataset in _usable(_named(arguments.data, datasets), skipped):
        data = dataset.load()
        problems = [PROBLEMS[name] for name in arguments.problems]
        for problem in (each for each in problems if each.multilabel == data.multilabel):
            seconds = limits.get(dataset.name, limit)
            entry = _measure(dataset.name, data, problem, chosen, seconds, arguments)
            # Written each time, so that Ctrl-C leaves what has been measured.
            result["entries"] = report.merged(result["entries"], [entry] if entry else [])
            report.write(path, result)
    if result["entries"]:
        print(tables.all_tables(result))


def _parser(
    datasets: dict[str, BaseDataset], solvers: dict[str, BaseSolver]
) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers.run",
        description="Time solvers of multi-class linear SVMs to equal quality.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    usual = [dataset.name for dataset in datasets.values() if dataset.default]
    contenders = [solver.name for solver in solvers.values() if solver.default]
    add = parser.add_argument
    add("--data", nargs="+", choices=[*datasets, "all"], default=usual, help="data sets")
    add("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), help="problems")
    add("--solvers", nargs="+", choices=[*solvers, "all"], default=contenders, help="solvers")
    add("--levels", nargs="+", type=float, default=[1e-2, 1e-3, 1e-4, 1e-5], help="(P - P*)/P*")
    add("--cost", type=float, default=1.0, help="C of the problem")
    add("--repeats", type=int, default=5, help="runs per median")
    add("--fewest", type=int, default=1, help="runs per median of a fit that takes long")
    limit_help = "seconds that a single fit may need: a number, NAME=NUMBER for single data sets"
    add("--time-limit", nargs="+", default=["3"], help=limit_help)
    add("--reference-limit", type=float, default=60.0, help="seconds to find an unknown P*")
    add("--output", type=Path, default=RESULTS, help="folder of the file")
    add("--file", default="latest.json", help="name of the file with the results")
    add("--update", action="store_true", help="keep what is in the file and not measured now")
    return parser


def _named(names: list[str], found: dict[str, Any]) -> list[Any]:
    return (
        [each for each in found.values() if each.name != tiny.NAME]
        if "all" in names
        else [found[name] for name in names]
    )


def _time_limits(
    words: list[str], datasets: dict[str, BaseDataset]
) -> tuple[float, dict[str, float]]:
    """Parse "3 mnist=30" into the limit of all, 3, and those of single data sets."""
    usual, single = 3.0, {}
    for word in words:
        name, _, seconds = word.rpartition("=")
        if name and name not in datasets:
            sys.exit(f"--time-limit {word}: there is no data set {name}")
        try:
            value = float(seconds)
        except ValueError:
            sys.exit(f"--time-limit {word}: {seconds} is not a number")
        if name:
            single[name] = value
        else:
            usual = value
    return usual, single


def _usable(candidates: list[Any], skips: list[dict[str, str]]) -> list[Any]:
    """Drop the solvers or data sets that can't be used here, and note down why."""
    usable = []
    for candidate in candidates:
        skipped, reason = candidate.skip()
        if skipped:
            skips.append({"name": candidate.name, "reason": reason})
        else:
            usable.append(candidate)
    return usable


def _measure(
    name: str,
    data: Data,
    problem: Problem,
    solvers: list[BaseSolver],
    seconds: float,
    arguments: argparse.Namespace,
) -> dict[str, Any] | None:
    """Measure all solvers of one problem on one data set; None if there is no solver."""
    start = time.perf_counter()
    fitting = [s for s in solvers if problem.name in (*s.problems, *s.accuracy_beside)]
    if not fitting:
        return None
    levels = tuple(sorted(arguments.levels, reverse=True))
    limits = Limits(levels, arguments.repeats, seconds, arguments.fewest)
    task = Task(data, problem, arguments.cost)
    reference = reference_for(name, data, problem, arguments.cost, arguments.reference_limit)
    sweeps, reference = race(fitting, task, limits, reference)
    print(
        f"{name}, {problem.name}: {time.perf_counter() - start:.0f} s, "
        f"P* = {reference.primal:.7g}, proven to {reference.relative_gap:.1e}",
        file=sys.stderr,
        flush=True,
    )
    return report.record(name, task, sweeps, reference, limits)


if __name__ == "__main__":
    main()
