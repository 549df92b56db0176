"""Rounds of Newton's method on an engine with z in lists, in NumPy.

The compiled rounds (cpp/newton) need z in lanes. Formulations with the largest of absolute margins
(ADM, ATM) have z in lists. Input and output are the same as for the compiled rounds
(newton_phase.py). The steps are the same as for rows in parts (steps_on_parts.py), with all rows in
one part. Used if the Hessian is small and a few n x k arrays fit into memory.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem import objective
from manyclass.problem.problem import Problem
from manyclass.rows.parts import OnePart
from manyclass.rows.proximal_response import ProximalRows
from manyclass.solvers.engines import Engine
from manyclass.solvers.newton.steps_on_parts import StepsOnParts, is_small
from manyclass.solvers.newton_phase import Round
from manyclass.utils.machine import available_memory

ARRAYS, SHARE = 6, 0.25  # float64 n x k arrays, and their largest share of the memory
MOST_NUMBERS = 1024  # largest size of W: a larger Hessian takes seconds to factorize
# Approximate number of Newton steps, and passes over the examples per step and number of W.
STEPS, PASSES_OF_STEP = 40, 1 / 8


class NewtonOnLists(StepsOnParts):
    """Newton steps around zbar, the z of an engine.

    Parameters
    ----------
    engine : Engine
        An engine with dense W.
    """

    def __init__(self, engine: Engine) -> None:
        data = engine.problem.dataset
        W = np.zeros((data.n_features + 1, data.n_classes))
        self.engine, self._constant = engine, engine.constant_loss()
        self._rows, of_centre = _around(engine)
        super().__init__(engine.problem, OnePart(self._rows), W, of_centre)

    def rebuild(self, anew: bool) -> None:
        """Compute W(zbar), with zbar from the engine, and begin at it if requested."""
        self._rows, self.of_centre = _around(self.engine)
        self.parts = OnePart(self._rows)
        if anew:
            self.W = self.of_centre.copy()

    def move(self, length: float) -> Round:
        """Move zbar, rounded to the dtype of X, and return P and P - D at it."""
        self.engine.load(sp.csr_array(self._rows.moved(self.W, self.epsilon, length)))
        self.rebuild(anew=False)
        problem, data, z = self.problem, self.problem.dataset, self.engine.duals()
        primal = objective.primal(problem, self.W)
        return Round(
            primal - self._constant,
            max(0.0, primal - objective.dual(problem, z)),
            objective.max_violation(problem, self.W, z),
            self.n_steps,
            self.n_zone,
            self.n_passes * data.n_examples * data.n_classes,
        )

    def read_weights(self, out: _core.Weights) -> None:
        """Copy W."""
        out.matrix[:, : self.W.shape[1]] = self.W

    def write_weights(self, weights: _core.Weights) -> None:
        """Set W."""
        self.W = weights.matrix[:, : self.W.shape[1]].astype(np.float64)


def _around(engine: Engine) -> tuple[ProximalRows, NDArray[np.float64]]:
    """Return the rows around the z of an engine, and W(z)."""
    z = engine.duals()
    rows = ProximalRows(engine.problem, z.toarray().astype(np.float64))
    return rows, objective.weights_of(engine.problem, z)


def is_allowed(engine: Engine) -> bool:
    """Whether z must be in lists, the Hessian is small, and the arrays fit into memory."""
    problem, data = engine.problem, engine.problem.dataset
    formulation = problem.formulation
    if formulation.is_relative or not formulation.takes_maximum or not is_small(problem):
        return False
    if (data.n_features + 1) * data.n_classes > MOST_NUMBERS:
        return False
    needed = 8 * ARRAYS * data.n_examples * data.n_classes
    return needed < SHARE * available_memory()


def passes(problem: Problem) -> float:
    """Return the approximate cost of the phase in passes over the examples."""
    data = problem.dataset
    return STEPS * PASSES_OF_STEP * (data.n_features + 1) * (data.n_classes + 1)
