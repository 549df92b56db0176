"""Costs of a taxonomy without a table: those of the table, in every storage, certified."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from manyclass import Taxonomy, _core
from manyclass.problem import objective
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.problem import core_problem, problem_arguments, problem_of
from manyclass.problem.solution import Status
from manyclass.solvers.one_vs_rest import OneVsRest
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.training.class_chunks import Finished
from tests.helpers.cases import each
from tests.helpers.catalog import SparseDual, make_problem, random_problem, text_problem, train
from tests.helpers.reference import optimal_objective

DISTANCES = ["edges", lambda depth: 2.0**-depth]


def random_tree(k, seed, distance="edges"):
    """A tree whose nodes 0 to k - 1, leaves and inner ones, are classes, and some others."""
    rng = np.random.default_rng(seed)
    n = k + k // 2
    names = rng.permutation(n)
    parents = {int(names[0]): None}
    for m in range(1, n):
        parents[int(names[m])] = int(names[rng.integers(max(0, m - 8), m)])
    return Taxonomy(parents, distance=distance)


def of_tree(problem, seed=0, distance="edges"):
    """The problem with the costs of a tree, in ranges and in a table."""
    k = problem.dataset.n_classes
    tree, labels = random_tree(k, seed, distance), problem.dataset.labels
    costs = tree.costs_of(np.arange(k))
    ranges = tree.scores_of(np.arange(k), labels)
    return problem.with_base(ranges), problem.with_base(BaseScores.from_costs(costs, labels)), costs


@each("distance", DISTANCES)
@each("k", [2, 3, 7, 40, 300])
def test_the_numbers_are_those_of_the_table(distance, k):
    labels = np.random.default_rng(k).integers(0, k, 50).astype(np.int32)
    for seed in range(5):
        tree = random_tree(k, seed, distance)
        base = tree.scores_of(np.arange(k), labels)
        costs = tree.costs_of(np.arange(k))
        expected = costs[labels] - 1
        expected[np.arange(50), labels] = 0
        if base is None:
            assert np.allclose(expected, 0)
            continue
        np.testing.assert_allclose(base.of(slice(None)), expected, atol=1e-12)
        some = np.random.default_rng(seed).permutation(k)[: k // 2 + 1]
        np.testing.assert_allclose(
            base.of_classes(some).of(slice(3, 9)), expected[3:9, some], atol=1e-12
        )
        np.testing.assert_allclose(
            base.at(np.arange(50), labels[::-1]), expected[np.arange(50), labels[::-1]], atol=1e-12
        )
        few = base.of_classes(some).core_arguments()
        np.testing.assert_allclose(
            few["base_table"][few["base_rows"]], expected[:, some], atol=1e-12
        )
        offsets = np.linspace(-1, 1, k)
        moved = base.plus(offsets)
        np.testing.assert_allclose(moved.of(slice(None)), expected + offsets, atol=1e-12)
        scores = np.random.default_rng(seed).normal(size=(50, k))
        np.testing.assert_allclose(base.plus(scores).of(slice(None)), expected + scores, atol=1e-12)


@each("distance", DISTANCES)
@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("crammer_singer", "hinge"),
        ("weston_watkins", "hinge"),
        ("weston_watkins", "squared_hinge"),
        ("lee_lin_wahba", "hinge"),
        ("reinforced", "squared_hinge"),
    ],
)
def test_all_storages_reach_the_optimum_of_the_table(name, loss, distance):
    problem = text_problem(name, loss, np.float64, n=100, d=90, k=70)
    ranges, table, _ = of_tree(problem, 1, distance)
    makers = [SequentialDual]
    if problem.formulation.is_relative:
        makers = [partial(SequentialDual, storage=s) for s in ("dense", "class_major")]
        makers += [partial(SparseDual, n_jobs=n) for n in (1, 3)]
    expected = train(table, tol=1e-7).certificate.primal_objective
    for make in makers:
        found = train(ranges, make, tol=1e-7)
        assert found.status is Status.CONVERGED
        known = objective.certificate(table, found.weights, found.duals)
        assert found.certificate.primal_objective == pytest.approx(
            known.primal_objective, rel=1e-12
        )
        assert found.certificate.dual_objective == pytest.approx(known.dual_objective, rel=1e-10)
        assert known.primal_objective == pytest.approx(expected, rel=1e-6)


@each("dtype", [np.float32, np.float64])
@each("k", [66, 130])
def test_a_certificate_in_tables_is_that_of_numpy(dtype, k):
    problem = text_problem("crammer_singer", "hinge", dtype, n=120, d=100, k=k)
    ranges, table, _ = of_tree(problem, 2)
    found = train(ranges, SparseDual, tol=1e-4)
    known = objective.certificate(table, found.weights, found.duals)
    digits = 1e-6 if dtype == np.float32 else 1e-12
    assert found.certificate.primal_objective == pytest.approx(known.primal_objective, rel=digits)
    assert found.certificate.gap == pytest.approx(
        known.gap, abs=3 * digits * known.primal_objective
    )


@each("seed", range(6))
@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins", "ats"])
def test_few_classes_equal_the_quadratic_program(name, seed):
    problem = random_problem(seed, name, "hinge", np.float64)
    while problem.dataset.n_classes < 3:
        seed += 1000
        problem = random_problem(seed, name, "hinge", np.float64)
    ranges, _, costs = of_tree(problem, seed)
    if ranges.base is None:
        return
    found = train(ranges, tol=1e-10).certificate.primal_objective
    assert found == pytest.approx(optimal_objective(problem, costs), rel=1e-8, abs=1e-8)


@each("loss", ["hinge", "squared_hinge"])
def test_groups_of_one_vs_rest_have_tables_of_few_rows(loss):
    problem = text_problem("one_vs_rest", loss, np.float64, n=150, d=120, k=70)
    ranges, table, _ = of_tree(problem, 3)
    found = [train(p, OneVsRest, tol=1e-9).certificate for p in (ranges, table)]
    assert found[0].primal_objective == pytest.approx(found[1].primal_objective, rel=1e-8)
    part = problem_of(ranges, slice(10, 20))
    assert len(part.base.core_arguments()["base_table"]) < 70
    core_problem(part)


def test_losses_before_training_are_those_of_the_table():
    problem = text_problem("one_vs_rest", "hinge", np.float64, n=150, d=120, k=70)
    found = [Finished(p, False, None)._untrained(30) for p in of_tree(problem, 3)[:2]]
    np.testing.assert_allclose(*found)


def test_empty_rows_lose_their_costs():
    """Without an intercept their loss is constant; the dual objective has it, too."""
    problem = text_problem("crammer_singer", "hinge", np.float64, n=60, d=50, k=70)
    X = problem.dataset.matrix().toarray()
    X[:7] = 0
    labels = problem.dataset.labels
    problem = make_problem(X, labels, n_classes=70, formulation="crammer_singer", C=1.0)
    ranges, table, _ = of_tree(problem, 4)
    for make in (SequentialDual, SparseDual):
        solutions = [train(p, make, tol=1e-8) for p in (ranges, table)]
        for solution in solutions:
            known = objective.certificate(table, solution.weights, solution.duals)
            found = solution.certificate
            assert found.dual_objective == pytest.approx(known.dual_objective, rel=1e-8)
            assert solution.history[-1].primal_estimate == pytest.approx(
                found.primal_objective, rel=1e-4
            )


@each("seed", range(3))
def test_equal_distances_need_no_base_scores(seed):
    tree = Taxonomy(dict.fromkeys(range(6)))
    assert tree.scores_of(np.arange(6), np.zeros(3, np.int32)) is None
    scaled = random_tree(9, seed).scaled_for(np.arange(9))
    part = np.array([1, 4, 7])
    whole = random_tree(9, seed).costs_of(np.arange(9))
    np.testing.assert_allclose(scaled.costs_of(part), whole[np.ix_(part, part)])
    base = scaled.scores_of(part, np.array([0, 1, 2], np.int32))
    if base is not None:
        np.testing.assert_allclose(
            base.of(slice(None)) + 1 - np.eye(3), whole[np.ix_(part, part)], atol=1e-12
        )


ARRAYS = {
    "parents": np.array([-1, 0], np.int32),
    "begins": np.array([0, 1], np.int32),
    "ends": np.array([4, 3], np.int32),
    "of_node": np.zeros(2),
    "nodes": np.array([0, 1, 1, 0], np.int32),
    "classes": np.arange(4, dtype=np.int32),
    "of_class": np.zeros(4),
    "of_true": np.zeros(4),
    "own": np.zeros(4),
}


@each(
    ("changes", "message"),
    [
        ({"parents": np.array([-1, 1], np.int32)}, "behind its parent"),
        ({"parents": np.array([0, 0], np.int32)}, "must be the root"),
        ({"ends": np.array([4, 5], np.int32)}, "some of its parent's"),
        ({"ends": np.array([4], np.int32)}, "for every node"),
        ({"nodes": np.array([0, 1, 1, 2], np.int32)}, "out of range"),
        ({"nodes": np.array([1, 1, 1, 0], np.int32)}, "in the range of its node"),
        ({"classes": np.zeros(4, np.int32)}, "permutation"),
        ({"own": np.full(4, np.nan)}, "finite"),
        ({"own": np.zeros(3)}, "for every class"),
    ],
)
def test_the_core_refuses_other_trees(changes, message):
    problem = make_problem(np.eye(4), np.arange(4), n_classes=4)
    _core.Problem64(**problem_arguments(problem), base_tree=_core.ClassTree(**ARRAYS))
    tree = _core.ClassTree(**(ARRAYS | changes))
    with pytest.raises(ValueError, match=message):
        _core.Problem64(**problem_arguments(problem), base_tree=tree)
