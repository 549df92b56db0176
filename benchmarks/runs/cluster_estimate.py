"""Estimate what 100 machines would take, from measured rates and a model of the messages.

    python -m benchmarks.runs.cluster_estimate [--only embeddings] [--quick]

For each size a sample of the same kind is trained in one process, its rows in parts, which counts
the questions, the numbers that go out and come back, and CPU seconds. Rows then cost as much as
those of the sample, and messages what ``Network`` says. Writes cluster_estimate.json.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from manyclass.datasets import make_text_corpus
from manyclass.distributed.rows.admm import ConsensusAdmm
from manyclass.distributed.rows.svm_rows import SvmRows
from manyclass.estimators.logistic import logistic_problem
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import named
from manyclass.problem.problem import Problem
from manyclass.rows.logistic_sums import LogisticRows
from manyclass.rows.parts import Arguments, LocalParts, Question
from manyclass.solvers.logistic.engine import PrimalEngine
from manyclass.solvers.logistic.newton import NewtonLogistic
from manyclass.solvers.stopping import GapRule
from manyclass.training.epoch_loop import Solver
from manyclass.utils.types import Array
from measuring.datasets.embeddings import clusters
from measuring.header import header
from measuring.quick import parse
from measuring.results import RESULTS, read_results, write_results

FILE = RESULTS / "cluster_estimate.json"
MACHINES, CORES = 100, 16
TOL = 1e-2
MOST_ROUNDS, ROUNDS = 120, 10  # the latter are timed


@dataclass(frozen=True)
class Network:
    """Links between machines, and what an engine adds to each question."""

    bytes_per_second: float = 10e9 / 8
    hops: int = math.ceil(math.log2(MACHINES))
    latency: float = 50e-6  # of a hop
    per_question: float = 0.06  # of Dask, as measured; Ray 0.02

    def all_reduce(self, n_bytes: float) -> float:
        """Return the seconds of MPI's sum, which all ranks have in the end."""
        return 2 * self.hops * self.latency + 2 * n_bytes / self.bytes_per_second

    def tree(self, out: float, back: float) -> float:
        """Return the seconds of a question: W out and sums back, from machine to machine."""
        sent = self.hops * (out + back) / self.bytes_per_second
        return self.per_question + 2 * self.hops * self.latency + sent


@dataclass(frozen=True)
class Size:
    """Rows to be trained on, and the sample of the same kind."""

    title: str
    rows: float
    features: int
    classes: int
    sample: Callable[[], tuple[Any, Array]]
    parts: int  # of the sample
    problem: Callable[[Dataset], Problem]


@dataclass
class Counted:
    """Parts in this process, and what was asked of them."""

    parts: LocalParts
    asked: int = 0
    out: float = 0.0  # bytes
    back: float = 0.0
    questions: dict[str, int] = field(default_factory=dict)

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return self.parts.n_parts

    def add(self, question: Question, given: Arguments, into: Sequence[Array]) -> None:
        """Count the question, and ask it."""
        name = question.__name__
        self.asked += 1
        self.questions[name] = self.questions.get(name, 0) + 1
        self.out += sum(one.nbytes for one in given if isinstance(one, np.ndarray))
        self.back += sum(one.nbytes for one in into)
        self.parts.add(question, given, into)

    def broadcast(self, values: Array) -> None:
        """Leave the numbers as they are."""


def text(n: int, d: int, k: int) -> Callable[[], tuple[Any, Array]]:
    """Return what makes a sample of text."""
    return lambda: make_text_corpus(n, d, k, words_per_example=100, random_state=0)


def embeddings(n: int, d: int, k: int) -> Callable[[], tuple[Any, Array]]:
    """Return what makes a sample of dense embeddings."""
    return lambda: clusters(np.random.default_rng(0), n, d, k, 8.0)


def svm(data: Dataset) -> Problem:
    """Return the problem of Crammer-Singer."""
    return Problem(data, named("crammer_singer"), 1.0)


def logistic(C: float) -> Callable[[Dataset], Problem]:
    """Return what makes the problem of logistic regression."""
    return lambda data: logistic_problem(data, C)


