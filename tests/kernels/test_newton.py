"""The kernels of the Newton phase against NumPy: response, gradient, Hessian, preconditioners."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from manyclass.problem import objective
from manyclass.problem.problem import problem_of
from manyclass.solvers.weights.storage import in_lanes
from tests.helpers.cases import each
from tests.helpers.catalog import make_problem
from tests.helpers.dual_kernels import random_data
from tests.helpers.newton_kernels import (
    digits_of,
    expected_response,
    gradient_at,
    prepared,
    rows,
    weights_like,
)


def response_of(core, problem):
    indptr, labels, values = core.response()
    shape = (problem.dataset.n_examples, problem.dataset.n_classes)
    return sp.csr_array((values, labels, indptr), shape=shape)


def check_response(problem, epsilon):
    core, engine, centre, W = prepared(problem)
    k, digits = problem.dataset.n_classes, digits_of(problem)
    gradient = engine.new_weights()
    gradient_at(core, W, epsilon, gradient)
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
    gradient_at(core, W, 0.5, engine.new_weights())
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
        gradient_at(core, there, 0.3, gradient)
        slope = slope + gradient.matrix / (2 * step)
    gradient_at(core, W, 0.3, gradient)
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
    gradient_at(core, W, 0.5, out)
    mean = np.zeros((d + 1, d + 1))
    for j in range(d + 1):
        unit.matrix[:] = 0
        unit.matrix[j] = 1
        core.hessian_times(unit, out)
        mean[j] = out.matrix.mean(axis=1)
    right = weights_like(engine, problem, rng)
    core.preconditioned(right, False, out)
    expected = np.linalg.solve(mean, right.matrix.astype(float))
    digits = 1e-3 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(out.matrix, expected, rtol=digits, atol=digits)


def check_inverse(problem, epsilon=0.3):
    """The whole Hessian's factor undoes a product with it, of W of the problem's kind."""
    core, engine, _, W = prepared(problem)
    p = weights_like(engine, problem, np.random.default_rng(1), 1.0)
    product, back = engine.new_weights(), engine.new_weights()
    gradient_at(core, W, epsilon, product)
    core.hessian_times(p, product)
    core.preconditioned(product, True, back)
    digits = 2e-3 if problem.dataset.dtype == np.float32 else 1e-8
    np.testing.assert_allclose(back.matrix, p.matrix, rtol=digits, atol=digits)


@rows
@each("k", [2, 5, 17])
@each("dtype", [np.float32, np.float64])
@each("bias", [0.0, 0.5])
def test_the_whole_hessian_is_inverted(name, loss, k, dtype, bias, instruction_set):
    check_inverse(random_data(60, 12, k, dtype, bias=bias, name=name, loss=loss))


@rows
@each("density", [0.02, 0.3, 0.5, 1.0])
def test_of_rows_of_any_density(name, loss, density):
    """Rows without a number, with few and with all."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(70, 20)) * (rng.random((70, 20)) < density)
    for rows_of in (sp.csr_array, np.asarray):
        check_inverse(
            make_problem(
                rows_of(X), rng.integers(0, 4, 70), n_classes=4, formulation=name, loss=loss
            )
        )
    check_inverse(
        make_problem(np.zeros((5, 3)), [0, 1, 2, 3, 0], n_classes=4, formulation=name, loss=loss)
    )


def test_of_a_group_of_classes():
    problem = random_data(40, 12, 9, np.float64, bias=0.5, name="one_vs_rest")
    check_inverse(problem_of(problem, slice(2, 7)))


def test_where_a_class_has_one_row():
    problem = random_data(60, 8, 4, np.float64)
    labels = np.zeros(60, np.int32)
    labels[:3] = [1, 2, 3]
    X = problem.dataset.values
    assert len(X)
    rows_of = sp.csr_array((X, problem.dataset.indices, problem.dataset.indptr), shape=(60, 8))
    check_inverse(make_problem(rows_of, labels, n_classes=4))


def test_the_number_of_threads_changes_nothing():
    problem = random_data(400, 30, 6, np.float64, bias=0.5)
    found = []
    for n_threads in (1, 3):
        core, engine, _, W = prepared(problem, n_threads=n_threads)
        out = engine.new_weights()
        gradient_at(core, W, 0.3, out)
        core.preconditioned(weights_like(engine, problem, np.random.default_rng(1)), True, out)
        found.append(out.matrix.copy())
    np.testing.assert_array_equal(*found)
