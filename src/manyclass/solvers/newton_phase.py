"""The Newton phase, for many more examples than features.

    min_W  1/2 ||W||^2 + sum_i max_{z in Z_i} [z . xi_i(W) - eps/2 ||z - zbar_i||^2]

Given: zbar, the feasible dual variables that descent has reached. A round minimizes this by
semismooth Newton steps, moves zbar to the maximizing z (the proximal point of D) as far as D rises,
and lowers eps. Returned: zbar, feasible and with D never lower, and W, which is not W(zbar) here:
its P is what counts. The rounds, and their sources, are in newton/proximal_newton.py, the formulas
in cpp/newton/proximal_kernels.hpp.
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

# Coordinate ascent ends when its gap is at most this part of P, or after this many epochs,
START, LATE = 0.3, 20
# ... and if it would need more than this many passes over the examples.
NEWTON_PASSES = 25
# The same where the Hessian itself preconditions Newton's method (cpp/newton/whole_hessian.hpp),
# which then takes few products from farther away: where W has so many numbers at most, and a factor
# costs no more than so many products with the Hessian.
START_WHOLE, LATE_WHOLE = 0.45, 6
FACTOR_PRODUCTS, FACTOR_COST = 8, 0.2
# A start may be exact. Its gap counts as this part of P at least: a smaller eps hides in rounding.
LEAST_GAP = 1e-6
# Passes over the examples after which a round ends; the next one then continues with the same
# eps. Some good ones need hundreds.
ROUND_PASSES = 1000
# Rounds between rebuilds of W(zbar) and the scores.
REBUILD_EVERY = 10
# The phase ends after this many rounds in a row that do not lower the least gap to this part, or
# only at this part of the pace that descent had; descent then has this many epochs before it is
# tried again, and twice as many each time. A round of next to no steps counts for little: eps was
# so large that it cost nothing.
PATIENCE = 3
IDLE_SHARE = 0.25
PROGRESS = 0.9
SLOWER = 0.25
PAUSE = 10


# P, less that of the examples with x_i = 0; P - D, or an estimate; the largest v_i; Newton steps;
# examples with a z strictly inside its bounds; scores computed.
NewtonRound: TypeAlias = "_core.NewtonRound | ListRound"


class NewtonPhase:
    """Rounds of the phase on the z of an engine; it may begin again after it has ended.

    Parameters
    ----------
    engine : Engine
    core : ProximalNewton of the core, or NewtonOnLists
        Newton steps around its z.
    length_of : callable, default=length_of_round
        What makes them: ``length_on_parts`` for lists.

    Attributes
    ----------
    weights : Weights of the core
        The W of least P so far.
    primal : float
        Its P, less that of the examples with x_i = 0.
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
        self.scores = data.n_examples * data.n_classes  # of a pass
        self.weights = engine.new_weights()
        self.primal = math.inf
        self.running = False
        self.epsilon = 0.0
        self.rounds = 0
        self.fruitless = 0.0
        self.gap = math.inf  # the least since it began
        self.rate = 0.0  # by how much a pass of descent lowered the gap's logarithm
        self.wait = 0  # epochs of descent that are due
        self.pause = PAUSE

    def begin(self, gap: float, rate: float) -> None:
        """Start from the dual variables as they are, and W(z); ``rate`` is that of descent."""
        self.core.rebuild(anew=True)
        self._begin(gap, rate)

    def resume(self, gap: float, primal: float) -> None:
        """Continue from ``weights``, whose P this is, where another phase ended; ``gap`` is W(z)'s.

        Use the gap of W(z): a smaller eps would shorten the first steps.
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
        """Minimize, move the dual variables, lower eps."""
        if self.rounds and self.rounds % REBUILD_EVERY == 0:
            self.core.rebuild(anew=False)
        budget = ROUND_PASSES * self.scores
        found = self.core.move(self._length_of(self.core, self.epsilon, budget))
        self.rounds += 1
        passes = found.evaluations / self.scores
        fall = max(-math.log(PROGRESS), self.rate * passes * SLOWER)
        good = found.gap < self.gap * math.exp(-fall)  # neither rounding to 0 nor NaN is
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
        """Leave the next epochs to descent, or all."""
        self.running = False
        self.wait, self.pause = sys.maxsize if for_good else self.pause, 2 * self.pause

    def may_begin(self) -> bool:
        """Whether descent has had its epochs since the phase ended; counts them."""
        self.wait -= 1
        return self.wait < 0


class Pace:
    """Convergence rate of coordinate ascent: whether Newton rounds would be faster to the goal."""

    def __init__(self) -> None:
        self._seen: list[tuple[float, float]] = []  # (distance, passes), the last epochs
        self._hidden = 0.0  # by how much they were too good

    def add(self, distance: float, passes: float) -> None:
        """Record an epoch: the logarithm of what is left over the goal, the work it took."""
        self._seen = [*self._seen, (distance, passes)][-3:]

    def correct(self, distance: float) -> None:
        """Correct the estimates, which may be far too good, by a certificate."""
        if self._seen:
            self._hidden = max(0.0, distance - self._seen[-1][0])

    def rate(self) -> float:
        """By how much a pass lowers the distance, over the last epochs."""
        if len(self._seen) < 2:
            return math.inf
        work = 0.0
        for _, passes in self._seen[1:]:
            work += passes
        return (self._seen[0][0] - self._seen[-1][0]) / work

    def is_slow(self, passes: float = NEWTON_PASSES) -> bool:
        """Whether descent needs so many passes more, at its last epochs' pace."""
        left = self._seen[-1][0] + self._hidden if self._seen else 0.0
        return left > 0 and left > passes * self.rate()


def beginning(problem: Problem) -> tuple[float, int]:
    """Return below which part of P the gap must be for the phase to begin, and the latest epoch."""
    data = problem.dataset
    size = (data.n_features + 1) * data.n_classes
    product = 2 * len(data.values) * data.n_classes
    whole = size <= MOST_NUMBERS and FACTOR_COST * size**3 <= FACTOR_PRODUCTS * product
    return (START_WHOLE, LATE_WHOLE) if whole else (START, LATE)


def is_allowed(problem: Problem) -> bool:
    """Whether the d x d factor is no larger than X, and costs no more than some passes over X."""
    data = problem.dataset
    d, size = data.n_features + 1, len(data.values)
    return d**2 <= size and d**3 <= 100 * size * data.n_classes
