"""Measure solvers of one problem on one data set, in turn, at equal quality.

First every solver runs once at each tolerance of its sweep, from coarse to fine, which shows what
quality each tolerance means. Then only the runs that decide a level are repeated. In both parts the
solvers take turns, so that a slow spell of the machine hits all of them alike. A solver of another
problem, there for its test accuracy, has no objective here and goes through its sweep once.
"""

from __future__ import annotations

import gc
import statistics
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.peers.objective import primal
from benchmarks.peers.problems import Problem
from benchmarks.peers.reference import Reference
from benchmarks.peers.solvers.base import BaseSolver
from measuring.datasets.base import Data

# A first step of a sweep says little about the next one's growth.
_MAX_GROWTH = 3.0


@dataclass(frozen=True)
class Limits:
    """How much to measure.

    Attributes
    ----------
    levels : tuple of float
        Values of (P - P*) / P* to reach.
    repeats : int
        Runs per median.
    seconds : float
        A sweep ends before a run that seems to need more; repeats of one run end before it, too.
    fewest : int, default=1
        Runs per median, however long they take.
    """

    levels: tuple[float, ...]
    repeats: int
    seconds: float
    fewest: int = 1


@dataclass
class Run:
    """One solver at one tolerance: what each repeat gave."""

    tolerance: float
    seconds: list[float] = field(default_factory=list)
    primals: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def median_seconds(self) -> float:
        """Median over the repeats."""
        return statistics.median(self.seconds)

    def excess(self, best: float) -> float | None:
        """(P - P*) / P*, P the median over the repeats: a peer may draw other numbers each time.

        None for a solver of another problem.
        """
        return (statistics.median(self.primals) - best) / best if self.primals else None

    @property
    def gave_up(self) -> bool:
        """Whether it warned that it did not converge; then it won't at a finer tolerance."""
        return any(text.startswith(ConvergenceWarning.__name__) for text in self.warnings)

    def repeats_allowed(self, limits: Limits) -> int:
        """Fewer repeats for a long run."""
        return max(limits.fewest, min(limits.repeats, int(limits.seconds / self.seconds[0])))


@dataclass
class Sweep:
    """One solver on one data set, at more and more tolerances."""

    solver: BaseSolver
    runs: list[Run] = field(default_factory=list)

    def ending(self, limits: Limits, best: float) -> str | None:
        """Say why no finer tolerance need be tried, or None."""
        if not self.runs:
            return None
        if self.deciding(min(limits.levels), best) is not None:
            return "finest level reached"
        if self.runs[-1].gave_up:
            return "the solver gave up before its tolerance"
        if len(self.runs) == len(self.solver.tolerances):
            return "all tolerances tried"
        return "time limit" if self._next() > limits.seconds else None

    def deciding(self, level: float, best: float) -> Run | None:
        """Return the coarsest run whose excess is at most the level."""
        for run in self.runs:
            excess = run.excess(best)
            if excess is not None and excess <= level:
                return run
        return None

    def refined(self) -> Run:
        """Begin a run at the next tolerance."""
        run = Run(self.solver.tolerances[len(self.runs)])
        self.runs.append(run)
        return run

    def _next(self) -> float:
        """Guess the seconds at the next tolerance: growing like the last two."""
        last = self.runs[-1].seconds[0]
        before = self.runs[-2].seconds[0] if len(self.runs) > 1 else last
        return last * min(max(1.0, last / before), _MAX_GROWTH)


@dataclass(frozen=True)
class Task:
    """What the solvers are given."""

    data: Data
    problem: Problem
    C: float


def measure(solver: BaseSolver, run: Run, task: Task) -> None:
    """Time one run, judge its weights, and note down what it warned of."""
    gc.collect()
    threads = threadpool_limits(solver.threads, "blas")
    with threads, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        solver.run(run.tolerance)
        run.seconds.append(time.perf_counter() - start)
    data = task.data
    if task.problem.name in solver.problems:
        P = primal(task.problem, data.X, data.labels, solver.weights(), task.C)
        run.primals.append(P)
    run.accuracies.append(solver.accuracy(data.X_test, data.labels_test))
    messages = {f"{warning.category.__name__}: {warning.message}" for warning in caught}
    run.warnings = sorted({*run.warnings, *messages})


def race(
    solvers: Sequence[BaseSolver], task: Task, limits: Limits, reference: Reference
) -> tuple[list[Sweep], Reference]:
    """Sweep, then repeat; also return P*, improved by anything better that was seen."""
    sweeps = [Sweep(solver) for solver in solvers]
    for solver in solvers:
        solver.prepare(task.data.X, task.data.labels, task.problem, task.C)
    gc.freeze()  # so that the collection before each run only looks at what is new
    while True:
        # Sweeps first, and again after each round of repeats: a new median may lose a level.
        work = _next_runs(sweeps, limits, reference.primal) or _pending(
            sweeps, limits, reference.primal
        )
        if not work:
            break
        for solver, run in work:
            measure(solver, run, task)
            for P in run.primals[-1:]:
                reference = reference.improved(P)
    gc.unfreeze()
    return sweeps, reference


def _next_runs(
    sweeps: Sequence[Sweep], limits: Limits, best: float
) -> list[tuple[BaseSolver, Run]]:
    """Begin a run at the next tolerance of each sweep that isn't over."""
    unfinished = [sweep for sweep in sweeps if sweep.ending(limits, best) is None]
    return [(sweep.solver, sweep.refined()) for sweep in unfinished]


def _pending(sweeps: Sequence[Sweep], limits: Limits, best: float) -> list[tuple[BaseSolver, Run]]:
    """List the runs that decide a level and lack repeats, each once, solvers in turn.

    Asked again after each round: a median of P near a level may move the decision to another run.
    """
    pairs: list[tuple[BaseSolver, Run]] = []
    for level in limits.levels:
        for sweep in sweeps:
            run = sweep.deciding(level, best)
            is_new = run is not None and all(run is not other for _, other in pairs)
            if is_new and len(run.seconds) < run.repeats_allowed(limits):
                pairs.append((sweep.solver, run))
    return pairs
