"""Rounds of Newton's method on an engine whose z are in lists, in NumPy.

The compiled rounds (cpp/newton) have z in lanes, which formulations that take the largest of
absolute margins (ADM, ATM) do not. Given and returned: as for the others (newton_phase.py); the
steps are those of rows in parts (proximal_newton.py), with all rows in one. Where the Hessian is
small, and memory has room for a few n x k arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem import objective
from manyclass.problem.problem import Problem
from manyclass.rows.parts import OnePart
from manyclass.rows.proximal_response import ProximalRows
from manyclass.solvers.engines import Engine
from manyclass.solvers.newton.proximal_newton import MOST_STEPS, ProximalNewton, is_small
from manyclass.utils.machine import available_memory

ARRAYS, SHARE = 6, 0.25  # n x k arrays in float64, and the share of the memory that they may take
MOST_NUMBERS = 1024  # of W: the Hessian of more takes seconds to factorize
# Newton steps until the end, roughly, and passes over the examples that a product of so many
# numbers of W with the Hessian's blocks takes.
STEPS, PASSES_OF_STEP = 40, 1 / 8


@dataclass(frozen=True, slots=True)
class ListRound:
    """What a round found, as ``_core.NewtonRound``."""

    primal: float
    gap: float
    max_violation: float
    steps: int
    n_zone: int
    evaluations: int


class NewtonOnLists:
    """Rounds on zbar, the z of an engine.

    Parameters
    ----------
    engine : Engine
        With dense W.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine, self.problem = engine, engine.problem
        self._constant = engine.constant_loss()
        data = self.problem.dataset
        self._W = np.zeros((data.n_features + 1, data.n_classes))
        self.rebuild(anew=True)

    @property
    def squared_duals(self) -> float:
        """||zbar||^2."""
        total = np.zeros(1)
        self._rows.squared_duals(total)
        return float(total[0])

    def rebuild(self, anew: bool) -> None:
        """Compute W(zbar), with zbar from the engine, and begin at it where that is asked."""
        self._take(self.engine.duals().toarray().astype(np.float64))
        if anew:
            self._W = self._of_centre.copy()

    def round(self, epsilon: float, _budget: int) -> ListRound:
        """Find the proximal point, move zbar, and return P and P - D there."""
        parts = OnePart(self._rows)
        newton = ProximalNewton(self.problem, parts, self._W, epsilon)
        n_steps = newton.round(self._of_centre)
        self._W = newton.W
        self.engine.load(sp.csr_array(self._rows.moved(self._W, epsilon, newton.length)))
        z = self.engine.duals()  # rounded to the type of X
        self._take(z.toarray().astype(np.float64))
        primal = objective.primal(self.problem, self._W)
        data = self.problem.dataset
        return ListRound(
            primal - self._constant,
            max(0.0, primal - objective.dual(self.problem, z)),
            objective.max_violation(self.problem, self._W, z),
            min(n_steps, MOST_STEPS),
            newton.n_zone,
            newton.n_passes * data.n_examples * data.n_classes,
        )

    def read_weights(self, out: _core.Weights) -> None:
        """Copy W."""
        out.matrix[:, : self._W.shape[1]] = self._W

    def write_weights(self, weights: _core.Weights) -> None:
        """Take over W."""
        self._W = weights.matrix[:, : self._W.shape[1]].astype(np.float64)

    def _take(self, z: NDArray[np.float64]) -> None:
        self._rows = ProximalRows(self.problem, z)
        self._of_centre = objective.weights_of(self.problem, sp.csr_array(z))


def is_allowed(engine: Engine) -> bool:
    """Whether z is in lists for its formulation, the Hessian is small, and memory has room."""
    problem, data = engine.problem, engine.problem.dataset
    formulation = problem.formulation
    if formulation.is_relative or not formulation.takes_maximum or not is_small(problem):
        return False
    if (data.n_features + 1) * data.n_classes > MOST_NUMBERS:
        return False
    needed = 8 * ARRAYS * data.n_examples * data.n_classes
    return needed < SHARE * available_memory()


def passes(problem: Problem) -> float:
    """Return the passes over the examples that the phase takes, roughly."""
    data = problem.dataset
    return STEPS * PASSES_OF_STEP * (data.n_features + 1) * (data.n_classes + 1)
