"""The kernels of the Newton phase against NumPy: response, gradient, Hessian, preconditioner."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from manyclass.problem import objective
from manyclass.problem.problem import problem_of
from manyclass.solvers.weights.dense import in_lanes
from tests.helpers.cases import each
from tests.helpers.catalog import make_problem
from tests.helpers.dual_kernels import random_data
from tests.helpers.newton_kernels import digits_of, prepared, rows, weights_like


def projection(point, upper, *, simplex):
    """Of every row onto the box, or onto {z >= 0, sum z <= upper} by bisection."""
    if not simplex:
        return np.clip(point, 0, upper[:, None])
    low, high = np.zeros(len(point)), np.maximum(point.max(axis=1), 0)
    for _ in range(200):
        middle = (low + high) / 2
        large = np.maximum(point - middle[:, None], 0).sum(axis=1) > upper
        low, high = np.where(large, middle, low), np.where(large, high, middle)
    return np.maximum(point - high[:, None], 0)


def expected_response(problem, centre, weights, epsilon):
    """The z of every example that maximises its part of phi."""
    xi = objective.slacks(problem, weights)
    ridge = 1 / (2 * problem.costs[:, None]) if problem.loss == "squared_hinge" else 0.0
    point = centre + (xi - ridge * centre) / (epsilon + ridge)
    upper = np.full(len(xi), np.inf) if problem.loss == "squared_hinge" else problem.costs
    z = projection(point, upper, simplex=problem.formulation.aggregation == "max")
    return z * objective._has_features(problem)[:, None]


def response_of(core, problem):
    indptr, labels, values = core.response()
    shape = (problem.dataset.n_examples, problem.dataset.n_classes)
    return sp.csr_array((values, labels, indptr), shape=shape)


def check_response(problem, epsilon):
    core, engine, centre, W = prepared(problem)
    k, digits = problem.dataset.n_classes, digits_of(problem)
    gradient = engine.new_weights()
    core.gradient_at(W, epsilon, gradient)
    z = response_of(core, problem)
    expected = expected_response(problem, centre, W.matrix, epsilon)
    np.testing.assert_allclose(z.toarray(), expected, rtol=digits, atol=digits)
    at_z = W.matrix - objective.weights_of(problem, z)
    np.testing.assert_allclose(gradient.matrix, at_z, rtol=digits, atol=digits)
    assert (gradient.padded[:, k:] == 0).all()


@rows
@each("k", [2, 5, 17, 33, 50])
@each("dtype", [np.float32, np.float64])
def test_the_response_is_a_projection(name, loss, k, dtype, instruction_set):
    problem = random_data(30, 20, k, dtype, bias=0.5, name=name, loss=loss)
    if in_lanes(problem):
        for epsilon in (0.1, 30.0):
            check_response(problem, epsilon)


def test_a_class_in_another_group_is_nobodys():
    problem = problem_of(random_data(30, 20, 9, np.float64, name="one_vs_rest"), slice(2, 7))
    core, engine, _, W = prepared(problem)
    core.gradient_at(W, 0.5, engine.new_weights())
    z = response_of(core, problem).toarray()
    elsewhere = problem.dataset.labels < 0
    xi = 1 + objective.scores(problem, W.matrix)[elsewhere]
    assert elsewhere.any()
    assert ((z[elsewhere] > 0) <= (xi + 0.5 * 0.1 > 0)).all()


@rows
@each("k", [3, 9])
def test_the_hessian_is_the_slope_of_the_gradient(name, loss, k, instruction_set):
    problem = random_data(40, 12, k, np.float64, bias=0.5, name=name, loss=loss)
    core, engine, _, W = prepared(problem)
    p = weights_like(engine, problem, np.random.default_rng(1), 1.0)
    product, there, gradient = (engine.new_weights() for _ in range(3))
    size, slope = 1e-7, 0.0
    for step in (size, -size):
        there.matrix[:] = W.matrix + step * p.matrix
        core.gradient_at(there, 0.3, gradient)
        slope = slope + gradient.matrix / (2 * step)
    core.gradient_at(W, 0.3, gradient)
    core.hessian_times(p, product)
    np.testing.assert_allclose(product.matrix, slope, rtol=1e-5, atol=1e-5)


@each("density", [0.05, 1.0])
@each("d", [3, 40, 150])
@each("dtype", [np.float32, np.float64])
def test_the_preconditioner_is_the_mean_over_classes(density, d, dtype, instruction_set):
    """One-vs-rest: the mean of its k Hessians, which are told from products with unit vectors."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(80, d)) * (rng.random((80, d)) < density)).astype(dtype)
    problem = make_problem(
        X, rng.integers(0, 2, 80), n_classes=2, formulation="one_vs_rest", bias=1.0
    )
    core, engine, _, W = prepared(problem)
    unit, out = engine.new_weights(), engine.new_weights()
    core.gradient_at(W, 0.5, out)
    mean = np.zeros((d + 1, d + 1))
    for j in range(d + 1):
        unit.matrix[:] = 0
        unit.matrix[j] = 1
        core.hessian_times(unit, out)
        mean[j] = out.matrix.mean(axis=1)
    right = weights_like(engine, problem, rng)
    core.preconditioned(right, out)
    expected = np.linalg.solve(mean, right.matrix.astype(float))
    digits = 1e-3 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(out.matrix, expected, rtol=digits, atol=digits)
