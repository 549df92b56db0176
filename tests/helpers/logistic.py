"""Tiny problems of multinomial logistic regression, and the formulas in NumPy."""

import numpy as np
import scipy.optimize
import scipy.sparse as sp
from scipy.special import log_softmax, softmax

from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import LOGISTIC
from manyclass.problem.problem import Problem
from tests.helpers.dense_data import rows_with_bias


def random_logistic(  # a problem whose classes are all there
    seed,
    *,
    bias=1.0,
    dtype=np.float64,
    shape=None,
):
    """Return a random problem: sparse or dense, weights, any C."""
    rng = np.random.default_rng(seed)
    n, d, k = shape or (int(rng.integers(6, 15)), int(rng.integers(1, 5)), int(rng.integers(2, 5)))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.4, 1.0]))
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)]).astype(np.int32)
    weights = rng.choice([0.5, 1.0, 3.0], n)
    matrix = X.astype(dtype) if rng.random() < 0.5 else sp.csr_array(X.astype(dtype))
    dataset = Dataset.from_matrix(matrix, labels, n_classes=k, weights=weights, bias=bias)
    return Problem(dataset, LOGISTIC, float(10 ** rng.uniform(-2, 1)), "log_loss")


def class_counts(problem):
    """sum_i C_i e_{y_i}."""
    data = problem.dataset
    return np.bincount(data.labels, problem.costs, minlength=data.n_classes)


def scores(problem, W):
    """w_c . x_i, and base scores."""
    found = rows_with_bias(problem.dataset) @ W
    return found if problem.base is None else found + problem.base.table[problem.base.rows]


def primal(problem, W, *, free):
    """P at W of shape (d + 1, k); `free`: intercepts are not regularized."""
    y = problem.dataset.labels
    losses = -log_softmax(scores(problem, W), axis=1)[np.arange(len(y)), y]
    part = W[:-1] if free else W
    return 0.5 * float((part**2).sum()) + float(problem.costs @ losses)


def gradient(problem, W, *, free):
    """Gradient of P."""
    X, y = rows_with_bias(problem.dataset), problem.dataset.labels
    p = softmax(scores(problem, W), axis=1)
    p[np.arange(len(y)), y] -= 1
    part = W.copy()
    if free:
        part[-1] = 0
    return part + X.T @ (problem.costs[:, None] * p)


def optimum(problem, *, free):
    """Return the least P, found by scipy's BFGS and polished by Newton steps."""
    d, k = problem.dataset.n_features + 1, problem.dataset.n_classes

    def call(w):
        W = w.reshape(d, k)
        return primal(problem, W, free=free), gradient(problem, W, free=free).ravel()

    found = scipy.optimize.minimize(
        call,
        np.zeros(d * k),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 0, "gtol": 1e-12},
    )
    return float(found.fun)
