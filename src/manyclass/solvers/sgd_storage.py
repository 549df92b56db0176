"""Storage of W in the stochastic solver: sums in dense arrays or hash tables, and their choice."""

from __future__ import annotations

import math
from typing import Protocol, Self

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.solution import Weights
from manyclass.solvers.weights.storage import (
    ELEMENTS_AT_A_TIME,
    LARGE_SHARE,
    Choice,
    Kind,
    Shape,
    allocate_weights,
    pack,
    size_text,
    squared_norm,
)
from manyclass.solvers.weights.tables import TableAccumulator, clock_factor
from manyclass.utils.machine import available_memory
from manyclass.utils.types import Array, Settings

# Number of classes from which hinge and perceptron are faster with sparse weights.
MANY_CLASSES = 2000


def check_weights(loss: str, wanted: str) -> None:
    """Refuse sparse weights for a loss whose steps change the weights of all classes.

    Raises
    ------
    ValueError
    """
    if loss == "log_loss" and wanted == "sparse":
        raise ValueError(
            "weights='sparse' cannot be combined with loss='log_loss', which changes the weights "
            "of all classes in every step; use weights='auto', or loss='hinge' or 'perceptron'"
        )


def choose_sums(
    shape: Shape, loss: str, wanted: str, *, averages: bool, is_sparse: bool, batch_size: int
) -> Choice:
    """Choose the storage of W.

    Parameters
    ----------
    shape : Shape
    loss : {"hinge", "log_loss", "perceptron"}
    wanted : {"auto", "dense", "sparse"}
        Requested storage; "sparse" is not for log_loss (``check_weights``).
    averages : bool
        Whether there is a second array of the size of W.
    is_sparse : bool
        Whether rows share few features.
    batch_size : int
        Rows in a batch; log_loss stores the scores of the batch.

    Returns
    -------
    Choice

    Raises
    ------
    MemoryError
        If dense weights are required and do not fit.
    """
    rows = (1 + averages) * (shape.n_features + 1) + (batch_size if loss == "log_loss" else 0)
    dense = rows * shape.n_classes * shape.dtype.itemsize
    memory = available_memory()
    may = loss != "log_loss" and wanted != "dense"
    many = is_sparse and shape.n_classes > MANY_CLASSES
    better = many or dense > LARGE_SHARE * memory
    kind: Kind = "sparse" if may and (wanted == "sparse" or better) else "dense"
    if kind == "dense" and dense > memory:
        advice = "use float32, fewer features (hashing, selection) or fewer classes"
        words = f"dense weights for {shape.n_features} features and {shape.n_classes} classes"
        if loss == "log_loss":
            words += f", and the scores of a batch of {batch_size},"
        else:
            advice = "use weights='sparse'"
        raise MemoryError(
            f"{words} need {size_text(dense)}; there are {size_text(memory)}. Advice: {advice}"
        )
    return Choice(kind, dense, None)


def new_sums(shape: Shape, choice: Choice, *, averages: bool, n_jobs: int) -> Sums:
    """Return S = 0 and, for averages, U = 0."""
    if choice.kind == "dense":
        return DenseAccumulator(shape, averages=averages)
    spacious = choice.dense_bytes < LARGE_SHARE * available_memory()
    n_shards = min(n_jobs, cpu_count())  # more threads would only wait
    return TableAccumulator(shape, averages=averages, n_shards=n_shards, spacious=spacious)


class Sums(Protocol):
    """S and, for averages, U."""

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
        """Return a copy of W, shape (d + 1, k)."""

    def finish(self, clock: _core.StochasticClock) -> Weights:
        """Return W, shape (d + 1, k), in the memory of S, which must not be used afterwards."""

    def load(self, weights: Weights, factor: float) -> Self:
        """Set S = factor W and U = 0."""

    def columns(self) -> tuple[Weights, Weights | None]:
        """Return S and, for averages, U, shape (d + 1, k)."""

    def take(self, columns: tuple[Weights, Weights | None], places: NDArray[np.int64]) -> None:
        """Copy the columns of other sums to these positions; the other columns stay 0."""

    def largest(self) -> float:
        """Return a bound of the norms ||S_c|| of the columns."""


class DenseAccumulator:
    """S and U as dense weights in the layout of the kernels (weights/storage.py)."""

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
        packed = pack(self._buffer, self._sum, k)
        # A view of the part that holds W; the rest is released.
        del self._sum
        W = packed[: rows * k].reshape(rows, k)
        W *= clock_factor(clock)
        return W

    def load(self, weights: Weights, factor: float) -> Self:
        """Set S = factor W and U = 0."""
        k = self.shape.n_classes
        step = max(1, ELEMENTS_AT_A_TIME // k)
        for begin in range(0, len(self._sum), step):
            part = weights[begin : begin + step]
            dense = part if isinstance(part, np.ndarray) else part.toarray()
            np.multiply(dense, factor, out=self._sum[begin : begin + step, :k])
        if self._average is not None:
            self._average[:] = 0
        return self

    def columns(self) -> tuple[Array, Array | None]:
        """Return S and, for averages, U, as views without padding."""
        k = self.shape.n_classes
        average = None if self._average is None else self._average[:, :k]
        return self._sum[:, :k], average

    def take(self, columns: tuple[Weights, Weights | None], places: NDArray[np.int64]) -> None:
        """Copy the columns of other sums to these positions; the other columns stay 0."""
        for own, other in zip((self._sum, self._average), columns, strict=True):
            if own is None or other is None:
                continue
            step = max(1, ELEMENTS_AT_A_TIME // self.shape.n_classes)
            for begin in range(0, len(own), step):
                part = other[begin : begin + step]
                dense = part if isinstance(part, np.ndarray) else part.toarray()
                own[begin : begin + step, places] = dense

    def largest(self) -> float:
        """Return a bound of the norms ||S_c|| of the columns."""
        return math.sqrt(squared_norm(self._sum[:, : self.shape.n_classes]))

    def _zeros(self) -> tuple[Array, Array]:
        shape = self.shape
        return allocate_weights(shape.n_features + 1, shape.n_classes, shape.dtype)

    def __getstate__(self) -> Settings:
        """Return the state without padding, as copies must be aligned again."""
        S, U = self.columns()
        return {"shape": self.shape, "sum": S, "average": U}

    def __setstate__(self, state: Settings) -> None:
        """Undo ``__getstate__``."""
        S, U = state["sum"], state["average"]
        self.shape = state["shape"]
        self._buffer, self._sum = self._zeros()
        self._average = None if U is None else self._zeros()[1]
        self.take((S, U), np.arange(self.shape.n_classes))
