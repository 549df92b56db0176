"""Engines: W and z of a problem in one layout, and the loops over them.

An engine owns W and z. A method (sequential_dual.py) calls its loops, and sees W as an array of
shape (d + 1, k) and z as a CSR array of shape (n, k), copied out or in. Only this module knows
padded rows, lanes, the column for the mean, rows of classes and hash tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, Weights
from manyclass.solvers.certificates import (
    Returned,
    as_returned,
    certificate_of,
    returned_square,
)
from manyclass.solvers.kernels import (
    NO_COMMON,
    check_squared_norms,
    core_classes,
    core_problem,
    rows_per_call,
)
from manyclass.solvers.weights.dense import (
    allocate_weights,
    antisymmetric,
    classes_of,
    distance,
    pack,
    squared_norm,
    subtract_means,
)
from manyclass.solvers.weights.layout import in_batches, in_lanes, mean_apart
from manyclass.solvers.weights.tables import csr_on, dense_from, inverse
from manyclass.utils.core_class import core_class
from manyclass.utils.types import Array, CsrArray, DType

Storage = Literal["dense", "class_major", "tables"]
Rows = NDArray[np.int32]
Trainer: TypeAlias = "_core.Trainer64 | _core.RowTrainer64"

# Shrunk loops end after this effort, in full loops' worth of scores (Keerthi et al. 2008); twice as
# much in lanes.
SHRUNK_EFFORT = 5
# That of W by class: a single visit takes several times as long as one of a matrix product
# (measured: 256 features, 105 classes, C = 30: 1.1 s, 1.7 s at 5; no difference at C = 1).
SHRUNK_EFFORT_BY_CLASS = 1
# After this many epochs the effort grows with the epochs: the last digits take many shrunk loops,
# and full loops between them gain little (measured: sector, Weston-Watkins, 3e-5 in float32: 37
# epochs instead of 66, a quarter less time).
LONG_RUN = 10
# With W in tables, shrunk loops end after the effort of so many loops over all of z.
SHRUNK_LOOPS = 10
# Which examples shrunk loops leave to the full ones (measured: a third less time on sector, a tenth
# on news20).
NEGLIGIBLE = 3
# That of W by class, whose full loops cost more beside shrunk ones (measured to 1e-2: 200,000 rows,
# 384 features, 300 classes: 5 epochs instead of 8, a third less time; 60,000 x 768, 1,000: 4 of 6).
NEGLIGIBLE_BY_CLASS = 0.3


class Extent(NamedTuple):
    """What loops visit: examples with x_i != 0, those of the shrunk problem; epochs so far."""

    n_rows: int
    n_active: int
    n_epochs: int


class Engine(Protocol):
    """W and z, both 0 at first, and the loops over them.

    Attributes
    ----------
    norms : ndarray of shape (n,), float64
        q_i = ||x_i||^2, the appended feature included.
    negligible : float
        Which examples the shrunk loops leave to the full ones (sequential_dual.py).
    """

    norms: NDArray[np.float64]
    negligible: float

    @property
    def n_weights(self) -> int:
        """Numbers of W that are held."""

    @property
    def n_duals(self) -> int:
        """Numbers of z that are not 0."""

    def constant_loss(self) -> float:
        """Return D(0): the loss of the examples with x_i = 0. W and z must be 0."""

    def effort(self, extent: Extent) -> int:
        """Return how many scores the shrunk loops of an epoch may compute."""

    def full_loop(self, rows: Rows, active: Rows, min_gap: float, seed: int) -> _core.SweepResult:
        """Visit rows over all classes; write those that still move to `active`."""

    def shrunk_loops(
        self, active: Rows, n_active: int, goal: _core.ShrunkGoal, seed: int
    ) -> _core.ShrunkResult:
        """Visit the active rows over their non-zero z until the goal is met."""

    def rebuild(self) -> float:
        """W <- W(z); return an upper bound of the distance that rounding leaves."""

    def certify(self, rounding: float) -> Certificate:
        """Compute P at W and D at z; `rounding` bounds ||W - W(z)||, as ``rebuild`` does."""

    def load(self, z: CsrArray) -> None:
        """Take over z, shape (n, k), 0 where x_i = 0."""

    def duals(self) -> CsrArray:
        """Return z, shape (n, k)."""

    def weights(self) -> Weights:
        """Return W, a copy of shape (d + 1, k)."""

    def release(self) -> Weights:
        """Return W, shape (d + 1, k), in the engine's memory; the engine has none afterwards."""

    def stop(self) -> None:
        """End the loop that another thread runs, between two visits."""


