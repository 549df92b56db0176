"""Train on MPI ranks and measure each epoch: seconds, bytes and memory.

    mpiexec -n 4 python -m measuring.rank_runs FOLDER '{"formulation": "weston_watkins", ...}'

reads what ``training.save`` wrote and prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from manyclass.datasets import corpus_shape
from manyclass.distributed.communicator import Communicator
from manyclass.distributed.consensus import world
from manyclass.distributed.ranks_backend import Ranks
from manyclass.problem import FORMULATIONS
from manyclass.problem.dataset import Dataset
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress, Start
from manyclass.training.epoch_loop import Options
from manyclass.training.train import train
from measuring import training
from measuring.datasets.base import BaseDataset, Data
from measuring.datasets.real import RealDataset
from measuring.datasets.shaped_text import ShapedText
from measuring.datasets.tiny import TINY
from measuring.hosts import MPIEXEC
from measuring.processes import in_fresh_process

Entry = dict[str, Any]
PREFIX = "measured "


def _text(name: str, n: int, d: int, k: int, words: float) -> ShapedText:
    shape = {"n_examples": n, "n_features": d, "n_classes": k, "words_per_example": words}
    return ShapedText(name, shape | {"topic_share": 0.2}, n_test=k)


# Rows long and short, classes few and many.
DATASETS: dict[str, BaseDataset] = {
    dataset.name: dataset
    for dataset in (
        RealDataset("sector"),
        RealDataset("lshtc1"),
        ShapedText("lshtc-small", corpus_shape("lshtc-small")),
        ShapedText("lshtc-tenth", corpus_shape("lshtc-large", scale=0.1)),
        _text("short-rows", 20_000, 20_000, 300, 20.0),
        _text("long-rows", 3_000, 40_000, 600, 250.0),
        _text("many-classes", 8_000, 8_000, 3_000, 40.0),
        _text("other-rows", 6_000, 30_000, 800, 80.0),
        TINY,
    )
}


class Counting:
    """Communicator that measures the calls it forwards: bytes received, CPU seconds.

    The bytes of sums and gathers are those of ring algorithms.
    """

    def __init__(self, inner: Communicator) -> None:
        self._inner = inner
        self.counts = np.zeros(2)

    def __getattr__(self, name: str) -> Any:
        """Return the other communicator's method, measured where it communicates."""
        call = getattr(self._inner, name)
        received = RECEIVED.get(name)
        if received is None:
            return call

        def measured(*sent: Any) -> Any:
            began = time.process_time()
            result = call(*sent)
            spent = time.process_time() - began
            self.counts += received(self._inner.size, sent, result), spent
            return result

        return measured


def _reduced(p: int, sent: Any, _: Any) -> float:
    return 2 * float(sent[0].nbytes) * (p - 1) / p


RECEIVED: dict[str, Callable[[int, Any, Any], float]] = {
    "all_sum": _reduced,
    "all_max": _reduced,
    "send_receive": lambda _, sent, __: (
        0.0 if sent[2] is None or sent[3] is None else float(sent[2].nbytes)
    ),
    "broadcast": lambda _, sent, __: float(sent[0].nbytes),
    "all_gather": lambda _, sent, parts: float(sum(x.nbytes for x in parts) - sent[0].nbytes),
}


def measure(folder: Path, settings: dict[str, Any], ranks: Communicator) -> Entry:
    """Train on these ranks what ``save`` wrote.

    Returns
    -------
    dict
        ``epoch`` (means over the epochs but the first, which begins at z = 0) and ``all_epochs``
        have ``seconds``, CPU seconds ``at_work`` and ``bytes`` received, means over the ranks.
        ``megabytes``: growth of the rank that needs most. ``n_epochs``, ``gap``.
    """
    data = training.read(folder, json.loads((folder / "sizes.json").read_text()))
    problem, counting = problem_of(data, settings["formulation"]), Counting(ranks)
    taken: list[np.ndarray] = []
    start = training.peak_megabytes()
    last = np.zeros(4)

    def now() -> np.ndarray:
        return np.array([time.perf_counter(), time.process_time(), *counting.counts])

    class Measured:
        """Hook that measures each epoch."""

        def epoch(self, _progress: Progress) -> bool:
            """Measure an epoch, on all ranks."""
            nonlocal last
            seconds, cpu, received, waited = now() - last
            mine = np.array([seconds, cpu - waited, received, training.peak_megabytes() - start])
            everyone = np.array(ranks.all_gather(mine))
            taken.append(np.r_[everyone[:, :3].mean(0), everyone[:, 3].max()])
            last = now()
            return False

        def end(self, _start: Start) -> None:
            """Do nothing."""

    ranks.all_sum(np.zeros(1))  # all begin at once
    last = now()
    options = Options(
        settings["tol"],
        weights=settings["weights"],
        max_iter=settings["max_iter"],
        keeps_duals=False,
    )
    backend = Ranks(counting, gathers=False) if ranks.size > 1 else None
    solution = train(problem, options, hooks=[Measured()], backend=backend)
    return {
        **{name: settings[name] for name in ("formulation", "weights")},
        "ranks": ranks.size,
        "epoch": means(taken[1:] or taken),
        "all_epochs": means(taken),
        "megabytes": float(taken[-1][-1]),
        "n_epochs": len(solution.history),
        "gap": solution.certificate.relative_gap,
    }


def means(taken: list[np.ndarray]) -> dict[str, float]:
    """Return the means over epochs."""
    seconds, at_work, received, _ = np.mean(taken, axis=0).tolist()
    return {"seconds": seconds, "at_work": at_work, "bytes": received}


def problem_of(data: Data, formulation: str) -> Problem:
    """Return the training problem: C = 1, no intercept."""
    X = data.X
    rows = X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data
    weights = np.ones(len(data.labels))
    dataset = Dataset(*rows, data.labels, weights, X.shape[1], data.n_classes, bias=0.0)
    return Problem(dataset, FORMULATIONS[formulation], 1.0)


def save(dataset: BaseDataset, folder: Path) -> dict[str, int]:
    """Write a data set for the ranks, in a process of its own; return its sizes."""
    sizes: dict[str, int] = in_fresh_process(training.save, dataset, folder)
    (folder / "sizes.json").write_text(json.dumps(sizes))
    return sizes


def by_mpiexec(n_ranks: int, folder: Path, settings: dict[str, Any]) -> Entry | None:
    """Run one training; None where it failed."""
    command = [str(MPIEXEC), "-n", str(n_ranks), sys.executable, "-m", "measuring.rank_runs"]
    command += [str(folder), json.dumps(settings)]
    environment = {**os.environ, "MPIEXEC_TIMEOUT": "300", "OMP_NUM_THREADS": "1"}
    if n_ranks > (os.cpu_count() or 1):  # ranks that wait must yield their core
        environment["MPIR_CVAR_POLLS_BEFORE_YIELD"] = "1"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith(PREFIX):
            return dict(json.loads(line.removeprefix(PREFIX)))
    print(f"{settings} failed: {done.stderr.strip()[-200:]}", file=sys.stderr)
    return None


def main() -> None:
    """Measure the training of the command line on each rank."""
    found = measure(Path(sys.argv[1]), json.loads(sys.argv[2]), ranks := world())
    if ranks.rank == 0:
        print(PREFIX + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
