"""S of the stochastic solver, and U behind its averages, dense or in tables (kernels.hpp).

Conventions
-----------
S and U are of shape (d + 1, k), last row the appended feature's. W = S / (alpha T) or, once an
average has begun, (A S - U) / (alpha Z), with T (seen), A and Z in the clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.solution import Weights
from manyclass.solvers.sparse_dual import FAST, SMALL, csr_on, inverse
from manyclass.solvers.weights import PART, allocate_weights, pack, squared_norm


@dataclass(frozen=True, slots=True)
class Shape:
    """What W is like: d features and the appended one, k classes."""

    n_features: int
    n_classes: int
    dtype: np.dtype[Any]

    @property
    def single(self) -> bool:
        """Whether numbers are float32."""
        return self.dtype == np.float32


class Sums(Protocol):
    """S and, if averages are wanted, U."""

    shape: Shape

    def steps(
        self, trainer: Any, clock: _core.StochasticClock, passage: Any, rows: NDArray[np.int32]
    ) -> float:
        """Make the steps of some rows; return the sum of their losses, each before its step."""

    def weights(self, clock: _core.StochasticClock) -> Weights:
        """Return W, shape (d + 1, k), in memory of its own."""

    def finish(self, clock: _core.StochasticClock) -> Weights:
        """Return W like ``weights``, in the memory of S where it can; S ends."""

    def load(self, weights: Weights, factor: float) -> Self:
        """S <- factor W, U <- 0."""

    def largest(self) -> float:
        """Return a bound of the columns' norms ||S_c||."""


