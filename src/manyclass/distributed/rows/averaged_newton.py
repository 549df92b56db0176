"""Newton steps along the average of the parts' own directions, if communication is slow.

    V = sum_r w_r V_r,   (I + sum_{i in r} C_i / w_r S_i (x) x_i x_i^T) V_r = -grad P,
    w_r = sum_{i in r} C_i / sum_i C_i,   S_i = diag p_i - p_i p_i^T

Input: the gradient of all rows, and parts. Each part treats its rows as a sample of all rows and
solves its system by conjugate gradients. A step takes two calls: the direction and the gradient. If
parts are similar and have many more rows than features, V is near Newton's direction. Once a step
does not divide the gradient by LESS, conjugate gradients over all parts are used instead.
Source: Wang, Roosta-Khorasani, Xu, Mahoney 2018 (GIANT), algorithm 1.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from manyclass.problem.problem import Problem
from manyclass.rows.logistic_sums import LogisticRows, as_matrix
from manyclass.rows.parts import OnePart
from manyclass.solvers.logistic.engine import PrimalEngine
from manyclass.solvers.logistic.newton import (
    LogisticNewton,
    conjugate_gradients,
    hessian_product,
    preconditioning,
)
from manyclass.solvers.logistic.preconditioners import Preconditioner, preconditioner_for
from manyclass.solvers.logistic.weight_arrays import dot
from manyclass.utils.types import Array

LESS = 2.0
ACCURACY = 0.03  # tolerance of a part's direction, smaller than the differences between parts


class NewtonRows(LogisticRows):
    """The rows of a part, which can find a direction of its own."""

    def __init__(self, problem: Problem, n_jobs: int = 1) -> None:
        super().__init__(problem, n_jobs)
        self.n_jobs = n_jobs
        self._alone: tuple[PrimalEngine, Preconditioner] | None = None

    def direction(
        self,
        W: Array,
        gradient: Array,
        class_major: bool,
        free: bool,
        total_cost: float,
        accuracy: float,
        total: Array,
        products: NDArray[np.float64],
    ) -> None:
        """Add w_r V_r, and w_r times the number of products with the Hessian."""
        weight = float(self.problem.costs.sum()) / total_cost
        if not weight:
            return
        engine, inverse = self._as_all(weight, free)
        R = engine.new_weights()
        for into, given in ((engine.W, W), (R, gradient)):
            engine.matrix(into)[:] = as_matrix(given, self.problem, class_major=class_major)
        V, n_products = conjugate_gradients(
            engine,
            hessian_product(engine),
            preconditioning(engine, inverse),
            R,
            _norm,
            accuracy * _norm(R),
        )
        here = as_matrix(total, self.problem, class_major=class_major)
        here += here.dtype.type(weight) * engine.matrix(V)
        products += weight * n_products

    def _as_all(self, weight: float, free: bool) -> tuple[PrimalEngine, Preconditioner]:
        """Return an engine that treats the rows of this part as all rows, with scaled costs."""
        if self._alone is None:
            problem = replace(self.problem, C=self.problem.C / weight)
            rows = OnePart(LogisticRows(problem, self.n_jobs))
            engine = PrimalEngine(problem, rows, regularize_intercept=not free)
            self._alone = engine, preconditioner_for(engine)
        return self._alone


class AveragedNewton(LogisticNewton):
    """Newton's method that begins with averaged directions; the parts are ``NewtonRows``."""

    averages = True  # until a step reduces the gradient too little

    def _step(self, tol: float) -> int:
        if not self.averages:
            return super()._step(tol)
        engine, before, n_products = self.engine, self._size, np.zeros(1)
        direction = engine.new_weights()
        accuracy = max(ACCURACY, 0.3 * tol / before)
        at = engine.W, self._gradient, engine.class_major, engine.is_free
        given = *at, engine.total_cost, accuracy
        engine.parts.add(NewtonRows.direction, given, (direction, n_products))
        moved = self._search(direction, 1)
        self.averages = LESS * self._size <= before
        made = round(float(n_products[0]))
        return made if moved else made + super()._step(tol)


def _norm(R: Array) -> float:
    return float(np.sqrt(dot(R, R)))
