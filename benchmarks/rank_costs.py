"""Measure what training on ranks costs, fit the rates of the cost model, and check them.

    python -m benchmarks.rank_costs [--only weston_watkins] [--repeats 3] [--fit-only]

trains every setting of ``rank_settings`` for a few epochs by mpiexec, all in turn so that a slow
spell of the machine hits all alike, and writes the medians to ``results/rank_costs.json``; fits the
rates to the runs that are for it, writes ``src/manyclass/planning/cost_rates.json``; and puts a
table of the others, measured beside predicted, into docs/plan.md. Takes an hour on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import rank_epochs, rank_fit, report, training
from benchmarks.datasets.base import BaseDataset
from benchmarks.fresh_process import in_fresh_process
from benchmarks.hosts import MPIEXEC, Hosts
from benchmarks.rank_run import PREFIX
from benchmarks.rank_settings import CHECKED, FITTED, TITLES, Run, runs
from benchmarks.solvers.manyclass import SOLVERS
from experiments import read_results, write_results

SECONDS = 300
RESULTS = report.RESULTS / "rank_costs.json"


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=TITLES, default=list(TITLES))
    parser.add_argument("--data", nargs="+", default=[*FITTED, *CHECKED], help="data sets")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fit-only", action="store_true", help="fit to what was measured before")
    options = parser.parse_args()
    found = read_results(RESULTS)
    if not options.fit_only:
        chosen = [r for r in runs() if r.formulation in options.only and r.data in options.data]
        repeated: dict[Any, list[Any]] = {}
        measured = {key(entry): entry for entry in found.get("runs", [])}
        for entry in measure(chosen, options.repeats):
            repeated.setdefault(key(entry), []).append(entry)
            measured[key(entry)] = middle(repeated[key(entry)])
            found = {
                "machine": report.machine(SOLVERS[:1]),
                "date": time.strftime("%Y-%m-%d"),
                "runs": list(measured.values()),
            }
            write_results(RESULTS, found)
    rank_fit.write(found, read_results(rank_epochs.RESULTS))


def key(entry: dict[str, Any]) -> tuple[Any, ...]:
    """Return what tells a run from others."""
    return tuple(entry[name] for name in ("data", "formulation", "weights", "ranks"))


def middle(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the one of several runs whose epochs took as long as in the median."""
    ordered = sorted(entries, key=lambda entry: rank_fit.mean_of(entry, "at_work"))
    return ordered[(len(ordered) - 1) // 2]


def measure(chosen: list[Run], repeats: int) -> Any:
    """Yield what each run took, again and again."""
    sizes: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in dict.fromkeys(run.data for run in chosen):
            dataset = (FITTED | CHECKED)[name]
            skipped, reason = dataset.skip()
            if skipped:
                print(f"{name}: skipped, {reason}", file=sys.stderr)
            else:
                sizes[name] = save(dataset, Path(scratch) / name)
        for run in repeats * [run for run in chosen if run.data in sizes]:
            found = by_mpiexec(run.n_ranks, Path(scratch) / run.data, run.settings())
            if found is not None:
                entry = {"data": run.data, **sizes[run.data], "fitted": run.fitted, **found}
                print(rank_fit.line(entry), flush=True)
                yield entry


def save(dataset: BaseDataset, folder: Path) -> dict[str, int]:
    """Write a data set where the ranks find it; return its sizes. This process stays small."""
    return dict(in_fresh_process(write_data, dataset, folder))


def write_data(dataset: BaseDataset, folder: Path) -> dict[str, int]:
    """Do the same in this process."""
    sizes = training.save(dataset, folder)
    sizes["largest"] = int(np.bincount(np.load(folder / "labels.npy")).max())
    (folder / "sizes.json").write_text(json.dumps(sizes))
    return sizes


def by_mpiexec(
    n_ranks: int, folder: Path, settings: dict[str, Any], pair: Hosts | None = None
) -> dict[str, Any] | None:
    """Run one training, here or on two hosts; None where it failed.

    More ranks than cores take turns: those that wait must not keep the others from working.
    """
    command = pair.mpiexec(n_ranks) if pair else [str(MPIEXEC), "-n", str(n_ranks)]
    command += [sys.executable, "-m", "benchmarks.rank_run", str(folder), json.dumps(settings)]
    done = subprocess.run(
        command,
        env={
            **(pair.environment() if pair else os.environ),
            "MPIEXEC_TIMEOUT": str(SECONDS),
            "OMP_NUM_THREADS": "1",
            **({"MPIR_CVAR_POLLS_BEFORE_YIELD": "1"} if n_ranks > (os.cpu_count() or 1) else {}),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    for line in done.stdout.splitlines():
        if line.startswith(PREFIX):
            return dict(json.loads(line.removeprefix(PREFIX)))
    last = done.stderr.strip().splitlines()[-1:] or ["no output"]
    print(f"{settings} on {n_ranks} ranks: {last[0]}", file=sys.stderr)
    return None


if __name__ == "__main__":
    main()
