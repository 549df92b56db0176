"""Newton's method for squared hinge losses on a device: one-vs-rest and Weston-Watkins.

    min_W  P(W) = 1/2 ||W||^2 + sum_i C_i sum_c max(0, xi_ic)^2

P is smooth: the steps are those of logistic regression (solvers/logistic/newton.py). With the best
dual variables at W, z_ic = 2 C_i max(0, xi_ic), all terms of P - D but 1/2 ||W - W(z)||^2 vanish,
and W - W(z) is the gradient of P.
"""

from __future__ import annotations

import time

import numpy as np

from manyclass.arrays.engine import ArrayEngine
from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.svm.certificate import SvmCertificate, slacks
from manyclass.problem.problem import Problem, check_squared_norms
from manyclass.problem.solution import Certificate, Start
from manyclass.solvers.logistic.newton import NewtonLogistic
from manyclass.utils.types import DeviceArray


class NewtonSvm(NewtonLogistic):
    """The solver, from W = 0 or from the W of a start.

    Parameters
    ----------
    problem : Problem
        Of a ``DeviceDataset``, with the squared hinge.
    start : Start or None
    tol : float
        The relative gap to which Newton steps are solved.

    Raises
    ------
    FloatingPointError
        If the square of a row overflows.
    """

    engine: ArrayEngine

    def __init__(self, problem: Problem, start: Start | None, *, tol: float) -> None:
        began = time.perf_counter()
        engine = ArrayEngine(problem, regularize_intercept=True)
        parts = engine.rows_of_parts
        norms = np.concatenate([rows.squared_norms() for rows in parts])
        check_squared_norms(norms)
        self._certificate = SvmCertificate(problem, parts, norms, engine.zero_objective)
        super().__init__(engine, start, tol=tol, began=began)

    def proof(self) -> Certificate:
        """Compute P at W and D at the z of its slacks."""
        W = self.engine.weights("K")
        wide = W.astype(np.float64)

        def duals(rows: ArrayRows, part: slice) -> DeviceArray:
            x, labels = rows.wide_factor(part), rows.of(rows.labels, part)
            xi = slacks(rows, rows.scores(x, part, rows.place.asarray(wide)), labels)
            return 2 * rows.costs[part][:, None] * rows.xp.clip(xi, 0, None)

        of_duals, rounding = self._certificate.weights_of(duals)
        return self._certificate.at(W, duals, of_duals, rounding)
