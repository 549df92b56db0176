"""Stochastic training beside scikit-learn's: seconds to a test accuracy, of an epoch, memory.

    python -m benchmarks.stochastic.run [--parts curves seconds costs memory] [--data news20 sector]

measures and writes stochastic.json, where entries not measured now are kept. First comes the
accuracy after each epoch, which chooses every solver's alpha; then fits of so many epochs as they
need are timed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.stochastic import costs
from benchmarks.stochastic.curves import Lengths, curves
from benchmarks.stochastic.seconds import Limits, race
from benchmarks.stochastic.solvers import SOLVERS_OF_EPOCHS, Rows, Solver
from measuring.datasets import tiny
from measuring.datasets.base import BaseDataset
from measuring.datasets.real import DATASETS as REAL
from measuring.header import header
from measuring.quick import parse
from measuring.results import RESULTS, read_results, write_whole

USUAL = ("news20", "sector", "lshtc1", "mnist")
DATASETS: dict[str, BaseDataset] = {
    **{d.name: d for d in REAL if d.name in USUAL},
    tiny.NAME: tiny.TINY,
}
PARTS = ("curves", "seconds", "costs", "memory")
LENGTHS = Lengths(5, 20)
QUICK = ["manyclass_hinge", "sklearn_sgd_average_hinge"]
# Where an epoch of scikit-learn's takes seconds.
_SLOW = {
    "sector": Lengths(3, 10, go_on=1),
    "mnist": Lengths(3, 10, go_on=1),
    "lshtc1": Lengths(2, 8, go_on=1),
}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.stochastic.run",
        description="Measure StochasticClassifier and its peers.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    names = [solver.name for solver in SOLVERS_OF_EPOCHS]
    add = parser.add_argument
    add("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    add("--data", nargs="+", choices=DATASETS, default=USUAL, help="data sets")
    add("--solvers", nargs="+", choices=names, default=names, help="solvers")
    add("--repeats", type=int, default=5, help="runs per median")
    add(
        "--budget",
        type=float,
        default=15.0,
        help="CPU seconds for the repeats of one fit",
    )
    add("--output", type=Path, default=RESULTS, help="folder of stochastic.json")
    arguments = parse(parser, data=[tiny.NAME], solvers=QUICK, repeats=1, budget=0.1)
    for name in arguments.data:
        skipped, reason = DATASETS[name].skip()
        if skipped:
            print(f"{name}: skipped, {reason}", file=sys.stderr)
            continue
        for part in PARTS:
            if part in arguments.parts:
                _RUNS[part](name, arguments)


def lengths_of(solver: Solver, name: str) -> Lengths:
    """Return how many epochs of a solver are looked at."""
    return _SLOW.get(name, LENGTHS) if solver.float64 else LENGTHS


def update(folder: Path, name: str, key: str, found: dict[str, Any]) -> None:
    """Put new results of a data set beside those in the file."""
    path = folder / "stochastic.json"
    result = read_results(path)
    result |= header(result)
    entry = result.setdefault("data", {}).setdefault(name, {})
    entry["date"] = time.strftime("%Y-%m-%d")
    entry.setdefault(key, {}).update(found)
    order = {each: place for place, each in enumerate(USUAL)}
    result["data"] = dict(sorted(result["data"].items(), key=lambda pair: order.get(pair[0], 9)))
    write_whole(path, as_text(result))


def as_text(result: dict[str, Any]) -> str:
    """Return JSON with a line for each solver: short, and its changes can be read."""
    head = json.dumps({key: value for key, value in result.items() if key != "data"})
    return f'{head[:-1]},\n "data": {_lines(result["data"], depth=3)}}}\n'


def _lines(value: Any, depth: int) -> str:
    if depth == 0 or not isinstance(value, dict):
        return json.dumps(value)
    items = [f"{json.dumps(key)}: {_lines(each, depth - 1)}" for key, each in value.items()]
    return "{" + ",\n".join(items) + "}"


def _curves(name: str, arguments: argparse.Namespace) -> None:
    data = DATASETS[name].load()
    update(arguments.output, name, "sizes", data.describe())
    for solver in SOLVERS_OF_EPOCHS:
        if solver.name not in arguments.solvers or solver.follows:
            continue
        rows = Rows.from_data(data, float64=solver.float64)
        found = curves(solver, rows, lengths_of(solver, name))
        by_name = {
            each: {f"{alpha:g}": curve for alpha, curve in of.items()} for each, of in found.items()
        }
        # Written each time, so that Ctrl-C leaves what has been measured.
        update(arguments.output, name, "curves", by_name)
        print(f"{name}, {solver.name}: curves", file=sys.stderr, flush=True)


def _seconds(name: str, arguments: argparse.Namespace) -> None:
    entry = read_results(arguments.output / "stochastic.json")["data"][name]
    limits = Limits(arguments.repeats, arguments.budget)
    solvers = [solver for solver in SOLVERS_OF_EPOCHS if solver.name in arguments.solvers]
    found = race(solvers, DATASETS[name].load(), entry["curves"], limits)
    update(arguments.output, name, "seconds", found)


def _costs(name: str, arguments: argparse.Namespace) -> None:
    found = costs.epochs(DATASETS[name].load(), arguments.repeats)
    update(arguments.output, name, "costs", found)


def _memory(name: str, arguments: argparse.Namespace) -> None:
    update(arguments.output, name, "memory", costs.memory(DATASETS[name], arguments.solvers))


_RUNS = {"curves": _curves, "seconds": _seconds, "costs": _costs, "memory": _memory}

if __name__ == "__main__":
    main()
