"""Profile of a fit, and the time of a visit relative to the memory bandwidth.

    python -m benchmarks.runs.profile [--data news20 mnist] [--formulations crammer_singer]

For each data set and formulation: seconds per phase of one fit to a gap of 1e-3, and, in the state
that it ends in, nanoseconds of a visit that only looks (all scores, in the order of the rows) and
of one that also solves and steps (random order). W / ns is what a look reads of W (a row of padded
weights for each non-zero of x), in GB/s; beside it stands what a scalar product
reaches. Prints the table, and writes profile.json.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start, Weights
from manyclass.solvers.engines import NO_COMMON
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.stopping import GapRule
from manyclass.training.epoch_loop import solve
from measuring.datasets.base import find_datasets
from measuring.header import header
from measuring.quick import parse
from measuring.results import RESULTS, TITLES, markdown, write_results

PHASES = {
    "_full_loop": "full loops",
    "_shrunk_loops": "shrunk loops",
    "_newton_round": "Newton",
    "certify": "certificate",
}
REPEATS = 7
FILE = RESULTS / "profile.json"
# Of the page for users.
SHORT = (
    ("news20", "crammer_singer"),
    ("sector", "crammer_singer"),
    ("sector", "one_vs_rest"),
    ("letter", "crammer_singer"),
    ("usps", "crammer_singer"),
)
Run = dict[str, Any]


class Timed(SequentialDual):
    """The solver, keeping the seconds of each phase, and W after its end."""

    def __init__(self, problem: Problem, start: Start | None) -> None:
        super().__init__(problem, start, np.random.default_rng(0))
        self.seconds: dict[str, float] = defaultdict(float)
        for name in PHASES:
            if hasattr(self, name):
                setattr(self, name, self._timed(name, getattr(self, name)))

    def _timed(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return method(*args, **options)
            finally:
                self.seconds[name] += time.perf_counter() - began

        return call

    def finish(self) -> Weights:
        """Keep W: its visits are measured next."""
        return self.weights()


def nanoseconds(call: Callable[[], object], n: int) -> float:
    """Shortest time of a few calls, for each of n visits."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times) / n * 1e9


def profile(problem: Problem) -> Run:
    """Return sizes, seconds, epochs, the share of each phase, ns of visits, and GB/s."""
    made: list[Timed] = []

    def make(problem: Problem, start: Start | None) -> Timed:
        made.append(Timed(problem, start))
        return made[0]

    began = time.perf_counter()
    solution = solve(problem, make, GapRule(1e-3), max_iter=1000)
    seconds = time.perf_counter() - began
    data, solver = problem.dataset, made[0]
    n, engine = data.n_examples, solver.engine
    rows = np.flatnonzero(engine.norms > 0).astype(np.int32)
    look = nanoseconds(lambda: engine.gap_sums(NO_COMMON, 0.0), n)
    visit = nanoseconds(
        lambda: engine.full_loop(rows, np.empty_like(rows), -1.0, 1),
        len(rows),
    )
    row_bytes = engine.W.padded[0].nbytes
    rate = len(data.values) / n * row_bytes / look
    return {
        "sizes": [n, data.n_features, data.n_classes],
        "seconds": seconds,
        "epochs": len(solution.history),
        "shares": {title: solver.seconds[name] / seconds for name, title in PHASES.items()},
        "look": look,
        "visit": visit,
        "rate": rate,
    }


def plain_rate() -> float:
    """GB/s of a scalar product of numbers that fit into the second cache, over and over."""
    numbers = np.ones(1 << 17, np.float32)
    return 2 * numbers.nbytes / nanoseconds(lambda: numbers @ numbers, 1)


def table(result: Run) -> str:
    """Return all that was measured, and the rate of a scalar product."""
    columns = ["data", "formulation", "seconds", "epochs", *PHASES.values()]
    rows = []
    for run in result["runs"]:
        row = [run["data"], run["formulation"], f"{run['seconds']:.3f}", str(run["epochs"])]
        row += [f"{100 * share:.0f} %" for share in run["shares"].values()]
        rows.append([*row, *(f"{run[name]:.0f}" for name in ("look", "visit", "rate"))])
    note = f"A scalar product reaches {result['scalar_product']:.0f} GB/s."
    return f"{markdown([*columns, 'look, ns', 'visit, ns', 'W, GB/s'], rows, 2)}\n\n{note}"


def short_table(result: Run) -> str:
    """Return some of the fits, the loops of updates together."""
    columns = ["data (rows x features x classes)", "formulation", "seconds", "epochs", "updates"]
    columns += ["Newton phase", "certificate", "certificate, ns", "update, ns"]
    runs = {(run["data"], run["formulation"]): run for run in result["runs"]}
    rows = []
    for key in SHORT:
        run, shares = runs[key], runs[key]["shares"]
        updates = shares["full loops"] + shares["shrunk loops"]
        row = ["{} ({:,} x {:,} x {:,})".format(run["data"], *run["sizes"])]
        row += [TITLES[run["formulation"]], f"{run['seconds']:.3f}", str(run["epochs"])]
        row += [f"{100 * x:.0f} %" for x in (updates, shares["Newton"], shares["certificate"])]
        rows.append([*row, f"{run['look']:,.0f}", f"{run['visit']:,.0f}"])
    return markdown(columns, rows, 2)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", nargs="+", default=["news20", "sector", "letter", "satimage", "usps"]
    )
    parser.add_argument(
        "--formulations", nargs="+", default=["crammer_singer", "weston_watkins", "one_vs_rest"]
    )
    options = parse(parser, data=["tiny"])
    result: Run = header() | {"scalar_product": plain_rate(), "runs": []}
    for name in options.data:
        data = find_datasets()[name].load()
        for formulation in options.formulations:
            dataset = Dataset.from_matrix(data.X, data.labels, n_classes=data.n_classes)
            problem = Problem(dataset, FORMULATIONS[formulation], 1.0)
            found = profile(problem)
            result["runs"].append({"data": name, "formulation": formulation, **found})
            print(f"{name}, {formulation}: {found['seconds']:.3f} s", flush=True)
    write_results(FILE, result)
    print(table(result))


if __name__ == "__main__":
    main()
