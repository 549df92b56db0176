"""Newton's method with conjugate gradients for the primal of multinomial logistic regression.

    min_W  P(W) = 1/2 ||W||^2 + sum_i C_i (log sum_c exp(w_c . x_i) - w_{y_i} . x_i)

    H V = V + sum_i C_i x_i (p_i * t_i - p_i (p_i . t_i))^T,  t_i = V^T x_i,  p_i = softmax(W^T x_i)

A step solves H V = -grad P inexactly and halves V until P falls enough (Nocedal, Wright 2006,
algorithm 7.1), to tenths after SHORT halvings. The preconditioner is I + a_c G for class c, with
G = sum_i C_i x_i x_i^T where features are few, else its diagonal, and a_c the mean of
p_ic (1 - p_ic) over some rows. P is strongly convex in the regularised weights, so half the squared
norm of the gradient bounds the gap (certificate.py). An intercept that is not regularised adds to
it, for its excess e_c = sum_i C_i p_ic - N_c with N_c the class's costs, about
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
from manyclass.solvers.logistic.state import State, as_matrix, bias_of, class_counts, new_weights
from manyclass.utils.types import Array, DType

# G is factorised up to so many features, where there are as many rows.
MOST_FACTORISED = 1024
ROWS_FOR_EACH = 16  # feature, of which G is made
SAMPLED = 2048  # rows from which p (1 - p) is estimated
MOST_PRODUCTS = 200  # of a step
MOST_TRIALS, SHORT = 40, 10  # lengths of a step
ENOUGH = 1e-4  # of the decrease that the gradient promises


@dataclass(slots=True, eq=False)
class NewtonPhase:
    """Where the Newton phase is.

    Attributes
    ----------
    gradient : ndarray
        Of P at the state's W, padded like it.
    primal : float
    size : float
        Of the gradient, as the gap has it.
    """

    gradient: Array
    primal: float
    size: float
    precondition: Preconditioner


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


def begin(problem: Problem, state: State, *, regularize_intercept: bool) -> NewtonPhase:
    """Return the phase at the state's W, or at W = 0 where that is better."""
    primal, gradient = gradient_at(problem, state, state.weights, regularize_intercept)
    if not primal <= problem.costs.sum() * np.log(problem.dataset.n_classes):
        state.weights[:] = 0
        primal, gradient = gradient_at(problem, state, state.weights, regularize_intercept)
    size = size_of(problem, state, gradient, regularize_intercept)
    return NewtonPhase(gradient, primal, size, preconditioner(problem))


def size_of(problem: Problem, state: State, R: Array, regularize_intercept: bool) -> float:
    """Return the norm of a gradient or residual, as the gap has it."""
    squared = dot(R, R)
    if not regularize_intercept and problem.dataset.bias:
        own = bias_of(R, problem, class_major=state.class_major).astype(np.float64)
        excess = own / problem.dataset.bias
        squared += float(excess**2 @ np.maximum(1, 1 / class_counts(problem)) - own @ own)
    return float(np.sqrt(max(squared, 0.0)))


def gradient_at(
    problem: Problem,
    state: State,
    weights: Array,
    regularize_intercept: bool,
) -> tuple[float, Array]:
    """Return P and its gradient."""
    gradient = new_weights(problem, problem.dataset.dtype, state.class_major)
    loss = state.trainer.gradient(weights, gradient, state.class_major)
    shrunk = regularised(problem, state, weights, regularize_intercept)
    gradient += shrunk
    return loss + 0.5 * dot(shrunk, shrunk), gradient


def regularised(
    problem: Problem,
    state: State,
    weights: Array,
    regularize_intercept: bool,
) -> Array:
    """Return W, with zeros for intercepts that are not regularised."""
    if regularize_intercept:
        return weights
    part = weights.copy()
    bias_of(part, problem, class_major=state.class_major)[:] = 0
    return part


def step(
    problem: Problem,
    state: State,
    phase: NewtonPhase,
    *,
    regularize_intercept: bool,
    tol: float,
) -> int:
    """Make one step; returns the products with the Hessian. `tol`: of the size of the gradient."""
    scale = phase.precondition.scale(curvature_shares(problem, state), problem.dataset.dtype)

    along, out, weights = (
        new_weights(problem, problem.dataset.dtype, state.class_major) for _ in range(3)
    )
    cm = state.class_major

    def product(V: Array) -> Array:
        along[:] = V
        out[:] = V
        if not regularize_intercept:
            bias_of(out, problem, class_major=cm)[:] = 0
        state.trainer.curvature(state.weights, along, out, cm)
        return out

    def precondition(R: Array) -> Array:
        scaled = np.zeros_like(R)
        as_matrix(scaled, problem, class_major=cm)[:] = phase.precondition(
            as_matrix(R, problem, class_major=cm), scale
        )
        return scaled

    def size(R: Array) -> float:
        return size_of(problem, state, R, regularize_intercept)

    accuracy = min(0.1, np.sqrt(phase.size / max(1.0, abs(phase.primal))))
    direction, n_products = conjugate_gradients(
        product, precondition, phase.gradient, size, max(accuracy * phase.size, 0.3 * tol)
    )
    slope = dot(direction, phase.gradient)
    noise = 10 * float(np.finfo(phase.gradient.dtype).eps) * abs(phase.primal)
    length = 1.0
    for trial in range(MOST_TRIALS):
        weights[:] = state.weights + state.weights.dtype.type(length) * direction
        centre(problem, state, weights)
        primal, gradient = gradient_at(problem, state, weights, regularize_intercept)
        falls = primal <= phase.primal + ENOUGH * length * slope
        if -length * slope <= noise:  # P cannot tell any more, but its gradient
            falls = primal <= phase.primal + noise and size(gradient) < phase.size
        if falls:
            state.weights[:] = weights
            phase.primal, phase.gradient, phase.size = primal, gradient, size(gradient)
            break
        length *= 0.5 if trial < SHORT else 0.1
    return n_products


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


def centre(problem: Problem, state: State, weights: Array) -> None:
    """Take the mean over the classes off W, which lowers its norm and changes no probability."""
    W = as_matrix(weights, problem, class_major=state.class_major)
    W -= W.mean(axis=1, keepdims=True)


def dot(a: Array, b: Array) -> float:
    """Return the scalar product."""
    return float(np.vdot(a, b))


def curvature_shares(problem: Problem, state: State) -> NDArray[np.float64]:
    """Return the mean of p_ic (1 - p_ic) over some rows, for each class."""
    data = problem.dataset
    some = np.linspace(0, data.n_examples - 1, min(SAMPLED, data.n_examples)).astype(int)
    W = as_matrix(state.weights, problem, class_major=state.class_major)
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
