"""The sequential dual method for very many classes, of which each feature has a weight for few.

Solves Crammer-Singer and Weston-Watkins as sequential_dual.py does. Given and returned: the same,
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

from manyclass import _core
from manyclass.memory import available_memory
from manyclass.problem import Problem
from manyclass.solution import Certificate, Start
from manyclass.solvers.choice import sparse_bytes
from manyclass.solvers.core import trainer_arguments
from manyclass.solvers.dual_state import State
from manyclass.solvers.sequential_dual import SequentialDual

# Plain rows replace tables with a slot for every FAST classes, or, where the weights may need more
# than SPACIOUS of the memory, for every SMALL (measured on wordnet: 2 and 4 take a quarter more
# time than 8; on a corpus like LSHTC-large 2 takes a tenth more time and a fifth less memory).
FAST, SMALL = 8, 2
SPACIOUS = 0.1
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
        single = data.dtype == np.float32
        names = self.rng.permutation(data.n_classes).astype(np.int32)
        trainer_of = _core.SparseTrainer32 if single else _core.SparseTrainer64
        labels = inverse(names)[data.labels]
        inner = replace(problem, dataset=replace(data, labels=labels))
        weights_of = _core.WeightTables32 if single else _core.WeightTables64
        duals_of = _core.Duals32 if single else _core.Duals64
        weights = weights_of.zeros(
            n_rows=data.n_features + 1,
            n_classes=data.n_classes,
            n_slices=min(self.n_jobs, cpu_count(), data.n_classes),  # more would only wait
            dense_from=dense_from(problem),
        )
        trainer = trainer_of(**trainer_arguments(inner))
        z = duals_of(data.n_examples, data.n_classes)
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


def csr_on(
    values: NDArray[Any],
    labels: NDArray[np.int32],
    indptr: NDArray[np.int64],
    shape: tuple[int, int],
) -> sp.csr_array[Any]:
    """Return a CSR array on the same memory: SciPy wants indices of one type, and would copy."""
    small = indptr[-1] <= np.iinfo(np.int32).max
    return sp.csr_array((values, labels, indptr.astype(np.int32) if small else indptr), shape=shape)


def dense_from(problem: Problem, n_ranks: int = 1) -> int:
    """Return how many classes to a slot make a plain row worth its memory (hash_tables.hpp)."""
    expected = (sparse_bytes(problem) or 0) // n_ranks
    return FAST if expected < SPACIOUS * available_memory() else SMALL


def inverse(names: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the places of all classes in a random order of them."""
    places = np.empty_like(names)
    places[names] = np.arange(len(names), dtype=np.int32)
    return places
