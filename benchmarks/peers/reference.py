"""The best objective known, P*, with a proven lower bound: manyclass in float64.

    python -m benchmarks.peers.reference [--data NAME ...] [--problems NAME ...] [--limit SECONDS]

writes what it finds to optima.json, so that a run of the benchmark needn't find it again; only
entries that are not yet proven to a relative gap of 1e-8 are solved, and none gets worse. An entry
counts only for exactly the same numbers (a checksum of the data) and the same C.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.peers.problems import PROBLEMS, Problem
from benchmarks.peers.solvers.manyclass import estimator
from measuring.datasets import tiny
from measuring.datasets.base import Data, find_datasets
from measuring.quick import parse
from measuring.results import read_results, write_results

OPTIMA = Path(__file__).with_name("optima.json")
TOLERANCE = 1e-8

# A fit continues from the last dual variables, a few epochs at a time, to look at the clock.
_FEWEST_EPOCHS = 5
_SECONDS_AT_A_TIME = 5.0


@dataclass(frozen=True)
class Reference:
    """Bounds of the optimum: lower <= P* <= primal."""

    primal: float
    lower: float

    @property
    def relative_gap(self) -> float:
        """Largest possible error of ``primal`` as P*, relative."""
        return (self.primal - self.lower) / self.primal if self.primal < np.inf else np.inf

    def improved(self, primal: float, lower: float = -np.inf) -> Reference:
        """Return the bounds after some weights were seen with this objective."""
        return Reference(min(self.primal, primal), max(self.lower, lower))


UNKNOWN = Reference(np.inf, -np.inf)


def reference_for(name: str, data: Data, problem: Problem, C: float, limit: float) -> Reference:
    """Look P* up, or else solve for at most about ``limit`` seconds."""
    stored = _look_up(name, data, problem, C)
    return solve(data, problem, C, limit) if stored is UNKNOWN else stored


def solve(data: Data, problem: Problem, C: float, limit: float) -> Reference:
    """Solve to a relative gap of 1e-8, or as far as the time goes."""
    X = data.X.astype(np.float64)
    model = estimator(problem, C=C, tol=TOLERANCE, warm_start=True)
    best = UNKNOWN
    start = begin = time.perf_counter()
    n_epochs, seed = _FEWEST_EPOCHS, 0
    while best.relative_gap > TOLERANCE and begin - start < limit:
        model.set_params(max_iter=n_epochs, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, data.labels)
        proof = model.certificate_
        best = best.improved(proof.primal_objective, proof.dual_objective)
        seed += 1
        before, begin = begin, time.perf_counter()
        n_epochs *= 2 if begin - before < _SECONDS_AT_A_TIME else 1
    return best


def _look_up(name: str, data: Data, problem: Problem, C: float) -> Reference:
    stored = _stored().get(_key(name, problem, C))
    if stored is None or stored["fingerprint"] != data.fingerprint:
        return UNKNOWN
    return Reference(stored["primal"], stored["lower"])


def _key(name: str, problem: Problem, C: float) -> str:
    return f"{name} {problem.name} C={C:g}"


def _stored() -> dict[str, dict[str, float | str]]:
    return read_results(OPTIMA)


def _store(key: str, data: Data, found: Reference) -> None:
    entry = {"fingerprint": data.fingerprint, **asdict(found), "relative_gap": found.relative_gap}
    optima = {**_stored(), key: entry}
    write_results(OPTIMA, dict(sorted(optima.items())))


def main() -> None:
    """Find and store the optima of some data sets."""
    datasets = find_datasets(multilabel=True)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.reference")
    parser.add_argument(
        "--data",
        nargs="+",
        choices=datasets,
        default=[name for name in datasets if name != tiny.NAME],
    )
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--cost", type=float, default=1.0, help="C (default: 1)")
    parser.add_argument("--limit", type=float, default=180.0, help="seconds for each problem")
    arguments = parse(parser, data=[tiny.NAME], limit=0.5)
    problems = [PROBLEMS[chosen] for chosen in arguments.problems]
    for name in arguments.data:
        skipped, reason = datasets[name].skip()
        if skipped:
            print(f"{name}: skipped, {reason}")
            continue
        data = datasets[name].load()
        for problem in (each for each in problems if each.multilabel == data.multilabel):
            _improve(name, data, problem, arguments.cost, arguments.limit)


def _improve(name: str, data: Data, problem: Problem, C: float, limit: float) -> None:
    known = _look_up(name, data, problem, C)
    if known.relative_gap <= TOLERANCE:
        return
    found = solve(data, problem, C, limit)
    best = found.improved(known.primal, known.lower)
    _store(_key(name, problem, C), data, best)
    print(
        f"{name}, {problem.name}: P* = {best.primal:.8g}, proven to {best.relative_gap:.1e}",
        flush=True,
    )


if __name__ == "__main__":
    main()
