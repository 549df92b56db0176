"""Newton steps on sums over rows in parts, for support vector machines with few features.

phi (newton_phase.py) has a piecewise constant Hessian, which is summed over all rows and
factorized. A step needs one sum of the Hessian, one sum of the gradient, and, if the whole step is
too long or too short, one or two sums of slopes at several lengths. For the squared hinge, epsilon
may be 0: then phi is P itself, and 1/2 ||W - W(z)||^2 its gap.

Input: W, and zbar in the parts (rows/proximal_response.py). Source of the steps with epsilon = 0:
Mangasarian 2002 (finite Newton method).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyclass.problem.problem import Problem
from manyclass.rows.parts import Parts
from manyclass.rows.proximal_response import RESPONSE_TERMS, n_blocks
from manyclass.rows.questions import ProximalResponse
from manyclass.solvers.cholesky import inverse_of
from manyclass.solvers.newton_phase import (
    MOST_NUMBERS,
    MOST_STEPS,
    NewtonSteps,
    Response,
    length_of_round,
)
from manyclass.solvers.weights.storage import subtract_means
from manyclass.utils.machine import one_blas_thread

# The Hessian is factorized up to MOST_NUMBERS entries of W or, if classes are independent, of each
# class, with at most MOST_OF_ALL_CLASSES entries in total.
MOST_OF_ALL_CLASSES = 1 << 22
# The whole step is made if the slope at its end is at most this share of the slope at its start.
ACCEPTED = 0.5


class Point(NamedTuple):
    """A W, the gradient of phi, W(z), and the terms of ``ProximalRows.respond``."""

    W: NDArray[np.float64]
    gradient: NDArray[np.float64]
    of_duals: NDArray[np.float64]
    terms: NDArray[np.float64]


class StepsOnParts:
    """Newton steps around the zbar of parts.

    Parameters
    ----------
    problem : Problem
        The problem, with all rows or without rows.
    parts : Parts
    W : ndarray of shape (d + 1, k)
        The first W.
    of_centre : ndarray of shape (d + 1, k)
        W(zbar), kept up to date by the caller.

    Attributes
    ----------
    W : ndarray of shape (d + 1, k)
    epsilon : float
        epsilon of the last round.
    n_steps, n_passes : int
        Numbers of Newton steps and of passes over the rows in the last round.
    """

    def __init__(
        self,
        problem: Problem,
        parts: Parts,
        W: NDArray[np.float64],
        of_centre: NDArray[np.float64],
    ) -> None:
        self.problem, self.parts, self.W, self.of_centre = problem, parts, W, of_centre
        self.n_steps = self.n_passes = 0
        self.epsilon = 0.0
        self._at: Point | None = None  # W, once its response is known
        self._whole: Point | None = None  # the end of the whole step
        self._direction = np.zeros(W.shape)

    def squared_duals(self) -> float:
        """Return ||zbar||^2."""
        total = np.zeros(1)
        self.parts.add(ProximalResponse.squared_duals, (), (total,))
        self.parts.broadcast(total)
        return float(total[0])

    def respond(self, epsilon: float) -> Response:
        """Begin a round; return the response to W, which is known if epsilon stays 0."""
        self.n_steps = self.n_passes = 0
        if self._at is None or epsilon > 0:
            self.epsilon = epsilon
            self._at = self._point(self.W)
        return self._response(self._at)

    def direction(self, _budget: int) -> float:
        """Find the direction of a step; return the slope of phi along it."""
        at = self._known()
        self._direction, self._whole = -self._solve(at), None
        if self.problem.formulation.centred:
            subtract_means(self._direction)
        self.parts.broadcast(self._direction)
        return _dot(at.gradient, self._direction)

    def slopes(self, lengths: list[float]) -> list[float]:
        """Return the slopes at these lengths; for only the whole step, from its response."""
        if lengths == [1.0]:
            self._whole = self._point(self.W + self._direction)
            return [_dot(self._whole.gradient, self._direction)]
        W, direction, t = self.W, self._direction, np.array(lengths)
        total = np.zeros(len(lengths))
        self.parts.add(ProximalResponse.slopes, (W, direction, self.epsilon, t), (total,))
        total += _dot(W, direction) + t * _dot(direction, direction)
        self.parts.broadcast(total)
        self.n_passes += 1
        found: list[float] = total.tolist()
        return found

    def advance(self, length: float) -> Response:
        """Make the step; return the response there."""
        whole = self._whole if length == 1 else None
        self._at = whole or self._point(self.W + length * self._direction)
        self.W, self.n_steps = self._at.W, self.n_steps + 1
        return self._response(self._at)

    @property
    def n_zone(self) -> int:
        """Number of examples with a free z."""
        return int(self._known().terms[4])

    @property
    def smooth_objective(self) -> tuple[float, float]:
        """P and P - D at z(W), if epsilon is 0."""
        at = self._known()
        primal = 0.5 * _dot(at.W, at.W) + float(at.terms[0])
        return primal, 0.5 * _dot(at.gradient, at.gradient)

    def _known(self) -> Point:
        assert self._at is not None
        return self._at

    def _point(self, W: NDArray[np.float64]) -> Point:
        self.parts.broadcast(W)
        of_duals, terms = np.zeros(W.shape), np.zeros(RESPONSE_TERMS)
        self.parts.add(ProximalResponse.respond, (W, self.epsilon), (of_duals, terms))
        if self.problem.formulation.centred:
            subtract_means(of_duals)
        self.parts.broadcast(of_duals)
        self.parts.broadcast(terms)
        self.n_passes += 2
        return Point(W, W - of_duals, of_duals, terms)

    def _response(self, at: Point) -> Response:
        _, distance, ascent, ridge, _ = at.terms.tolist()
        move = at.of_duals - self.of_centre
        slope = ascent + _dot(at.W - self.of_centre, move)
        return math.sqrt(_dot(at.gradient, at.gradient)), distance, slope, _dot(move, move) + ridge

    def _solve(self, at: Point) -> NDArray[np.float64]:
        """Return H^-1 gradient, with H over all rows."""
        m, k = at.W.shape
        blocks = np.zeros((n_blocks(self.problem), m, m))
        self.parts.add(ProximalResponse.hessian, (at.W, self.epsilon), (blocks,))
        self.n_passes += 1
        if self.problem.formulation.is_separable:
            return np.column_stack([inverse_of(blocks[c])(at.gradient[:, c]) for c in range(k)])
        H = np.empty((k, m, k, m))
        for c in range(k):
            for b in range(c + 1):
                H[c, :, b] = H[b, :, c] = blocks[c * (c + 1) // 2 + b]
        if self.problem.formulation.centred:
            H -= H.mean(axis=0)
            H -= H.mean(axis=2)[:, :, None]
        solved = inverse_of(H.reshape(k * m, k * m))(at.gradient.T.ravel())
        return np.ascontiguousarray(solved.reshape(k, m).T)


def length_on_parts(
    steps: NewtonSteps, epsilon: float, budget: int = 0, most_steps: int = MOST_STEPS
) -> float:
    """Return ``length_of_round``, with one thread of BLAS."""
    with one_blas_thread():
        return length_of_round(steps, epsilon, budget, accepted=ACCEPTED, most_steps=most_steps)


def is_small(problem: Problem) -> bool:
    """Whether the Hessian is small enough to be summed and factorized at every step.

    False for losses with factors (slack rescaling), which only consensus supports.
    """
    if problem.factors is not None:
        return False
    m, k = problem.dataset.n_features + 1, problem.dataset.n_classes
    if problem.formulation.is_separable:
        return m <= MOST_NUMBERS and k * m**2 <= MOST_OF_ALL_CLASSES
    return k * m <= MOST_NUMBERS


def _dot(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float(np.vdot(a, b))
