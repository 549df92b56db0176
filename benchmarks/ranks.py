"""Measure training on MPI ranks: seconds, bytes and memory of an epoch, and epochs to a gap.

    python -m benchmarks.ranks {costs, epochs, tables} [--only weston_watkins] [--data sector]

Writes results/rank_*.json and the tables of docs/development/ranks.md. ``costs`` takes an hour; it
repeats its whole list of runs, so that a slow spell of the machine affects all of them alike.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report, training
from benchmarks.datasets.base import BaseDataset, Data
from benchmarks.datasets.real import RealDataset
from benchmarks.fresh_process import in_fresh_process
from benchmarks.hosts import MPIEXEC
from benchmarks.shaped_text import ShapedText
from benchmarks.solvers.manyclass import SOLVERS
from experiments import ROOT, read_results, write_between, write_results
from manyclass.datasets.synthetic import corpus_shape
from manyclass.parallel.communicator import Communicator
from manyclass.parallel.consensus import world
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress
from manyclass.solvers.stopping import RULES
from manyclass.solvers.train import train

Entry = dict[str, Any]
PAGE = ROOT / "docs" / "development" / "ranks.md"
COSTS, EPOCHS = (report.RESULTS / f"rank_{name}.json" for name in ("costs", "epochs"))
TITLES = ("weston_watkins", "crammer_singer", "lee_lin_wahba", "one_vs_rest")
TOL = 1e-3
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

    def on_epoch(_: Progress) -> bool:
        nonlocal last
        seconds, cpu, received, waited = now() - last
        mine = np.array([seconds, cpu - waited, received, training.peak_megabytes() - start])
        everyone = np.array(ranks.all_gather(mine))
        taken.append(np.r_[everyone[:, :3].mean(0), everyone[:, 3].max()])
        last = now()
        return False

    ranks.all_sum(np.zeros(1))  # all begin at once
    last = now()
    solution = train(
        problem,
        settings["weights"],
        lambda: RULES["gap"](settings["tol"]),
        rng=np.random.default_rng(0),
        n_jobs=1,
        max_iter=settings["max_iter"],
        on_epoch=on_epoch,
        keep_duals=False,
        communicator=counting if ranks.size > 1 else None,
        gathers=False,
    )
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
    command = [str(MPIEXEC), "-n", str(n_ranks), sys.executable, "-m", "benchmarks.ranks"]
    command += ["--run", str(folder), json.dumps(settings)]
    environment = {**os.environ, "MPIEXEC_TIMEOUT": "300", "OMP_NUM_THREADS": "1"}
    if n_ranks > (os.cpu_count() or 1):  # ranks that wait must yield their core
        environment["MPIR_CVAR_POLLS_BEFORE_YIELD"] = "1"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith(PREFIX):
            return dict(json.loads(line.removeprefix(PREFIX)))
    print(f"{settings} failed: {done.stderr.strip()[-200:]}", file=sys.stderr)
    return None


def runs(formulations: list[str], *, timed: bool) -> list[dict[str, Any]]:
    """List the settings of ``measure``, with the number of ranks."""
    return [
        {"formulation": name, "weights": weights, "ranks": n_ranks}
        | {"tol": TOL, "max_iter": 6 if timed else 100}
        for name in formulations
        for weights in (
            ("dense", "sparse") if timed and FORMULATIONS[name].margin == "relative" else ("dense",)
        )
        for n_ranks in ((1, 2, 3, 4, 8) if timed else (1, 2, 4, 8, 16))
    ]


def measure_all(names: list[str], settings: list[dict[str, Any]], repeats: int) -> Iterator[Entry]:
    """Yield each run as often as it is repeated, with the median epoch so far."""
    repeated: dict[Any, list[Entry]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        sizes = {name: save(DATASETS[name], Path(scratch) / name) for name in names}
        for run, name in repeats * [(run, name) for name in names for run in settings]:
            found = by_mpiexec(run["ranks"], Path(scratch) / name, run)
            if found is not None:
                some = repeated[name, *run.values()]
                some.append({"data": name, "k": sizes[name]["k"], **found})
                yield middle(some)


def middle(entries: list[Entry]) -> Entry:
    """Return the run with the median epoch."""
    ordered = sorted(entries, key=lambda entry: float(entry["epoch"]["at_work"]))
    return ordered[(len(ordered) - 1) // 2]


def key(entry: Entry) -> tuple[Any, ...]:
    """Return what distinguishes a run."""
    return tuple(entry[name] for name in ("data", "formulation", "weights", "ranks"))


def costs_table(entries: list[Entry]) -> str:
    """Return the seconds, traffic and memory of each run, and its speed-up over one process."""
    lines = [
        "| data | formulation | W | ranks | ms at work | MB received | MB added | ms | speed-up |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    alone = {key(entry)[:3]: entry for entry in entries if entry["ranks"] == 1}
    for entry in entries:
        epoch, seconds = entry["epoch"], entry["all_epochs"]["seconds"]
        one = alone[key(entry)[:3]]["all_epochs"]["seconds"]
        cells = [*map(str, key(entry)), f"{1e3 * epoch['at_work']:.0f}"]
        cells += [f"{1e-6 * epoch['bytes']:.1f}", f"{entry['megabytes']:.0f}"]
        lines.append(f"| {' | '.join(cells)} | {1e3 * seconds:.0f} | {one / seconds:.2f} |")
    return "\n".join(lines)


def epochs_table(entries: list[Entry]) -> str:
    """Return the epochs to the gap."""
    ranks = sorted({entry["ranks"] for entry in entries})
    head = f"| data | formulation | {' | '.join(map(str, ranks))} |"
    lines = [head, "|---|---|" + "--:|" * len(ranks)]
    groups: dict[Any, dict[int, str]] = defaultdict(dict)
    for entry in entries:
        more = "" if entry["gap"] <= TOL else "more than "
        groups[entry["data"], entry["formulation"]][entry["ranks"]] = f"{more}{entry['n_epochs']}"
    for names, cells in groups.items():
        line = " | ".join(cells.get(n_ranks, "") for n_ranks in ranks)
        lines.append(f"| {' | '.join(names)} | {line} |")
    return "\n".join(lines)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="?", choices=("costs", "epochs", "tables"), default="costs")
    parser.add_argument("--only", nargs="+", choices=TITLES, default=list(TITLES))
    parser.add_argument("--data", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)  # on each rank, by mpiexec
    options = parser.parse_args()
    if options.run:
        found = measure(Path(options.run[0]), json.loads(options.run[1]), ranks := world())
        if ranks.rank == 0:
            print(PREFIX + json.dumps(found), flush=True)
        return
    if options.task != "tables":
        path, timed = (COSTS, True) if options.task == "costs" else (EPOCHS, False)
        kept = {key(entry): entry for entry in read_results(path).get("runs", [])}
        repeats = options.repeats if timed else 1
        for entry in measure_all(options.data, runs(options.only, timed=timed), repeats):
            print(entry, flush=True)
            kept[key(entry)] = entry
            found = {"machine": report.machine(SOLVERS[:1]), "date": time.strftime("%Y-%m-%d")}
            write_results(path, found | {"runs": list(kept.values())})
    write_between(PAGE, "costs", costs_table(read_results(COSTS)["runs"]))
    write_between(PAGE, "epochs", epochs_table(read_results(EPOCHS)["runs"]))


if __name__ == "__main__":
    main()
