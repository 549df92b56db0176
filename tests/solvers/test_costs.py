"""Costs of mistakes: optimal, certified, the same problem where all cost 1, in every engine."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from manyclass import _core
from manyclass.problem import objective
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.problem import core_problem, problem_arguments, problem_of
from manyclass.problem.solution import Status
from manyclass.solvers.engines import Engine
from manyclass.solvers.one_vs_rest import OneVsRest
from manyclass.solvers.sequential_dual import SequentialDual
from tests.helpers.cases import each
from tests.helpers.catalog import (
    ROWS,
    SparseDual,
    make_problem,
    problem_and_costs,
    random_costs,
    random_problem,
    text_problem,
    train,
)
from tests.helpers.newton_kernels import newton_round
from tests.helpers.reference import optimal_objective

ALL_ROWS, ROWS = ROWS, [row for row in ROWS if row[0] != "mmr"]
rows = pytest.mark.parametrize(("name", "loss", "solver"), ROWS)
PAIRS = [
    ("crammer_singer", "hinge"),
    ("weston_watkins", "hinge"),
    ("weston_watkins", "squared_hinge"),
]
pairs = pytest.mark.parametrize(("name", "loss"), PAIRS)


def with_costs(problem, costs):
    return replace(problem, base=BaseScores.from_costs(costs, problem.dataset.labels))


def random_case(seed, name, loss, dtype=np.float64):
    """Costs, and a tiny problem with them."""
    problem, costs = problem_and_costs(seed, name, loss, dtype)
    return costs, with_costs(problem, costs)


@rows
@each("seed", range(12))
def test_equals_the_quadratic_program(name, loss, solver, seed):
    costs, problem = random_case(seed, name, loss)
    solution = train(problem, solver, tol=1e-10)
    assert solution.status is Status.CONVERGED
    optimum = optimal_objective(problem, costs)
    assert solution.certificate.primal_objective == pytest.approx(optimum, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize(("name", "loss", "solver"), ALL_ROWS)
@each(("seed", "has_costs"), [(seed, seed % 2 == 1) for seed in range(8)])
def test_offsets_equal_the_quadratic_program(name, loss, solver, seed, has_costs):
    """Offsets of either sign make margins negative."""
    costs, problem = random_case(seed, name, loss)
    offsets = np.random.default_rng(seed).normal(scale=2, size=problem.dataset.n_classes)
    costs = costs if has_costs and name != "mmr" else None
    base = BaseScores.from_offsets(offsets, problem.dataset.n_examples)
    base = base if costs is None else problem.base.plus(offsets)
    solution = train(replace(problem, base=base), solver, tol=1e-10)
    assert solution.status is Status.CONVERGED
    optimum = optimal_objective(problem, costs, offsets)
    assert solution.certificate.primal_objective == pytest.approx(optimum, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize(("name", "loss", "solver"), ALL_ROWS)
@each(("seed", "has_costs"), [(seed, seed % 2 == 1) for seed in range(6)])
def test_scores_of_another_model_equal_the_quadratic_program(name, loss, solver, seed, has_costs):
    costs, problem = random_case(seed, name, loss)
    data = problem.dataset
    scores = np.random.default_rng(seed).normal(scale=2, size=(data.n_examples, data.n_classes))
    costs = costs if has_costs and name != "mmr" else None
    base = BaseScores.from_scores(scores) if costs is None else problem.base.plus(scores)
    problem = problem.with_base(base)
    solution = train(problem, solver, tol=1e-10)
    assert solution.status is Status.CONVERGED
    optimum = optimal_objective(problem, costs, scores)
    assert solution.certificate.primal_objective == pytest.approx(optimum, rel=1e-8, abs=1e-8)
    known = objective.certificate(problem, solution.weights, solution.duals)
    assert solution.certificate.dual_objective == pytest.approx(known.dual_objective, rel=1e-8)


@rows
@each("dtype", [np.float32, np.float64])
def test_the_certificate_is_that_of_numpy(name, loss, solver, dtype):
    _, problem = random_case(3, name, loss, dtype)
    solution = train(problem, solver, tol=1e-4)
    known = objective.certificate(problem, solution.weights, solution.duals)
    found = solution.certificate
    digits = 1e-6 if dtype == np.float32 else 1e-12  # z of float32 is scaled to be feasible
    assert found.primal_objective == pytest.approx(known.primal_objective, rel=digits)
    assert found.dual_objective == pytest.approx(known.dual_objective, rel=digits)
    assert found.gap == pytest.approx(known.gap, abs=3 * digits * known.primal_objective)


@rows
@each(("seed", "dtype"), [(0, np.float64), (1, np.float32), (2, np.float64)])
def test_costs_of_one_are_bit_identical(name, loss, solver, seed, dtype):
    problem = random_problem(seed, name, loss, dtype)
    k = problem.dataset.n_classes
    ones = with_costs(problem, np.ones((k, k)) - np.eye(k))
    first, second = (train(p, solver, tol=1e-5) for p in (problem, ones))
    np.testing.assert_array_equal(first.weights, second.weights)
    np.testing.assert_array_equal(first.duals.toarray(), second.duals.toarray())
    assert first.certificate == second.certificate


@pairs
def test_all_storages_reach_one_optimum(name, loss):
    """More classes than lanes hold, some of them absent from all features of a row."""
    problem = text_problem(name, loss, np.float64, n=200, d=150, k=90)
    problem = with_costs(problem, random_costs(90, 0))
    makers = [partial(SequentialDual, storage=s) for s in ("dense", "class_major")]
    makers += [partial(SparseDual, n_jobs=n) for n in (1, 3)]
    found = [train(problem, make, tol=1e-8) for make in makers]
    for solution in found:
        assert solution.status is Status.CONVERGED
        known = objective.primal(problem, solution.weights)
        assert solution.certificate.primal_objective == pytest.approx(known, rel=1e-12)
        np.testing.assert_allclose(solution.weights, found[0].weights, atol=2e-3)
        assert known == pytest.approx(found[0].certificate.primal_objective, rel=1e-7)


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins", "reinforced"])
def test_newton_steps_keep_costs(name):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(200, 4)), rng.integers(0, 5, 200)
    problem = make_problem(X, labels, n_classes=5, formulation=name, C=1.0, bias=1.0)
    problem = with_costs(problem, random_costs(5, 1))
    engine = Engine(problem)
    newton, W = engine.newton(), engine.new_weights()
    newton.rebuild(True)
    reached = [newton_round(newton, epsilon) for epsilon in np.geomspace(1, 1e-3, 8)][-1]
    newton.read_weights(W)
    assert reached.primal == pytest.approx(objective.primal(problem, W.matrix), rel=1e-10)
    optimum = train(problem, tol=1e-9).certificate.primal_objective
    assert reached.primal - reached.gap <= optimum * (1 + 1e-9)
    assert reached.primal == pytest.approx(optimum, rel=1e-3)


@each("loss", ["hinge", "squared_hinge"])
def test_groups_of_one_vs_rest_keep_their_costs(loss):
    problem = text_problem("one_vs_rest", loss, np.float64, n=150, d=120, k=40)
    problem = with_costs(problem, random_costs(40, 2))
    found = train(problem, OneVsRest, tol=1e-9)
    whole = train(problem, tol=1e-9)
    assert found.certificate.primal_objective == pytest.approx(
        whole.certificate.primal_objective, rel=1e-8
    )
    assert objective.primal(problem, found.weights) == pytest.approx(
        found.certificate.primal_objective, rel=1e-10
    )


def test_some_classes_keep_the_rows_of_all():
    _, problem = random_case(1, "one_vs_rest", "hinge")
    part = problem_of(problem, slice(1, 3))
    assert part.base.table.shape == (problem.dataset.n_classes, 2)
    np.testing.assert_array_equal(part.base.rows, problem.dataset.labels)
    assert part.margins() == (problem.base.gamma, 1.0)


def test_costs_of_another_size_scale_the_optimum():
    costs, problem = random_case(4, "crammer_singer", "hinge")
    small = with_costs(problem, 1e-6 * costs)
    scaled = replace(small, C=1e-6 * problem.C)
    first, second, third = (train(p, tol=1e-10).certificate for p in (problem, small, scaled))
    # W at (Delta, C) is a times that at (Delta / a, C / a).
    assert third.primal_objective == pytest.approx(1e-12 * first.primal_objective, rel=1e-8)
    assert second.relative_gap <= 1e-6  # rounding, times a C that is large for such losses


@each(
    ("changes", "message"),
    [
        ({"base_rows": np.zeros(3, np.int32)}, "row of base scores"),
        ({"base_rows": "out of range"}, "out of range"),
        ({"base_table": np.zeros((4, 7))}, "a column for each class"),
        ({"base_table": np.full((4, 4), np.nan)}, "finite"),
        ({"base_table": None}, "out of range"),
    ],
)
def test_the_core_refuses_other_base_scores(changes, message):
    problem = make_problem(np.eye(4), np.arange(4), n_classes=4)
    problem = with_costs(problem, random_costs(4, 0))
    if changes.get("base_rows", None) is not None and isinstance(changes["base_rows"], str):
        changes = {"base_rows": np.full(4, 4, np.int32)}
    with pytest.raises(ValueError, match=message):
        _core.Problem64(**(problem_arguments(problem) | changes))


def test_trainers_without_base_scores_refuse_them():
    problem = make_problem(np.eye(4), np.arange(4), n_classes=4)
    problem = with_costs(problem, random_costs(4, 0))
    with pytest.raises(ValueError, match="base scores"):
        _core.ComparisonTrainer64(core_problem(problem))
