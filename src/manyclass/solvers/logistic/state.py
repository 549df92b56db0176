"""What training of multinomial logistic regression holds, and how it is laid out."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.solvers.kernels import trainer_arguments
from manyclass.solvers.weights.dense import allocate_weights
from manyclass.solvers.weights.layout import BLOCK_BYTES, in_batches
from manyclass.utils.core_class import core_class
from manyclass.utils.memory import available_memory
from manyclass.utils.types import Array, DType

# What v and W may take of the free memory.
SHARE_OF_MEMORY = 0.9


@dataclass(slots=True, eq=False)
class State:
    """W and v of a training run.

    Attributes
    ----------
    trainer : LogisticTrainer
    class_major : bool
        Whether W has a row for each class, not for each feature (logistic/layouts.hpp).
    weights : ndarray
        W, padded; the appended feature's weights are the last of the features.
    log_u : ndarray of shape (n, padded k), or None
        v = log u; None in the Newton phase.
    """

    trainer: _core.LogisticTrainer64
    class_major: bool
    weights: Array
    log_u: Array | None
    began: float = field(default_factory=time.perf_counter)
    fresh: bool = True  # u_i = e_{y_i}, and v is not set
    epoch: int = 0
    loss: float = np.inf
    gap: float = np.inf  # estimates of the last epoch
    primal: float = np.inf
    gaps: list[float] = field(default_factory=list)  # of the epochs of descent
    certificates: int = 0  # so many have been computed
    left: NDArray[np.float64] | None = None  # sum_i C_i (e_{y_i} - u_i), where it must become 0


def new_state(problem: Problem, *, keeps_duals: bool, n_jobs: int = 1) -> State:
    """Return W = 0; v is not set yet.

    Raises
    ------
    MemoryError
        If W and what training needs beside it do not fit into memory.
    """
    data = problem.dataset
    check_memory(problem)
    class_major = in_batches(problem)
    trainer = core_class("LogisticTrainer", data.dtype)(**trainer_arguments(problem))
    trainer.use_threads(n_jobs)
    log_u = new_log_u(problem) if keeps_duals else None
    return State(trainer, class_major, new_weights(problem, data.dtype, class_major), log_u)


def new_weights(problem: Problem, dtype: DType, class_major: bool) -> Array:
    """Return zeros like W."""
    shape = problem.dataset.n_features + 1, problem.dataset.n_classes
    return allocate_weights(*(shape[::-1] if class_major else shape), dtype)[1]


def new_log_u(problem: Problem) -> Array:
    """Return memory for v."""
    data = problem.dataset
    return allocate_weights(data.n_examples, data.n_classes, data.dtype)[1]


def bytes_of_log_u(problem: Problem) -> int:
    """Return the size of v."""
    data = problem.dataset
    row = -(-data.n_classes * data.dtype.itemsize // BLOCK_BYTES) * BLOCK_BYTES
    return data.n_examples * row


def duals_fit(problem: Problem) -> bool:
    """Whether v, an n x k array, fits into the memory that is left, beside W."""
    data = problem.dataset
    sums = 3 * 8 * (data.n_features + 1) * data.n_classes  # W, and what a certificate adds up
    return bytes_of_log_u(problem) + sums < SHARE_OF_MEMORY * available_memory()


def check_memory(problem: Problem) -> None:
    """Refuse a W that does not fit into memory twice in float64, as a certificate needs it.

    Raises
    ------
    MemoryError
    """
    data = problem.dataset
    numbers = (data.n_features + 1) * data.n_classes
    needed, free = (data.dtype.itemsize + 2 * 8) * numbers, available_memory()
    if needed > free:
        raise MemoryError(
            f"W of {data.n_classes} x {data.n_features + 1} numbers, and what its certificate "
            f"adds up, need {needed / 1e9:.1f} GB; {free / 1e9:.1f} GB are free. Use fewer "
            "features (hashing, selection), fewer classes, or MulticlassSVC with weights='sparse'"
        )


def memory_of_duals(problem: Problem) -> str:
    """Say how large v is, and what is free."""
    needed, free = bytes_of_log_u(problem), available_memory()
    return f"{needed / 1e9:.1f} GB of dual variables; {free / 1e9:.1f} GB are free"


def features_of(weights: Array, problem: Problem, *, class_major: bool) -> Array:
    """Return the part of W that belongs to the given features: a view."""
    d, k = problem.dataset.n_features, problem.dataset.n_classes
    return weights[:k, :d] if class_major else weights[:d, :k]


def bias_of(weights: Array, problem: Problem, *, class_major: bool) -> Array:
    """Return the appended feature's weights, shape (k,): a view."""
    d, k = problem.dataset.n_features, problem.dataset.n_classes
    return weights[:k, d] if class_major else weights[d, :k]


def as_matrix(weights: Array, problem: Problem, *, class_major: bool) -> Array:
    """Return W of shape (d + 1, k): a view."""
    d, k = problem.dataset.n_features, problem.dataset.n_classes
    return weights[:k, : d + 1].T if class_major else weights[: d + 1, :k]


def class_counts(problem: Problem) -> NDArray[np.float64]:
    """Return sum_i C_i e_{y_i}."""
    data = problem.dataset
    counts = np.bincount(data.labels, problem.costs, minlength=data.n_classes)
    return counts.astype(np.float64)
