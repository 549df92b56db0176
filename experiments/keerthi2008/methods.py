"""The methods whose curves are drawn, each a solver of the project, and how a run is recorded."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from experiments import Split
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress
from manyclass.solvers.comparison.cutting_plane import CuttingPlane
from manyclass.solvers.comparison.exponentiated_gradient import ExponentiatedGradient
from manyclass.solvers.comparison.most_violating import MostViolating
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.stopping import GapRule, StoppingRule
from manyclass.training.epoch_loop import Options, Solver, solve
from manyclass.training.train import OneProcess

# A point of a curve is recorded when this share more seconds have passed.
SPACING = 1.1
FAR_ENOUGH = 1e-6  # (D* - D) / D* at which a run ends
# scikit-learn's LinearSVC keeps no record: it is run again for each tolerance, and its objective P
# is that of the W it returns.
LIBLINEAR = "LIBLINEAR"
TOLERANCES = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5)


class WithoutHeuristics(SequentialDual):
    """The sequential dual method without shrinking and cooling: full loops in random order."""

    def _shrunk_loops(self, _rule: StoppingRule) -> tuple[int, int]:
        self._n_active = 0
        return 0, 0


# Each makes a solver of a problem and a start, with a generator `rng`.
METHODS: dict[str, Callable[..., Solver]] = {
    "SDM": partial(OneProcess().solver, options=Options(0.0, solver="sequential_dual")),
    "SDM without heuristics": partial(WithoutHeuristics, ascent_only=True),
    "default": partial(OneProcess().solver, options=Options(0.0)),
    "EG": ExponentiatedGradient,
    "cutting plane": CuttingPlane,
    "cutting plane without line search": partial(CuttingPlane, line_search=False),
    "most violating": MostViolating,
}


@dataclass
class Curve:
    """What a run reached, and when."""

    method: str
    seconds: list[float] = field(default_factory=list)
    dual: list[float] = field(default_factory=list)
    primal: list[float] = field(default_factory=list)  # LIBLINEAR, which has no D to show
    accuracy: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)  # shrunk loops or steps so far
    epochs: list[int] = field(default_factory=list)  # of LIBLINEAR, none

    def as_dict(self) -> dict[str, Any]:
        """Return its numbers, rounded, ready for JSON."""
        numbers = asdict(self)
        numbers["seconds"] = [round(s, 4) for s in self.seconds]
        numbers["accuracy"] = [round(a, 5) for a in self.accuracy]
        return numbers


def make_problem(split: Split, formulation: str, C: float) -> Problem:
    """Return the problem without intercept, as in the paper."""
    n_classes = int(max(split.y.max(), split.y_test.max())) + 1
    dataset = Dataset.from_matrix(split.X, split.y, n_classes=n_classes)
    return Problem(dataset, FORMULATIONS[formulation], C)


def optimum(problem: Problem, tol: float, limit: float) -> float:
    """Return D of a run of the default solver to a relative gap, or until the limit in seconds."""
    began = time.perf_counter()
    solver = partial(METHODS["default"], rng=np.random.default_rng(1))
    solution = solve(
        problem,
        solver,
        GapRule(tol),
        max_iter=10**6,
        on_epoch=lambda _: time.perf_counter() - began > limit,
    )
    return float(solution.certificate.dual_objective)


def record(method: str, split: Split, problem: Problem, best: float, limit: float) -> Curve:
    """Train until D is close to the best D, or until the limit in seconds.

    The seconds are those of training, without what recording takes.
    """
    curve = Curve(method)
    solver = partial(METHODS[method], rng=np.random.default_rng(0))
    began, spent, loops = time.perf_counter(), 0.0, 0

    def on_epoch(progress: Progress) -> bool:
        nonlocal spent, loops
        now = time.perf_counter()
        seconds = now - began - spent
        dual = progress.record.primal_estimate - progress.record.gap_estimate
        loops += progress.record.loops
        ends = seconds > limit or (best - dual) < FAR_ENOUGH * abs(best)
        if ends or not curve.seconds or seconds > SPACING * curve.seconds[-1]:
            W = np.asarray(progress.weights())[:-1]
            right = (split.X_test @ W).argmax(axis=1) == split.y_test
            curve.seconds.append(seconds)
            curve.dual.append(dual)
            curve.accuracy.append(float(right.mean()))
            curve.steps.append(loops)
            curve.epochs.append(progress.record.epoch)
        spent += time.perf_counter() - now
        return ends

    solve(problem, solver, GapRule(1e-15), max_iter=10**7, on_epoch=on_epoch)
    return curve


def record_liblinear(split: Split, problem: Problem, best: float, limit: float) -> Curve:
    """Train LIBLINEAR's Crammer-Singer machine to one tolerance after the other."""
    curve = Curve(LIBLINEAR)
    for tol in TOLERANCES:
        model = LinearSVC(
            multi_class="crammer_singer",
            C=float(problem.costs[0]),
            tol=tol,
            fit_intercept=False,
            max_iter=10**6,
            random_state=0,
        )
        began = time.perf_counter()
        model.fit(split.X, split.y)
        seconds = time.perf_counter() - began
        primal = crammer_singer_objective(model, split, float(problem.costs[0]))
        curve.seconds.append(seconds)
        curve.primal.append(primal)
        curve.accuracy.append(model.score(split.X_test, split.y_test))
        curve.steps.append(int(model.n_iter_))
        if seconds > limit or primal - best < FAR_ENOUGH * best:
            break
    return curve


def crammer_singer_objective(model: LinearSVC, split: Split, C: float) -> float:
    """Return P(W) = ||W||^2 / 2 + C sum_i max_c ([c != y_i] + w_c . x_i) - w_{y_i} . x_i."""
    scores = np.asarray(split.X @ model.coef_.T)
    own = np.arange(len(split.y)), np.searchsorted(model.classes_, split.y)
    augmented = scores + 1
    augmented[own] -= 1
    loss = (augmented.max(axis=1) - scores[own]).sum()
    return 0.5 * float((model.coef_**2).sum()) + C * float(loss)
