"""Costs of mistakes and offsets of classes on ranks with a share of the classes each."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from manyclass import _core
from manyclass.distributed.ranks_backend import Ranks, check_formulation
from manyclass.problem import objective
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.problem import core_problem
from manyclass.problem.solution import Status
from manyclass.solvers.stopping import RULES
from manyclass.training.epoch_loop import Options, solve
from tests.helpers.cases import each
from tests.helpers.catalog import make_problem, random_problem, text_problem, train
from tests.helpers.ranks import on_ranks
from tests.helpers.reference import optimal_objective

PAIRS = [
    ("crammer_singer", "hinge"),
    ("weston_watkins", "hinge"),
    ("weston_watkins", "squared_hinge"),
    ("one_vs_rest", "hinge"),
]
combinations = pytest.mark.parametrize(("name", "loss"), PAIRS)


def train_on(size, problem, *, tol=1e-9, weights="dense"):
    """The solutions of all ranks."""

    def call(rank):
        options, rng = Options(tol, weights=weights), np.random.default_rng(0)
        make = partial(Ranks(rank).solver, options=options, rng=rng)
        return solve(problem, make, RULES["gap"](tol), max_iter=2000)

    return on_ranks(size, call)


def with_base(problem, seed, *, offsets=True):
    """The problem with costs of several sizes, some of them 0, and offsets."""
    k, rng = problem.dataset.n_classes, np.random.default_rng(seed)
    costs = rng.uniform(0, 3, (k, k)) * (rng.random((k, k)) < 0.8)
    costs[0, 1] = 2.0
    np.fill_diagonal(costs, 0)
    shift = rng.normal(size=k) * offsets
    base = BaseScores.from_costs(costs, problem.dataset.labels).plus(shift)
    return replace(problem, base=base), costs, shift


def check(problem, solutions, optimum):
    first = solutions[0]
    assert first.status is Status.CONVERGED
    assert first.certificate.primal_objective == pytest.approx(optimum, rel=1e-7, abs=1e-9)
    W = first.weights.toarray() if hasattr(first.weights, "toarray") else first.weights
    theirs = objective.certificate(problem, W, first.duals)
    assert first.certificate.primal_objective == pytest.approx(theirs.primal_objective, rel=1e-9)
    assert first.certificate.gap == pytest.approx(theirs.gap, abs=1e-9 * optimum)
    assert first.certificate.max_violation == pytest.approx(theirs.max_violation, abs=1e-8)
    for other in solutions[1:]:
        assert other.certificate == first.certificate


@combinations
@each(("seed", "size"), [(0, 2), (1, 3), (2, 2)])
def test_equals_the_quadratic_program(name, loss, seed, size):
    problem = random_problem(seed, name, loss)
    while problem.dataset.n_classes < 3:
        seed += 1000
        problem = random_problem(seed, name, loss)
    problem, costs, shift = with_base(problem, seed)
    check(problem, train_on(size, problem), optimal_objective(problem, costs, shift))


@combinations
@each(("size", "weights"), [(1, "dense"), (2, "dense"), (3, "dense"), (2, "sparse"), (3, "sparse")])
def test_equals_one_process(name, loss, size, weights):
    problem, *_ = with_base(text_problem(name, loss, np.float64, n=120, d=100, k=17), 3)
    one = train(problem, tol=1e-9).certificate.primal_objective
    check(problem, train_on(size, problem, weights=weights), one)


@combinations
def test_offsets_alone_and_rows_without_features(name, loss):
    problem = text_problem(name, loss, np.float64, n=100, d=100, k=9)
    X = problem.dataset.matrix().toarray()
    X[::7] = 0
    problem = make_problem(
        X, problem.dataset.labels, n_classes=9, formulation=name, loss=loss, C=0.7
    )
    shift = np.random.default_rng(1).normal(size=9)
    problem = replace(problem, base=BaseScores.from_offsets(shift, 100))
    one = train(problem, tol=1e-9).certificate.primal_objective
    check(problem, train_on(2, problem), one)


@combinations
@each("weights", ["dense", "sparse"])
def test_float32_to_a_modest_gap(name, loss, weights):
    problem, *_ = with_base(text_problem(name, loss), 4)
    solution = train_on(2, problem, tol=1e-3, weights=weights)[0]
    W = solution.weights.toarray() if hasattr(solution.weights, "toarray") else solution.weights
    assert objective.certificate(problem, W, solution.duals).relative_gap <= 1.1e-3


def test_rows_of_classes_have_the_same_margins():
    problem, *_ = with_base(random_problem(5, "crammer_singer"), 5)
    data = problem.dataset
    other = problem.with_base(problem.base.by_class(data.labels))
    W = np.random.default_rng(0).normal(size=(data.n_features + 1, data.n_classes))
    first, second = (objective.slacks(p, W) for p in (problem, other))
    np.testing.assert_allclose(first, second, rtol=1e-12)
    np.testing.assert_array_equal(other.base.at(np.arange(len(data.labels)), data.labels), 0)


@each("name", ["lee_lin_wahba", "reinforced"])
def test_weights_that_sum_to_zero_refuse_them(name):
    problem, *_ = with_base(text_problem(name, k=5), 0)
    with pytest.raises(ValueError, match="if the weights sum to zero"):
        check_formulation(problem)


def test_more_classes_than_a_table_has_are_refused():
    X, labels = np.ones((4100, 1)), np.arange(4100)
    problem = make_problem(X, labels, n_classes=4100, formulation="crammer_singer")
    problem = replace(problem, base=BaseScores.from_offsets(np.ones(4100), 4100))
    with pytest.raises(ValueError, match="up to 4096 classes, but there are 4100"):
        check_formulation(problem)


@each(
    ("classes", "message"),
    [
        (None, "every column must have a class"),
        (np.full(3, -1, np.int32), "every column must have a class"),
        (np.full(32, 4, np.int32), "class out of range"),
        (np.full(32, -2, np.int32), "class out of range"),
    ],
)
def test_the_core_refuses_other_columns(classes, message):
    problem = make_problem(np.eye(4), np.arange(4), n_classes=4, formulation="weston_watkins")
    problem, *_ = with_base(problem, 0, offsets=False)
    trainer = _core.PairTrainer64(core_problem(problem))
    labels = np.array([0, 1, 16, 17], np.int32)
    pair = _core.ClassPair(16, 2, 2, labels, True, classes)
    memory = np.zeros(5 * 32 + 8)
    begin = -memory.ctypes.data % 64 // 8
    W = memory[begin : begin + 5 * 32].reshape(5, 32)
    with pytest.raises(ValueError, match=message):
        trainer.own_scores(pair, W, np.arange(4, dtype=np.int32), np.zeros(4))
