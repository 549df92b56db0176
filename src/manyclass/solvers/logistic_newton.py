"""Newton's method with conjugate gradients for the primal of multinomial logistic regression.

    min_W  P(W) = 1/2 ||W||^2 + sum_i C_i (log sum_c exp(w_c . x_i) - w_{y_i} . x_i)

    H V = V + sum_i C_i x_i (p_i * t_i - p_i (p_i . t_i))^T,  t_i = V^T x_i,  p_i = softmax(W^T x_i)

A step solves H V = -grad P inexactly, preconditioned (preconditioners.py), and halves V until P
falls enough (Nocedal, Wright 2006, algorithm 7.1), to tenths after SHORT halvings. P is strongly
convex in the regularised weights, so half the squared norm of the gradient bounds the gap
(logistic_certificate.py). An intercept that is not regularised adds to it, for its excess
e_c = sum_i C_i p_ic - N_c with N_c the class's costs, about e_c^2 max(1, 1 / N_c): what it costs to
make u feasible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from manyclass.solvers.logistic_engine import LogisticEngine, class_counts, dot
from manyclass.solvers.preconditioners import preconditioner_for
from manyclass.utils.machine import one_blas_thread
from manyclass.utils.types import Array

MOST_PRODUCTS = 200  # of a step
MOST_TRIALS, SHORT = 40, 10  # lengths of a step
ENOUGH = 1e-4  # of the decrease that the gradient promises


@dataclass(frozen=True, slots=True)
class NewtonRound:
    """A step: P and the gap at its end, products with the Hessian, scores that were computed."""

    primal: float
    gap: float
    steps: int
    evaluations: int


class LogisticNewton:
    """The phase, from the engine's W, or from W = 0 where that is better.

    Like the Newton phase of the support vector machines (newton_phase.py), it is made with an
    engine, and ``round`` moves the engine's W.

    Parameters
    ----------
    engine : LogisticEngine

    Attributes
    ----------
    primal : float
        P at the engine's W.
    """

    def __init__(self, engine: LogisticEngine) -> None:
        self.engine = engine
        self.primal, self._gradient = engine.gradient(engine.W)
        data = engine.problem.dataset
        if not self.primal <= engine.problem.costs.sum() * np.log(data.n_classes):
            engine.W[:] = 0
            self.primal, self._gradient = engine.gradient(engine.W)
        self._size = self._size_of(self._gradient)
        self._inverse = preconditioner_for(engine.problem)

    def round(self, tol: float) -> NewtonRound:
        """Make one step; `tol` is asked of the size of the gradient."""
        data = self.engine.problem.dataset
        lengths = np.errstate(over="ignore", invalid="ignore")  # of which some are too large
        with lengths, one_blas_thread():
            n_products = self._step(tol)
        evaluations = (2 * n_products + 1) * data.n_examples * data.n_classes
        return NewtonRound(self.primal, 0.5 * self._size**2, n_products, evaluations)

    def _step(self, tol: float) -> int:
        """Step along the direction; return the products with the Hessian."""
        accuracy = min(0.1, np.sqrt(self._size / max(1.0, abs(self.primal))))
        goal = max(accuracy * self._size, 0.3 * tol)
        product, precondition = self._product(), self._preconditioning()
        direction, n_products = conjugate_gradients(
            product, precondition, self._gradient, self._size_of, goal
        )
        self._search(direction)
        return n_products

    def _product(self) -> Callable[[Array], Array]:
        """Return the product with the Hessian at W; its result is overwritten by the next one."""
        engine = self.engine
        along, out = engine.new_weights(), engine.new_weights()

        def product(V: Array) -> Array:
            along[:] = V
            out[:] = V
            if engine.is_free:
                engine.bias(out)[:] = 0
            engine.curvature(along, out)
            return out

        return product

    def _preconditioning(self) -> Callable[[Array], Array]:
        """Return the product with the preconditioner at W."""
        engine, inverse = self.engine, self._inverse
        inverse.update(engine)

        def precondition(R: Array) -> Array:
            scaled = np.zeros_like(R)
            engine.matrix(scaled)[:] = inverse(engine.matrix(R))
            return scaled

        return precondition

    def _search(self, direction: Array) -> None:
        """Move W along a direction until P falls enough."""
        engine, W = self.engine, self.engine.new_weights()
        slope = dot(direction, self._gradient)
        noise = 10 * float(np.finfo(self._gradient.dtype).eps) * abs(self.primal)
        length = 1.0
        for trial in range(MOST_TRIALS):
            W[:] = engine.W + W.dtype.type(length) * direction
            _centre(engine.matrix(W))
            primal, gradient = engine.gradient(W)
            falls = primal <= self.primal + ENOUGH * length * slope
            if -length * slope <= noise:  # P is all rounding there, the gradient is not
                falls = primal <= self.primal + noise and self._size_of(gradient) < self._size
            if falls:
                engine.W[:] = W
                self.primal, self._gradient = primal, gradient
                self._size = self._size_of(gradient)
                return
            length *= 0.5 if trial < SHORT else 0.1

    def _size_of(self, R: Array) -> float:
        """Return the norm of a gradient or residual, as the gap has it."""
        squared, problem = dot(R, R), self.engine.problem
        if self.engine.is_free:
            own = self.engine.bias(R).astype(np.float64)
            excess = own / problem.dataset.bias
            squared += float(excess**2 @ np.maximum(1, 1 / class_counts(problem)) - own @ own)
        return float(np.sqrt(max(squared, 0.0)))


def conjugate_gradients(
    product: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    gradient: Array,
    size: Callable[[Array], float],
    goal: float,
) -> tuple[Array, int]:
    """Solve H V = -gradient until the residual's size is at most `goal`, or its norm underflows."""
    V, residual = np.zeros_like(gradient), -gradient
    scaled = precondition(residual)
    direction, before = scaled.copy(), dot(residual, scaled)
    for n in range(MOST_PRODUCTS):
        if size(residual) <= goal or not before > 0:
            return V, n
        along = product(direction)
        curvature = dot(direction, along)
        if not curvature > 0:
            return (V if n else scaled), n + 1
        length = V.dtype.type(before / curvature)
        V += length * direction
        residual -= length * along
        scaled = precondition(residual)
        now = dot(residual, scaled)
        direction *= V.dtype.type(now / before)
        direction += scaled
        before = now
    return V, MOST_PRODUCTS


def _centre(W: Array) -> None:
    """Subtract the mean over the classes, which lowers the norm and changes no probability."""
    W -= W.mean(axis=1, keepdims=True)
