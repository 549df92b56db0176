"""Seconds to a test accuracy: fits of so many epochs as it takes, the solvers in turn."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmarks.stochastic.curves import Curve, Curves, best_alphas, final
from benchmarks.stochastic.solvers import SGD, SGD_AVERAGE, Rows, Solver, accuracy, fit
from measuring.datasets.base import Data

# Share of the accuracy that is to be reached.
NEARLY = 0.99


@dataclass(frozen=True)
class Limits:
    """How often a fit is repeated, and for how many CPU seconds at most."""

    repeats: int
    budget: float


@dataclass
class Run:
    """Fits of so many epochs: elapsed seconds, those of the processor, test accuracies."""

    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)

    def is_over(self, limits: Limits) -> bool:
        """Whether it was repeated often enough; a long one less often."""
        if not self.seconds:
            return False
        return len(self.seconds) >= max(
            1, min(limits.repeats, limits.budget // self.cpu_seconds[0])
        )


@dataclass
class Timed:
    """A solver at its alpha.

    Attributes
    ----------
    curve : list of (int, float)
        What accuracy is to be expected after how many epochs.
    levels : dict of str to float
        Accuracies to reach.
    """

    solver: Solver
    alpha: float
    curve: Curve
    levels: Mapping[str, float]
    runs: dict[int, Run] = field(default_factory=dict)

    def deciding(self, level: float, limits: Limits) -> int | None:
        """Return the fewest epochs whose fits reach a level, or might: as the curve says."""
        for epochs, expected in self.curve:
            run = self.runs.get(epochs)
            if run and run.is_over(limits):
                expected = statistics.median(run.accuracies)
            if expected >= level:
                return epochs
        return None

    def pending(self, limits: Limits) -> list[int]:
        """Return the epochs of fits that are to be repeated; one, where no level is reached."""
        deciding = [self.deciding(level, limits) for level in self.levels.values()]
        wanted = {epochs for epochs in deciding if epochs} or {self.curve[0][0]}
        return [
            epochs
            for epochs in sorted(wanted)
            if not self.runs.setdefault(epochs, Run()).is_over(limits)
        ]

    def measure(self, epochs: int, rows: Rows) -> None:
        """Fit with another seed than before; judge it when the clock has stopped."""
        run = self.runs[epochs]
        model = self.solver.make(len(rows.labels), self.alpha, epochs, len(run.seconds))
        gc.collect()
        start, cpu_start = time.perf_counter(), time.process_time()
        fit(model, rows)
        run.cpu_seconds.append(round(time.process_time() - cpu_start, 5))
        run.seconds.append(round(time.perf_counter() - start, 5))
        run.accuracies.append(accuracy(model, rows))

    def record(self, limits: Limits) -> dict[str, Any]:
        """Say what was found."""
        return {
            "alpha": self.alpha,
            "final": final(self.curve),
            "levels": {
                name: {"accuracy": level, "epochs": self.deciding(level, limits)}
                for name, level in self.levels.items()
            },
            "runs": {
                epochs: asdict(run) for epochs, run in sorted(self.runs.items()) if run.seconds
            },
        }


def levels_of(found: Mapping[str, Curves], family: str) -> dict[str, float]:
    """Return 99 % of what SGDClassifier has in the end with this loss, and of the best of all.

    Examples
    --------
    >>> curves = {"sklearn_sgd_hinge": {1.0: [(1, 0.25), (2, 0.5)]}, "x": {1.0: [(1, 1.0)]}}
    >>> levels_of(curves, "hinge")
    {'sgd': 0.495, 'best': 0.99}
    """
    ends = {name: final(curves[best_alphas(curves)[0]]) for name, curves in found.items()}
    peers = [ends[name] for name in (f"{SGD}_{family}", f"{SGD_AVERAGE}_{family}") if name in ends]
    levels = {"sgd": NEARLY * max(peers)} if peers else {}
    return {**levels, "best": NEARLY * max(ends.values())}


def timed(solver: Solver, found: Mapping[str, Mapping[str, Any]]) -> Timed:
    """Take a solver's alpha and expectations from the curves in the file."""
    curves = {name: read_curves(each) for name, each in found.items()}
    own = curves[solver.name]
    alpha = best_alphas(own)[0]
    return Timed(solver, alpha, own[alpha], levels_of(curves, solver.family))


def read_curves(written: Mapping[str, Any]) -> Curves:
    """Turn what JSON holds into curves by alpha."""
    return {
        float(alpha): [(int(epoch), float(value)) for epoch, value in curve]
        for alpha, curve in written.items()
    }


def race(
    solvers: Sequence[Solver],
    data: Data,
    found: Mapping[str, Mapping[str, Any]],
    limits: Limits,
) -> dict[str, Any]:
    """Time the solvers that have curves, in turn, until every fit that decides was repeated."""
    rows = {float64: Rows.from_data(data, float64=float64) for float64 in (False, True)}
    runners = [timed(solver, found) for solver in solvers if solver.name in found]
    for runner in runners:
        _warm_up(runner.solver)
    while True:
        work = [(runner, epochs) for runner in runners for epochs in runner.pending(limits)]
        if not work:
            return {runner.solver.name: runner.record(limits) for runner in runners}
        for runner, epochs in work:
            runner.measure(epochs, rows[runner.solver.float64])


def _warm_up(solver: Solver) -> None:
    """Fit a few rows, which loads what is loaded late."""
    X, labels = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 2])
    fit(solver.make(3, 1e-3, 1, 0), Rows(X, labels, X, labels))
