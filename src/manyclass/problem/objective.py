"""Primal, dual, gap and certificate in NumPy: readable, and independent of the compiled core.

Arguments of all functions: ``problem`` (n examples, d features, k classes); ``weights`` W of shape
(d + 1, k), with the last row for the appended constant feature; ``duals`` z, sparse of shape
(n, k), zero if c is not a target.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyclass.problem.formulations import Formulation
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, relative
from manyclass.utils.machine import weighted_sum
from manyclass.utils.types import Array, CsrArray


def scores(problem: Problem, weights: Array) -> NDArray[np.float64]:
    """Return w_c . x_i, shape (n, k), in float64."""
    data = problem.dataset
    W = weights.astype(np.float64)
    product = data.matrix().astype(np.float64) @ W[: data.n_features]
    return np.asarray(product + data.bias * W[data.n_features], dtype=np.float64)


def targets_of(
    formulation: Formulation, labels: NDArray[np.int32], n_classes: int
) -> NDArray[np.bool_]:
    """Whether c is in T_i for rows with these labels, shape (rows, k)."""
    own = labels[:, None] == np.arange(n_classes)
    wanted = formulation.targets
    return own if wanted == "own" else np.ones_like(own) if wanted == "all" else ~own


def targets(problem: Problem) -> NDArray[np.bool_]:
    """Whether c is in T_i, shape (n, k)."""
    return targets_of(problem.formulation, problem.dataset.labels, problem.dataset.n_classes)


ALL = slice(None)


def slacks_of(problem: Problem, s: NDArray[np.float64], part: slice = ALL) -> NDArray[np.float64]:
    """Return the slacks xi of some rows, from their scores w_c . x."""
    labels = problem.dataset.labels[part]
    rows, n_classes = np.arange(len(labels)), s.shape[1]
    gamma, gamma_own = problem.margins()
    if problem.base is not None:
        s = s + problem.base.of(part)
    own, formulation = s[rows, labels], problem.formulation
    if formulation.is_relative:
        xi = gamma - (own[:, None] - s)
    else:
        xi = gamma + s
        xi[rows, labels] = gamma_own - own
    return np.where(targets_of(formulation, labels, n_classes), xi, -np.inf)


def slacks(problem: Problem, weights: Array) -> NDArray[np.float64]:
    """Return xi_{i,c} = gamma_c - mu_c(x_i, y_i), shape (n, k); -inf if c is not a target."""
    return slacks_of(problem, scores(problem, weights))


def losses_of(problem: Problem, s: NDArray[np.float64], part: slice = ALL) -> NDArray[np.float64]:
    """Return the losses of some rows without their costs, from their scores w_c . x."""
    positive = np.maximum(0, slacks_of(problem, s, part))
    together = np.max if problem.formulation.takes_maximum else np.sum
    of_classes = problem.slack_loss.of_positive(positive)
    if problem.factors is not None:
        of_classes = of_classes * problem.factors[problem.dataset.labels[part]]
    return np.asarray(together(of_classes, axis=1))


def losses(problem: Problem, weights: Array) -> NDArray[np.float64]:
    """Return the loss of each example without its cost, shape (n,)."""
    return losses_of(problem, scores(problem, weights))


def primal(problem: Problem, weights: Array) -> float:
    """Return P(W) = 1/2 ||W||^2 + sum_i C_i loss_i."""
    W = weights.astype(np.float64)
    return float(0.5 * np.sum(W * W)) + weighted_sum(problem.costs, losses(problem, weights))


def weights_of(
    problem: Problem, duals: CsrArray, *, centred: bool | None = None
) -> NDArray[np.float64]:
    """Return W(z), shape (d + 1, k), as in formulations.py; or U if not centred."""
    data = problem.dataset
    coefficients = coefficients_of(problem.formulation, data.labels, duals, centred=centred)
    W = np.empty((data.n_features + 1, data.n_classes))
    W[:-1] = data.matrix().astype(np.float64).T @ coefficients
    W[-1] = data.bias * coefficients.sum(axis=0)
    return W


def coefficients_of(
    formulation: Formulation,
    labels: NDArray[np.int32],
    duals: CsrArray,
    *,
    centred: bool | None = None,
) -> NDArray[np.float64]:
    """Return a_i of some rows, from their labels and z: W(z) = sum_i x_i a_i'."""
    z = duals.toarray().astype(np.float64)
    own = labels[:, None] == np.arange(z.shape[1])
    if formulation.is_relative:
        coefficients = own * z.sum(axis=1, keepdims=True) - z
    else:
        coefficients = np.where(own, z, -z)
    if formulation.centred if centred is None else centred:
        coefficients = coefficients - coefficients.mean(axis=1, keepdims=True)
    return np.asarray(coefficients, dtype=np.float64)


