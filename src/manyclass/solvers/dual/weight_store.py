"""Storage of W and z in the sequential dual method: the interface, and dense W."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, Weights
from manyclass.solvers.certificates import as_returned, certificate_of
from manyclass.solvers.dual.state import State
from manyclass.solvers.kernels import (
    NO_COMMON,
    core_classes,
    rows_per_call,
    trainer_arguments,
)
from manyclass.solvers.weights.dense import allocate_weights, antisymmetric, classes_of, pack
from manyclass.solvers.weights.layout import in_lanes, mean_apart
from manyclass.utils.types import Array, CsrArray

# Shrunk loops end after this effort, in full loops' worth of scores (Keerthi et al. 2008).
SHRUNK_EFFORT = 5
# Which examples shrunk loops leave to the full ones (measured: a third less time on sector, a tenth
# on news20).
NEGLIGIBLE = 3
# After this many epochs the effort grows with the epochs: the last digits take many shrunk loops,
# and full loops between them gain little (measured: sector, Weston-Watkins, 3e-5 in float32: 37
# epochs instead of 66, a quarter less time).
LONG_RUN = 10


class WeightStore(Protocol):
    """Storage of W and z.

    Attributes
    ----------
    negligible : float
        Which examples the shrunk loops leave to the full ones (coordinate_ascent.py).
    """

    negligible: float

    def begin(self, problem: Problem, rng: np.random.Generator, n_jobs: int) -> State:
        """Return W = 0 and z = 0."""

    def constant_loss(self, problem: Problem, state: State, empty: NDArray[np.intp]) -> float:
        """Return D(0): the loss of the examples with x_i = 0, which is constant."""

    def n_weights(self, problem: Problem, state: State) -> int:
        """Count the numbers of W that are held."""

    def shrunk_effort(self, problem: Problem, state: State) -> int:
        """Return how many scores the shrunk loops of an epoch may compute."""

    def rebuild(self, problem: Problem, state: State) -> float:
        """W <- W(z); return an upper bound of the distance that rounding leaves."""

    def certificate(
        self, problem: Problem, state: State, weights: Any, distance: float, n_jobs: int
    ) -> Certificate:
        """Compute P at some W and D at z; ``distance`` is an upper bound of ||W - W(z)||."""

    def stored(self, state: State, duals: CsrArray) -> CsrArray:
        """Return z, shape (n, k), with the classes in the order of the store."""

    def duals(self, problem: Problem, state: State) -> CsrArray:
        """Return z, shape (n, k)."""

    def matrix(self, problem: Problem, state: State, weights: Any) -> Weights:
        """Return some W, a copy of shape (d + 1, k)."""

    def release(self, problem: Problem, state: State) -> Weights:
        """Return W, shape (d + 1, k); the state has none afterwards."""


class DenseStore:
    """W as rows of features, padded to whole blocks.

    Parameters
    ----------
    lanes : bool, default=True
        Whether the z of few classes may be held in lanes, else in lists always.
    """

    negligible: float = NEGLIGIBLE

    def __init__(self, *, lanes: bool = True) -> None:
        self.lanes = lanes

    def begin(self, problem: Problem, rng: np.random.Generator, n_jobs: int) -> State:  # noqa: ARG002 (hash tables need them)
        """Return W = 0 and z = 0."""
        began = time.perf_counter()
        data = problem.dataset
        trainer_of, duals_of = core_classes(problem, lanes=self.lanes)
        columns = data.n_classes + mean_apart(problem)
        buffer, weights = allocate_weights(data.n_features + 1, columns, data.dtype)
        trainer = trainer_of(**trainer_arguments(problem))
        z = duals_of(data.n_examples, data.n_classes)
        return State(trainer, z, buffer, weights, began)

    def constant_loss(self, problem: Problem, state: State, empty: NDArray[np.intp]) -> float:  # noqa: ARG002 (hash tables need it)
        """Return D(0): the loss of the examples with x_i = 0, which is constant."""
        look = state.trainer.inspect  # W = 0
        at = empty.tolist()
        return float(sum(look(state.weights, state.z, NO_COMMON, 0.0, i, i + 1).loss for i in at))

    def n_weights(self, problem: Problem, state: State) -> int:  # noqa: ARG002 (hash tables need it)
        """Count the numbers of W that are held."""
        return (problem.dataset.n_features + 1) * problem.dataset.n_classes

    def shrunk_effort(self, problem: Problem, state: State) -> int:
        """Return how many scores the shrunk loops of an epoch may compute."""
        n_epochs = state.earlier_epochs + state.epoch
        effort = SHRUNK_EFFORT * (1 + in_lanes(problem)) * max(1.0, n_epochs / LONG_RUN)
        return int(effort * len(state.rows) * problem.dataset.n_classes)

    def rebuild(self, problem: Problem, state: State) -> float:
        """W <- W(z); return an upper bound of the distance that rounding leaves."""
        common = NO_COMMON
        if problem.formulation.centred:
            n = problem.dataset.n_examples
            sigma = np.zeros(n)
            state.trainer.row_sums(state.z, np.arange(n, dtype=np.int32), sigma)
            common = state.trainer.sum_of_rows(sigma / problem.dataset.n_classes)
        return float(state.trainer.rebuild(state.weights, state.z, common))

    def certificate(
        self, problem: Problem, state: State, weights: Any, distance: float, n_jobs: int
    ) -> Certificate:
        """Compute P at some W and D at z; ``distance`` is an upper bound of ||W - W(z)||.

        Where W is to sum to zero, what rounding leaves of its mean is taken off first. Of two
        classes, the estimator keeps the difference.
        """
        k = problem.dataset.n_classes
        by_feature = self._by_feature(problem, weights)
        if k == 2 and not problem.formulation.is_separable:
            distance += antisymmetric(by_feature)
        at = as_returned(problem, by_feature)
        norm = at.norm(k)

        def inspect(part: tuple[int, int]) -> _core.GapSums:
            found: _core.GapSums = state.trainer.inspect(weights, state.z, at.common, norm, *part)
            return found

        found = list(_map(inspect, list(_ranges(problem, n_jobs)), n_jobs))
        return certificate_of(problem, at, found, distance)

    def _by_feature(self, problem: Problem, weights: Array) -> Array:  # noqa: ARG002 (class-major W needs it)
        """W with a row for each feature, on the same memory."""
        return weights

    def stored(self, state: State, duals: CsrArray) -> CsrArray:  # noqa: ARG002 (hash tables need it)
        """Return z, shape (n, k), with the classes in the order of the store."""
        return duals

    def duals(self, problem: Problem, state: State) -> CsrArray:
        """Return z, shape (n, k)."""
        indptr, labels, values = state.z.to_csr()
        shape = (problem.dataset.n_examples, problem.dataset.n_classes)
        return sp.csr_array((values, labels, indptr), shape=shape)

    def matrix(self, problem: Problem, state: State, weights: Any) -> Array:  # noqa: ARG002 (hash tables need it)
        """Return some W, a copy of shape (d + 1, k)."""
        k, apart = problem.dataset.n_classes, mean_apart(problem)
        return classes_of(weights, k, apart=apart).copy()

    def release(self, problem: Problem, state: State) -> Array:
        """Return W, shape (d + 1, k), packed in place; the state has none afterwards."""
        rows = problem.dataset.n_features + 1
        k, apart = problem.dataset.n_classes, mean_apart(problem)
        if state.returned is not None:
            np.copyto(state.weights, state.returned)
        packed = pack(state.buffer, state.weights, k, apart=apart)
        state.weights = state.buffer = np.empty((0, 0), problem.dataset.dtype)
        state.newton = state.returned = None
        # No array but `packed` still refers to the memory that is given back.
        packed.resize(rows * k, refcheck=False)
        return packed.reshape(rows, k)


def _ranges(problem: Problem, n_jobs: int) -> Iterator[tuple[int, int]]:
    n = problem.dataset.n_examples
    size = min(rows_per_call(problem), -(-n // n_jobs))
    return ((begin, min(begin + size, n)) for begin in range(0, n, size))


def _map(
    call: Callable[[tuple[int, int]], _core.GapSums], parts: list[tuple[int, int]], n_jobs: int
) -> Iterator[_core.GapSums]:
    if n_jobs == 1:
        yield from map(call, parts)
        return
    with ThreadPoolExecutor(n_jobs) as threads:
        yield from threads.map(call, parts)
