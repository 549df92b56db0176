"""The squared hinge on devices, one-vs-rest and Weston-Watkins: Newton's method, and its rows.

    min_W  P(W) = 1/2 ||W||^2 + sum_i C_i sum_c max(0, xi_ic)^2

P is smooth: the steps are those of logistic regression (solvers/logistic/newton.py). With the best
dual variables at W, z_ic = 2 C_i max(0, xi_ic), all terms of P - D but 1/2 ||W - W(z)||^2 vanish,
and W - W(z) is the gradient of P; the sums of ``SquaredHingeTerms`` (rows/questions.py) include the
rounding errors of these terms. Rows are in parts, on devices of this process or of others.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.smooth.sums import SmoothRows
from manyclass.arrays.svm.certificate import Duals, PartCertificate, slacks
from manyclass.problem.problem import Problem, check_squared_norms, zero_objective
from manyclass.problem.solution import UNIT, Certificate
from manyclass.rows.questions import SquaredHingeTerms
from manyclass.solvers.engines import Found, as_returned, certificate_of
from manyclass.solvers.logistic.newton import NewtonLogistic
from manyclass.solvers.weights.storage import antisymmetric
from manyclass.utils.types import Array, DeviceArray

SIZES = 2  # numbers of a part: the sum of the magnitudes of the terms of W(z), and their number


class SquaredHingeRows(SmoothRows, SquaredHingeTerms):
    """The rows of one-vs-rest or Weston-Watkins with the squared hinge."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        norms = self.squared_norms()
        check_squared_norms(norms)
        self._certificate = PartCertificate(self.in_double(), norms)

    def at_zero(self, total: NDArray[np.float64]) -> None:
        """Add up P(0)."""
        total += zero_objective(self.problem)

    def best_duals(
        self, W: Array, of_duals: NDArray[np.float64], sizes: NDArray[np.float64]
    ) -> None:
        """Add W(z); write what bounds its rounding in the place of this part."""
        found, *of_rounding = self._certificate.weights_of(_best_at(W))
        of_duals += found
        sizes[self.number] = of_rounding

    def prove(self, W: Array, norm: float, terms: NDArray[np.float64]) -> None:
        """Write ``Found`` at W and z in the place of this part."""
        found = self._certificate.found(W, _best_at(W), norm)
        terms[self.number] = Found.sum_of(found)


def _best_at(W: Array) -> Duals:
    """Return what finds the z of some rows at W."""
    wide = W.astype(np.float64)

    def duals(rows: ArrayRows, part: slice) -> DeviceArray:
        x, labels = rows.wide_factor(part), rows.of(rows.labels, part)
        xi = slacks(rows, rows.scores(x, part, rows.place.asarray(wide)), labels)
        return 2 * rows.costs[part][:, None] * rows.xp.clip(xi, 0, None)

    return duals


class NewtonSvm(NewtonLogistic):
    """The solver, from W = 0 or from the W of a start; its engine's parts are ``SquaredHingeRows``.

    Parameters are those of ``NewtonLogistic``.
    """

    def proof(self) -> Certificate:
        """Compute P at W and D at the z of its slacks; of two classes W may move to (-v, v)."""
        engine, problem = self.engine, self.problem
        W, n_parts, k = engine.weights(), engine.parts.n_parts, problem.dataset.n_classes
        if k == 2 and problem.is_antisymmetric:
            antisymmetric(W)
        of_duals, sizes = np.zeros(W.shape), np.zeros((n_parts, SIZES))
        engine.parts.add(SquaredHingeTerms.best_duals, (W,), (of_duals, sizes))
        rounding = UNIT * (float(sizes[:, 1].max()) + n_parts) * math.fsum(sizes[:, 0].tolist())
        square = _core.squared_distance(W, of_duals)
        distance = math.sqrt(square) * (1 + UNIT * (8 + W.size)) + rounding
        at = as_returned(problem, W)
        terms = np.zeros((n_parts, len(Found._fields)))
        engine.parts.add(SquaredHingeTerms.prove, (W, at.norm), (terms,))
        found = [Found(*row) for row in terms.tolist()]
        zero, n = engine.zero_objective, engine.n_examples
        return certificate_of(problem, at, found, distance, zero, n)
