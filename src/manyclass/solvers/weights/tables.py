"""W in hash tables, one per feature: sums for stochastic training, export as CSR."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.dataset import csr_on
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Weights
from manyclass.solvers.weights.storage import Shape, sparse_bytes
from manyclass.utils.machine import available_memory, core_class
from manyclass.utils.types import CsrArray, Settings

# A dense row replaces a table with a slot for every FAST classes, or, if the weights may need more
# than SPACIOUS of the memory, for every SMALL classes (measured on wordnet: 2 and 4 take a quarter
# more time than 8; on a corpus like LSHTC-large 2 takes a tenth more time and a fifth less memory).
FAST, SMALL = 8, 2
SPACIOUS = 0.1


def dense_from(problem: Problem, n_parts: int = 1) -> int:
    """Return the number of classes per slot from which a dense row is used (hash_tables.hpp).

    Tables hold 1 / ``n_parts`` of the classes.
    """
    expected = (sparse_bytes(problem) or 0) // n_parts
    return FAST if expected < SPACIOUS * available_memory() else SMALL


def inverse(names: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the inverse of a permutation of the classes."""
    places = np.empty_like(names)
    places[names] = np.arange(len(names), dtype=np.int32)
    return places


class TableAccumulator:
    """S and U as one table per feature, class -> number (hash_tables.hpp).

    The classes are stored in random order, so that tables fill evenly.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        averages: bool,
        n_shards: int,
        spacious: bool,
    ) -> None:
        self.shape = shape
        self._names = np.random.default_rng(0).permutation(shape.n_classes).astype(np.int32)
        self._n_shards = min(n_shards, shape.n_classes)
        self._dense_from = FAST if spacious else SMALL
        self._sum = self._zeros()
        self._average = self._zeros() if averages else None

    def places_of(self, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the labels in the numbering of these tables."""
        return inverse(self._names)[labels]

    def steps(
        self,
        trainer: _core.StochasticTrainer64,
        clock: _core.StochasticClock,
        passage: _core.Passage,
        rows: NDArray[np.int32],
    ) -> float:
        """Make the steps of some rows, with labels from ``places_of``."""
        return float(trainer.table_steps(self._sum, self._average, clock, passage, rows))

    def weights(self, clock: _core.StochasticClock) -> CsrArray:
        """Return W, shape (d + 1, k)."""
        W = self._matrix(self._sum)
        if self._average is not None and clock.average_weight:
            W *= clock.average_steps
            W = sp.csr_array(W - self._matrix(self._average))
        W.data *= clock_factor(clock)
        return W

    def finish(self, clock: _core.StochasticClock) -> CsrArray:
        """Return W, shape (d + 1, k); S must not be used afterwards."""
        W = self.weights(clock)
        self._sum.clear()
        self._average = None
        return W

    def load(self, weights: Weights, factor: float) -> Self:
        """S <- factor W, U <- 0."""
        W = sp.csr_array(weights)
        self._fill(self._sum, W, factor)
        if self._average is not None:
            self._average.clear()
        return self

    def columns(self) -> tuple[CsrArray, CsrArray | None]:
        """Return S and, for averages, U, as matrices."""
        average = None if self._average is None else self._matrix(self._average)
        return self._matrix(self._sum), average

    def take(self, columns: tuple[Weights, Weights | None], places: NDArray[np.int64]) -> None:
        """Copy the columns of other sums to these places; the others stay 0."""
        shape = (self.shape.n_features + 1, self.shape.n_classes)
        for own, other in zip((self._sum, self._average), columns, strict=True):
            if own is not None and other is not None:
                given = sp.csr_array(other)
                moved = places[given.indices].astype(np.int32)
                self._fill(own, csr_on(given.data, moved, given.indptr, shape))

    def largest(self) -> float:
        """Return a bound of the columns' norms ||S_c||."""
        return math.sqrt(self._sum.squared_norm())

    def _zeros(self) -> _core.ShardedWeights64:
        shape = self.shape
        return core_class("ShardedWeights", shape.dtype).zeros(
            n_rows=shape.n_features + 1,
            n_classes=shape.n_classes,
            n_shards=self._n_shards,
            dense_from=self._dense_from,
        )

    def _fill(self, tables: _core.ShardedWeights64, W: CsrArray, factor: float = 1) -> None:
        if not W.has_canonical_format:
            W = W.copy()
            W.sum_duplicates()
        tables.load_csr(
            W.indptr.astype(np.int64),
            W.indices.astype(np.int32),
            np.asarray(W.data * factor, self.shape.dtype),
            inverse(self._names),
        )

    def _matrix(self, tables: _core.ShardedWeights64) -> CsrArray:
        indptr, labels, values = tables.to_csr(self._names)
        shape = (self.shape.n_features + 1, self.shape.n_classes)
        return csr_on(values, labels, indptr, shape)

    def __getstate__(self) -> Settings:
        """Turn tables into matrices."""
        own = {name: v for name, v in self.__dict__.items() if name not in ("_sum", "_average")}
        return {**own, "columns": self.columns()}

    def __setstate__(self, state: Settings) -> None:
        """Undo ``__getstate__``."""
        columns = state.pop("columns")
        self.__dict__.update(state)
        self._sum = self._zeros()
        self._average = None if columns[1] is None else self._zeros()
        self.take(columns, np.arange(self.shape.n_classes))


def clock_factor(clock: _core.StochasticClock) -> float:
    """Return the factor in W = factor S, or W = factor (A S - U)."""
    weight = clock.average_weight or clock.seen
    return 1 / (clock.alpha * weight) if weight else 0.0
