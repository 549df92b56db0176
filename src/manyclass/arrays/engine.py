"""Engines of Newton's method for rows on devices of this process or of others."""

from __future__ import annotations

import numpy as np

from manyclass.arrays.namespace import to_numpy
from manyclass.arrays.parts import DeviceParts, problems_of_devices
from manyclass.arrays.smooth.sums import SmoothRows
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.rows.parts import OnePart, Parts
from manyclass.rows.questions import SquaredHingeTerms
from manyclass.solvers.logistic.engine import DOUBLE, PrimalEngine
from manyclass.utils.types import Array, DType


class SmoothEngine(PrimalEngine):
    """W as an ndarray, 0 at first, and parts on devices.

    The rows of the parts are ``SmoothRows`` or, of the squared hinge, ``SquaredHingeRows``.
    """

    factorizes_samples = False

    def is_class_major(self) -> bool:
        """Whether W has a row for each class: never on a device."""
        return False

    def _primal_at_zero(self) -> float:
        is_logistic = self.problem.loss == "log_loss"
        return super()._primal_at_zero() if is_logistic else self.primal_at_origin()

    def primal_at_origin(self) -> float:
        """Return P at W = 0 with intercepts 0."""
        if self.problem.loss == "log_loss":
            return super().primal_at_origin()
        total = np.zeros(1)
        self.parts.add(SquaredHingeTerms.at_zero, (), (total,))
        return float(total[0])

    def centre(self, W: Array) -> None:
        """Subtract the mean over the classes, unless the classes are independent."""
        if not self.problem.formulation.is_separable:
            super().centre(W)


class ArrayEngine(SmoothEngine):
    """W of shape (d + 1, k), 0 at first, on the device of X or of its first part.

    ``rows_of`` makes the rows of each device.
    """

    most_factorized = 4096

    def __init__(
        self,
        problem: Problem,
        *,
        regularize_intercept: bool,
        rows_of: type[SmoothRows] = SmoothRows,
    ) -> None:
        self.rows_of_parts = [rows_of(part) for part in problems_of_devices(problem)]
        first = self.rows_of_parts[0]
        self.place, self.xp, self._dtype = first.place, first.xp, first.dtype
        several = len(self.rows_of_parts) > 1
        parts: Parts = DeviceParts(self.rows_of_parts) if several else OnePart(first)
        super().__init__(problem, parts, regularize_intercept=regularize_intercept)

    def new_weights(self, dtype: DType | None = None) -> Array:
        """Return zeros like W on the device; in float64, for certificates, as an ndarray."""
        if dtype is DOUBLE:
            return super().new_weights(dtype)
        data = self.problem.dataset
        zeros: Array = self.place.zeros((data.n_features + 1, data.n_classes), self._dtype)
        return zeros

    def load(self, start: Start) -> None:
        """Set W."""
        self.W[...] = self.placed(np.asarray(start.weights))

    def weights(self) -> Array:
        """Return W, an ndarray; the mean of free intercepts is 0."""
        W = np.array(to_numpy(self.W), order="C")
        if self.is_free:
            W[-1] -= W[-1].mean()
        return W

    # Arithmetic

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """Return zeros in the type of sums."""
        zeros: Array = self.place.zeros(shape, self.place.wide)
        return zeros

    def eigh(self, matrix: Array) -> tuple[Array, Array]:
        """Return the eigenvalues, clipped at 0, and the eigenvectors."""
        if not bool(self.xp.all(self.xp.isfinite(matrix))):
            raise FloatingPointError(
                "the curvature overflows; scale the features to about one, or lower C"
            )
        if self.place.has_double:
            values, vectors = self.xp.linalg.eigh(matrix)
            return self.xp.clip(values, 0, None), vectors
        on_cpu = super().eigh(to_numpy(matrix).astype(np.float64))
        return self.place.asarray(on_cpu[0]), self.place.asarray(on_cpu[1])

    def narrowed(self, numbers: Array) -> Array:
        """Return numbers in the dtype of W."""
        narrow: Array = self.xp.astype(numbers, self._dtype)
        return narrow

    def host(self, numbers: Array) -> Array:
        """Return numbers like those of W as an ndarray."""
        return to_numpy(numbers)

    def placed(self, numbers: Array) -> Array:
        """Return an ndarray as an array on the device of W."""
        there: Array = self.place.asarray(numbers, self._dtype)
        return there

    def inner(self, a: Array, b: Array) -> float:
        """Return the inner product of two arrays like W."""
        return float(self.xp.sum(a * b, dtype=self.place.wide))

    def centre(self, W: Array) -> None:
        """Subtract the mean over the classes, unless the classes are independent."""
        if not self.problem.formulation.is_separable:
            W -= self.xp.mean(W, axis=1, keepdims=True)
