"""Newton steps on sums over rows in parts, for support vector machines of few features.

phi (proximal_newton.py) has a piecewise constant Hessian, which is summed over all rows and
factorized: a step is one sum of the Hessian, one of the gradient, and, where the whole step is too
long or too short, one or two of slopes at several lengths (secants in a bracket). For the squared
hinge epsilon may be 0: then phi is P itself, and 1/2 ||W - W(z)||^2 its gap.

Given: W, and zbar in the parts (rows/proximal_response.py). Source of the steps with epsilon = 0:
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
from manyclass.solvers.weights.storage import subtract_means

# The Hessian is factorized up to so many numbers of W, or, where classes are independent, of each
# class, with so many numbers in all.
MOST_NUMBERS, MOST_OF_ALL_CLASSES = 2560, 1 << 22
# The whole step is taken where the slope at its end is at most that part of the one at its
# beginning; otherwise slopes are asked for, until one is FLAT.
ACCEPTED, FLAT, MOST_TURNS = 0.5, 0.1, 3
SHARES = np.array([1 / 64, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 7 / 8])
LONGER = np.array([2.0, 4, 8, 16, 32, 64, 128, 256])


class ResponseOfParts(NamedTuple):
    """z(W) of all parts: a ``Response``, with W, W - W(z) and the terms of the parts."""

    gradient: float
    distance: float
    slope: float
    curvature: float
    W: NDArray[np.float64]
    difference: NDArray[np.float64]
    terms: NDArray[np.float64]


class StepsOnParts:
    """Newton steps around the zbar of parts.

    Parameters
    ----------
    problem : Problem
        Of all rows, or without them.
    parts : Parts
    W : ndarray of shape (d + 1, k)
        Where they begin.
    of_centre : ndarray of shape (d + 1, k)
        W(zbar), to be kept up to date.

    Attributes
    ----------
    W : ndarray of shape (d + 1, k)
    epsilon : float
        Of the last round.
    n_steps, n_passes, n_zone : int
        Of the last round: Newton steps, passes over the rows, examples with a free z.
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
        self._at: ResponseOfParts | None = None  # the response to W, once there is one

    def squared_duals(self) -> float:
        """Return ||zbar||^2."""
        total = np.zeros(1)
        self.parts.add(ProximalResponse.squared_duals, (), (total,))
        self.parts.broadcast(total)
        return float(total[0])

    def respond(self, epsilon: float) -> ResponseOfParts:
        """Begin a round; return the response to W."""
        self.n_steps = self.n_passes = 0
        self.epsilon = epsilon
        self._at = self._respond(self.W)
        return self._at

    def step(self, _budget: int = 0) -> ResponseOfParts | None:
        """Make a step; return the response there, or None if the step is of rounding."""
        assert self._at is not None
        following = self._step(self._at)
        if following is not None:
            self.W, self._at, self.n_steps = following.W, following, self.n_steps + 1
        return following

    def smooth_step(self) -> tuple[float, float]:
        """Make a step for the squared hinge with epsilon = 0; return P and P - D at z(W)."""
        if self._at is None:
            self.respond(0.0)
        else:
            self.n_steps = self.n_passes = 0
        self.step()
        assert self._at is not None
        primal = 0.5 * _dot(self.W, self.W) + float(self._at.terms[0])
        return primal, 0.5 * self._at.gradient**2

    @property
    def n_zone(self) -> int:
        """Examples with a free z."""
        return 0 if self._at is None else int(self._at.terms[4])

    def _respond(self, W: NDArray[np.float64]) -> ResponseOfParts:
        self.parts.broadcast(W)
        of_duals, terms = np.zeros(W.shape), np.zeros(RESPONSE_TERMS)
        self.parts.add(ProximalResponse.respond, (W, self.epsilon), (of_duals, terms))
        if self.problem.formulation.centred:
            subtract_means(of_duals)
        self.parts.broadcast(of_duals)
        self.parts.broadcast(terms)
        self.n_passes += 2
        difference, move = W - of_duals, of_duals - self.of_centre
        return ResponseOfParts(
            gradient=math.sqrt(_dot(difference, difference)),
            distance=float(terms[1]),
            slope=float(terms[2]) + _dot(W - self.of_centre, move),
            curvature=_dot(move, move) + float(terms[3]),
            W=W,
            difference=difference,
            terms=terms,
        )

    def _step(self, at: ResponseOfParts) -> ResponseOfParts | None:
        """Make a Newton step; None if it is of rounding."""
        direction = -self._solve(at)
        if self.problem.formulation.centred:
            subtract_means(direction)
        self.parts.broadcast(direction)
        slope = _dot(at.difference, direction)
        if not slope < 0:
            return None
        whole = self._respond(at.W + direction)
        at_one = _dot(whole.difference, direction)
        if abs(at_one) <= ACCEPTED * -slope:
            return whole
        t = self._search(at.W, direction, slope, at_one)
        return self._respond(at.W + t * direction) if t > 0 else None

    def _search(
        self,
        W: NDArray[np.float64],
        direction: NDArray[np.float64],
        at_zero: float,
        at_one: float,
    ) -> float:
        """Return a length where phi is nearly flat, given its slopes at 0 and 1."""
        known = {0.0: at_zero, 1.0: at_one}
        for _ in range(MOST_TURNS):
            low = max(t for t, slope in known.items() if slope < 0)
            high = min((t for t, slope in known.items() if slope >= 0), default=math.inf)
            lengths = low * LONGER
            if high < math.inf:
                secant = -known[low] / (known[high] - known[low])
                lengths = low + (high - low) * np.append(SHARES, secant)
            known.update(zip(lengths.tolist(), self._slopes(W, direction, lengths), strict=True))
            best = min((t for t in known if t > 0), key=lambda t: abs(known[t]))
            if abs(known[best]) <= FLAT * -at_zero:
                break
        return best

    def _slopes(
        self, W: NDArray[np.float64], direction: NDArray[np.float64], lengths: NDArray[np.float64]
    ) -> list[float]:
        total = np.zeros(len(lengths))
        self.parts.add(ProximalResponse.slopes, (W, direction, self.epsilon, lengths), (total,))
        total += _dot(W, direction) + lengths * _dot(direction, direction)
        self.parts.broadcast(total)
        self.n_passes += 1
        found: list[float] = total.tolist()
        return found

    def _solve(self, at: ResponseOfParts) -> NDArray[np.float64]:
        """Return H^-1 gradient, with H of all rows."""
        m, k = at.W.shape
        blocks = np.zeros((n_blocks(self.problem), m, m))
        self.parts.add(ProximalResponse.hessian, (at.W, self.epsilon), (blocks,))
        self.n_passes += 1
        if self.problem.formulation.is_separable:
            return np.column_stack([inverse_of(blocks[c])(at.difference[:, c]) for c in range(k)])
        H = np.empty((k, m, k, m))
        for c in range(k):
            for b in range(c + 1):
                H[c, :, b] = H[b, :, c] = blocks[c * (c + 1) // 2 + b]
        if self.problem.formulation.centred:
            H -= H.mean(axis=0)
            H -= H.mean(axis=2)[:, :, None]
        solved = inverse_of(H.reshape(k * m, k * m))(at.difference.T.ravel())
        return np.ascontiguousarray(solved.reshape(k, m).T)


def is_small(problem: Problem) -> bool:
    """Whether the Hessian is small enough to be summed and factorized at every step.

    Losses with factors (slack rescaling) are left to consensus.
    """
    if problem.factors is not None:
        return False
    m, k = problem.dataset.n_features + 1, problem.dataset.n_classes
    if problem.formulation.is_separable:
        return m <= MOST_NUMBERS and k * m**2 <= MOST_OF_ALL_CLASSES
    return k * m <= MOST_NUMBERS


def _dot(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float(np.vdot(a, b))
