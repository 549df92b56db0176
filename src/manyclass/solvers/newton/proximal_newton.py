"""Newton's method for support vector machines of few features, over sums of rows.

    min_W  1/2 ||W||^2 + sum_i phi_i(W)      (rows/proximal_response.py, around zbar, with epsilon)

is once differentiable, with gradient W - W(z) and piecewise constant Hessian, which is summed over
all rows and factorized: a step is one sum of the Hessian, one of the gradient, and, where the whole
step is too long or too short, one or two of slopes at several lengths (secants in a bracket). For
the squared hinge epsilon is 0: then this is P itself, and 1/2 ||W - W(z)||^2 its gap. For the
hinge, after some steps zbar moves towards z, the proximal point of D, as far as D rises, and
epsilon follows the number of steps.

Given: W, and zbar in the parts. Sources: Rockafellar 1976; Li, Sun, Toh 2018; Yin, Li 2019 (see
cpp/newton/proximal_newton.hpp, which is the same for one process); for the squared hinge
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
from manyclass.utils.machine import one_blas_thread

# The Hessian is factorized up to so many numbers of W, or, where classes are independent, of each
# class, with so many numbers in all.
MOST_NUMBERS, MOST_OF_ALL_CLASSES = 2560, 1 << 22
MOST_STEPS = 10  # of a round with epsilon > 0
# The whole step is taken where the slope at its end is at most that part of the one at its
# beginning; otherwise slopes are asked for, until one is FLAT.
ACCEPTED, FLAT, MOST_TURNS = 0.5, 0.1, 3
SHARES = np.array([1 / 64, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 7 / 8])
LONGER = np.array([2.0, 4, 8, 16, 32, 64, 128, 256])
NEARLY_WHOLE = 0.75  # a step of zbar from here on is made whole


# The first epsilon, in gaps over ||z||^2: large enough for Newton's method to take whole steps.
FIRST_EPSILON = 5.0
# epsilon follows the number of Newton steps of a round: (steps at most, factor of epsilon).
IDLE_STEPS = 1
EPSILON_STEPS = ((IDLE_STEPS, 0.1), (4, 0.5), (9, 0.7), (10, 4.0))


class Response(NamedTuple):
    """z(W) of all parts: W, its gradient, W(z), and the terms of ``ProximalRows.respond``."""

    W: NDArray[np.float64]
    gradient: NDArray[np.float64]
    of_duals: NDArray[np.float64]
    terms: NDArray[np.float64]


class ProximalNewton:
    """Rounds on the zbar of parts.

    Parameters
    ----------
    problem : Problem
        Of all rows, or without them.
    parts : Parts
    W : ndarray of shape (d + 1, k)
        Where it begins.
    epsilon : float
        The first one (``first_epsilon``); 0 for the squared hinge.

    Attributes
    ----------
    W : ndarray of shape (d + 1, k)
    length : float
        By which zbar is to move towards z.
    primal, gap : float
        For the squared hinge: P, and P - D at z(W).
    n_passes, n_zone : int
        Passes over the rows of the last round; examples with a free z.
    """

    def __init__(
        self,
        problem: Problem,
        parts: Parts,
        W: NDArray[np.float64],
        epsilon: float,
    ) -> None:
        self.problem, self.parts, self.W = problem, parts, W
        self.is_smooth = problem.slack_loss.has_ridge
        self.length, self.primal, self.gap = 1.0, math.inf, math.inf
        self.n_passes = self.n_zone = 0
        self.epsilon = epsilon
        self._at: Response | None = None

    def round(self, of_centre: NDArray[np.float64]) -> int:
        """Make a step, or those that find a proximal point; return how many.

        `of_centre` is W(zbar).
        """
        self.n_passes = 0
        with one_blas_thread():
            return self._smooth_round() if self.is_smooth else self._round(of_centre)

    def follow(self, n_steps: int) -> None:
        """Choose the next epsilon, once zbar has moved."""
        if not self.is_smooth:
            self.epsilon *= next(by for most, by in EPSILON_STEPS if n_steps <= most)

    def _smooth_round(self) -> int:
        at = self._at or self._respond(self.W)
        following = self._step(at)
        at = self._at = following or at
        self.W, self.n_zone = at.W, int(at.terms[4])
        self.primal = 0.5 * _dot(at.W, at.W) + float(at.terms[0])
        self.gap = 0.5 * _dot(at.gradient, at.gradient)
        return 0 if following is None else 1

    def _round(self, of_centre: NDArray[np.float64]) -> int:
        at, n_steps = self._respond(self.W), 0
        while n_steps < MOST_STEPS and not self._is_close(at, of_centre):
            following = self._step(at)
            if following is None:
                break
            at, n_steps = following, n_steps + 1
        self.W, self.n_zone = at.W, int(at.terms[4])
        slope, curvature = _parabola(at, of_centre)
        t = slope / curvature if curvature > 0 else 1.0
        self.length = 0.0 if not slope > 0 else 1.0 if t >= NEARLY_WHOLE else t
        return n_steps

    def _is_close(self, at: Response, of_centre: NDArray[np.float64]) -> bool:
        """Whether z is as near to the proximal point as it needs to be, and better than zbar."""
        size = math.sqrt(_dot(at.gradient, at.gradient))
        if not size <= 2 * math.sqrt(self.epsilon * float(at.terms[1])):
            return False
        slope, curvature = _parabola(at, of_centre)
        return slope > 0.5 * curvature

    def _respond(self, W: NDArray[np.float64]) -> Response:
        self.parts.broadcast(W)
        of_duals, terms = np.zeros(W.shape), np.zeros(RESPONSE_TERMS)
        self.parts.add(ProximalResponse.respond, (W, self.epsilon), (of_duals, terms))
        if self.problem.formulation.centred:
            subtract_means(of_duals)
        self.parts.broadcast(of_duals)
        self.parts.broadcast(terms)
        self.n_passes += 2
        return Response(W, W - of_duals, of_duals, terms)

    def _step(self, at: Response) -> Response | None:
        """Make a Newton step; None if it is of rounding."""
        direction = -self._solve(at)
        if self.problem.formulation.centred:
            subtract_means(direction)
        self.parts.broadcast(direction)
        slope = _dot(at.gradient, direction)
        if not slope < 0:
            return None
        whole = self._respond(at.W + direction)
        at_one = _dot(whole.gradient, direction)
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

    def _solve(self, at: Response) -> NDArray[np.float64]:
        """Return H^-1 gradient, with H of all rows."""
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


def first_epsilon(problem: Problem, parts: Parts, gap: float) -> float:
    """Return the first epsilon, given P - D; not finite where all z are 0."""
    if problem.slack_loss.has_ridge:
        return 0.0
    squares = np.zeros(1)
    parts.add(ProximalResponse.squared_duals, (), (squares,))
    parts.broadcast(squares)
    return float(FIRST_EPSILON * gap / squares[0]) if squares[0] > 0 else math.inf


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


def _parabola(at: Response, of_centre: NDArray[np.float64]) -> tuple[float, float]:
    """Return slope and curvature of D from zbar to z."""
    move = at.of_duals - of_centre
    slope = float(at.terms[2]) + _dot(at.W - of_centre, move)
    return slope, _dot(move, move) + float(at.terms[3])


def _dot(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float(np.vdot(a, b))
