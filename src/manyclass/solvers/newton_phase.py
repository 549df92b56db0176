"""The Newton phase, for many more examples than features.

    min_W  1/2 ||W||^2 + sum_i max_{z in Z_i} [z . xi_i(W) - eps/2 ||z - zbar_i||^2]

Input: zbar, the feasible dual variables of descent. A round minimizes this by semismooth Newton
steps, moves zbar towards the maximizing z (the proximal point of D) as long as D increases, and
decreases eps. Output: zbar, which is feasible and never has a smaller D, and W with a low P, which
is not W(zbar). newton/proximal_newton.py contains the rounds and their sources,
cpp/newton/proximal_kernels.hpp the formulas.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TypeAlias

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.solvers.engines import Engine
from manyclass.solvers.newton.newton_on_lists import ListRound, NewtonOnLists
from manyclass.solvers.newton.proximal_newton import (
    IDLE_STEPS,
    NewtonSteps,
    first_epsilon,
    length_of_round,
    next_epsilon,
)
from manyclass.solvers.newton.steps_on_parts import MOST_NUMBERS

# Coordinate ascent ends when its gap is at most this share of P, or after this many epochs,
START, LATE = 0.3, 20
# ... and if it would need more than this many passes over the examples.
NEWTON_PASSES = 25
# The same if the Hessian itself is the preconditioner (cpp/newton/whole_hessian.hpp), with which
# Newton's method needs few products from a larger gap: if W has at most this size, and a
# factorization costs at most this number of products with the Hessian.
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


# P without the examples with x_i = 0; P - D, or an estimate; the largest v_i; Newton steps;
# examples with a z strictly inside its bounds; computed scores.
NewtonRound: TypeAlias = "_core.NewtonRound | ListRound"


class NewtonPhase:
    """Rounds of the phase on the z of an engine; it may begin again after it has ended.

    Parameters
    ----------
    engine : Engine
    core : ProximalNewton of the core, or NewtonOnLists
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
        core: _core.ProximalNewton | NewtonOnLists,
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

    def begin(self, gap: float, rate: float) -> None:
        """Start from the current dual variables and W(z); ``rate`` is the rate of descent."""
        self.core.rebuild(anew=True)
        self._begin(gap, rate)

    def resume(self, gap: float, primal: float) -> None:
        """Continue an earlier phase from ``weights`` with this P; ``gap`` is the gap of W(z).

        The gap of W(z) is used, as a smaller eps would shorten the first steps.
        """
        self.core.write_weights(self.weights)
        self.core.rebuild(anew=False)
        self.primal = primal
        self._begin(max(gap, LEAST_GAP * primal), rate=0.0)

    def _begin(self, gap: float, rate: float) -> None:
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


class Pace:
    """Convergence rate of coordinate ascent, to decide whether Newton rounds would be faster."""

    def __init__(self) -> None:
        self._seen: list[tuple[float, float]] = []  # (distance, passes) of the last epochs
        self._hidden = 0.0  # by how much the estimates were too good

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
