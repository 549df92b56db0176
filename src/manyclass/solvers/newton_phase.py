"""The proximal Newton method for support vector machines: its rounds, and the Newton phase.

    min_W  phi(W) = 1/2 ||W||^2 + sum_i max_{z in Z_i} [z . xi_i(W) - eps/2 ||z - zbar_i||^2]

is once differentiable; its gradient is W - W(z), where z maximizes the terms of the rows (formulas:
cpp/newton/proximal_kernels.hpp). A round takes semismooth Newton steps until W is close to the
minimizer. Then zbar moves towards z, the proximal point of D, as far as D increases, and eps
depends on the number of steps.

Input: zbar, the feasible dual variables of descent.
Output: zbar, feasible and with D never lower, and W with the lowest P, which differs from W(zbar).

Directions and slopes depend on where the rows are (``NewtonSteps``):

    z in lanes         compiled (``_core.ProximalNewton``, cpp/newton/proximal_newton.hpp): by
                       conjugate gradients, one length after another
    in parts or lists  newton/steps_on_parts.py, newton_on_lists.py: by the Hessian itself, several
                       lengths at once, which takes few sums over all rows

The phase is for many more examples than features. Sources: Rockafellar 1976 (augmented Lagrangians
and the proximal point algorithm); Li, Sun, Toh 2018 (semismooth Newton inside it, for the lasso);
Yin, Li 2019 (for support vector machines).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.solvers.engines import Engine

# Coordinate ascent ends when its gap is at most this share of P, or after this many epochs,
START, LATE = 0.3, 20
# ... and if it would need more than this many passes over the examples.
NEWTON_PASSES = 25
# The same if the Hessian itself is the preconditioner (cpp/newton/whole_hessian.hpp), with which
# Newton's method needs few products from a larger gap: if W has at most MOST_NUMBERS
# entries, and a factorization, of about FACTOR_COST size^3 multiply-adds, costs at most
# FACTOR_PRODUCTS products with the Hessian.
START_WHOLE, LATE_WHOLE = 0.45, 6
FACTOR_PRODUCTS, FACTOR_COST = 8, 0.2
# A start may be exact. Its gap counts as at least this share of P, as rounding hides a smaller eps.
LEAST_GAP = 1e-6
# Passes over the examples after which a round ends; the next round continues with the same eps.
# Some effective rounds need hundreds.
ROUND_PASSES = 1000
# Rounds between rebuilds of W(zbar) and the scores.
REBUILD_EVERY = 10
# The phase ends after this many rounds in a row that do not reduce the least gap to this share, or
# reduce it only at this share of the rate of descent. Descent then runs for this many epochs before
# the phase is tried again, doubled each time. A round with almost no steps counts little: its eps
# was so large that it cost nothing.
PATIENCE = 3
IDLE_SHARE = 0.25
PROGRESS = 0.9
SLOWER = 0.25
PAUSE = 10

# The Hessian is factorized up to this number of entries of W.
MOST_NUMBERS = 2560

MOST_STEPS = 10  # of a round
# Slopes along a step are computed until one is at most FLAT, as a share of the slope at 0. If only
# one length is evaluated, it is the secant's, but not within NEAR_END of the ends of the bracket.
FLAT, NEAR_END, MOST_TURNS = 0.1, 0.1, 12
SHARES = (1 / 64, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 7 / 8)
LONGER = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
NEARLY_WHOLE = 0.75  # a step of zbar from here on is made whole
# The first epsilon, in gaps over ||zbar||^2: large enough for Newton's method to take whole steps.
FIRST_EPSILON = 5.0
# epsilon follows the number of Newton steps of a round: (steps at most, factor of epsilon).
IDLE_STEPS = 1
EPSILON_STEPS = ((IDLE_STEPS, 0.1), (4, 0.5), (9, 0.7), (MOST_STEPS, 4.0))

# ||W - W(z)||; ||z - zbar||^2; slope and curvature of D at zbar + t (z - zbar), which is
# D + slope t - curvature t^2 / 2.
Response: TypeAlias = tuple[float, float, float, float]


class NewtonSteps(Protocol):
    """Newton steps of W around zbar."""

    def respond(self, epsilon: float) -> Response:
        """Begin a round; return the response to W."""

    def direction(self, budget: int) -> float:
        """Find the direction of a step; return the slope of phi along it.

        It is 0 if rounding prevents progress, or after `budget` scores in the round, if positive.
        """

    def slopes(self, lengths: list[float]) -> list[float]:
        """Return the slopes at the first of these lengths, or at all if this costs no more."""

    def advance(self, length: float) -> Response:
        """Make the step; return the response there."""


def length_of_round(
    steps: NewtonSteps,
    epsilon: float,
    budget: int = 0,
    *,
    accepted: float = FLAT,
    most_steps: int = MOST_STEPS,
) -> float:
    """Minimize phi approximately, by at most `most_steps` steps; return the step length of zbar.

    Parameters
    ----------
    steps : NewtonSteps
    epsilon : float
    budget : int, default=0
        Scores, for ``NewtonSteps.direction``.
    accepted : float, default=FLAT
        Like FLAT, for the whole step; larger if its response is known immediately.
    most_steps : int, default=MOST_STEPS

    Returns
    -------
    float
        t of zbar + t (z - zbar), with nearly the largest D; 0 if D does not increase.
    """
    found = steps.respond(epsilon)
    for _ in range(most_steps):
        gradient, distance, slope, curvature = found
        # z is as near to the proximal point as it needs to be, and better than zbar
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
    """Return the first epsilon, given P - D and ||zbar||^2; not finite where all z are 0."""
    return FIRST_EPSILON * gap / squares if squares > 0 else math.nan


def next_epsilon(epsilon: float, n_steps: int) -> float:
    """Return the epsilon that follows a round with this number of steps."""
    return epsilon * next(by for most, by in EPSILON_STEPS if n_steps <= most)


def _length(steps: NewtonSteps, budget: int, accepted: float) -> float:
    """Find a direction; return a length where phi is nearly flat along it, 0 if there is none."""
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


class RoundSteps(NewtonSteps, Protocol):
    """Newton steps with access to zbar and W."""

    def rebuild(self, anew: bool) -> None:
        """Compute W(zbar), and set W to it if the flag is true."""

    def move(self, length: float) -> NewtonRound:
        """Move zbar."""

    def squared_duals(self) -> float:
        """Return ||zbar||^2."""

    def read_weights(self, out: _core.Weights) -> None:
        """Copy W."""

    def write_weights(self, weights: _core.Weights) -> None:
        """Set W."""


@dataclass(frozen=True, slots=True)
class Round:
    """Results of a round.

    Attributes
    ----------
    primal : float
        P without the examples with x_i = 0.
    gap : float
        P - D, or an estimate.
    max_violation : float
        The largest v_i.
    steps : int
        Newton steps.
    n_zone : int
        Examples with a z strictly inside its bounds.
    evaluations : int
        Scores computed.
    """

    primal: float
    gap: float
    max_violation: float
    steps: int
    n_zone: int
    evaluations: int


NewtonRound: TypeAlias = "_core.NewtonRound | Round"


class NewtonPhase:
    """Rounds of the phase on the z of an engine; it may begin again after it has ended.

    Parameters
    ----------
    engine : Engine
    core : RoundSteps
        Newton steps around its z.
    length_of : callable, default=length_of_round
        Function that runs them: ``length_on_parts`` for lists.

    Attributes
    ----------
    weights : Weights of the core
        The W with the least P so far.
    primal : float
        P of this W, without the examples with x_i = 0.
    running : bool
    """

    def __init__(
        self,
        engine: Engine,
        core: RoundSteps,
        length_of: Callable[[NewtonSteps, float, int], float] = length_of_round,
    ) -> None:
        data = engine.problem.dataset
        self.core, self._length_of = core, length_of
        self.scores = data.n_examples * data.n_classes  # scores of a pass
        self.weights = engine.new_weights()
        self.primal = math.inf
        self.running = False
        self.epsilon = 0.0
        self.rounds = 0
        self.fruitless = 0.0
        self.gap = math.inf  # the least gap since the phase began
        self.rate = 0.0  # decrease of the gap's logarithm in a pass of descent
        self.wait = 0  # remaining epochs of descent
        self.pause = PAUSE

    def begin(self, gap: float, rate: float = 0.0, primal: float | None = None) -> None:
        """Start from the dual variables as they are, and from W(z), whose gap is given.

        Parameters
        ----------
        gap : float
            Gap of W(z), even if a different W is given: a smaller eps would shorten the first
            steps.
        rate : float, default=0.0
            Rate of descent.
        primal : float, default=None
            P of ``weights``, to continue from there, where another phase ended.
        """
        if primal is not None:
            self.core.write_weights(self.weights)
            self.primal, gap = primal, max(gap, LEAST_GAP * primal)
        self.core.rebuild(anew=primal is None)
        self.epsilon = first_epsilon(gap, self.core.squared_duals())
        self.running = math.isfinite(self.epsilon) and self.epsilon > 0
        self.rounds, self.fruitless = 0, 0.0
        self.gap, self.rate = gap, rate

    def round(self) -> NewtonRound:
        """Minimize, move the dual variables, decrease eps."""
        if self.rounds and self.rounds % REBUILD_EVERY == 0:
            self.core.rebuild(anew=False)
        budget = ROUND_PASSES * self.scores
        found = self.core.move(self._length_of(self.core, self.epsilon, budget))
        self.rounds += 1
        passes = found.evaluations / self.scores
        fall = max(-math.log(PROGRESS), self.rate * passes * SLOWER)
        good = found.gap < self.gap * math.exp(-fall)  # false for NaN and for values rounded to 0
        weight = IDLE_SHARE if found.steps <= IDLE_STEPS else 1.0
        self.fruitless = 0.0 if good else self.fruitless + weight
        self.gap = min(self.gap, found.gap)
        if found.evaluations < budget:
            self.epsilon = next_epsilon(self.epsilon, found.steps)
        if found.primal < self.primal:
            self.primal = found.primal
            self.core.read_weights(self.weights)
        if self.fruitless >= PATIENCE or not math.isfinite(found.primal):
            self.end()
        return found

    def end(self, *, for_good: bool = False) -> None:
        """End the phase, for some epochs of descent or for good."""
        self.running = False
        self.wait, self.pause = sys.maxsize if for_good else self.pause, 2 * self.pause

    def may_begin(self) -> bool:
        """Whether enough epochs of descent have passed since the phase ended; count them."""
        self.wait -= 1
        return self.wait < 0


@dataclass(slots=True)
class Pace:
    """Convergence rate of coordinate ascent, to decide whether Newton rounds would be faster."""

    # (distance, passes) of the last epochs.
    _seen: list[tuple[float, float]] = field(default_factory=list)
    _hidden: float = 0.0  # by how much the estimates were too good

    def add(self, distance: float, passes: float) -> None:
        """Record an epoch: the logarithm of its distance over the goal, and its work."""
        self._seen = [*self._seen, (distance, passes)][-3:]

    def correct(self, distance: float) -> None:
        """Correct the estimates, which may be far too good, with a certificate."""
        if self._seen:
            self._hidden = max(0.0, distance - self._seen[-1][0])

    def rate(self) -> float:
        """Decrease of the distance per pass, over the last epochs."""
        if len(self._seen) < 2:
            return math.inf
        work = 0.0
        for _, passes in self._seen[1:]:
            work += passes
        return (self._seen[0][0] - self._seen[-1][0]) / work

    def is_slow(self, passes: float = NEWTON_PASSES) -> bool:
        """Whether descent needs more than a number of passes, at the rate of its last epochs."""
        left = self._seen[-1][0] + self._hidden if self._seen else 0.0
        return left > 0 and left > passes * self.rate()


def beginning(problem: Problem) -> tuple[float, int]:
    """Return the gap, as a share of P, at which the phase begins, and the latest epoch."""
    data = problem.dataset
    size = (data.n_features + 1) * data.n_classes
    product = 2 * len(data.values) * data.n_classes
    whole = size <= MOST_NUMBERS and FACTOR_COST * size**3 <= FACTOR_PRODUCTS * product
    return (START_WHOLE, LATE_WHOLE) if whole else (START, LATE)


def is_allowed(problem: Problem) -> bool:
    """Whether the d x d factor is at most as large as X, and costs at most some passes over X."""
    data = problem.dataset
    d, size = data.n_features + 1, len(data.values)
    return d**2 <= size and d**3 <= 100 * size * data.n_classes