SIZES = {
    "embeddings": Size(
        "1e8 x 768 dense, 1,000 classes, logistic",
        1e8, 768, 1000, embeddings(20_000, 768, 1000), 4, logistic(100.0),
    ),
    "text-100": Size(
        "1e8 x 1e6 sparse, 100 classes, logistic",
        1e8, 10**6, 100, text(30_000, 100_000, 100), 4, logistic(1.0),
    ),
    "text-20": Size(
        "1e9 x 1e6 sparse, 20 classes, logistic",
        1e9, 10**6, 20, text(50_000, 100_000, 20), 4, logistic(1.0),
    ),
    "text-20-svm": Size(
        "1e9 x 1e6 sparse, 20 classes, Crammer-Singer",
        1e9, 10**6, 20, text(50_000, 50_000, 20), 100, svm,
    ),
}  # fmt: skip


def count(size: Size) -> dict[str, Any]:
    """Train the sample; return what it took, per row and per weight.

    Of consensus, rows are timed in two parts: in many, arrays like W take longer than few rows.
    """
    X, y = size.sample()
    y = np.unique(y, return_inverse=True)[1]
    asked, steps, gap, seconds = trained(size, X, y, size.parts, MOST_ROUNDS)
    if size.problem is svm:
        seconds = trained(size, X, y, 2, ROUNDS)[-1] * steps / ROUNDS
    weights = X.shape[1] * (int(y.max()) + 1)
    return {
        "steps": steps,
        "gap": gap,
        "asked": asked.asked,
        "questions": asked.questions,
        "cpu_per_row": seconds / len(y),
        "out_per_weight": asked.out / weights,
        "back_per_weight": asked.back / weights,
    }


def trained(
    size: Size, X: Any, y: Array, n_parts: int, most: int
) -> tuple[Counted, int, float, float]:
    """Train rows in parts; return what was asked, steps, the gap, and CPU seconds."""
    k = int(y.max()) + 1

    def problem(rows: Array) -> Problem:
        return size.problem(Dataset.from_matrix(X[rows].astype(np.float32), y[rows], n_classes=k))

    every = np.arange(len(y))
    solver, asked = solver_of(problem(every), list(map(problem, np.array_split(every, n_parts))))
    rule, gap, steps, began = GapRule(TOL), math.inf, 0, time.process_time()
    while gap > TOL and steps < most:
        solver.epoch(rule)
        steps += 1
        gap = solver.certify().relative_gap
    return asked, steps, gap, time.process_time() - began


def solver_of(whole: Problem, problems: list[Problem]) -> tuple[Solver, Counted]:
    """Return the solver of a problem whose rows are in parts."""
    if whole.loss == "log_loss":
        counted = Counted(LocalParts([LogisticRows(problem) for problem in problems]))
        engine = PrimalEngine(whole, counted, regularize_intercept=True)
        return NewtonLogistic(engine, None, tol=TOL, began=0.0), counted
    rows = [SvmRows(problem, number=i) for i, problem in enumerate(problems)]
    counted = Counted(LocalParts(rows))
    return ConsensusAdmm(whole, counted, None), counted


def estimate(size: Size, found: dict[str, Any]) -> dict[str, float]:
    """Return the minutes of rows, and of messages of MPI and of a tree."""
    network, weights = Network(), size.features * size.classes
    compute = found["cpu_per_row"] * size.rows / (MACHINES * CORES)
    out, back = (found[f"{way}_per_weight"] * weights / found["asked"] for way in ("out", "back"))
    return {
        "rows": compute / 60,
        "mpi": found["asked"] * network.all_reduce(back) / 60,
        "tree": found["asked"] * network.tree(out, back) / 60,
    }


def table(result: dict[str, Any]) -> str:
    """Return the estimates."""
    kept = result["sizes"]
    lines = [
        "| rows | steps or rounds to 1e-2 | questions | us of a core a row | W, MB "
        "| rows, min | MPI, min | Dask, min |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, size in SIZES.items():
        if name not in kept:
            continue
        found, minutes = kept[name], estimate(size, kept[name])
        cells = [found["steps"], found["asked"], f"{1e6 * found['cpu_per_row']:.0f}"]
        cells += [f"{4e-6 * size.features * size.classes:.0f}"]
        cells += [f"{minutes[part]:.1f}" for part in ("rows", "mpi", "tree")]
        lines.append(f"| {size.title} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SIZES, default=list(SIZES))
    options = parse(parser, only=list(SIZES))
    old = read_results(FILE)
    about, kept = header(old), old.get("sizes", {})
    for name in options.only:
        size = replace(SIZES[name], sample=text(400, 300, 5)) if options.quick else SIZES[name]
        kept[name] = count(size)
        print(name, kept[name], estimate(SIZES[name], kept[name]), flush=True)
        write_results(FILE, about | {"network": asdict(Network()), "sizes": kept})


if __name__ == "__main__":
    main()
