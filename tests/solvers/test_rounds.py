"""Dense rows visited in rounds by four threads and more: optima, certificates, repeated results."""

from __future__ import annotations

import os

import numpy as np
import pytest

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from manyclass.problem import objective
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.stopping import GapRule
from tests.helpers.catalog import PAIRS, make_problem

N, D, K = 2700, 31, 70  # enough rows for rounds of two batches; rows of so few features interact
pairs = pytest.mark.parametrize(("name", "loss"), PAIRS)


def rows(dtype=np.float32, seed=0):
    """Rows around the centres of 70 classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, K, N)
    X = rng.normal(size=(K, D))[labels] + rng.normal(size=(N, D))
    return X.astype(dtype), labels


def epochs(problem, n, n_jobs):
    """A solver after some epochs."""
    solver = SequentialDual(problem, None, np.random.default_rng(0), n_jobs, ascent_only=True)
    for _ in range(n):
        solver.epoch(GapRule(1e-6))
    return solver


@pairs
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_z_is_feasible_and_the_gain_is_that_of_numpy(name, loss, dtype):
    X, labels = rows(dtype)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], N)
    kind = {"weights": weights, "bias": 1.0, "formulation": name, "loss": loss, "C": 0.3}
    problem = make_problem(X, labels, n_classes=K, **kind)
    solver = epochs(problem, 2, 4)
    z, told = solver.engine.duals(), solver.dual
    values = z.toarray().astype(np.float64)
    upper = problem.slack_loss.upper(problem.costs[:, None]) * (1 + 1e-6)
    assert values.min() >= 0
    sums = values.sum(axis=1, keepdims=True) if problem.formulation.takes_maximum else values
    assert (sums <= upper).all()
    proof = solver.certify()
    W = np.asarray(solver.engine.matrix, np.float64)[:, :K]
    expected = objective.certificate(problem, W, z)
    digits = 1e-5 if dtype == np.float32 else 1e-9
    assert proof.primal_objective == pytest.approx(expected.primal_objective, rel=digits)
    assert proof.dual_objective == pytest.approx(expected.dual_objective, rel=digits)
    # The loops tell D by the gains of their rounds.
    assert told == pytest.approx(expected.dual_objective, rel=100 * digits)


def fit(X, y, n_jobs, **settings):
    settings = {"formulation": "ww", "tol": 1e-3, "random_state": 0, **settings}
    return MulticlassSVC(n_jobs=n_jobs, **settings).fit(X, y)


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_optimum_is_that_of_one_thread(name, C):
    X, y = rows()
    one, four = (fit(X, y, n, formulation=name, C=C).certificate_ for n in (1, 4))
    assert four.relative_gap <= 1e-3
    assert four.dual_objective <= one.primal_objective
    assert one.dual_objective <= four.primal_objective


@pytest.mark.parametrize(
    "settings",
    [
        {"costs": 2 - 2 * np.eye(K)},
        {"costs": 2 - 2 * np.eye(K), "cost_scaling": "slack"},
        {"class_offset": "logit_adjustment"},
    ],
    ids=["costs", "slack", "offsets"],
)
def test_costs_and_offsets(settings):
    X, y = rows()
    one, four = (fit(X, y, n, **settings).certificate_ for n in (1, 4))
    assert four.relative_gap <= 1e-3
    assert four.dual_objective <= one.primal_objective
    assert one.dual_objective <= four.primal_objective


def fit_logistic(X, y, n_jobs, **settings):
    settings = {"tol": 1e-4, "random_state": 0, **settings}
    return MultinomialLogisticRegression(n_jobs=n_jobs, **settings).fit(X, y)


@pytest.mark.parametrize("regularize_intercept", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [0.01, 10.0])
def test_the_optimum_of_logistic_regression(dtype, C, regularize_intercept):
    X, y = rows(dtype)
    settings = {"C": C, "regularize_intercept": regularize_intercept}
    one, four = (fit_logistic(X, y, n, **settings).certificate_ for n in (1, 4))
    assert four.relative_gap <= 1e-4
    assert four.dual_objective <= one.primal_objective
    assert one.dual_objective <= four.primal_objective


@pytest.mark.parametrize("fit", [fit, fit_logistic])
def test_results_repeat_whatever_the_cores(fit):
    X, y = rows()
    first = fit(X, y, 4)
    again = fit(X, y, 4)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        alone = fit(X, y, 4)
    finally:
        os.sched_setaffinity(0, cores)
    for other in (again, alone):
        np.testing.assert_array_equal(first.coef_, other.coef_)
    assert len(first.history_) == len(alone.history_)


@pytest.mark.filterwarnings("ignore:training stopped after")
@pytest.mark.parametrize("fit", [fit, fit_logistic])
def test_rounds_are_for_four_threads(fit):
    """Two threads do what one does, bit for bit; four visit rows side by side."""
    X, y = rows()
    one, two, four = (fit(X, y, n, max_iter=2, tol=1e-9) for n in (1, 2, 4))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert (one.coef_ != four.coef_).any()