def dual(problem: Problem, duals: CsrArray) -> float:
    """Return D(z), with the constant loss of each x_i = 0, whose best z is known."""
    W = weights_of(problem, duals)
    z = duals.toarray().astype(np.float64)
    gamma = np.where(targets(problem), slacks(problem, np.zeros_like(W)), 0.0)
    ridge = problem.slack_loss.ridge(z, _costs(problem)).sum(axis=1)
    constant = problem.costs * losses(problem, np.zeros_like(W)) * ~_has_features(problem)
    return float(np.sum(gamma * z) - 0.5 * np.sum(W * W) + np.sum(constant - ridge))


def max_violation(problem: Problem, weights: Array, duals: CsrArray) -> float:
    """Return the largest violation of the optimality conditions (Keerthi et al. 2008, eq. 6, 18).

    agg = max: max(0, max_c xi) - min {xi_c : z_c > 0, and 0 if sum z is below its bound}.
    agg = sum: with the gradient g = xi (squared hinge: xi - z / (2 C_i)), |g| if z is free,
    max(0, g) at z = 0, max(0, -g) at z = C_i (with factors, C_i times the factor).
    """
    z = duals.toarray().astype(np.float64)
    xi = slacks(problem, weights)
    costs = _costs(problem)
    bound = costs * (1 - (1e-6 if duals.dtype == np.float32 else 1e-12))  # rounding
    if problem.formulation.takes_maximum:
        lowest = np.where(z > 0, xi, np.inf).min(axis=1)
        lowest = np.where(z.sum(axis=1) < bound[:, 0], np.minimum(lowest, 0), lowest)
        violations = np.maximum(0, xi.max(axis=1)) - lowest
    else:
        g = problem.slack_loss.gradient(z, xi, costs)
        capped = z >= problem.slack_loss.upper(bound)
        free = np.where(capped, np.maximum(0, -g), np.abs(g))
        violations = np.where(z > 0, free, np.maximum(0, g)).max(axis=1)
    return float(max(0.0, violations[_has_features(problem)].max(initial=0.0)))


def certificate(problem: Problem, weights: Array, duals: CsrArray) -> Certificate:
    """Compute the certificate of W and z, each number directly from its definition."""
    p, d = primal(problem, weights), dual(problem, duals)
    zero = primal(problem, np.zeros_like(weights))
    violation = max_violation(problem, weights, duals)
    return Certificate(p, d, p - d, relative(p - d, p, zero), violation, zero)


def _costs(problem: Problem) -> NDArray[np.float64]:
    """Return the cost of the loss of each class, shape (n, k) or (n, 1)."""
    costs = problem.costs[:, None]
    if problem.factors is None:
        return costs
    targets_only = np.where(np.eye(len(problem.factors), dtype=bool), 1.0, problem.factors)
    return np.asarray(costs * targets_only[problem.dataset.labels])


def _has_features(problem: Problem) -> NDArray[np.bool_]:
    data = problem.dataset
    X = data.matrix().astype(np.float64)
    squares = (X * X).sum(axis=1)
    return np.asarray(squares).ravel() + data.bias**2 > 0
