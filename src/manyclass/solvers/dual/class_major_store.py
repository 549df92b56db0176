"""W of the sequential dual method with a row for each class: for dense rows, in batches.

The scores of a batch of examples are a matrix product, and what its visits change is added to W by
another (batched_visits.hpp). Shrunk loops visit single examples; a score is one contiguous dot
product. For every formulation but one-vs-rest, whose groups of classes are trained apart.
"""

from __future__ import annotations

import time

import numpy as np

from manyclass.problem.problem import Problem
from manyclass.solvers.dual.state import State
from manyclass.solvers.dual.weight_store import LONG_RUN, DenseStore
from manyclass.solvers.kernels import trainer_arguments
from manyclass.solvers.weights.dense import allocate_weights
from manyclass.utils.core_class import core_class
from manyclass.utils.types import Array

# Shrunk loops end after this effort, in full loops' worth of scores: that of a single visit takes
# several times as long as one of a matrix product (measured: 256 features, 105 classes, C = 30:
# 1.1 s, 1.7 s at 5; no difference at C = 1).
SHRUNK_EFFORT = 1


class ClassMajorStore(DenseStore):
    """W as rows of classes, padded to whole blocks: k x (d + 1)."""

    # Full loops cost more than elsewhere, beside shrunk ones (measured to 1e-2: 200,000 rows, 384
    # features, 300 classes: 5 epochs instead of 8, a third less time; 60,000 x 768, 1,000: 4 of 6).
    negligible = 0.3

    def begin(self, problem: Problem, rng: np.random.Generator, n_jobs: int) -> State:  # noqa: ARG002 (hash tables need it)
        """Return W = 0 and z = 0."""
        began = time.perf_counter()
        data = problem.dataset
        buffer, weights = allocate_weights(data.n_classes, data.n_features + 1, data.dtype)
        trainer = core_class("RowTrainer", data.dtype)(**trainer_arguments(problem))
        trainer.use_threads(n_jobs)
        z = core_class("Duals", data.dtype)(data.n_examples, data.n_classes)
        return State(trainer, z, buffer, weights, began)

    def shrunk_effort(self, problem: Problem, state: State) -> int:
        """Return how many scores the shrunk loops of an epoch may compute."""
        long_run = max(1.0, (state.earlier_epochs + state.epoch) / LONG_RUN)
        return int(SHRUNK_EFFORT * long_run * len(state.rows) * problem.dataset.n_classes)

    def matrix(self, problem: Problem, state: State, weights: Array) -> Array:  # noqa: ARG002 (hash tables need it)
        """Return some W, a copy of shape (d + 1, k)."""
        return self._by_feature(problem, weights).copy(order="F")

    def release(self, problem: Problem, state: State) -> Array:
        """Return W, shape (d + 1, k), in the memory of training; the state has none afterwards."""
        W = self._by_feature(problem, state.weights)
        state.weights = state.buffer = np.empty((0, 0), problem.dataset.dtype)
        return W

    def _by_feature(self, problem: Problem, weights: Array) -> Array:
        """W with a row for each feature, on the same memory."""
        return weights.T[: problem.dataset.n_features + 1]
