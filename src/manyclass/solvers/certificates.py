"""Certificates of W as users have it, from what the passes of the core find (gap.hpp).

Users have intercepts bias * w, rounded to the type of W, and, where W is to sum to zero, it is its
projection that counts: of rounding, a mean is left. The penalty of an intercept b is that of
b / bias, where loops have a bias that is rounded to the type of X.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.dataset import Dataset
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, exact_sum, rounding_share
from manyclass.solvers.weights.dense import class_means
from manyclass.utils.types import Array

NO_COMMON = np.empty(0)  # nothing is taken off every class


class Returned(NamedTuple):
    """W as users have it.

    Attributes
    ----------
    common : ndarray of shape (d + 1,), or empty
        The mean, which is taken off every class.
    square : float
        ||W||^2, the mean included.
    moved : float
        An upper bound of its distance from the given W.
    """

    common: NDArray[np.float64]
    square: float
    moved: float

    def norm(self, n_classes: int) -> float:
        """||W||, for the bound of the rounding of scores.

        The computed mean is off by u sqrt(k) ||W|| at most; the bound has 16 u ||W|| or more.
        """
        unknown = math.sqrt(n_classes) / 16 if len(self.common) else 0.0
        return math.sqrt(self.square) * (1 + unknown)


class Found(NamedTuple):
    """What a pass found of some examples or classes; as GapSums of the core."""

    gap: float
    loss: float
    most_loss: float
    max_violation: float

    @classmethod
    def sum_of(cls, parts: Sequence[Findings]) -> Found:
        """Return what the passes of all parts found."""
        gap, loss, most_loss = (
            exact_sum(getattr(part, name) for part in parts) for name in cls._fields[:3]
        )
        return cls(gap, loss, most_loss, max(part.max_violation for part in parts))


class Findings(Protocol):
    """Found, or GapSums."""

    @property
    def gap(self) -> float:
        """Upper bound of the sum of the terms of P - D."""

    @property
    def loss(self) -> float:
        """sum_i C_i loss_i."""

    @property
    def most_loss(self) -> float:
        """Upper bound of that sum."""

    @property
    def max_violation(self) -> float:
        """Largest v_i."""


def as_returned(problem: Problem, weights: Array) -> Returned:
    """Describe a dense W, shape (d + 1, k) or wider, as users have it."""
    data = problem.dataset
    k = data.n_classes
    W = weights[:, :k]
    common = class_means(W) if problem.formulation.centred else NO_COMMON
    if len(common):
        common[-1] = returned_intercepts(W[-1], data).mean()
    return Returned(common, *returned_square(_core.sum_of_squares(W), W[-1], data))


def returned_square(square: float, intercepts: Array, data: Dataset) -> tuple[float, float]:
    """Return ||W||^2 with intercepts as users have them, and a bound of their distance.

    Parameters
    ----------
    square : float
        ||W||^2 as it is held.
    intercepts : ndarray
        The last row of W; zeros may be left out.
    data : Dataset
    """
    held = intercepts.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # W that overflows is refused later
        returned = returned_intercepts(intercepts, data)
        change = returned - held
        # W(z) has the bias as it is given, too.
        rounding = np.finfo(np.float64).eps + data.bias_error
        moved = np.linalg.norm(change) + rounding * np.linalg.norm(held)
        return square + float(change @ (returned + held)), float(moved)


def certificate_of(
    problem: Problem, at: Returned, found: Sequence[Findings], distance: float, zero: float
) -> Certificate:
    """Return the certificate of W, given what the passes found.

    ``distance`` is an upper bound of that of the given W from W(z), ``zero`` is P(0).
    """
    n, k = problem.dataset.n_examples, problem.dataset.n_classes
    apart = (1 + problem.dataset.bias_error) * distance + at.moved
    penalty = half_square(at, k)
    return Certificate.from_gap(
        penalty + exact_sum(part.loss for part in found),
        exact_sum(part.gap for part in found) + 0.5 * apart * apart,
        max((part.max_violation for part in found), default=0.0),
        rounding_share(n, k),
        zero=zero,
        penalty=penalty,
        loss=exact_sum(part.most_loss for part in found),
    )


def half_square(at: Returned, n_classes: int) -> float:
    """1/2 ||W||^2 without the mean."""
    return 0.5 * (at.square - n_classes * _core.sum_of_squares(at.common[None]))


def returned_intercepts(intercepts: Array, data: Dataset) -> NDArray[np.float64]:
    """Return bias * w, rounded to the type of W, over bias as it is given."""
    if data.bias == 0:
        return intercepts.astype(np.float64)
    returned = intercepts * intercepts.dtype.type(data.bias)
    return np.asarray(returned.astype(np.float64) / data.bias)
