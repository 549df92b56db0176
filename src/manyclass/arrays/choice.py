"""Choice of the solver for a problem with X on a device, and checks of its options."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from manyclass.arrays.dataset import DeviceDataset
from manyclass.arrays.engine import ArrayEngine
from manyclass.arrays.namespace import Place
from manyclass.arrays.parts import problems_of_devices
from manyclass.arrays.places.host_rows import HostRows
from manyclass.arrays.places.memory import COPIES_OF_W
from manyclass.arrays.rows import plan_for
from manyclass.arrays.svm.admm import OneVsRestAdmm
from manyclass.arrays.svm.dual_rounds import DualRounds
from manyclass.arrays.svm.squared_hinge import NewtonSvm, SquaredHingeRows
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.solvers.logistic.newton import NewtonLogistic
from manyclass.utils.named_options import DEFAULT_SOLVERS

TRAINED = ("crammer_singer", "weston_watkins", "one_vs_rest")
SHARE_OF_LABELS = 0.5  # share of the free memory, for labels that are trained together
# Training that stalls on a device, or does not reduce the gap to this share in this number of
# epochs, continues on the CPU if a pass has at most this number of multiply-adds.
MOST_WORK, SOME_EPOCHS, SLOW = 10**10, 8, 0.4
Solver = NewtonLogistic | DualRounds | OneVsRestAdmm


def solver_on_device(
    problem: Problem,
    start: Start | None,
    rng: np.random.Generator,
    *,
    tol: float,
    regularize_intercept: bool,
    keeps_duals: bool,
) -> Solver:
    """Make the solver of a problem that ``check_on_device`` accepts; `rng` orders the rows."""
    began = time.perf_counter()
    if problem.loss == "log_loss":
        engine = ArrayEngine(problem, regularize_intercept=regularize_intercept)
        return NewtonLogistic(engine, start, tol=tol, began=began)
    if problem.slack_loss.has_ridge:
        engine = ArrayEngine(problem, regularize_intercept=True, rows_of=SquaredHingeRows)
        return NewtonSvm(engine, start, tol=tol, began=began)
    if problem.formulation.is_separable:
        return OneVsRestAdmm(problem, start, keeps_duals=keeps_duals)
    return DualRounds(problem, start, rng, keeps_duals=keeps_duals)


def check_on_device(problem: Problem, *, stopping: str, solver: str, weights: str) -> str:
    """Refuse what is not trained on a device; say what training holds where."""
    data = problem.dataset
    assert isinstance(data, DeviceDataset)
    places = data.X.places if isinstance(data.X, HostRows) else [Place(data.X)]
    device, refused = ", ".join(str(place.device) for place in places), ""
    known = [FORMULATIONS[name] for name in TRAINED]
    if problem.loss != "log_loss" and problem.formulation not in known:
        refused = "formulation may be 'crammer_singer', 'weston_watkins' or 'one_vs_rest'"
    elif stopping != "gap":
        refused = "stopping must be 'gap'"
    elif solver not in DEFAULT_SOLVERS:
        refused = "solver must be 'auto'"
    elif weights == "sparse":
        refused = "weights are dense"
    elif problem.factors is not None:
        refused = "cost_scaling must be 'margin'"
    elif problem.base is not None and not isinstance(problem.base, BaseScores):
        refused = "a Taxonomy may have 4,096 classes at most"
    elif len(places) > 1 and problem.loss == "hinge":
        refused = "only the squared hinge and logistic regression support several devices"
    if refused:
        raise ValueError(
            f"X is on the device {device}, where {refused}; to train otherwise, leave out "
            "device=, and copy X to the CPU"
        )
    return plan_text(problem)


def plan_text(problem: Problem) -> str:
    """Say what training holds where, a line for each device; MemoryError if it does not fit."""
    return "\n".join(str(plan_for(part)) for part in problems_of_devices(problem))


def may_leave_device(problem: Problem) -> bool:
    """Whether a problem is small enough for the core to continue, if it stalls on its device."""
    data = problem.dataset
    assert isinstance(data, DeviceDataset)
    work = data.n_examples * (data.n_features + 1) * data.n_classes
    return data.indicator is None and work <= MOST_WORK


def falls_slowly(problem: Problem, gaps: Sequence[float]) -> bool:
    """Whether dual visits in rounds need too many epochs on a device, from the gaps so far."""
    in_rounds = problem.loss == "hinge" and not problem.formulation.is_separable
    if not in_rounds or len(gaps) <= SOME_EPOCHS:
        return False
    return gaps[-1] > SLOW * gaps[-1 - SOME_EPOCHS] or not gaps[-1] > 0  # only rounding


def on_host(problem: Problem) -> Problem:
    """Return the same problem with X as an ndarray."""
    data = problem.dataset
    assert isinstance(data, DeviceDataset)
    return replace(problem, dataset=data.on_host())


def labels_at_once(data: DeviceDataset, loss: str, n_labels: int) -> int:
    """Return the number of one-vs-rest labels trained together, as half the memory allows."""
    free = place_of(data).free_memory()
    if free is None:
        return max(1, n_labels)
    if isinstance(data.X, HostRows):
        size = data.X.dtype.itemsize * data.n_features * data.n_examples
        free -= size if size < SHARE_OF_LABELS * free else 0
    of_row = 1 + data.dtype.itemsize * (loss == "hinge")
    label = data.n_examples * of_row + data.dtype.itemsize * COPIES_OF_W * (data.n_features + 1)
    return max(1, min(n_labels, int(SHARE_OF_LABELS * free / label)))


def place_of(data: DeviceDataset) -> Place:
    """Return the device of X, or the first one."""
    return data.X.place if isinstance(data.X, HostRows) else Place(data.X)


def lack_of_memory(problem: Problem, error: Exception) -> MemoryError | None:
    """Return the MemoryError for an error of a device out of memory; None for other errors."""
    if not (problem.dataset.lies_on_device and "out of memory" in str(error)):
        return None
    return MemoryError(
        "training needs more memory than the device has; give fewer rows or classes, or 16-bit "
        "rows, or train on the CPU"
    )
