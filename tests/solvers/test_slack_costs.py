"""Costs of mistakes that scale the losses: optimal, certified, in every engine that has them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import _core
from manyclass.estimators.costs import factors_of_costs
from manyclass.problem import objective
from manyclass.problem.base_scores import EXCLUDED
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import core_problem, problem_arguments
from manyclass.problem.solution import Start, Status
from manyclass.solvers.engines import Engine
from manyclass.solvers.sequential_dual import SequentialDual
from tests.helpers.cases import each
from tests.helpers.catalog import (
    BatchedDual,
    SparseDual,
    make_problem,
    problem_and_costs,
    random_costs,
    text_problem,
    train,
)
from tests.helpers.newton_kernels import newton_round
from tests.helpers.reference import optimal_objective

WW = FORMULATIONS["weston_watkins"]
losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
solvers = pytest.mark.parametrize("solver", [SequentialDual, BatchedDual, SparseDual])
types = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def with_factors(problem, costs):
    labels, k = problem.dataset.labels, problem.dataset.n_classes
    base, factors = factors_of_costs(costs, np.arange(k), labels, WW)
    return replace(problem, base=base, factors=factors)


def random_case(seed, loss, dtype=np.float64):
    """Costs, and a tiny problem with them."""
    problem, costs = problem_and_costs(seed, "weston_watkins", loss, dtype, least=0.1)
    return costs, with_factors(problem, costs)


@losses
@solvers
@each("seed", range(16))
def test_equals_the_quadratic_program(loss, solver, seed):
    costs, problem = random_case(seed, loss)
    solution = train(problem, solver, tol=1e-10)
    assert solution.status is Status.CONVERGED
    optimum = optimal_objective(problem, factors=costs)
    assert solution.certificate.primal_objective == pytest.approx(optimum, rel=1e-8, abs=1e-8)
    z = solution.duals.toarray()
    assert (z <= problem.costs[:, None] * costs[problem.dataset.labels] + 1e-12).all() or (
        loss == "squared_hinge"
    )
    assert not z[costs[problem.dataset.labels] == 0].any()


@losses
@solvers
@each("seed", range(6))
def test_offsets_go_with_them(loss, solver, seed):
    costs, problem = random_case(seed, loss)
    costs[costs == 0] = 0.5
    np.fill_diagonal(costs, 0)
    costs[1, 0] = 0
    problem = with_factors(problem, costs)
    offsets = np.random.default_rng(seed).normal(size=problem.dataset.n_classes)
    problem = problem.with_base(problem.base.plus(offsets))
    solution = train(problem, solver, tol=1e-10)
    optimum = optimal_objective(problem, None, offsets, costs)
    assert solution.certificate.primal_objective == pytest.approx(optimum, rel=1e-8, abs=1e-8)


@losses
@solvers
@types
def test_the_certificate_is_that_of_numpy(loss, solver, dtype):
    _, problem = random_case(3, loss, dtype)
    solution = train(problem, solver, tol=1e-4)
    known = objective.certificate(problem, solution.weights, solution.duals)
    found = solution.certificate
    digits = 1e-6 if dtype == np.float32 else 1e-12  # z of float32 is scaled to be feasible
    assert found.primal_objective == pytest.approx(known.primal_objective, rel=digits)
    assert found.dual_objective == pytest.approx(known.dual_objective, rel=digits)
    assert found.gap == pytest.approx(known.gap, abs=3 * digits * known.primal_objective)
    assert found.max_violation == pytest.approx(known.max_violation, abs=2e-5)


@losses
@types
def test_any_z_has_the_certificate_of_numpy(loss, dtype):
    """Before the optimum, with z anywhere in their boxes."""
    _, problem = random_case(5, loss, dtype)
    data, rng = problem.dataset, np.random.default_rng(0)
    rows, classes = np.nonzero(objective.targets(problem))
    z = np.zeros((data.n_examples, data.n_classes), dtype)
    bounds = np.minimum(problem.upper(rows, classes), 10 * problem.costs[rows])
    z[rows, classes] = bounds * rng.choice([0.0, 0.3, 1.0], len(rows))
    start = replace(Start.at_zero(data.n_examples, data.n_classes, dtype), duals=sp.csr_array(z))
    for solver in (SequentialDual, BatchedDual, SparseDual):
        run = solver(problem, start, rng)
        found = run.certify()
        W = run.weights()
        W = W.toarray() if hasattr(W, "toarray") else W
        known = objective.certificate(problem, W, start.duals)
        digits = 2e-6 if dtype == np.float32 else 1e-12
        assert found.primal_objective == pytest.approx(known.primal_objective, rel=digits)
        assert found.gap == pytest.approx(known.gap, abs=3 * digits * known.primal_objective)


@losses
def test_all_storages_reach_one_optimum(loss):
    """More classes than lanes hold, some of them absent from all features of a row."""
    problem = text_problem("weston_watkins", loss, np.float64, n=200, d=150, k=90)
    problem = with_factors(problem, random_costs(90, 0, least=0.1))
    makers = [partial(SequentialDual, storage=s) for s in ("dense", "class_major")]
    makers += [partial(SequentialDual, storage="class_major", n_jobs=2)]
    makers += [partial(SparseDual, n_jobs=n) for n in (1, 3)]
    found = [train(problem, make, tol=1e-8) for make in makers]
    for solution in found:
        assert solution.status is Status.CONVERGED
        known = objective.primal(problem, solution.weights)
        assert solution.certificate.primal_objective == pytest.approx(known, rel=1e-12)
        np.testing.assert_allclose(solution.weights, found[0].weights, atol=2e-3)
        assert known == pytest.approx(found[0].certificate.primal_objective, rel=1e-7)


@losses
def test_newton_steps_keep_them(loss):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(200, 4)), rng.integers(0, 5, 200)
    problem = make_problem(
        X, labels, n_classes=5, formulation="weston_watkins", loss=loss, C=1.0, bias=1.0
    )
    problem = with_factors(problem, random_costs(5, 1, least=0.1))
    engine = Engine(problem)
    newton, W = engine.newton(), engine.new_weights()
    newton.rebuild(True)
    reached = [newton_round(newton, epsilon) for epsilon in np.geomspace(1, 1e-3, 8)][-1]
    newton.read_weights(W)
    assert reached.primal == pytest.approx(objective.primal(problem, W.matrix), rel=1e-10)
    optimum = train(problem, tol=1e-9).certificate.primal_objective
    assert reached.primal - reached.gap <= optimum * (1 + 1e-9)
    assert reached.primal == pytest.approx(optimum, rel=1e-3)


@losses
def test_costs_of_another_size_are_another_c(loss):
    costs, problem = random_case(4, loss)
    twice = with_factors(replace(problem, C=problem.C / 2), 2 * costs)
    first, second = (train(p, tol=1e-10).certificate for p in (problem, twice))
    assert first.primal_objective == pytest.approx(second.primal_objective, rel=1e-9)


def test_costs_of_one_change_nothing():
    base, factors = factors_of_costs(
        np.ones((3, 3)) - np.eye(3), np.arange(3), np.zeros(2, np.int32), WW
    )
    assert base is None
    assert factors is None


def test_rows_without_features_have_the_weighted_loss():
    """Their loss is sum_c Delta(y, c), whatever W is."""
    X, labels = np.zeros((4, 3)), np.arange(4)
    costs = random_costs(4, 0, least=0.1)
    problem = make_problem(X, labels, n_classes=4, formulation="weston_watkins", C=0.5)
    problem = with_factors(problem, costs)
    for solver in (SequentialDual, BatchedDual, SparseDual):
        found = train(problem, solver, tol=1e-6).certificate
        assert found.primal_objective == pytest.approx(0.5 * costs.sum(), rel=1e-12)


@each(
    ("changes", "message"),
    [
        ({"factors": np.ones((4, 3))}, "a column for each class"),
        ({"factors": np.ones((3, 4))}, "a row and a column"),
        ({"factors": np.zeros((4, 4))}, "positive and finite"),
        ({"factors": np.full((4, 4), np.nan)}, "positive and finite"),
        ({"labels": np.full(4, _core.ELSEWHERE, np.int32)}, "must have its class"),
    ],
)
def test_the_core_refuses_other_factors(changes, message):
    problem = make_problem(np.eye(4), np.arange(4), n_classes=4, formulation="weston_watkins")
    problem = with_factors(problem, random_costs(4, 0, least=0.1))
    with pytest.raises(ValueError, match=message):
        _core.Problem64(**(problem_arguments(problem) | changes))


@each("name", ["crammer_singer", "reinforced", "one_vs_rest"])
def test_the_core_refuses_other_formulations(name):
    problem = make_problem(np.eye(4), np.arange(4), n_classes=4, formulation=name)
    with pytest.raises(ValueError, match="sums of losses under relative margins"):
        core_problem(replace(problem, factors=np.ones((4, 4))))


def test_the_trainer_without_factors_refuses_them():
    problem = make_problem(np.eye(4), np.arange(4), n_classes=4, formulation="weston_watkins")
    with pytest.raises(ValueError, match="factors"):
        _core.ComparisonTrainer64(core_problem(replace(problem, factors=np.full((4, 4), 2.0))))


def test_a_mistake_without_cost_is_excluded():
    _, problem = random_case(1, "hinge")
    rows, classes = np.nonzero(problem.base.of(slice(None)) == EXCLUDED)
    assert len(rows)
    np.testing.assert_array_equal(problem.upper(rows, classes.astype(np.int32)), 0)
