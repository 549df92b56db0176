"""P and D without rounding: every float is an integer over a power of two.

Arguments as in ``manyclass.problem.objective``: ``weights`` W of shape (d + 1, k), last row for the
appended feature of value ``bias``; ``duals`` z of shape (n, k), zero where c is not a target.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyclass.problem.formulations import Formulation
from manyclass.problem.objective import targets_of

# Integers are multiplied by so much before they are divided.
DIGITS = 1 << 100


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """An array of rational numbers, ``ints / unit``."""

    ints: NDArray[Any]
    unit: int = 1

    @classmethod
    def from_array(cls, array: Any) -> Exact:
        """Take over floats as they are."""
        values = np.asarray(array, np.float64)
        mantissas, exponents = np.frexp(values)
        whole = np.asarray(mantissas * 2**53).astype(np.int64)
        shifts = exponents.astype(np.int64) - 53
        lowest = min(0, int(shifts[whole != 0].min(initial=0)))
        pairs = zip(whole.ravel().tolist(), (shifts - lowest).ravel().tolist(), strict=True)
        ints = np.empty(values.size, object)
        ints[:] = [m << max(s, 0) for m, s in pairs]
        return cls(ints.reshape(values.shape), 1 << -lowest)

    def __add__(self, other: Exact) -> Exact:
        if self.unit == other.unit:
            return Exact(self.ints + other.ints, self.unit)
        return Exact(self.ints * other.unit + other.ints * self.unit, self.unit * other.unit)

    def __neg__(self) -> Exact:
        return Exact(-self.ints, self.unit)

    def __sub__(self, other: Exact) -> Exact:
        return self + -other

    def __mul__(self, other: Exact) -> Exact:
        return Exact(self.ints * other.ints, self.unit * other.unit)

    def __matmul__(self, other: Exact) -> Exact:
        return Exact(self.ints.dot(other.ints), self.unit * other.unit)

    def over(self, divisor: Fraction) -> Exact:
        """Divide by a positive number."""
        return Exact(self.ints * divisor.denominator, self.unit * divisor.numerator)

    def centred(self) -> Exact:
        """Take the mean of every row off."""
        k = self.ints.shape[1]
        return Exact(self.ints * k - self.ints.sum(axis=1)[:, None], self.unit * k)

    def total(self) -> Fraction:
        """Sum of all numbers."""
        return Fraction(int(self.ints.sum()), self.unit)


@dataclass(frozen=True, slots=True, eq=False)
class ExactProblem:
    """The problem that was trained, of which every float is taken at its word."""

    X: Exact  # the appended feature included
    labels: NDArray[np.int32]
    costs: Exact
    n_classes: int
    formulation: Formulation
    squared: bool

    @classmethod
    def from_rows(
        cls,
        X: NDArray[Any],
        labels: NDArray[np.int32],
        costs: NDArray[np.float64],
        n_classes: int,
        formulation: Formulation,
        *,
        bias: float,
        squared: bool,
    ) -> ExactProblem:
        """Take over rows, labels and C_i."""
        appended = np.full((len(X), 1), bias)
        rows = Exact.from_array(np.hstack([X.astype(np.float64), appended]))
        return cls(rows, labels, Exact.from_array(costs), n_classes, formulation, squared)

    @property
    def is_target(self) -> NDArray[np.bool_]:
        """Whether c is in T_i, shape (n, k)."""
        return targets_of(self.formulation, self.labels, self.n_classes)

    @property
    def is_own(self) -> NDArray[np.bool_]:
        """Whether c is y_i, shape (n, k)."""
        return np.asarray(self.labels[:, None] == np.arange(self.n_classes))

    def margins(self) -> NDArray[Any]:
        """gamma, shape (n, k)."""
        own = int(self.formulation.margins(self.n_classes)[1])
        return np.where(self.is_own, own, 1).astype(object)

    def primal(self, W: Exact) -> Fraction:
        """P(W); W need not sum to zero."""
        return (W * W).total() / 2 + self._cost_of(self.X @ W)

    def _cost_of(self, scores: Exact) -> Fraction:
        s, own = scores.ints, self.is_own
        if self.formulation.margin == "relative":
            mu = (s * own).sum(axis=1)[:, None] - s
        else:
            mu = np.where(own, s, -s)
        xi = np.where(self.is_target, self.margins() * scores.unit - mu, 0)
        positive, unit = np.where(xi > 0, xi, 0), scores.unit
        if self.squared:
            positive, unit = positive * positive, unit * unit
        maximum = self.formulation.aggregation == "max"
        losses = positive.max(axis=1) if maximum else positive.sum(axis=1)
        return (self.costs * Exact(losses, unit)).total()

    def dual(self, duals: NDArray[Any]) -> Fraction:
        """D(z) after z is made feasible; the z of x_i = 0 are their best."""
        z = self._feasible(duals)
        W = self._weights_of(z)
        value = Exact(self.margins() * z.ints, z.unit).total() - (W * W).total() / 2
        if self.squared:
            squares = Exact((z.ints * z.ints).sum(axis=1), z.unit**2)
            value -= sum(
                (
                    Fraction(a, squares.unit) / (4 * Fraction(c, self.costs.unit))
                    for a, c in zip(squares.ints, self.costs.ints, strict=True)
                    if a
                ),
                Fraction(0),
            )
        return value + self._constant()

    def _weights_of(self, z: Exact) -> Exact:
        """W(z), shape (d + 1, k)."""
        own = self.is_own
        if self.formulation.margin == "relative":
            signed = z.ints.sum(axis=1)[:, None] * own - z.ints
        else:
            signed = np.where(own, z.ints, -z.ints)
        coefficients = Exact(signed, z.unit)
        if self.formulation.centred:
            coefficients = coefficients.centred()
        return Exact(self.X.ints.T, self.X.unit) @ coefficients

    def _feasible(self, duals: NDArray[Any]) -> Exact:
        """0 <= z <= C_i, or its sum; no z where x_i = 0 or c is not a target."""
        z, costs = Exact.from_array(duals), self.costs
        used = self.is_target & ~self._empty()[:, None]
        ints = np.where(used & (z.ints > 0), z.ints, 0) * costs.unit
        bound = costs.ints * z.unit
        if self.squared:
            pass
        elif self.formulation.aggregation == "sum":
            ints = np.minimum(ints, bound[:, None])
        else:
            ints = np.array([_scaled(row, most) for row, most in zip(ints, bound, strict=True)])
            return Exact(ints, z.unit * costs.unit * DIGITS)
        return Exact(ints, z.unit * costs.unit)

    def _empty(self) -> NDArray[np.bool_]:
        return ~(self.X.ints != 0).any(axis=1)

    def _constant(self) -> Fraction:
        """What the rows with x_i = 0 cost."""
        gamma = np.where(self.is_target, self.margins(), 0)
        gamma = gamma * gamma if self.squared else gamma
        maximum = self.formulation.aggregation == "max"
        losses = gamma.max(axis=1) if maximum else gamma.sum(axis=1)
        return (self.costs * Exact(losses * self._empty())).total()


def _scaled(row: NDArray[Any], most: int) -> NDArray[Any]:
    """DIGITS times a row of integers that are not negative, scaled to a sum of at most ``most``."""
    total = row.sum()
    return row * DIGITS if total <= most else row * (DIGITS * most) // total
