"""W and v = log u of multinomial logistic regression, and the passes over the examples.

``PrimalEngine`` has only W, and rows in one or several parts; ``LogisticEngine`` also has v.

Conventions
-----------
W is padded to whole blocks: a row for each feature, with the appended one last, or, if dense rows
are visited in batches, a row for each class (logistic/layouts.hpp). v has the shape (n, padded k);
formulas: logistic/kernels.hpp.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.special
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.dataset import SHARE_OF_MEMORY, exceeds_memory
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.rows.logistic_sums import LogisticRows
from manyclass.rows.parts import OnePart, Parts
from manyclass.rows.questions import SmoothLossSums
from manyclass.solvers.logistic.weight_arrays import WeightArrays
from manyclass.solvers.weights.storage import BLOCK_BYTES, allocate_weights
from manyclass.utils.machine import available_memory
from manyclass.utils.types import Array

NO_LOG = -1000  # v in the padding after the classes, as in the kernels
DOUBLE = np.dtype(np.float64)
NONE = np.empty(0)
INTERCEPT_STEPS = 5  # steps towards the best intercepts at W = 0
MOST_FACTORIZED = 1024  # features and classes, for eigendecompositions of the curvature


@dataclass(frozen=True, slots=True, eq=False)
class ClassShift:
    """Shares of u that classes lose, and shares by which these are distributed."""

    leaves: NDArray[np.float64]
    enters: NDArray[np.float64]


NO_SHIFT = ClassShift(NONE, NONE)


class GapTerms(NamedTuple):
    """Sums over the examples (logistic/kernels.hpp)."""

    loss: float
    gap: float
    loss_error: float
    moved_by_features: float
    moved_by_bias: float


class PrimalEngine(WeightArrays):
    """W, 0 at first, and the sums over rows for Newton's method and certificates.

    Parameters
    ----------
    problem : Problem
        Problem of one of the parts.
    parts : Parts
    regularize_intercept : bool

    Attributes
    ----------
    n_examples, n_values : int
        Numbers of rows, and of values of X, of all parts.
    total_cost : float
        sum_i C_i
    class_costs : ndarray of shape (k,)
        sum_i C_i e_{y_i}
    is_free : bool
        Whether there are intercepts that are not regularized.
    most_factorized : int
        Largest number of features and classes for an eigendecomposition of the curvature.
    factorizes_samples : bool
        Whether the Hessian of some rows may be a preconditioner.
    W : ndarray

    Raises
    ------
    MemoryError
        If W and the other arrays of training do not fit into memory.
    """

    most_factorized = MOST_FACTORIZED
    factorizes_samples = True

    def __init__(self, problem: Problem, parts: Parts, *, regularize_intercept: bool) -> None:
        data = problem.dataset
        check_memory(problem)
        self.problem, self.parts = problem, parts
        self.regularize_intercept = regularize_intercept
        self.is_free = bool(data.bias) and not regularize_intercept
        sizes, costs = np.zeros(2, np.int64), np.zeros(1 + data.n_classes)
        parts.add(SmoothLossSums.count, (), (sizes, costs))
        self.n_examples, self.n_values = (int(size) for size in sizes)
        self.total_cost, self.class_costs = float(costs[0]), costs[1:]
        self.class_major = self.is_class_major()
        self.W = self.new_weights()
        self._zero_objective: float | None = None

    @property
    def zero_objective(self) -> float:
        """P(0), with the best intercepts if they are not regularized; a collective operation.

        Not a ``cached_property``: up to Python 3.11, all its instances share one lock, and a rank
        that is a thread would hold it while waiting for the others.
        """
        if self._zero_objective is None:
            self._zero_objective = self._primal_at_zero()
        return self._zero_objective

    def _primal_at_zero(self) -> float:
        """Compute P(0).

        Without base scores, the best intercepts are log(N_c), with N_c the sum of the costs of
        class c. With base scores, some steps b_c += log(N_c / sum_i C_i p_ic) decrease P towards
        its minimum (Darroch, Ratcliff 1972).
        """
        if self.problem.base is None:
            if not self.is_free:
                return self.total_cost * float(np.log(self.problem.dataset.n_classes))
            shares = self.class_costs / self.total_cost
            return self.broadcast_number(float(self.total_cost * scipy.special.entr(shares).sum()))
        W = self.new_weights()
        primal, gradient = self.gradient(W)
        for _ in range(INTERCEPT_STEPS * self.is_free):
            given = self.class_costs + self.host(self.bias(gradient)) / self.problem.dataset.bias
            with np.errstate(divide="ignore", invalid="ignore"):
                steps = np.log(self.class_costs / given)
            if not np.isfinite(steps).all():
                break
            self.bias(W)[:] += self.placed(steps / self.problem.dataset.bias)
            lower, gradient = self.gradient(W)
            if not lower < primal:
                break
            primal = lower
        return primal

    def primal_at_origin(self) -> float:
        """Return P at W = 0 with intercepts 0."""
        if self.problem.base is None:
            return self.total_cost * float(np.log(self.problem.dataset.n_classes))
        return self.gradient(self.new_weights())[0]

    def dot(self, a: Array, b: Array) -> float:
        """Return the inner product of two arrays like W, the same in all processes."""
        return self.broadcast_number(self.inner(a, b))

    def centre(self, W: Array) -> None:
        """Subtract the mean over the classes; the norm decreases, probabilities stay."""
        of_classes = self.matrix(W)
        of_classes -= of_classes.mean(axis=1, keepdims=True)

    @contextmanager
    def regularized(self, W: Array) -> Iterator[Array]:
        """Yield W with free intercepts temporarily replaced by zeros."""
        if not self.is_free:
            yield W
            return
        kept = self.bias(W) + 0
        try:
            self.bias(W)[:] = 0
            yield W
        finally:
            self.bias(W)[:] = kept

    def weights(self) -> Array:
        """Return W, a copy of shape (d + 1, k) in its own layout.

        Unregularized intercepts are determined up to a constant; it is chosen so that their mean is
        0.
        """
        W = self.matrix(self.W).copy(order="K")
        if self.is_free:
            W[-1] -= W[-1].mean()
        return W

    # Passes over the examples

    def load(self, start: Start) -> None:
        """Set W."""
        self.matrix(self.W)[...] = start.weights

    def gradient(self, W: Array) -> tuple[float, Array]:
        """Return P at some W, and its gradient."""
        gradient, loss = self.new_weights(), np.zeros(1)
        self.parts.add(SmoothLossSums.gradient, (W, self.class_major), (gradient, loss))
        with self.regularized(W):
            gradient += W
            penalty = 0.5 * self.inner(W, W)
        return self.broadcast_number(float(loss[0]) + penalty), gradient

    def broadcast_number(self, number: float) -> float:
        """Return the number of the first process, so that all make the same decisions."""
        numbers = np.array([number])
        self.parts.broadcast(numbers)
        return float(numbers[0])

    def curvature(self, along: Array, out: Array) -> None:
        """Add the product of the losses' Hessian at W with a matrix like W."""
        self.parts.add(SmoothLossSums.curvature, (self.W, along, self.class_major), (out,))

    def inspect(
        self,
        wide: NDArray[np.float64],
        shift: ClassShift,
        sums: NDArray[np.float64],
        left: NDArray[np.float64],
    ) -> GapTerms:
        """Sum up the losses at a W in float64, and the terms of the gap at the u of its scores.

        W(u) and sum_i C_i (e_{y_i} - u_i) are added to the last two arrays, unless they are empty.
        """
        terms = np.zeros(len(GapTerms._fields))
        at = wide, self.largest(wide), shift.leaves, shift.enters, self.class_major
        self.parts.add(SmoothLossSums.inspect, at, (sums, left, terms))
        return GapTerms(*terms.tolist())

    def largest(self, wide: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest size of a weight of every feature, which bounds rounding."""
        W = self.matrix(wide)
        return np.asarray(np.maximum(W.max(axis=1), -W.min(axis=1)))


class LogisticEngine(PrimalEngine):
    """W and v, with W = 0 and u_i = e_{y_i} at first; all rows are in one part.

    Parameters
    ----------
    problem : Problem
    n_jobs : int, default=1
        Threads.
    regularize_intercept : bool
    keeps_duals : bool
        Whether there is a v.

    Attributes
    ----------
    log_u : ndarray or None
        v; None in the Newton phase.
    left : ndarray of shape (k,), or None
        sum_i C_i (e_{y_i} - u_i), if it must become 0.

    Raises
    ------
    MemoryError
        If W and the other arrays of training do not fit into memory.
    """

    def __init__(
        self,
        problem: Problem,
        n_jobs: int = 1,
        *,
        regularize_intercept: bool,
        keeps_duals: bool,
    ) -> None:
        rows = LogisticRows(problem, n_jobs)
        super().__init__(problem, OnePart(rows), regularize_intercept=regularize_intercept)
        self.trainer = rows.trainer
        self.log_u = new_log_u(problem) if keeps_duals else None
        self.restart()

    def load(self, start: Start) -> None:
        """Set W, and v or the softmax of the scores at W.

        If v was dropped before rows changed, Newton's method continues without it. If nothing has
        changed, W is kept, to be certified first.
        """
        self.hold(start)
        if start.log_u is None and (start.new_rows is not None or start.is_same):
            self.log_u = None
        if start.is_same:
            self.is_fresh = False
        if self.log_u is None or start.is_same:
            return
        if start.log_u is None:
            self.trainer.log_softmax(self.W, self.log_u, self.class_major)
        self.is_fresh = False
        self.rebuild(keeps_bias=self.is_free)
        # D <= P(0) - 1/2 ||W(u)||^2. If this is negative, u is worse than u_i = e_{y_i} with
        # D = 0; this happens if a class is added to rows with large norms.
        if 0.5 * _core.sum_of_squares(self.features(self.W)) > self.primal_at_origin():
            self.restart()

    def restart(self) -> None:
        """Reset to W = 0 and u_i = e_{y_i}."""
        self.W[...] = 0
        self.is_fresh = True
        self.left = np.zeros(self.problem.dataset.n_classes) if self.is_free else None

    def hold(self, start: Start) -> None:
        """Set W, and v if there is one, without changes."""
        super().load(start)
        if self.log_u is not None and start.log_u is not None:
            self.log_u[:] = NO_LOG
            self.log_u[:, : self.problem.dataset.n_classes] = start.log_u

    def visit(self, seed: int) -> _core.SweepResult:
        """Visit every example in turn; then update unregularized intercepts."""
        assert self.log_u is not None
        data = self.problem.dataset
        bias = self.bias(self.W)
        before = bias.astype(np.float64)
        found = self.trainer.visit(self.W, self.log_u, self.is_fresh, self.class_major, seed)
        self.is_fresh = False
        if self.left is not None:
            # Visits have added bias times the change of ``left``.
            self.left += (bias - before) / data.rounded_bias
            bias += (data.rounded_bias * self.left).astype(bias.dtype)
        return found

    def rebuild(self, *, keeps_bias: bool) -> NDArray[np.float64]:
        """Set W to W(u), rounded; return it in float64. With `keeps_bias`, keep intercepts."""
        sums = self.new_weights(DOUBLE)
        left = np.zeros(self.problem.dataset.n_classes) if keeps_bias else NONE
        self.dual_sums(NO_SHIFT, sums, left)
        kept = self.bias(self.W).copy()
        self.matrix(self.W)[...] = self.matrix(sums)
        if keeps_bias:
            self.bias(self.W)[:] = kept
            self.left = left
        return sums

    def dual_sums(
        self, shift: ClassShift, sums: NDArray[np.float64] | None, left: NDArray[np.float64]
    ) -> None:
        """Sum up W(u) of shifted u, and sum_i C_i (e_{y_i} - u_i)."""
        assert self.log_u is not None
        self.trainer.dual_sums(self.log_u, shift.leaves, shift.enters, sums, left, self.class_major)

    def inspect_duals(self, wide: NDArray[np.float64], shift: ClassShift) -> _core.LogisticSums:
        """Sum up the losses at a W in float64, and the terms of the gap at u = exp(v)."""
        at = wide, self.largest(wide), self.log_u, shift.leaves, shift.enters
        return self.trainer.inspect(*at, None, NONE, self.class_major)

    def inspect_held(self, shift: ClassShift) -> _core.LogisticSums:
        """Sum up the same at the stored W, with a row for each feature."""
        assert self.log_u is not None
        return self.trainer.inspect_held(self.W, self.log_u, shift.leaves, shift.enters)

    @contextmanager
    def returned_intercepts(self) -> Iterator[Array]:
        """Yield the intercepts of ``weights``, shape (k,), which W has temporarily."""
        bias = self.bias(self.W)
        kept = bias.copy()
        try:
            if self.is_free:
                bias -= bias.mean()
            yield bias
        finally:
            bias[:] = kept


def new_log_u(problem: Problem) -> Array:
    """Return an array for v."""
    data = problem.dataset
    return allocate_weights(data.n_examples, data.n_classes, data.dtype)[1]


def bytes_of_log_u(problem: Problem) -> int:
    """Return the size of v in bytes."""
    data = problem.dataset
    row = -(-data.n_classes * data.dtype.itemsize // BLOCK_BYTES) * BLOCK_BYTES
    return data.n_examples * row


def duals_fit(problem: Problem) -> bool:
    """Whether v, an n x k array, fits into the available memory next to W.

    False if X is memory-mapped and larger than the memory: visits in random order would read it
    page by page, whereas Newton's method makes sequential passes.
    """
    if exceeds_memory(problem.dataset):
        return False
    data = problem.dataset
    sums = 3 * 8 * (data.n_features + 1) * data.n_classes  # W, and the sums of a certificate
    return bytes_of_log_u(problem) + sums < SHARE_OF_MEMORY * available_memory()


def check_memory(problem: Problem) -> None:
    """Refuse a W if two float64 copies, which a certificate needs, do not fit into memory.

    Raises
    ------
    MemoryError
    """
    data = problem.dataset
    numbers = (data.n_features + 1) * data.n_classes
    needed, free = (data.dtype.itemsize + 2 * 8) * numbers, available_memory()
    if needed > free:
        raise MemoryError(
            f"W of {data.n_classes} x {data.n_features + 1} numbers, and what its certificate "
            f"adds up, need {needed / 1e9:.1f} GB; {free / 1e9:.1f} GB are free. Use fewer "
            "features (hashing, selection), fewer classes, or MulticlassSVC with weights='sparse'"
        )


def memory_of_duals(problem: Problem) -> str:
    """Describe the array that does not fit, v or X, its size, and the free memory."""
    if exceeds_memory(problem.dataset):
        data = problem.dataset
        size, free = data.values.nbytes + data.indices.nbytes, available_memory()
        return f"{size / 1e9:.1f} GB of X on disk; {free / 1e9:.1f} GB of memory are free"
    needed, free = bytes_of_log_u(problem), available_memory()
    return f"{needed / 1e9:.1f} GB of dual variables; {free / 1e9:.1f} GB are free"
