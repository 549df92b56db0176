"""Costs of mistakes that multiply losses, on ranks with a share of the classes each."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass import MulticlassSVC
from manyclass.problem import objective
from tests.distributed.solvers.test_costs_on_ranks import check, train_on
from tests.helpers.cases import each
from tests.helpers.catalog import make_problem, random_costs, text_problem, train
from tests.helpers.ranks import on_ranks
from tests.helpers.reference import optimal_objective
from tests.solvers.test_slack_costs import random_case, with_factors

losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


def scaled(problem, seed):
    return with_factors(problem, random_costs(problem.dataset.n_classes, seed, least=0.1))


@losses
@each(("seed", "size"), [(0, 2), (1, 3), (2, 2), (3, 1)])
def test_equals_the_quadratic_program(loss, seed, size):
    costs, problem = random_case(seed, loss)
    check(problem, train_on(size, problem), optimal_objective(problem, factors=costs))


@losses
@each(("size", "weights"), [(1, "dense"), (2, "dense"), (3, "dense"), (2, "sparse"), (3, "sparse")])
def test_equals_one_process(loss, size, weights):
    problem = scaled(text_problem("weston_watkins", loss, np.float64, n=120, d=100, k=17), 3)
    one = train(problem, tol=1e-9).certificate.primal_objective
    check(problem, train_on(size, problem, weights=weights), one)


@losses
@each("excluded", [(0, 0), (0.5, 2)])
def test_excluded_classes_offsets_and_rows_without_features(loss, excluded):
    problem = text_problem("weston_watkins", loss, np.float64, n=100, d=100, k=9)
    X, labels = problem.dataset.matrix().toarray(), problem.dataset.labels
    X[::7] = 0
    problem = make_problem(X, labels, n_classes=9, formulation="weston_watkins", loss=loss, C=0.7)
    costs = random_costs(9, 2, least=0.1) + 0.5 * (1 - np.eye(9))
    costs[1, 0], costs[3, 5] = excluded
    problem = with_factors(problem, costs)
    if problem.base is not None:
        problem = problem.with_base(problem.base.plus(np.linspace(-1, 1, 9)))
    one = train(problem, tol=1e-9).certificate.primal_objective
    check(problem, train_on(2, problem), one)


@losses
@each("weights", ["dense", "sparse"])
def test_float32_to_a_modest_gap(loss, weights):
    problem = scaled(text_problem("weston_watkins", loss), 4)
    solution = train_on(2, problem, tol=1e-3, weights=weights)[0]
    W = solution.weights.toarray() if hasattr(solution.weights, "toarray") else solution.weights
    assert objective.certificate(problem, W, solution.duals).relative_gap <= 1.1e-3


def test_the_estimator():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(32, 5)), np.arange(32) % 4
    given = {
        "formulation": "ww",
        "costs": random_costs(4, 0, least=0.1),
        "cost_scaling": "slack",
        "C": 0.1,
        "tol": 1e-8,
        "random_state": 0,
    }
    one = MulticlassSVC(**given).fit(X, y)
    two = on_ranks(2, lambda rank: MulticlassSVC(**given, communicator=rank).fit(X, y))[0]
    np.testing.assert_allclose(two.coef_, one.coef_, atol=1e-3)
    assert two.certificate_.primal_objective == pytest.approx(
        one.certificate_.primal_objective, rel=1e-7
    )
