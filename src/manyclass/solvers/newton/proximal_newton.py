"""Rounds of the proximal Newton method for support vector machines, wherever the rows are.

    min_W  phi(W) = 1/2 ||W||^2 + sum_i phi_i(W)      (around zbar, with epsilon)

is once differentiable; its gradient is W - W(z), where z maximizes the terms of the rows (formulas:
cpp/newton/proximal_kernels.hpp). A round takes Newton steps until W is close to the minimizer.
Then zbar moves towards z, the proximal point of D, as far as D rises, and epsilon follows the
number of steps. So zbar stays feasible, and D never falls.

The rows decide how a step is computed (``NewtonSteps``):

    z in lanes         compiled (``_core.ProximalNewton``, cpp/newton/proximal_newton.hpp): by
                       conjugate gradients, one length of a step after another
    in parts or lists  steps_on_parts.py, newton_on_lists.py: by the Hessian itself, several lengths
                       at once, which takes few sums over all rows

Sources: Rockafellar 1976 (augmented Lagrangians and the proximal point algorithm); Li, Sun, Toh
2018 (semismooth Newton inside it, for the lasso); Yin, Li 2019 (for support vector machines).
"""

from __future__ import annotations

import math
from typing import Protocol

MOST_STEPS = 10  # of a round
NEARLY_WHOLE = 0.75  # a step of zbar from here on is made whole
# The first epsilon, in gaps over ||zbar||^2: large enough for Newton's method to take whole steps.
FIRST_EPSILON = 5.0
# epsilon follows the number of Newton steps of a round: (steps at most, factor of epsilon).
IDLE_STEPS = 1
EPSILON_STEPS = ((IDLE_STEPS, 0.1), (4, 0.5), (9, 0.7), (MOST_STEPS, 4.0))


class Response(Protocol):
    """The response z to W."""

    @property
    def gradient(self) -> float:
        """||W - W(z)||."""

    @property
    def distance(self) -> float:
        """||z - zbar||^2."""

    @property
    def slope(self) -> float:
        """Slope of D at zbar towards z: D + slope t - curvature t^2 / 2 at zbar + t (z - zbar)."""

    @property
    def curvature(self) -> float:
        """Curvature of D along the way, not negative."""


class NewtonSteps(Protocol):
    """Newton steps of W."""

    def respond(self, epsilon: float) -> Response:
        """Begin a round; return the response to W."""

    def step(self, budget: int) -> Response | None:
        """Make a step; return the response there.

        None where rounding hides any further progress, or after so many scores of the round, where
        these are limited.
        """


def length_of_round(steps: NewtonSteps, epsilon: float, budget: int = 0) -> float:
    """Minimize phi until W is close, or by some steps; return the t of zbar + t (z - zbar).

    Parameters
    ----------
    steps : NewtonSteps
        Their W is close to the minimizer afterwards.
    epsilon : float
        Positive.
    budget : int, default=0
        Scores, for ``NewtonSteps.step``.

    Returns
    -------
    float
        0 to 1, or more; 0 where D does not rise.
    """
    found = steps.respond(epsilon)
    for _ in range(MOST_STEPS):
        following = None if _is_close(found, epsilon) else steps.step(budget)
        if following is None:
            break
        found = following
    t = found.slope / found.curvature if found.curvature > 0 else 1.0
    if not (found.slope > 0 and math.isfinite(t)):
        return 0.0
    return 1.0 if t >= NEARLY_WHOLE else t


def first_epsilon(gap: float, squares: float) -> float:
    """Return the first epsilon, given P - D and ||zbar||^2; not finite where all z are 0."""
    return FIRST_EPSILON * gap / squares if squares > 0 else math.nan


def next_epsilon(epsilon: float, n_steps: int) -> float:
    """Return the epsilon that follows a round of so many steps."""
    return epsilon * next(by for most, by in EPSILON_STEPS if n_steps <= most)


def _is_close(found: Response, epsilon: float) -> bool:
    """Whether z is as near to the proximal point as it needs to be, and better than zbar."""
    near = found.gradient <= 2 * math.sqrt(epsilon * found.distance)
    return near and found.slope > 0.5 * found.curvature
