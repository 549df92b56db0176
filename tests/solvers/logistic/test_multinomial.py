"""Multinomial logistic regression beside an independent solver and the formulas in NumPy."""

import numpy as np
import pytest
from scipy.special import softmax

from manyclass.problem.base_scores import BaseScores
from manyclass.problem.solution import Status
from manyclass.solvers.logistic import multinomial
from tests.helpers.cases import each
from tests.helpers.logistic import gradient, optimum, primal, random_logistic
from tests.helpers.training import train


def trained(problem, *, free, tol=1e-9, max_iter=2000, **options):
    return train(problem, tol=tol, regularize_intercept=not free, max_iter=max_iter, **options)


@each("seed", range(200))
def test_optimum_is_that_of_an_independent_solver(seed):
    free = bool(seed % 2)
    problem = random_logistic(seed, bias=(1.0, 0.5, 0.0)[seed % 3])
    found = trained(problem, free=free)
    certificate, W = found.certificate, np.asarray(found.weights)
    assert found.status is Status.CONVERGED
    assert certificate.relative_gap <= 1e-9
    assert certificate.primal_objective == pytest.approx(primal(problem, W, free=free), rel=1e-12)
    best = optimum(problem, free=free)
    assert certificate.dual_objective <= best * (1 + 1e-12)
    assert certificate.primal_objective == pytest.approx(best, rel=1e-8)


def with_scores(problem, seed=0):
    data = problem.dataset
    shape = data.n_examples, data.n_classes
    scores = np.random.default_rng(seed).normal(scale=2, size=shape)
    return problem.with_base(BaseScores.from_scores(scores))


@each("seed", range(12))
def test_scores_of_another_model_move_the_optimum_of_an_independent_solver(seed):
    free = bool(seed % 2)
    problem = with_scores(random_logistic(seed, bias=(1.0, 0.5, 0.0)[seed % 3]), seed)
    found = trained(problem, free=free)
    certificate, W = found.certificate, np.asarray(found.weights)
    assert certificate.relative_gap <= 1e-9
    assert certificate.primal_objective == pytest.approx(primal(problem, W, free=free), rel=1e-12)
    best = optimum(problem, free=free)
    assert certificate.dual_objective <= best * (1 + 1e-12)
    assert certificate.primal_objective == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("shape", [(60, 5, 3), (80, 12, 70), (50, 260, 20)])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("ways", ["descent", "newton"])
@each("has_scores", [False, True])
def test_both_ways_reach_the_optimum(shape, free, ways, has_scores, monkeypatch):
    if ways == "newton":
        monkeypatch.setattr(multinomial, "duals_fit", lambda _: False)
    problem = random_logistic(3, shape=shape)
    if has_scores:
        problem = with_scores(problem)
    found = trained(problem, free=free, tol=1e-8)
    assert found.status is Status.CONVERGED
    if ways == "newton":
        assert all(record.n_duals == 0 for record in found.history)
    at_end = gradient(problem, np.asarray(found.weights), free=free)
    # P is strongly convex: its gradient bounds the gap, and the gap the gradient's size.
    assert np.linalg.norm(at_end) ** 2 <= 1e-3 * found.certificate.primal_objective


@pytest.mark.parametrize("seed", range(6))
def test_float32_proves_its_gap(seed):
    problem = random_logistic(seed, dtype=np.float32, shape=(200, 8, 4))
    found = trained(problem, free=True, tol=1e-5)
    assert found.status is Status.CONVERGED
    W = np.asarray(found.weights, np.float64)
    P = primal(problem, W, free=True)
    assert found.certificate.primal_objective == pytest.approx(P, rel=1e-9)
    assert P - found.certificate.gap <= optimum(problem, free=True) * (1 + 1e-9)


def test_float32_goes_on_in_float64():
    problem = random_logistic(1, dtype=np.float32, shape=(300, 6, 4))
    found = trained(problem, free=False, tol=1e-9)
    assert found.weights.dtype == np.float32
    assert found.certificate.relative_gap < 1e-6


def test_intercepts_that_are_free_sum_to_zero_and_fit_the_classes():
    problem = random_logistic(4, shape=(80, 3, 4))
    W = np.asarray(trained(problem, free=True, tol=1e-10).weights)
    assert W[-1].sum() == pytest.approx(0, abs=1e-12)
    X = problem.dataset.matrix()
    p = softmax(np.asarray(X @ W[:-1]) + problem.dataset.bias * W[-1], axis=1)
    counts = np.bincount(problem.dataset.labels, problem.costs)
    np.testing.assert_allclose(problem.costs @ p, counts, rtol=1e-4)