class DenseSums:
    """S and U as the kernels want dense weights (solvers/weights.py)."""

    def __init__(self, shape: Shape, *, averages: bool) -> None:
        self.shape = shape
        self._buffer, self._sum = self._zeros()
        self._average = self._zeros()[1] if averages else None

    def steps(
        self, trainer: Any, clock: _core.StochasticClock, passage: Any, rows: NDArray[np.int32]
    ) -> float:
        """Make the steps of some rows."""
        return float(trainer.steps(self._sum, self._average, clock, passage, rows))

    def weights(self, clock: _core.StochasticClock) -> NDArray[Any]:
        """Return W, shape (d + 1, k)."""
        W = self._sum[:, : self.shape.n_classes].copy()
        if self._average is not None and clock.average_weight:
            W *= clock.average_steps
            W -= self._average[:, : self.shape.n_classes]
        W *= _factor(clock)
        return W

    def finish(self, clock: _core.StochasticClock) -> NDArray[Any]:
        """Return W, shape (d + 1, k), in the memory of S."""
        if self._average is not None and clock.average_weight:
            self._sum *= clock.average_steps
            self._sum -= self._average
            self._average = None
        rows, k = self.shape.n_features + 1, self.shape.n_classes
        packed = pack(self._buffer, self._sum, k, apart=False)
        # A view of the part that holds W; the rest is given back.
        del self._sum
        W = packed[: rows * k].reshape(rows, k)
        W *= _factor(clock)
        return W

    def load(self, weights: Weights, factor: float) -> Self:
        """S <- factor W, U <- 0."""
        k = self.shape.n_classes
        step = max(1, PART // k)
        for begin in range(0, len(self._sum), step):
            part = weights[begin : begin + step]
            dense = part if isinstance(part, np.ndarray) else part.toarray()
            np.multiply(dense, factor, out=self._sum[begin : begin + step, :k])
        if self._average is not None:
            self._average[:] = 0
        return self

    def largest(self) -> float:
        """Return a bound of the columns' norms ||S_c||."""
        return math.sqrt(squared_norm(self._sum, self.shape.n_classes, apart=False))

    def _zeros(self) -> tuple[NDArray[Any], NDArray[Any]]:
        shape = self.shape
        return allocate_weights(shape.n_features + 1, shape.n_classes, shape.dtype)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the padding out: copies must be aligned again."""
        k = self.shape.n_classes
        average = None if self._average is None else self._average[:, :k]
        return {"shape": self.shape, "sum": self._sum[:, :k], "average": average}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Undo ``__getstate__``."""
        self.shape = state["shape"]
        k = self.shape.n_classes
        self._buffer, self._sum = self._zeros()
        self._sum[:, :k] = state["sum"]
        self._average = None
        if state["average"] is not None:
            self._average = self._zeros()[1]
            self._average[:, :k] = state["average"]


class TableSums:
    """S and U as one table per feature, class -> number (hash_tables.hpp).

    The classes are held in random order, so that tables fill evenly.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        averages: bool,
        n_slices: int,
        spacious: bool,
    ) -> None:
        self.shape = shape
        self._names = np.random.default_rng(0).permutation(shape.n_classes).astype(np.int32)
        self._n_slices = min(n_slices, shape.n_classes)
        self._dense_from = FAST if spacious else SMALL
        self._sum = self._zeros()
        self._average = self._zeros() if averages else None

    def places_of(self, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the labels as these tables number them."""
        return inverse(self._names)[labels]

    def steps(
        self, trainer: Any, clock: _core.StochasticClock, passage: Any, rows: NDArray[np.int32]
    ) -> float:
        """Make the steps of some rows, whose labels are ``places_of`` the real ones."""
        return float(trainer.table_steps(self._sum, self._average, clock, passage, rows))

    def weights(self, clock: _core.StochasticClock) -> sp.csr_array[Any]:
        """Return W, shape (d + 1, k)."""
        W = self._matrix(self._sum)
        if self._average is not None and clock.average_weight:
            W *= clock.average_steps
            W = sp.csr_array(W - self._matrix(self._average))
        W.data *= _factor(clock)
        return W

    def finish(self, clock: _core.StochasticClock) -> sp.csr_array[Any]:
        """Return W, shape (d + 1, k); S ends."""
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

    def largest(self) -> float:
        """Return a bound of the columns' norms ||S_c||."""
        return math.sqrt(self._sum.squared_norm())

    def _zeros(self) -> Any:
        shape = self.shape
        tables = _core.WeightTables32 if shape.single else _core.WeightTables64
        return tables.zeros(
            n_rows=shape.n_features + 1,
            n_classes=shape.n_classes,
            n_slices=self._n_slices,
            dense_from=self._dense_from,
        )

    def _fill(self, tables: Any, W: sp.csr_array[Any], factor: float = 1) -> None:
        if not W.has_canonical_format:
            W = W.copy()
            W.sum_duplicates()
        tables.load_csr(
            W.indptr.astype(np.int64),
            W.indices.astype(np.int32),
            np.asarray(W.data * factor, self.shape.dtype),
            inverse(self._names),
        )

    def _matrix(self, tables: Any) -> sp.csr_array[Any]:
        indptr, labels, values = tables.to_csr(self._names)
        shape = (self.shape.n_features + 1, self.shape.n_classes)
        return csr_on(values, labels, indptr, shape)

    def __getstate__(self) -> dict[str, Any]:
        """Turn tables into matrices."""
        average = None if self._average is None else self._matrix(self._average)
        own = {name: v for name, v in self.__dict__.items() if name not in ("_sum", "_average")}
        return {**own, "sum": self._matrix(self._sum), "average": average}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Undo ``__getstate__``."""
        S, U = state.pop("sum"), state.pop("average")
        self.__dict__.update(state)
        self._sum = self._zeros()
        self._fill(self._sum, S)
        self._average = None
        if U is not None:
            self._average = self._zeros()
            self._fill(self._average, U)


def _factor(clock: _core.StochasticClock) -> float:
    """W = factor S, or factor (A S - U)."""
    weight = clock.average_weight or clock.seen
    return 1 / (clock.alpha * weight) if weight else 0.0
