"""Newton's method for squared hinge losses on devices: one-vs-rest and Weston-Watkins.

    min_W  P(W) = 1/2 ||W||^2 + sum_i C_i sum_c max(0, xi_ic)^2

P is smooth: the steps are those of logistic regression (solvers/logistic/newton.py). With the best
dual variables at W, z_ic = 2 C_i max(0, xi_ic), all terms of P - D but 1/2 ||W - W(z)||^2 vanish,
and W - W(z) is the gradient of P. Rows are in parts, on devices of this process or of others.
"""

from __future__ import annotations

import math

import numpy as np

from manyclass import _core
from manyclass.arrays.svm.squared_rows import SIZES
from manyclass.problem.solution import UNIT, Certificate
from manyclass.rows.questions import SquaredHingeTerms
from manyclass.solvers.engines import Found, as_returned, certificate_of
from manyclass.solvers.logistic.newton import NewtonLogistic
from manyclass.solvers.weights.storage import antisymmetric


class NewtonSvm(NewtonLogistic):
    """The solver, from W = 0 or from the W of a start; its engine's parts are ``SquaredHingeRows``.

    Parameters are those of ``NewtonLogistic``.
    """

    def proof(self) -> Certificate:
        """Compute P at W and D at the z of its slacks; of two classes W may move to (-v, v)."""
        engine, problem = self.engine, self.problem
        W, n_parts, k = engine.weights("K"), engine.parts.n_parts, problem.dataset.n_classes
        if k == 2 and problem.is_antisymmetric:
            antisymmetric(W)
        of_duals, sizes = np.zeros(W.shape), np.zeros((n_parts, SIZES))
        engine.parts.add(SquaredHingeTerms.best_duals, (W,), (of_duals, sizes))
        rounding = UNIT * (float(sizes[:, 1].max()) + n_parts) * math.fsum(sizes[:, 0].tolist())
        square = _core.squared_distance(W, of_duals)
        distance = math.sqrt(square) * (1 + UNIT * (8 + W.size)) + rounding
        at = as_returned(problem, W)
        terms = np.zeros((n_parts, len(Found._fields)))
        engine.parts.add(SquaredHingeTerms.prove, (W, at.norm(k)), (terms,))
        found = [Found(*row) for row in terms.tolist()]
        zero, n = engine.zero_objective, engine.n_examples
        return certificate_of(problem, at, found, distance, zero, n)
