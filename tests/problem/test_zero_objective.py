"""P(0): the primal of the reference at W = 0, and the relative gaps that are measured by it."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize

from manyclass.problem import objective
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.problem import ELSEWHERE, losses_at_zero, problem_of, zero_objective
from manyclass.problem.solution import Certificate, relative, scale_of
from manyclass.solvers.logistic.engine import LogisticEngine
from tests.helpers import logistic
from tests.helpers.cases import each
from tests.helpers.catalog import PAIRS, problem_and_costs, random_problem

pairs = pytest.mark.parametrize(("name", "loss"), PAIRS)


def at_zero(problem):
    data = problem.dataset
    return objective.primal(problem, np.zeros((data.n_features + 1, data.n_classes)))


@pairs
@each("seed", range(4))
def test_it_is_the_primal_of_no_weights(name, loss, seed):
    problem = random_problem(seed, name, loss)
    assert zero_objective(problem) == pytest.approx(at_zero(problem), rel=1e-14)
    assert problem.costs @ losses_at_zero(problem) == pytest.approx(at_zero(problem), rel=1e-14)


@pairs
@each("seed", range(4))
def test_base_scores_count(name, loss, seed):
    problem, costs = problem_and_costs(seed, name, loss, np.float64)
    data = problem.dataset
    rng = np.random.default_rng(seed)
    for base in (
        BaseScores.from_costs(costs, data.labels),
        BaseScores.from_offsets(rng.normal(size=data.n_classes), data.n_examples),
        BaseScores.from_scores(rng.normal(size=(data.n_examples, data.n_classes))),
    ):
        with_base = problem.with_base(base)
        assert zero_objective(with_base) == pytest.approx(at_zero(with_base), rel=1e-13)


def test_factors_count():
    problem, costs = problem_and_costs(0, "weston_watkins", "hinge", np.float64)
    scaled = replace(problem, factors=np.where(costs > 0, costs, 0.5))
    assert zero_objective(scaled) == pytest.approx(at_zero(scaled), rel=1e-14)


@each("loss", ["hinge", "squared_hinge"])
def test_groups_of_classes_add_up_to_all(loss):
    problem, costs = problem_and_costs(1, "one_vs_rest", loss, np.float64)
    problem = problem.with_base(BaseScores.from_costs(costs, problem.dataset.labels))
    parts = [problem_of(problem, slice(0, 1)), problem_of(problem, slice(1, None))]
    assert (parts[0].dataset.labels == ELSEWHERE).any()
    assert sum(map(zero_objective, parts)) == pytest.approx(zero_objective(problem), rel=1e-14)


def best_intercepts(problem):
    """P of the best intercepts beside W = 0, by another solver."""
    data = problem.dataset

    def primal(b):
        W = np.zeros((data.n_features + 1, data.n_classes))
        W[-1] = b
        return logistic.primal(problem, W, free=True)

    return scipy.optimize.minimize(primal, np.zeros(data.n_classes), tol=1e-10).fun


@each("seed", range(6))
def test_free_intercepts_are_at_their_best(seed):
    problem = logistic.random_logistic(seed)
    engine = LogisticEngine(problem, regularize_intercept=False, keeps_duals=False)
    assert engine.zero_objective == pytest.approx(best_intercepts(problem), rel=1e-7)
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(problem.dataset.n_examples, problem.dataset.n_classes))
    problem = problem.with_base(BaseScores.from_scores(scores))
    engine = LogisticEngine(problem, regularize_intercept=False, keeps_duals=False)
    best = best_intercepts(problem)
    assert best * (1 - 1e-7) <= engine.zero_objective <= best + 0.02 * abs(at_b(problem) - best)


def at_b(problem):
    data = problem.dataset
    W = np.zeros((data.n_features + 1, data.n_classes))
    return logistic.primal(problem, W, free=True)


@each("seed", range(3))
def test_regularised_intercepts_are_zero(seed):
    problem = logistic.random_logistic(seed)
    engine = LogisticEngine(problem, regularize_intercept=True, keeps_duals=False)
    assert engine.zero_objective == pytest.approx(zero_objective(problem), rel=1e-14)
    assert engine.zero_objective == pytest.approx(at_b(problem), rel=1e-14)


def test_a_gap_is_measured_against_the_lesser_of_p_and_the_gain():
    assert scale_of(0.5, 10.0, 100.0) == 10.0
    assert scale_of(0.5, 10.0, 10.2) == pytest.approx(0.7)
    assert relative(0.5, 10.0, 10.2) == pytest.approx(0.5 / 0.7)
    assert relative(0.5, 10.0, math.nan) == pytest.approx(0.05)
    assert relative(0.0, 0.0, 0.0) == 0.0
    assert relative(1.0, 1.0, -1.0) == math.inf
    assert relative(1e-12, 2.0, 2.0) == pytest.approx(5e-13)
    assert relative(1e-11, 2.0, 2.0) == pytest.approx(1.0, rel=1e-4)


def test_a_gap_of_rounding_alone_is_compared_with_p():
    """At W = 0, the optimum, P(0) - D is the rounding itself: training could not end."""
    share = 1e-13
    proof = Certificate.from_gap(10.0, 0.0, 0.0, share, zero=10.0, penalty=0.0, loss=10.0)
    assert proof.gap == pytest.approx(1e-12)
    assert proof.relative_gap == pytest.approx(1e-13)
    proof = Certificate.from_gap(10.0, 2e-11, 0.0, share, zero=10.0, penalty=0.0, loss=10.0)
    assert proof.relative_gap == pytest.approx(1.0, rel=1e-2)