class DenseEngine:
    """W with a row for each feature, padded; z in lists or, of few classes, in lanes.

    Parameters
    ----------
    problem : Problem
    n_jobs : int, default=1
        Threads of the certificate and of the Newton phase.
    lanes : bool, default=True
        Whether z may be held in lanes.
    """

    negligible: float = NEGLIGIBLE

    def __init__(self, problem: Problem, n_jobs: int = 1, *, lanes: bool = True) -> None:
        data = problem.dataset
        self.problem, self.n_jobs = problem, n_jobs
        self.n, self.k, self.d = data.n_examples, data.n_classes, data.n_features
        self.has_lanes = lanes and in_lanes(problem)
        self._apart = mean_apart(problem)
        self._effort = SHRUNK_EFFORT * (1 + in_lanes(problem))
        trainer_of, duals_of = core_classes(problem, lanes=lanes)
        self.core = core_problem(problem)
        self.trainer: _core.Trainer64 | _core.RowTrainer64 = trainer_of(self.core)
        self.z = duals_of(self.n, self.k)
        self._buffer, self.W = self._allocated()
        self.norms = _checked(self.core.squared_norms())

    @property
    def n_weights(self) -> int:
        """Numbers of W that are held."""
        return (self.d + 1) * self.k

    @property
    def n_duals(self) -> int:
        """Numbers of z that are not 0."""
        return int(self.z.count)

    def new_weights(self) -> Array:
        """Return zeros laid out like W."""
        return self._allocated()[1]

    def constant_loss(self) -> float:
        """Return D(0): the loss of the examples with x_i = 0. W and z must be 0."""
        look = self.trainer.inspect
        at = np.flatnonzero(self.norms == 0).tolist()
        return float(sum(look(self.W, self.z, NO_COMMON, 0.0, i, i + 1).loss for i in at))

    def effort(self, extent: Extent) -> int:
        """Return how many scores the shrunk loops of an epoch may compute."""
        long_run = max(1.0, extent.n_epochs / LONG_RUN)
        return int(self._effort * long_run * extent.n_rows * self.k)

    def full_loop(self, rows: Rows, active: Rows, min_gap: float, seed: int) -> _core.SweepResult:
        """Visit rows over all classes; write those that still move to `active`."""
        found: _core.SweepResult = self.trainer.full_loop(
            self.W, self.z, rows, active, min_gap, seed
        )
        return found

    def shrunk_loops(
        self, active: Rows, n_active: int, goal: _core.ShrunkGoal, seed: int
    ) -> _core.ShrunkResult:
        """Visit the active rows over their non-zero z until the goal is met."""
        found: _core.ShrunkResult = self.trainer.shrunk_loops(
            self.W, self.z, active, n_active, goal, seed
        )
        return found

    def rebuild(self) -> float:
        """W <- W(z); return an upper bound of the distance that rounding leaves."""
        common = NO_COMMON
        if self.problem.formulation.centred:
            sigma = np.zeros(self.n)
            self.trainer.row_sums(self.z, np.arange(self.n, dtype=np.int32), sigma)
            common = self.core.sum_of_rows(sigma / self.k)
        return float(self.trainer.rebuild(self.W, self.z, common))

    def certify(self, rounding: float) -> Certificate:
        """Compute P at W and D at z; `rounding` bounds ||W - W(z)||, as ``rebuild`` does."""
        return self.certify_at(self.W, rounding)

    def certify_near(self, W: Array, rounding: float) -> Certificate:
        """Compute P at another W and D at z; `rounding` is that of the engine's W.

        Where W is to sum to zero over the classes, its mean is subtracted.
        """
        if self.problem.formulation.centred:
            subtract_means(W, self.k)
        return self.certify_at(W, distance(W, self.W, self.k) + rounding)

    def certify_at(self, W: Array, distance: float) -> Certificate:
        """Compute P at some W and D at z; `distance` is an upper bound of ||W - W(z)||.

        Where W is to sum to zero, what rounding leaves of its mean is subtracted first. Of two
        classes, the estimator keeps the difference.
        """
        by_feature = self._by_feature(W)
        if self.k == 2 and not self.problem.formulation.is_separable:
            distance += antisymmetric(by_feature)
        at = as_returned(self.problem, by_feature)
        norm = at.norm(self.k)

        def inspect(part: tuple[int, int]) -> _core.GapSums:
            return self.trainer.inspect(W, self.z, at.common, norm, *part)

        found = list(_map(inspect, list(self._ranges()), self.n_jobs))
        return certificate_of(self.problem, at, found, distance)

    def load(self, z: CsrArray) -> None:
        """Take over z, shape (n, k), 0 where x_i = 0."""
        self.z.from_csr(*_csr_arrays(z, self.problem.dataset.dtype))

    def duals(self) -> CsrArray:
        """Return z, shape (n, k)."""
        indptr, labels, values = self.z.to_csr()
        return sp.csr_array((values, labels, indptr), shape=(self.n, self.k))

    def squared_norm(self) -> float:
        """Return ||W||^2."""
        return squared_norm(self.W, self.k, apart=self._apart)

    def weights(self) -> Array:
        """Return W, a copy of shape (d + 1, k)."""
        return self.matrix(self.W)

    def matrix(self, W: Array) -> Array:
        """Return some W, laid out like the engine's, as a copy of shape (d + 1, k)."""
        return classes_of(W, self.k, apart=self._apart).copy()

    def take(self, W: Array) -> None:
        """Set W to another one."""
        np.copyto(self.W, W)

    def release(self) -> Array:
        """Return W, shape (d + 1, k), packed where it lies; the engine has none afterwards."""
        packed = pack(self._buffer, self.W, self.k, apart=self._apart)
        self.W = self._buffer = np.empty((0, 0), packed.dtype)
        # No array but `packed` still refers to the memory that is given back.
        packed.resize((self.d + 1) * self.k, refcheck=False)
        return packed.reshape(self.d + 1, self.k)

    def stop(self) -> None:
        """End the loop that another thread runs, between two visits."""
        self.core.stop()

    def _allocated(self) -> tuple[Array, Array]:
        """Return zeros for W: the memory, and W in it."""
        return allocate_weights(self.d + 1, self.k + self._apart, self.problem.dataset.dtype)

    def _by_feature(self, W: Array) -> Array:
        """Return W with a row for each feature, on the same memory."""
        return W

    def _ranges(self) -> Iterator[tuple[int, int]]:
        size = min(rows_per_call(self.problem), -(-self.n // self.n_jobs))
        return ((begin, min(begin + size, self.n)) for begin in range(0, self.n, size))


class ClassMajorEngine(DenseEngine):
    """W with a row for each class, padded to whole blocks, for dense rows, in batches.

    The scores of a batch of examples are a matrix product, and what its visits change is added to W
    by another (batched_visits.hpp). Shrunk loops visit single examples; a score is one contiguous
    dot product. For every formulation but one-vs-rest, whose groups of classes are separate.
    """

    negligible = NEGLIGIBLE_BY_CLASS

    def __init__(self, problem: Problem, n_jobs: int = 1) -> None:
        data = problem.dataset
        self.problem, self.n_jobs = problem, n_jobs
        self.n, self.k, self.d = data.n_examples, data.n_classes, data.n_features
        self.has_lanes, self._apart, self._effort = False, False, SHRUNK_EFFORT_BY_CLASS
        self.core = core_problem(problem)
        trainer = core_class("RowTrainer", data.dtype)(self.core)
        trainer.use_threads(n_jobs)
        self.trainer = trainer
        self.z = core_class("Duals", data.dtype)(self.n, self.k)
        self._buffer, self.W = self._allocated()
        self.norms = _checked(self.core.squared_norms())

    def matrix(self, W: Array) -> Array:
        """Return some W, laid out like the engine's, as a copy of shape (d + 1, k)."""
        return self._by_feature(W).copy(order="F")

    def release(self) -> Array:
        """Return W, shape (d + 1, k), in the engine's memory; the engine has none afterwards."""
        W = self._by_feature(self.W)
        self.W = self._buffer = np.empty((0, 0), W.dtype)
        return W

    def _allocated(self) -> tuple[Array, Array]:
        return allocate_weights(self.k, self.d + 1, self.problem.dataset.dtype)

    def _by_feature(self, W: Array) -> Array:
        return W.T[: self.d + 1]


class TableEngine:
    """W in hash tables, class -> weight, one per feature: for very many classes.

    For Crammer-Singer and Weston-Watkins. Tables (hash_tables.hpp) are cut into shards of classes,
    one for each thread; classes are held in random order, so that the shards fill evenly. Of the
    classes that violate an example's conditions, only the most violating enter its list in one
    visit (sharded_kernels.hpp). The certificate is the same as with dense W: it takes a loop over
    all examples and classes.

    Parameters
    ----------
    problem : Problem
    rng : numpy.random.Generator
        Orders the classes.
    n_jobs : int, default=1
        Threads.
    """

    negligible: float = NEGLIGIBLE

    def __init__(self, problem: Problem, rng: np.random.Generator, n_jobs: int = 1) -> None:
        data = problem.dataset
        self.problem = problem
        self.n, self.k = data.n_examples, data.n_classes
        self._order = rng.permutation(self.k).astype(np.int32)
        inner = replace(problem, dataset=replace(data, labels=inverse(self._order)[data.labels]))
        self.W = core_class("ShardedWeights", data.dtype).zeros(
            n_rows=data.n_features + 1,
            n_classes=self.k,
            n_shards=min(n_jobs, cpu_count(), self.k),  # more would only wait
            dense_from=dense_from(problem),
        )
        self.core = core_problem(inner)
        self.trainer = core_class("ShardedTrainer", data.dtype)(self.core)
        self.z = core_class("Duals", data.dtype)(self.n, self.k)
        self.norms = _checked(self.core.squared_norms())

    @property
    def n_weights(self) -> int:
        """Numbers of W that are held."""
        return int(self.W.n_slots)

    @property
    def n_duals(self) -> int:
        """Numbers of z that are not 0."""
        return int(self.z.count)

    def constant_loss(self) -> float:
        """Return D(0): every margin of an example with x_i = 0 loses 1."""
        losses = 1 if self.problem.formulation.takes_maximum else self.k - 1
        empty = np.flatnonzero(self.norms == 0)
        return float(self.problem.costs[empty].sum()) * losses

    def effort(self, extent: Extent) -> int:
        """Return how many scores the shrunk loops of an epoch may compute."""
        return SHRUNK_LOOPS * (self.n_duals + extent.n_active)

    def full_loop(self, rows: Rows, active: Rows, min_gap: float, seed: int) -> _core.SweepResult:
        """Visit rows over all classes; write those that still move to `active`."""
        return self.trainer.full_loop(self.W, self.z, rows, active, min_gap, seed)

    def shrunk_loops(
        self, active: Rows, n_active: int, goal: _core.ShrunkGoal, seed: int
    ) -> _core.ShrunkResult:
        """Visit the active rows over their non-zero z until the goal is met."""
        return self.trainer.shrunk_loops(self.W, self.z, active, n_active, goal, seed)

    def rebuild(self) -> float:
        """W <- W(z); return an upper bound of the distance that rounding leaves."""
        return float(self.trainer.rebuild(self.W, self.z))

    def certify(self, rounding: float) -> Certificate:
        """Compute P at W and D at z; `rounding` bounds ||W - W(z)||, as ``rebuild`` does."""
        held = self.W.squared_norm(), self.W.intercepts()
        at = Returned(NO_COMMON, *returned_square(*held, self.problem.dataset.bias))
        found = self.trainer.inspect(self.W, self.z, at.norm(self.k), 0, self.n)
        return certificate_of(self.problem, at, [found], rounding)

    def load(self, z: CsrArray) -> None:
        """Take over z, shape (n, k), 0 where x_i = 0."""
        places = inverse(self._order)[z.indices]
        held = sp.csr_array((z.data, places, z.indptr), shape=z.shape)
        self.z.from_csr(*_csr_arrays(held, self.problem.dataset.dtype))

    def duals(self) -> CsrArray:
        """Return z, shape (n, k)."""
        indptr, labels, values = self.z.to_csr()
        return csr_on(values, self._order[labels], indptr, (self.n, self.k))

    def weights(self) -> CsrArray:
        """Return W, a copy of shape (d + 1, k)."""
        indptr, labels, values = self.W.to_csr(self._order)
        return csr_on(values, labels, indptr, (self.problem.dataset.n_features + 1, self.k))

    def release(self) -> CsrArray:
        """Return W, shape (d + 1, k); the engine has none afterwards."""
        W = self.weights()
        self.W.clear()
        return W

    def stop(self) -> None:
        """End the loop that another thread runs, between two visits."""
        self.core.stop()


def engine_for(
    problem: Problem, rng: np.random.Generator, n_jobs: int, storage: Storage | None = None
) -> Engine:
    """Return the engine of a storage: by class where dense rows are visited in batches, else dense.

    Parameters
    ----------
    problem : Problem
    rng : numpy.random.Generator
        Orders the classes in tables.
    n_jobs : int
        Threads.
    storage : {"dense", "class_major", "tables"}, default=None
        None chooses between the first two.
    """
    if storage == "tables":
        return TableEngine(problem, rng, n_jobs)
    by_class = in_batches(problem) if storage is None else storage == "class_major"
    return ClassMajorEngine(problem, n_jobs) if by_class else DenseEngine(problem, n_jobs)


def _checked(norms: NDArray[np.float64]) -> NDArray[np.float64]:
    check_squared_norms(norms)
    return norms


def _csr_arrays(z: CsrArray, dtype: DType) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]:
    """Return z as the core takes it."""
    return z.indptr.astype(np.int64), z.indices.astype(np.int32), z.data.astype(dtype)


def of_examples(z: CsrArray, some: NDArray[np.bool_]) -> CsrArray:
    """Return z of some examples, without zeros; 0 for the others."""
    kept = sp.csr_array(sp.diags_array(some.astype(z.dtype)) @ z)
    kept.eliminate_zeros()
    return kept


def _map(
    call: Callable[[tuple[int, int]], _core.GapSums], parts: list[tuple[int, int]], n_jobs: int
) -> Iterator[_core.GapSums]:
    if n_jobs == 1:
        yield from map(call, parts)
        return
    with ThreadPoolExecutor(n_jobs) as threads:
        yield from threads.map(call, parts)
