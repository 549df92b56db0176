"""Rounds of the proximal Newton method for support vector machines, for rows in any place.

    min_W  phi(W) = 1/2 ||W||^2 + sum_i phi_i(W)      (around zbar, with epsilon)

is once differentiable; its gradient is W - W(z), where z maximizes the terms of the rows (formulas:
cpp/newton/proximal_kernels.hpp). A round makes Newton steps until W is close to the minimizer. Then
zbar moves towards z, the proximal point of D, as long as D increases, and epsilon is adjusted by
the number of steps. So zbar stays feasible, and D never decreases.

Directions and the cost of slopes depend on the rows (``NewtonSteps``):

    z in lanes         compiled (``_core.ProximalNewton``, cpp/newton/proximal_newton.hpp): by
                       conjugate gradients, one length at a time
    in parts or lists  steps_on_parts.py, newton_on_lists.py: by the Hessian itself, several lengths
                       at once, which needs few sums over all rows

Sources: Rockafellar 1976 (augmented Lagrangians and the proximal point algorithm); Li, Sun, Toh
2018 (semismooth Newton inside it, for the lasso); Yin, Li 2019 (for support vector machines).
"""

from __future__ import annotations

import math
from typing import Protocol, TypeAlias

# ||W - W(z)||; ||z - zbar||^2; slope and curvature of D at zbar + t (z - zbar), which is
# D + slope t - curvature t^2 / 2.
Response: TypeAlias = tuple[float, float, float, float]

MOST_STEPS = 10  # largest number of steps of a round
# Slopes along a step are computed until one is FLAT, relative to the slope at 0. If only one slope
# is computed at a time, its length is the secant's, but not within NEAR_END of the ends of the
# bracket.
FLAT, NEAR_END, MOST_TURNS = 0.1, 0.1, 12
SHARES = (1 / 64, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 7 / 8)
LONGER = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
NEARLY_WHOLE = 0.75  # longer steps of zbar are rounded up to whole steps
# The first epsilon, in units of gap / ||zbar||^2: large enough for full Newton steps.
FIRST_EPSILON = 5.0
# epsilon is adjusted by the number of Newton steps of a round: (most steps, factor of epsilon).
IDLE_STEPS = 1
EPSILON_STEPS = ((IDLE_STEPS, 0.1), (4, 0.5), (9, 0.7), (MOST_STEPS, 4.0))


class NewtonSteps(Protocol):
    """Newton steps of W around zbar."""

    def respond(self, epsilon: float) -> Response:
        """Begin a round; return the response to W."""

    def direction(self, budget: int) -> float:
        """Find the direction of a step; return the slope of phi along it.

        0 if rounding prevents further progress, or if the budget of scores of the round is used up.
        """

    def slopes(self, lengths: list[float]) -> list[float]:
        """Return the slopes at the first of these lengths, or at all if that costs the same."""

    def advance(self, length: float) -> Response:
        """Make the step; return the response at its end."""


def length_of_round(
    steps: NewtonSteps,
    epsilon: float,
    budget: int = 0,
    *,
    accepted: float = FLAT,
    most_steps: int = MOST_STEPS,
) -> float:
    """Minimize phi until W is close, or for a number of steps; return the step of zbar.

    Parameters
    ----------
    steps : NewtonSteps
    epsilon : float
    budget : int, default=0
        Number of scores, for ``NewtonSteps.direction``; 0: no limit.
    accepted : float, default=FLAT
        Like FLAT, for the whole step: larger if its response is computed together with its slope.
    most_steps : int, default=MOST_STEPS

    Returns
    -------
    float
        t of zbar + t (z - zbar) that nearly maximizes D; 0 if D does not increase.
    """
    found = steps.respond(epsilon)
    for _ in range(most_steps):
        gradient, distance, slope, curvature = found
        # z is close enough to the proximal point, and better than zbar
        if gradient <= 2 * math.sqrt(epsilon * distance) and slope > 0.5 * curvature:
            break
        t = _length(steps, budget, accepted)
        if not t > 0:
            break
        found = steps.advance(t)
    _, _, slope, curvature = found
    t = slope / curvature if curvature > 0 else 1.0
    if not (slope > 0 and math.isfinite(t)):
        return 0.0
    return 1.0 if t >= NEARLY_WHOLE else t


def first_epsilon(gap: float, squares: float) -> float:
    """Return the first epsilon, given P - D and ||zbar||^2; not finite if all z are 0."""
    return FIRST_EPSILON * gap / squares if squares > 0 else math.nan


def next_epsilon(epsilon: float, n_steps: int) -> float:
    """Return the epsilon after a round with this number of steps."""
    return epsilon * next(by for most, by in EPSILON_STEPS if n_steps <= most)


def _length(steps: NewtonSteps, budget: int, accepted: float) -> float:
    """Find a direction; return a length at which phi is nearly flat along it; 0: none."""
    at_zero = steps.direction(budget)
    if not at_zero < 0:
        return 0.0
    known, lengths, flat = {0.0: at_zero}, [1.0], accepted
    for _ in range(MOST_TURNS):
        known.update(zip(lengths, steps.slopes(lengths), strict=False))
        if not all(map(math.isfinite, known.values())):
            return 0.0
        best = min((abs(slope), t) for t, slope in known.items() if t > 0)
        if best[0] <= flat * -at_zero:
            return best[1]
        lengths, flat = _lengths(known), FLAT
    return lengths[0]


def _lengths(known: dict[float, float]) -> list[float]:
    """Return the next lengths, the best first, given the slopes at some."""
    low = max(t for t, slope in known.items() if slope < 0)
    high = min((t for t, slope in known.items() if slope >= 0), default=math.inf)
    if high == math.inf:
        return [low * longer for longer in LONGER]
    width, rise = high - low, known[high] - known[low]
    secant = low - width * known[low] / rise
    inside = min(max(secant, low + NEAR_END * width), high - NEAR_END * width)
    return [inside, *(low + share * width for share in (*SHARES, -known[low] / rise))]
