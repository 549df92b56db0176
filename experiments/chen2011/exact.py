"""Solvers that go all the way, for figure 4: accuracy and seconds as they are asked for more."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from experiments.chen2011.training import rows_for_test
from manyclass import MulticlassSVC
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress
from manyclass.solvers.comparison.cutting_plane import CuttingPlane
from manyclass.solvers.stopping import GapRule
from manyclass.training.epoch_loop import solve
from measuring.datasets.base import Data, sklearn_rows

# Relative duality gaps, and scikit-learn's largest violations.
TOLERANCES = (0.5, 0.2, 0.1, 0.03, 0.01, 1e-3)
PEER_TOLERANCES = (1.5, 1.0, 0.5, 0.2, 0.1, 0.05, 0.01, 1e-3)
# Seconds after which nothing finer is asked for: the next run may take three times as long.
PATIENCE = 10.0
GROWTH = 3.0

# The relative gap at which cutting planes end, and the growth of their seconds from one point to
# the next.
FINEST = 1e-3
SPACING = 1.15

Point = dict[str, float]


def cost(alpha: float, n: int) -> float:
    """Return the C of the same objective, up to a factor."""
    return 1 / (n * alpha)


def exact_curve(data: Data, alpha: float) -> list[Point]:
    """Train ``MulticlassSVC`` to one tolerance after the other, each time from zero."""

    def measure(tol: float) -> Point:
        model = MulticlassSVC(
            C=cost(alpha, data.X.shape[0]), tol=tol, fit_intercept=False, random_state=0
        )
        seconds = _seconds(lambda: model.fit(data.X, data.labels))
        return {
            "tol": tol,
            "seconds": seconds,
            "accuracy": _accuracy(model, data),
            "relative_gap": model.certificate_.relative_gap,
        }

    return _sweep(measure, TOLERANCES)


def peer_curve(data: Data, alpha: float) -> list[Point]:
    """Train scikit-learn's solver of the same objective to one tolerance after the other."""
    X = sklearn_rows(data.X)

    def measure(tol: float) -> Point:
        model = LinearSVC(
            multi_class="crammer_singer",
            C=cost(alpha, data.X.shape[0]),
            tol=tol,
            fit_intercept=False,
            random_state=0,
        )
        seconds = _seconds(lambda: model.fit(X, data.labels))
        return {"tol": tol, "seconds": seconds, "accuracy": _accuracy(model, data)}

    return _sweep(measure, PEER_TOLERANCES)


def cutting_plane_curve(data: Data, alpha: float, limit: float) -> list[Point]:
    """Train by the algorithm of SVM^multiclass, one-slack cutting planes, in a single run.

    The solver has OCAS's line search, which the program of that name lacks. The seconds are those
    of training, without what recording takes.
    """
    dataset = Dataset.from_matrix(data.X, data.labels, n_classes=data.n_classes)
    problem = Problem(dataset, FORMULATIONS["crammer_singer"], cost(alpha, data.X.shape[0]))
    X, labels = rows_for_test(data)
    points: list[Point] = []
    began, recording = time.process_time(), 0.0

    def on_epoch(progress: Progress) -> bool:
        nonlocal recording
        now = time.process_time()
        seconds, gap = now - began - recording, progress.record.relative_gap
        ends = seconds > limit or gap <= FINEST
        if ends or not points or seconds > SPACING * points[-1]["seconds"]:
            predicted = (X @ np.asarray(progress.weights())[:-1]).argmax(axis=1)
            accuracy = float(np.mean(predicted == labels))
            points.append({"seconds": seconds, "accuracy": accuracy, "relative_gap": gap})
        recording += time.process_time() - now
        return ends

    solve(problem, _cutting_plane, GapRule(FINEST), max_iter=10**6, on_epoch=on_epoch)
    return points


def _cutting_plane(problem: Problem, start: Any) -> CuttingPlane:
    return CuttingPlane(problem, start, np.random.default_rng(0))


def _sweep(measure: Callable[[Any], Point], efforts: Iterable[float]) -> list[Point]:
    """Ask for more until it takes long."""
    points: list[Point] = []
    for effort in efforts:
        points.append(measure(effort))
        before = points[-2]["seconds"] if len(points) > 1 else points[-1]["seconds"]
        growth = min(max(1.0, points[-1]["seconds"] / before), GROWTH)
        if points[-1]["seconds"] * growth > PATIENCE:
            break
    return points


def _seconds(fit: Callable[[], Any]) -> float:
    """Return the processor's seconds of a fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()
        fit()
        return time.process_time() - start


def _accuracy(model: Any, data: Data) -> float:
    X, labels = rows_for_test(data)
    return float(np.mean(model.predict(X) == labels))
