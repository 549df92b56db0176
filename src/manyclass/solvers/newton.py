"""The Newton phase: where examples far outnumber features, it takes over from descent.

    min_W  1/2 ||W||^2 + sum_i max_{z in Z_i} [z . xi_i(W) - eps/2 ||z - zbar_i||^2]

Given: zbar, the feasible dual variables that descent has reached, and W(zbar). A round minimises
this by semismooth Newton steps, moves zbar to the maximising z (the proximal point of D) as far as D
rises, and lowers eps. Returned: zbar, feasible and with D never lower, and W, which is no longer
W(zbar) but has its P. The compiled rounds are in cpp/newton_phase.hpp. Sources: Rockafellar 1976
(augmented Lagrangians and the proximal point algorithm); Li, Sun, Toh 2018 (semismooth Newton inside
it, for the lasso); Yin, Li 2019 (for support vector machines).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem import Problem

# Where descent leaves off: its gap is at most this part of P.
START = 0.3
# The first eps, in gaps over ||z||^2: large enough for Newton's method to take whole steps.
FIRST_EPSILON = 5.0
# eps follows the number of Newton steps in a round: few, some, too many.
FEW_STEPS, MAX_STEPS = 4, 10
SHRINK, EASE, GROW = 0.5, 0.7, 4.0
# The phase ends after so many rounds in a row that do not raise D.
PATIENCE = 2


@dataclass(slots=True, eq=False)
class NewtonPhase:
    """Where the phase stands; it is entered anew after it has ended."""

    core: _core.Newton32 | _core.Newton64
    buffer: NDArray[Any]  # memory of `weights`
    weights: NDArray[Any]  # the W of least P so far, padded like that of descent
    primal: float = math.inf  # its P
    running: bool = False
    epsilon: float = 0.0
    rounds: int = 0
    fruitless: int = 0

    def begin(self, weights: NDArray[Any], gap: float) -> None:
        """Start from the dual variables as they are, and their W."""
        self.core.rebuild(weights, anew=True)
        squares = self.core.squared_duals
        self.epsilon = FIRST_EPSILON * gap / squares if squares > 0 else math.nan
        self.running = math.isfinite(self.epsilon) and self.epsilon > 0
        self.rounds = self.fruitless = 0

    def round(self, dual: float) -> _core.NewtonRound:
        """Minimise, move the dual variables, lower eps. ``dual`` is D before."""
        found = self.core.round(self.epsilon)
        self.rounds += 1
        self.fruitless = 0 if found.dual_gain > 0 else self.fruitless + 1
        few = found.steps <= FEW_STEPS
        self.epsilon *= SHRINK if few else EASE if found.steps < MAX_STEPS else GROW
        primal = dual + found.dual_gain + found.gap
        if primal < self.primal:
            self.primal = primal
            self.core.read_weights(self.weights)
        self.running = self.fruitless < PATIENCE and math.isfinite(primal)
        return found


def is_allowed(problem: Problem) -> bool:
    """Whether the d x d factor is no larger than the data, and its making no dearer than passes."""
    data = problem.dataset
    d, size = data.n_features + 1, len(data.values)
    return d**2 <= size and d**3 <= 100 * size * data.n_classes
