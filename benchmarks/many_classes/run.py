"""Train with thousands of classes: seconds, peak memory, accuracy and densities.

    python -m benchmarks.many_classes.run [--data lshtc1 lshtc-large] [--formulations NAME ...]

trains one classifier at a time, each in a process of its own, prints a Markdown table, and writes
many_classes.json, where other rows stay as they were.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.many_classes.tables import runs_table
from measuring import training
from measuring.datasets import tiny
from measuring.datasets.base import BaseDataset
from measuring.datasets.real import RealDataset
from measuring.datasets.shaped_text import SHAPES
from measuring.header import header
from measuring.processes import FailedError, in_fresh_process
from measuring.quick import parse
from measuring.results import RESULTS, TITLES, read_results, write_results

DATASETS: dict[str, BaseDataset] = {
    dataset.name: dataset
    for dataset in (RealDataset("lshtc1"), RealDataset("wordnet"), *SHAPES, tiny.TINY)
}
USUAL = ["lshtc1", "wordnet", "lshtc-small", "lshtc-tenth", "lshtc-large"]
Entry = dict[str, Any]


def main() -> None:
    """Run what the command line asks for."""
    arguments = parse(
        _parser(), data=[tiny.NAME], formulations=["crammer_singer"], jobs=[1], tol=[1e-2]
    )
    path = arguments.output / "many_classes.json"
    old = read_results(path)
    about, entries = header(old), old.get("entries", [])
    for name in arguments.data:
        new = []
        for entry in measure(DATASETS[name], list(_settings(arguments)), arguments):
            new.append(entry)
            entries = merged(entries, entry)
            # Written each time, so that Ctrl-C leaves what has been measured.
            write_results(path, about | {"entries": entries})
        if new:
            print(runs_table(new), end="\n\n", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.many_classes.run",
        description="Train with thousands of classes, each time in a process of its own.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    usual = ["crammer_singer", "weston_watkins", "one_vs_rest"]
    add = parser.add_argument
    add("--data", nargs="+", choices=DATASETS, default=USUAL, help="data sets")
    add("--formulations", nargs="+", choices=TITLES, default=usual, help="machines")
    add("--weights", nargs="+", default=["dense", "sparse"], help="how W is kept")
    add("--jobs", nargs="+", type=int, default=[1, 2], help="threads")
    add("--tol", nargs="+", type=float, default=[1e-2, 1e-3], help="relative duality gaps")
    add("--costs", nargs="+", type=float, default=[1.0], help="values of C")
    add("--time-limit", type=float, default=600.0, help="seconds of one training")
    add("--dense-limit", type=float, default=6.0, help="gigabytes of W; larger ones only sparse")
    add("--output", type=Path, default=RESULTS, help="folder of many_classes.json")
    add("--verbose", type=int, default=0, help="1: a line per epoch, for long trainings")
    return parser


def _settings(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """List the arguments of ``MulticlassSVC`` for each training of a data set."""
    names = ("formulation", "weights", "n_jobs", "tol", "C")
    given = (
        arguments.formulations,
        arguments.weights,
        arguments.jobs,
        sorted(arguments.tol, reverse=True),
        arguments.costs,
    )
    for values in itertools.product(*given):
        yield dict(zip(names, values, strict=True))


def measure(
    dataset: BaseDataset, settings: list[dict[str, Any]], arguments: argparse.Namespace
) -> Iterator[Entry]:
    """Train with each of the settings in turn."""
    skipped, reason = dataset.skip()
    if skipped:
        print(f"{dataset.name}: skipped, {reason}", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sizes = in_fresh_process(training.save, dataset, folder)
        fits = 4e-9 * sizes["d"] * sizes["k"] <= arguments.dense_limit
        for setting in settings:
            if setting["weights"] == "sparse" or fits:
                given = {**setting, "verbose": arguments.verbose}
                found = attempt(folder, sizes, given, arguments.time_limit)
                yield {"data": dataset.name, **sizes, **setting, **found}


def attempt(
    folder: Path, sizes: dict[str, int], setting: dict[str, Any], limit: float
) -> dict[str, Any]:
    """Train once; return what was found, or why nothing was."""
    date = time.strftime("%Y-%m-%d")
    try:
        found = in_fresh_process(training.train, folder, sizes, setting, limit=limit)
    except FailedError as error:
        return {"date": date, "failed": str(error)}
    return {"date": date, **found}


def merged(entries: list[Entry], new: Entry) -> list[Entry]:
    """Put a new entry in the place of an old one of the same data and settings, or at the end."""
    keys = ("data", "formulation", "weights", "n_jobs", "tol", "C")
    by_key = {tuple(entry[key] for key in keys): entry for entry in [*entries, new]}
    return list(by_key.values())


if __name__ == "__main__":
    main()
