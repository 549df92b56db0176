"""One training on the ranks that mpiexec started, epoch by epoch, for the cost model.

    mpiexec -n 4 python -m benchmarks.rank_run FOLDER '{"formulation": "weston_watkins", ...}'

reads what ``benchmarks.training.save`` wrote and prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import training
from benchmarks.datasets.base import Data
from benchmarks.rank_counts import Counting, Counts
from manyclass.parallel.communicator import Communicator
from manyclass.parallel.consensus import world
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress
from manyclass.solvers.stopping import RULES
from manyclass.solvers.train import train
from manyclass.solvers.weights.sharded import ShardedWeights

PREFIX = "measured "


class Stopwatch:
    """What every epoch took, on the mean and on the rank that needs most.

    Parameters
    ----------
    ranks : Communicator
        Through which the ranks tell one another; what goes through `counting` counts.
    """

    def __init__(self, ranks: Communicator) -> None:
        self.ranks = ranks
        self.counting = Counting(ranks)
        self.epochs: list[dict[str, float]] = []
        self._megabytes = training.peak_megabytes()
        ranks.all_sum(np.zeros(1))  # all begin at once
        self.began = self._last = self._now()

    def _now(self) -> tuple[float, float, Counts]:
        return time.perf_counter(), time.process_time(), self.counting.counts.copy()

    def since(self, before: tuple[float, float, Counts]) -> tuple[float, float, Counts]:
        """Return seconds, the processor's seconds at work, and what went through `counting`."""
        seconds, cpu, counts = self._now()
        came = counts.since(before[2])
        return seconds - before[0], cpu - before[1] - came.cpu, came

    def on_epoch(self, progress: Progress) -> bool:
        """Keep what the epoch took."""
        seconds, at_work, came = self.since(self._last)
        grown = training.peak_megabytes() - self._megabytes
        mine = np.array([seconds, came.messages, came.bytes, at_work, came.seconds, grown])
        everyone = np.array(self.ranks.all_gather(mine))
        means = everyone.mean(axis=0).tolist()
        record = progress.record
        self.epochs.append(
            dict(zip(("seconds", "messages", "bytes", "at_work"), means, strict=False))
            | {
                "busiest": float(everyone[:, 3].max()),
                "talking": float(everyone[:, 4].min()),
                "evaluations": record.evaluations,
                "n_duals": record.n_duals,
                "loops": record.loops,
                "gap": record.relative_gap,
                "megabytes": float(everyone[:, 5].max()),
            }
        )
        self._last = self._now()
        return False


def measure(folder: Path, settings: dict[str, Any], ranks: Communicator) -> dict[str, Any]:
    """Train, and say what every epoch took.

    Parameters
    ----------
    folder : Path
        With ``sizes.json`` beside the arrays.
    settings : dict
        ``formulation``, ``weights`` ("dense" or "sparse"), ``tol`` and ``max_iter``.
    ranks : Communicator

    Returns
    -------
    dict
        ``epochs``: for each the means over ranks of its seconds, messages, bytes and the
        processor's seconds at work, the longest of those, the seconds of the rank that talks or
        waits least, and counts of the record. ``seconds`` and ``at_work`` of training in all, W not
        put together; ``megabytes``: what it added to the rank that needed most; ``objective``,
        ``gap``, ``n_epochs``, and the shares of W of `shares_of`.
    """
    data = training.read(folder, json.loads((folder / "sizes.json").read_text()))
    problem = problem_of(data, settings["formulation"])
    watch = Stopwatch(ranks)
    solution = train(
        problem,
        settings["weights"],
        lambda: RULES["gap"](settings["tol"]),
        rng=np.random.default_rng(0),
        n_jobs=1,
        max_iter=settings["max_iter"],
        on_epoch=watch.on_epoch,
        keep_duals=False,
        communicator=watch.counting if ranks.size > 1 else None,
        gathers=False,
    )
    seconds, at_work, _ = watch.since(watch.began)
    weights = solution.weights
    return {
        "ranks": ranks.size,
        **settings,
        "seconds": seconds,
        "at_work": float(ranks.all_sum(np.array([at_work]))[0]) / ranks.size,
        "megabytes": watch.epochs[-1]["megabytes"],
        "objective": solution.certificate.primal_objective,
        "gap": solution.certificate.relative_gap,
        "n_epochs": len(solution.history),
        **shares_of(problem, weights.gather() if isinstance(weights, ShardedWeights) else weights),
        "epochs": watch.epochs,
    }


def shares_of(problem: Problem, weights: Any) -> dict[str, float]:
    """Return the shares of W of `Filling`, measured."""
    data = problem.dataset
    k, d = data.n_classes, data.n_features
    if sp.issparse(weights):
        of_feature = np.diff(weights.indptr)[:d]
    else:
        of_feature = np.array([np.count_nonzero(row) for row in weights[:d]])
    uses = np.bincount(data.indices, minlength=d)
    return {
        "density": float(of_feature.sum() / (d * k)),
        "fill": float(of_feature @ uses / (uses.sum() * k)),
        "packed": float(np.minimum(1.0, 2 * of_feature / k).mean()),
    }


def problem_of(data: Data, formulation: str) -> Problem:
    """Return the training problem: C = 1, no intercept."""
    dataset = Dataset(
        data.X.indptr.astype(np.int64),
        data.X.indices.astype(np.int32),
        data.X.data,
        data.labels,
        np.ones(len(data.labels)),
        data.X.shape[1],
        data.n_classes,
        bias=0.0,
    )
    return Problem(dataset, FORMULATIONS[formulation], 1.0)


def main() -> None:
    """Measure what the command line says."""
    ranks = world()
    found = measure(Path(sys.argv[1]), json.loads(sys.argv[2]), ranks)
    if ranks.rank == 0:
        print(PREFIX + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
