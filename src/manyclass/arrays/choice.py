"""The solver of a problem whose X lies on a device, and what is not trained there."""

from __future__ import annotations

import time

import numpy as np

from manyclass.arrays.dataset import DeviceDataset
from manyclass.arrays.engine import ArrayEngine
from manyclass.arrays.namespace import Place, device_of
from manyclass.arrays.rows import NUMBERS_AT_A_TIME
from manyclass.arrays.svm.admm import OneVsRestAdmm
from manyclass.arrays.svm.dual_rounds import DualRounds
from manyclass.arrays.svm.newton import NewtonSvm
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.solvers.logistic.newton import NewtonLogistic

TRAINED = ("crammer_singer", "weston_watkins", "one_vs_rest")
Solver = NewtonLogistic | DualRounds | OneVsRestAdmm
DEFAULT = ("auto", "sequential_dual")
BLOCKS = 6  # numbers in float64 of the rows of a block that certificates hold at once


def solver_on_device(
    problem: Problem,
    start: Start | None,
    rng: np.random.Generator,
    *,
    tol: float,
    regularize_intercept: bool,
    keeps_duals: bool,
) -> Solver:
    """Make the solver of a problem.

    Parameters
    ----------
    problem : Problem
        Of a ``DeviceDataset``, which ``check_on_device`` accepts.
    start : Start or None
    rng : numpy.random.Generator
        Orders the rows of rounds.
    tol : float
        The relative gap to which Newton steps are solved.
    regularize_intercept : bool
        Of logistic regression.
    keeps_duals : bool
    """
    if problem.loss == "log_loss":
        began = time.perf_counter()
        engine = ArrayEngine(problem, regularize_intercept=regularize_intercept)
        return NewtonLogistic(engine, start, tol=tol, began=began)
    if problem.slack_loss.has_ridge:
        return NewtonSvm(problem, start, tol=tol)
    if problem.formulation.is_separable:
        return OneVsRestAdmm(problem, start, keeps_duals=keeps_duals)
    return DualRounds(problem, start, rng, keeps_duals=keeps_duals)


def check_on_device(problem: Problem, *, stopping: str, solver: str, weights: str) -> None:
    """Refuse what is not trained on a device.

    Raises
    ------
    ValueError
        Saying what is, and what to do.
    MemoryError
        If what training holds does not fit into the memory of the device.
    """
    data = problem.dataset
    assert isinstance(data, DeviceDataset)
    device, refused = device_of(data.X), ""
    known = [FORMULATIONS[name] for name in TRAINED]
    if problem.loss != "log_loss" and problem.formulation not in known:
        refused = "formulation may be 'crammer_singer', 'weston_watkins' or 'one_vs_rest'"
    elif stopping != "gap":
        refused = "stopping must be 'gap'"
    elif solver not in DEFAULT:
        refused = "solver must be 'auto'"
    elif weights == "sparse":
        refused = "weights are dense"
    elif problem.factors is not None:
        refused = "cost_scaling must be 'margin'"
    elif problem.base is not None and not isinstance(problem.base, BaseScores):
        refused = "a Taxonomy may have 4,096 classes at most"
    if refused:
        raise ValueError(
            f"X lies on the device {device}, and there {refused}; copy X to the CPU to train "
            "otherwise"
        )
    _check_memory(data, problem)


def _check_memory(data: DeviceDataset, problem: Problem) -> None:
    """Refuse what does not fit, where the free memory of the device is known."""
    free = Place(data.X).free_memory()
    per_number, scores = data.dtype.itemsize, data.n_examples * data.n_classes
    weights = (data.n_features + 1) * data.n_classes
    holds_scores = problem.loss == "hinge"
    block = min(data.n_examples * max(data.n_classes, data.n_features), NUMBERS_AT_A_TIME)
    needed = per_number * (scores * holds_scores + 8 * weights) + BLOCKS * 8 * block
    if free is not None and needed > free:
        raise MemoryError(
            f"training holds {needed / 1e9:.1f} GB on {device_of(data.X)} beside X"
            f"{' (a number for each row and class)' if holds_scores else ''}, and "
            f"{free / 1e9:.1f} GB are free; use fewer rows or classes, or train on the CPU"
        )
