"""How many epochs training on ranks needs: counts, so ranks may be threads of one process.

    python -m benchmarks.rank_epochs [--only weston_watkins] [--ranks 1 2 4 8 16]

trains to a proven gap of 1e-3 and writes ``results/rank_epochs.json``.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.datasets.base import BaseDataset, Data
from benchmarks.rank_run import problem_of
from benchmarks.rank_settings import CHECKED, FITTED, TITLES, TOL
from experiments import read_results, write_results
from manyclass.parallel.communicator import Communicator
from manyclass.solvers.stopping import RULES
from manyclass.solvers.train import train
from tests.helpers.ranks import on_ranks

RESULTS = report.RESULTS / "rank_epochs.json"
NAMES = ("sector", "lshtc1", "lshtc-small")
MOST = 100


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=TITLES, default=list(TITLES))
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    options = parser.parse_args()
    found = {key(entry): entry for entry in read_results(RESULTS).get("entries", [])}
    datasets: dict[str, BaseDataset] = FITTED | CHECKED
    for name in NAMES:
        skipped, reason = datasets[name].skip()
        if skipped:
            print(f"{name}: skipped, {reason}", file=sys.stderr)
            continue
        data = datasets[name].load()
        for formulation in options.only:
            for n_ranks in options.ranks:
                entry = {"data": name, "formulation": formulation, "ranks": n_ranks}
                entry |= count(data, formulation, n_ranks)
                print(entry, flush=True)
                found[key(entry)] = entry
                date = time.strftime("%Y-%m-%d")
                write_results(RESULTS, {"date": date, "entries": list(found.values())})


def key(entry: dict[str, Any]) -> tuple[Any, ...]:
    """Return what tells a run from others."""
    return entry["data"], entry["formulation"], entry["ranks"]


def count(data: Data, formulation: str, n_ranks: int) -> dict[str, Any]:
    """Train, and return the number of epochs, the gap and the scores for each example and class."""
    problem = problem_of(data, formulation)

    def call(rank: Communicator) -> Any:
        return train(
            problem,
            "dense",
            lambda: RULES["gap"](TOL),
            rng=np.random.default_rng(0),
            n_jobs=1,
            max_iter=MOST,
            communicator=rank,
        )

    solution = on_ranks(n_ranks, call)[0]
    evaluations = sum(record.evaluations for record in solution.history)
    return {
        "epochs": len(solution.history),
        "gap": solution.certificate.relative_gap,
        "scores": evaluations / len(solution.history) / (data.X.shape[0] * data.n_classes),
    }


if __name__ == "__main__":
    main()
