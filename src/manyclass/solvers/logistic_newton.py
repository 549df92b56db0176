"""Newton's method with conjugate gradients for the primal of multinomial logistic regression.

    min_W  P(W) = 1/2 ||W||^2 + sum_i C_i (log sum_c exp(w_c . x_i) - w_{y_i} . x_i)

    H V = V + sum_i C_i x_i (p_i * t_i - p_i (p_i . t_i))^T,  t_i = V^T x_i,  p_i = softmax(W^T x_i)

A step solves H V = -grad P inexactly and halves V until P falls enough (Nocedal, Wright 2006,
algorithm 7.1), to tenths after SHORT halvings. The preconditioner is I + a_c G for class c, with
G = sum_i C_i x_i x_i^T where features are few, else its diagonal, and a_c the mean of
p_ic (1 - p_ic) over some rows. P is strongly convex in the regularised weights, so half the squared
norm of the gradient bounds the gap (logistic_certificate.py). An intercept that is not regularised
adds to it, for its excess e_c = sum_i C_i p_ic - N_c with N_c the class's costs, about
e_c^2 max(1, 1 / N_c): what it costs to make u feasible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.special
from numpy.typing import NDArray

from manyclass.problem.problem import Problem
from manyclass.solvers.logistic_engine import LogisticEngine, class_counts, dot
from manyclass.utils.types import Array, DType

# G is factorised up to so many features, where there are as many rows.
MOST_FACTORISED = 1024
ROWS_FOR_EACH = 16  # feature, of which G is made
SAMPLED = 2048  # rows from which p (1 - p) is estimated
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


@dataclass(slots=True, eq=False)
class Preconditioner:
    """(I + a_c G)^-1 for class c, G = Q diag(values) Q^T; or G's diagonal, where Q is None."""

    values: NDArray[np.float64]
    vectors: Array | None

    def scale(self, shares: NDArray[np.float64], dtype: DType) -> Array:
        """Return 1 / (1 + a_c G), shape (d + 1, k), of the diagonal."""
        return (1 / (1 + np.multiply.outer(self.values, shares))).astype(dtype)

    def __call__(self, R: Array, scale: Array) -> Array:
        """Apply it to an array of shape (d + 1, k)."""
        if self.vectors is None:
            return np.asarray(R * scale)
        return np.asarray(self.vectors @ ((self.vectors.T @ R) * scale))


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
        self._precondition = preconditioner(engine.problem)

    def round(self, tol: float) -> NewtonRound:
        """Make one step; `tol` is asked of the size of the gradient."""
        data = self.engine.problem.dataset
        with np.errstate(over="ignore", invalid="ignore"):  # of lengths that are too large
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
        engine = self.engine
        scale = self._precondition.scale(curvature_shares(engine), engine.W.dtype)

        def precondition(R: Array) -> Array:
            scaled = np.zeros_like(R)
            engine.matrix(scaled)[:] = self._precondition(engine.matrix(R), scale)
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


def curvature_shares(engine: LogisticEngine) -> NDArray[np.float64]:
    """Return the mean of p_ic (1 - p_ic) over some rows, for each class."""
    problem, data = engine.problem, engine.problem.dataset
    some = np.linspace(0, data.n_examples - 1, min(SAMPLED, data.n_examples)).astype(int)
    W = engine.matrix(engine.W)
    scores = np.asarray(data.matrix()[some] @ np.ascontiguousarray(W[:-1])) + data.bias * W[-1]
    p = scipy.special.softmax(scores.astype(np.float64), axis=1)
    cost = problem.costs[some]
    return np.asarray((cost @ (p * (1 - p))) / cost.sum())


def is_factorised(problem: Problem) -> bool:
    """Whether the preconditioner is of G, not of its diagonal."""
    data = problem.dataset
    return data.n_features < min(MOST_FACTORISED, data.n_examples)


def preconditioner(problem: Problem) -> Preconditioner:
    """Return that of the data; G from some rows, where they are many more than features."""
    data = problem.dataset
    matrix = data.matrix()
    if not is_factorised(problem):
        X = sp.csr_array(matrix)
        squares = np.asarray(problem.costs @ X.multiply(X)).ravel()
        return Preconditioner(np.append(squares, data.bias**2 * problem.costs.sum()), None)
    wanted = min(data.n_examples, ROWS_FOR_EACH * (data.n_features + 1))
    some = np.linspace(0, data.n_examples - 1, wanted).astype(int)
    part = matrix[some]
    rows = np.asarray(part.todense() if sp.issparse(part) else part, np.float64)
    rows = np.column_stack([rows, np.full(wanted, data.bias)])
    costs = problem.costs[some]
    rows *= np.sqrt(costs * (problem.costs.sum() / costs.sum()))[:, None]
    values, vectors = scipy.linalg.eigh(rows.T @ rows)
    return Preconditioner(np.maximum(values, 0), vectors.astype(data.dtype))
