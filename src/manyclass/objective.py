"""Primal, dual, gap and certificate in NumPy: readable, and independent of the compiled core.

Arguments, everywhere: ``problem`` (n examples, d features, k classes); ``weights`` W of shape
(d + 1, k), last row for the appended constant feature; ``duals`` z, sparse of shape (n, k), with
z_{i,y_i} = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.problem import Problem
from manyclass.solution import Certificate, relative


def scores(problem: Problem, weights: NDArray[Any]) -> NDArray[np.float64]:
    """w_c . x_i, shape (n, k), in float64."""
    data = problem.dataset
    W = weights.astype(np.float64)
    product = data.matrix().astype(np.float64) @ W[: data.n_features]
    return np.asarray(product + data.bias * W[data.n_features], dtype=np.float64)


def slacks(problem: Problem, weights: NDArray[Any]) -> NDArray[np.float64]:
    """xi_{i,c} = gamma - (w_y - w_c) . x_i, shape (n, k); 0 at c = y_i, which is no target."""
    s = scores(problem, weights)
    rows = np.arange(problem.dataset.n_examples)
    labels = problem.dataset.labels
    xi = problem.formulation.gamma - (s[rows, labels][:, None] - s)
    xi[rows, labels] = 0.0
    return np.asarray(xi)


def primal(problem: Problem, weights: NDArray[Any]) -> float:
    """P(W) = 1/2 ||W||^2 + sum_i C_i max(0, max_c xi_ic)."""
    W = weights.astype(np.float64)
    losses = slacks(problem, weights).max(axis=1)
    return float(0.5 * np.sum(W * W) + problem.costs @ losses)


def weights_of(problem: Problem, duals: sp.csr_array[Any]) -> NDArray[np.float64]:
    """W(z), shape (d + 1, k): w_c = sum_i ([c = y_i] sum_m z_im - z_ic) x_i."""
    data = problem.dataset
    z = duals.astype(np.float64)
    totals = np.asarray(z.sum(axis=1)).ravel()
    own = sp.csr_array(
        (totals, (np.arange(data.n_examples), data.labels)), shape=(data.n_examples, data.n_classes)
    )
    coefficients = sp.csr_array(own - z)
    W = np.empty((data.n_features + 1, data.n_classes))
    W[:-1] = (data.matrix().astype(np.float64).T @ coefficients).toarray()
    W[-1] = data.bias * np.asarray(coefficients.sum(axis=0)).ravel()
    return W


def dual(problem: Problem, duals: sp.csr_array[Any]) -> float:
    """D(z) = sum z - 1/2 ||W(z)||^2, and C_i for each x_i = 0, whose best z is known."""
    W = weights_of(problem, duals)
    return float(duals.sum() + problem.costs[~_has_features(problem)].sum() - 0.5 * np.sum(W * W))


def max_violation(problem: Problem, weights: NDArray[Any], duals: sp.csr_array[Any]) -> float:
    """Largest v_i: max_m g^m - min {g^m : alpha^m < C^m} (Keerthi et al. 2008, eq. 6)."""
    z = duals.toarray().astype(np.float64)
    xi = slacks(problem, weights)  # g^m - g^{y_i}, so 0 at y_i
    rounding = 8 * np.finfo(duals.dtype).eps
    below = z > 0
    labels = problem.dataset.labels
    below[np.arange(len(labels)), labels] = z.sum(axis=1) < problem.costs * (1 - rounding)
    lowest = np.where(below, xi, np.inf).min(axis=1)
    violations = (xi.max(axis=1) - lowest)[_has_features(problem)]
    return float(max(0.0, violations.max(initial=0.0)))


def certificate(problem: Problem, weights: NDArray[Any], duals: sp.csr_array[Any]) -> Certificate:
    """Judge W and z, each number computed on its own."""
    p, d = primal(problem, weights), dual(problem, duals)
    return Certificate(
        primal_objective=p,
        dual_objective=d,
        gap=p - d,
        relative_gap=relative(p - d, p),
        max_violation=max_violation(problem, weights, duals),
    )


def _has_features(problem: Problem) -> NDArray[np.bool_]:
    data = problem.dataset
    squares = data.matrix().astype(np.float64).power(2).sum(axis=1)
    return np.asarray(squares).ravel() + data.bias**2 > 0
