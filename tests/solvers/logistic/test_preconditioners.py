"""Preconditioners beside the Hessian, where they are exact, and how far they are off elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.special

from manyclass.rows import logistic_sums
from manyclass.solvers.logistic import newton, preconditioners
from manyclass.solvers.logistic.engine import LogisticEngine
from manyclass.solvers.logistic.preconditioners import Diagonal, Kronecker, SampledHessian
from tests.helpers.logistic import random_logistic
from tests.helpers.training import train


def engine_of(problem, *, spread=0.0):
    """An engine at W = 0, or at a random W."""
    engine = LogisticEngine(problem, regularize_intercept=True, keeps_duals=False)
    W = engine.matrix(engine.W)
    W[:] = spread * np.random.default_rng(1).normal(size=W.shape)
    return engine


def hessian(engine):
    """H of all rows, as a matrix that multiplies the columns of W one below another."""
    data, W = engine.problem.dataset, engine.matrix(engine.W)
    X = data.matrix()
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    X = np.column_stack([X, np.full(len(X), data.bias)])
    H = np.eye(W.size)
    for cost, x, p in zip(
        engine.problem.costs, X, scipy.special.softmax(X @ W, axis=1), strict=True
    ):
        H += cost * np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x))
    return H


def applied(inverse, R):
    """The product with R, its columns one below another."""
    return inverse(R).T.ravel()


@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_the_hessian_of_all_rows_is_inverted_exactly(spread):
    problem = random_logistic(1, shape=(60, 5, 4))
    engine = engine_of(problem, spread=spread)
    inverse = SampledHessian(engine)
    inverse.update(engine)
    R = np.random.default_rng(0).normal(size=(6, 4))
    R -= R.mean(axis=1, keepdims=True)  # as gradients
    expected = np.linalg.solve(hessian(engine), R.T.ravel())
    np.testing.assert_allclose(applied(inverse, R), expected, rtol=1e-9, atol=1e-12)


def test_kronecker_is_exact_where_all_rows_have_one_p():
    problem = random_logistic(2, shape=(60, 5, 4))
    engine = engine_of(problem)  # W = 0
    inverse = Kronecker(engine)
    inverse.update(engine)
    R = np.random.default_rng(0).normal(size=(6, 4))
    expected = np.linalg.solve(hessian(engine), R.T.ravel())
    np.testing.assert_allclose(applied(inverse, R), expected, rtol=1e-9, atol=1e-12)


def test_diagonal_is_that_of_the_hessian_at_zero():
    problem = random_logistic(3, shape=(60, 5, 4))
    engine = engine_of(problem)
    inverse = Diagonal(engine)
    inverse.update(engine)
    expected = 1 / np.diag(hessian(engine))
    np.testing.assert_allclose(applied(inverse, np.ones((6, 4))), expected, rtol=1e-9)


def test_parts_of_the_rows_add_up(monkeypatch):
    problem = random_logistic(4, shape=(60, 5, 4))
    engine, R = engine_of(problem, spread=1.0), np.random.default_rng(0).normal(size=(6, 4))
    found = []
    for numbers in (1, 1 << 21):
        monkeypatch.setattr(logistic_sums, "NUMBERS_AT_A_TIME", numbers)
        monkeypatch.setattr(logistic_sums, "SCORES_AT_A_TIME", numbers)
        for kind in (Kronecker, SampledHessian):
            inverse = kind(engine)
            inverse.update(engine)
            found.append(inverse(R))
    np.testing.assert_allclose(found[0], found[2], rtol=1e-9)
    np.testing.assert_allclose(found[1], found[3], rtol=1e-9)


@pytest.mark.parametrize("kind", [Diagonal, Kronecker, SampledHessian])
@pytest.mark.parametrize("free", [False, True])
def test_newton_reaches_the_optimum_with_each(kind, free, monkeypatch):
    monkeypatch.setattr(newton, "preconditioner_for", kind)
    monkeypatch.setattr("manyclass.solvers.logistic.multinomial.duals_fit", lambda _: False)
    problem = random_logistic(5, shape=(80, 6, 3))
    found = train(problem, tol=1e-9, regularize_intercept=not free)
    assert found.certificate.relative_gap <= 1e-9


def test_small_problems_are_sampled_and_wide_ones_are_not():
    small, wide = (random_logistic(0, shape=(60, d, 3)) for d in (5, 1000))
    assert isinstance(preconditioners.preconditioner_for(engine_of(small)), SampledHessian)
    assert isinstance(preconditioners.preconditioner_for(engine_of(wide)), Diagonal)
