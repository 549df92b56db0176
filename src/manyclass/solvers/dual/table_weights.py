"""The sequential dual method for very many classes, of which each feature has a weight for few.

Solves Crammer-Singer and Weston-Watkins as coordinate_ascent.py does. Given and returned: the same,
but W is sparse. W is held as one table per feature, class -> weight (hash_tables.hpp), cut into
slices of classes, one for each thread; of the classes that violate an example's conditions, only
those that do so most enter its list in one visit (sharded_kernels.hpp). Training ends with a loop
over all examples and classes, so what is proven is the same.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count
from numpy.typing import NDArray

from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, Start
from manyclass.solvers.dual.coordinate_ascent import SequentialDual
from manyclass.solvers.dual.state import State
from manyclass.solvers.kernels import trainer_arguments
from manyclass.solvers.weights.tables import csr_on, dense_from, inverse
from manyclass.utils.core_class import core_class

# Shrunk loops end after the effort of so many loops over all of z.
SHRUNK_LOOPS = 10


class SparseDual(SequentialDual):
    """Solver for formulations with relative margins, W sparse.

    Parameters
    ----------
    rng : numpy.random.Generator
        Orders the loops, and the classes.
    n_jobs : int, default=1
        Threads. The result does not depend on their number, but for rounding.
    """

    def _begin(self, problem: Problem) -> State:
        """W = 0 and z = 0; the classes in random order, so that tables fill evenly."""
        began = time.perf_counter()
        data = problem.dataset
        names = self.rng.permutation(data.n_classes).astype(np.int32)
        labels = inverse(names)[data.labels]
        inner = replace(problem, dataset=replace(data, labels=labels))
        weights = core_class("WeightTables", data.dtype).zeros(
            n_rows=data.n_features + 1,
            n_classes=data.n_classes,
            n_slices=min(self.n_jobs, cpu_count(), data.n_classes),  # more would only wait
            dense_from=dense_from(problem),
        )
        trainer = core_class("SparseTrainer", data.dtype)(**trainer_arguments(inner))
        z = core_class("Duals", data.dtype)(data.n_examples, data.n_classes)
        nothing = np.empty((0, 0), data.dtype)
        return State(trainer, z, nothing, weights, began, names=names)

    def _n_weights(self, problem: Problem, state: State) -> int:  # noqa: ARG002 (the base's verb)
        return int(state.weights.n_slots)

    def _shrunk_effort(self, problem: Problem, state: State) -> int:  # noqa: ARG002 (the base's verb)
        return SHRUNK_LOOPS * int(state.z.count + state.n_active)

    def _constant(self, problem: Problem, state: State, empty: NDArray[np.intp]) -> float:  # noqa: ARG002 (the base's verb)
        """D(0): every margin of an example with x_i = 0 loses 1."""
        losses = 1 if problem.formulation.aggregation == "max" else problem.dataset.n_classes - 1
        return float(problem.costs[empty].sum()) * losses

    def _rebuild(self, problem: Problem, state: State) -> float:  # noqa: ARG002 (the base's verb)
        """W <- W(z); return an upper bound of the distance that rounding leaves."""
        return float(state.trainer.rebuild(state.weights, state.z))

    def _judge(self, problem: Problem, state: State, weights: Any, apart: float) -> Certificate:
        square = weights.squared_norm()
        found = state.trainer.inspect(
            weights, state.z, math.sqrt(square), 0, problem.dataset.n_examples
        )
        primal = 0.5 * square + found.loss
        return Certificate.from_gap(primal, found.gap + 0.5 * apart * apart, found.max_violation)

    def _duals(self, problem: Problem, state: State) -> sp.csr_array[Any]:
        """Return z, shape (n, k)."""
        indptr, labels, values = state.z.to_csr()
        shape = (problem.dataset.n_examples, problem.dataset.n_classes)
        return csr_on(values, state.names[labels], indptr, shape)

    def weights(self, problem: Problem, state: State) -> sp.csr_array[Any]:
        """Return W, shape (d + 1, k)."""
        indptr, labels, values = state.weights.to_csr(state.names)
        shape = (problem.dataset.n_features + 1, problem.dataset.n_classes)
        return csr_on(values, labels, indptr, shape)

    def finish(self, problem: Problem, state: State) -> sp.csr_array[Any]:
        """Return W, shape (d + 1, k); the state has none afterwards."""
        W = self.weights(problem, state)
        state.weights.clear()
        return W

    def _warm_start(self, problem: Problem, state: State, start: Start) -> None:
        z = sp.csr_array(start.duals)
        places = inverse(state.names)[z.indices]
        inner = sp.csr_array((z.data, places, z.indptr), shape=z.shape)
        super()._warm_start(problem, state, Start(inner))
