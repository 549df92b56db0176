"""W of the sequential dual method in hash tables: for very many classes with few weights each.

For Crammer-Singer and Weston-Watkins. W is one table per feature, class -> weight
(hash_tables.hpp), cut into shards of classes, one for each thread. Of the classes that violate an
example's conditions, only the most violating enter its list in one visit (sharded_kernels.hpp).
The certificate is the same as with dense W: it takes a loop over all examples and classes.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count
from numpy.typing import NDArray

from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate
from manyclass.solvers.certificates import Returned, certificate_of, returned_square
from manyclass.solvers.dual.state import State
from manyclass.solvers.dual.weight_store import NEGLIGIBLE
from manyclass.solvers.kernels import NO_COMMON, trainer_arguments
from manyclass.solvers.weights.tables import csr_on, dense_from, inverse
from manyclass.utils.core_class import core_class
from manyclass.utils.types import CsrArray

# Shrunk loops end after the effort of so many loops over all of z.
SHRUNK_LOOPS = 10


class TableStore:
    """W in hash tables."""

    negligible: float = NEGLIGIBLE

    def begin(self, problem: Problem, rng: np.random.Generator, n_jobs: int) -> State:
        """Return W = 0 and z = 0; the classes in random order, so that tables fill evenly."""
        began = time.perf_counter()
        data = problem.dataset
        order = rng.permutation(data.n_classes).astype(np.int32)
        inner = replace(problem, dataset=replace(data, labels=inverse(order)[data.labels]))
        weights = core_class("WeightTables", data.dtype).zeros(
            n_rows=data.n_features + 1,
            n_classes=data.n_classes,
            n_slices=min(n_jobs, cpu_count(), data.n_classes),  # more would only wait
            dense_from=dense_from(problem),
        )
        trainer = core_class("SparseTrainer", data.dtype)(**trainer_arguments(inner))
        z = core_class("Duals", data.dtype)(data.n_examples, data.n_classes)
        nothing = np.empty((0, 0), data.dtype)
        return State(trainer, z, nothing, weights, began, class_order=order)

    def constant_loss(self, problem: Problem, state: State, empty: NDArray[np.intp]) -> float:  # noqa: ARG002 (dense W needs it)
        """Return D(0): every margin of an example with x_i = 0 loses 1."""
        losses = 1 if problem.formulation.takes_maximum else problem.dataset.n_classes - 1
        return float(problem.costs[empty].sum()) * losses

    def n_weights(self, problem: Problem, state: State) -> int:  # noqa: ARG002 (dense W needs it)
        """Count the numbers of W that are held."""
        return int(state.weights.n_slots)

    def shrunk_effort(self, problem: Problem, state: State) -> int:  # noqa: ARG002 (dense W needs it)
        """Return how many scores the shrunk loops of an epoch may compute."""
        return SHRUNK_LOOPS * int(state.z.count + state.n_active)

    def rebuild(self, problem: Problem, state: State) -> float:  # noqa: ARG002 (dense W needs it)
        """W <- W(z); return an upper bound of the distance that rounding leaves."""
        return float(state.trainer.rebuild(state.weights, state.z))

    def certificate(
        self,
        problem: Problem,
        state: State,
        weights: Any,
        distance: float,
        n_jobs: int,  # noqa: ARG002 (one thread for each shard)
    ) -> Certificate:
        """Compute P at some W and D at z; ``distance`` is an upper bound of ||W - W(z)||."""
        data = problem.dataset
        held = weights.squared_norm(), weights.intercepts()
        at = Returned(NO_COMMON, *returned_square(*held, data.bias))
        norm = at.norm(data.n_classes)
        found = state.trainer.inspect(weights, state.z, norm, 0, data.n_examples)
        return certificate_of(problem, at, [found], distance)

    def stored(self, state: State, duals: CsrArray) -> CsrArray:
        """Return z, shape (n, k), with the classes in the order of the store."""
        places = inverse(state.class_order)[duals.indices]
        return sp.csr_array((duals.data, places, duals.indptr), shape=duals.shape)

    def duals(self, problem: Problem, state: State) -> CsrArray:
        """Return z, shape (n, k)."""
        indptr, labels, values = state.z.to_csr()
        shape = (problem.dataset.n_examples, problem.dataset.n_classes)
        return csr_on(values, state.class_order[labels], indptr, shape)

    def matrix(self, problem: Problem, state: State, weights: Any) -> CsrArray:
        """Return some W, a copy of shape (d + 1, k)."""
        indptr, labels, values = weights.to_csr(state.class_order)
        shape = (problem.dataset.n_features + 1, problem.dataset.n_classes)
        return csr_on(values, labels, indptr, shape)

    def release(self, problem: Problem, state: State) -> CsrArray:
        """Return W, shape (d + 1, k); the state has none afterwards."""
        W = self.matrix(problem, state, state.weights)
        state.weights.clear()
        return W
