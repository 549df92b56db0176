"""S of the stochastic solver, and U behind its averages, dense or in tables.

The formulas are those of stochastic/kernels.hpp.

Conventions
-----------
S and U are of shape (d + 1, k), last row the appended feature's. W = S / (alpha T) or, once an
average has begun, (A S - U) / (alpha Z), with T (seen), A and Z in the clock.
"""

from __future__ import annotations

import math
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.solution import Weights
from manyclass.solvers.weights.dense import ELEMENTS_AT_A_TIME, allocate_weights, pack, squared_norm
from manyclass.solvers.weights.storage_choice import Shape
from manyclass.solvers.weights.tables import clock_factor
from manyclass.utils.types import Array, Settings


class Sums(Protocol):
    """S and, if averages are wanted, U."""

    shape: Shape

    def steps(
        self,
        trainer: _core.StochasticTrainer64,
        clock: _core.StochasticClock,
        passage: _core.Passage,
        rows: NDArray[np.int32],
    ) -> float:
        """Make the steps of some rows; return the sum of their losses, each before its step."""

    def weights(self, clock: _core.StochasticClock) -> Weights:
        """Return W, shape (d + 1, k), in memory of its own."""

    def finish(self, clock: _core.StochasticClock) -> Weights:
        """Return W like ``weights``, in the memory of S, which must not be used afterwards."""

    def load(self, weights: Weights, factor: float) -> Self:
        """S <- factor W, U <- 0."""

    def largest(self) -> float:
        """Return a bound of the columns' norms ||S_c||."""


class DenseAccumulator:
    """S and U as the kernels want dense weights (weights/dense.py)."""

    def __init__(self, shape: Shape, *, averages: bool) -> None:
        self.shape = shape
        self._buffer, self._sum = self._zeros()
        self._average = self._zeros()[1] if averages else None

    def steps(
        self,
        trainer: _core.StochasticTrainer64,
        clock: _core.StochasticClock,
        passage: _core.Passage,
        rows: NDArray[np.int32],
    ) -> float:
        """Make the steps of some rows."""
        return float(trainer.steps(self._sum, self._average, clock, passage, rows))

    def weights(self, clock: _core.StochasticClock) -> Array:
        """Return W, shape (d + 1, k)."""
        W = self._sum[:, : self.shape.n_classes].copy()
        if self._average is not None and clock.average_weight:
            W *= clock.average_steps
            W -= self._average[:, : self.shape.n_classes]
        W *= clock_factor(clock)
        return W

    def finish(self, clock: _core.StochasticClock) -> Array:
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
        W *= clock_factor(clock)
        return W

    def load(self, weights: Weights, factor: float) -> Self:
        """S <- factor W, U <- 0."""
        k = self.shape.n_classes
        step = max(1, ELEMENTS_AT_A_TIME // k)
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

    def _zeros(self) -> tuple[Array, Array]:
        shape = self.shape
        return allocate_weights(shape.n_features + 1, shape.n_classes, shape.dtype)

    def __getstate__(self) -> Settings:
        """Leave the padding out: copies must be aligned again."""
        k = self.shape.n_classes
        average = None if self._average is None else self._average[:, :k]
        return {"shape": self.shape, "sum": self._sum[:, :k], "average": average}

    def __setstate__(self, state: Settings) -> None:
        """Undo ``__getstate__``."""
        self.shape = state["shape"]
        k = self.shape.n_classes
        self._buffer, self._sum = self._zeros()
        self._sum[:, :k] = state["sum"]
        self._average = None
        if state["average"] is not None:
            self._average = self._zeros()[1]
            self._average[:, :k] = state["average"]
