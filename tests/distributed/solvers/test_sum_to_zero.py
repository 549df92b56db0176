"""Sum-to-zero machines over ranks: W along the way, and where its mean is large."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from manyclass.distributed.solvers.sum_to_zero import DistributedSumToZero
from manyclass.problem import objective
from manyclass.solvers.stopping import RULES
from manyclass.training.epoch_loop import solve
from tests.helpers.cases import each
from tests.helpers.catalog import make_problem, random_problem, text_problem, train
from tests.helpers.ranks import on_ranks


def after_epochs(problem, size, n_epochs):
    """W, the dual variables and D of rank 0, without the certificate that sets W anew."""

    def call(rank):
        solver = DistributedSumToZero(problem, None, np.random.default_rng(0), rank)
        for _ in range(n_epochs):
            solver.epoch(RULES["gap"](1e-9))
        return solver.weights(), solver.start().duals, solver.dual

    return on_ranks(size, call)[0]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("name", ["lee_lin_wahba", "ats", "reinforced", "mmr"])
@each("size", [1, 2, 4])
def test_w_is_kept_along_with_z(name, loss, size):
    for seed in range(3):
        problem = random_problem(seed, name, loss)
        W, z, dual = after_epochs(problem, size, 2)
        np.testing.assert_allclose(W, objective.weights_of(problem, z), atol=1e-10)
        assert dual == pytest.approx(objective.dual(problem, z), rel=1e-9)


@pytest.mark.parametrize("name", ["lee_lin_wahba", "mmr"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_sum_of_w_is_kept_along(name, size):
    problem = random_problem(1, name, "hinge")

    def call(rank):
        solver = DistributedSumToZero(problem, None, np.random.default_rng(0), rank)
        drift = solver.drift
        for _ in range(2):
            solver.epoch(RULES["gap"](1e-9))
        if solver.engine is not None:
            kept = solver.engine.sum_of_classes
            np.testing.assert_allclose(kept, solver.W.sum(axis=1), atol=1e-10)
        return drift, solver.drift

    assert all(before > 0 and after == 0 for before, after in on_ranks(size, call))


def one_row(dtype, x, names=3):
    """A problem of one example with one feature, and a solver whose m does not drift."""
    problem = make_problem(
        np.array([[x]], dtype), [0], n_classes=names, formulation="lee_lin_wahba"
    )
    solver = DistributedSumToZero(problem, None, np.random.default_rng(0))
    solver._drift(0.0)
    return solver


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("relaxation", [1.5, 1.9])
def test_nothing_is_left_to_be_taken_off(dtype, relaxation):
    """Where m comes back to where it was, too."""
    row, none = np.zeros(1, np.int32), np.zeros(1)
    for x in (0.25, 1.0, 2.75):
        solver = one_row(dtype, x)
        for step in (1.0, -1.0):
            solver.engine.follow_mean(row, none, np.array([step]), relaxation)
        column = solver.engine.W.padded[:, 3]
        assert column[0] != 0
        solver.engine.settle_mean()
        assert column[0] == 0
        np.testing.assert_allclose(solver.W, 0, atol=1e-6)


@pytest.mark.parametrize("moved", [0.0, 1.0])
def test_m_is_the_same_on_ranks_that_moved_and_others(moved):
    """Two ranks may move an example against each other, by nothing in all."""
    row, none = np.zeros(1, np.int32), np.zeros(1)
    solver = one_row(np.float64, 1.0)
    for here, step in ((0.0, 1.0), (moved, 0.0)):
        solver.engine.follow_mean(row, np.array([here]), none + step, 1.9)
    assert solver.engine.W.padded[0, 3] == 1.9


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_from_zero_ranks_need_few_more_epochs_than_one_process(size, bias, loss):
    problem = text_problem("lee_lin_wahba", loss, n=1000, d=300)
    problem = replace(problem, dataset=replace(problem.dataset, bias=bias))

    def epochs(rank):
        solver = partial(DistributedSumToZero, rng=np.random.default_rng(0), communicator=rank)
        return len(solve(problem, solver, RULES["gap"](1e-3), max_iter=50).history)

    assert on_ranks(size, epochs)[0] <= len(train(problem, tol=1e-3).history) + 2


@pytest.mark.slow
@pytest.mark.parametrize("C", [1.0, 3.0, 10.0, 100.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_mean_does_not_drift_away(loss, C):
    """Where other ranks' classes do otherwise, steps as long as the drift allows would blow up."""
    problem = replace(text_problem("lee_lin_wahba", loss, np.float64, n=300, d=50, k=4), C=C)

    def duals(rank):
        solver = DistributedSumToZero(problem, None, np.random.default_rng(0), rank)
        assert (solver.drift > 0) == (loss == "hinge" and C < 4)
        found = []
        for _ in range(3):
            solver.epoch(RULES["gap"](1e-3))
            found.append(solver.dual)
        return found

    optimum = train(problem).certificate.primal_objective
    for size in (2, 4):
        after = on_ranks(size, duals)[0]
        assert 0 < after[0] < after[1] < after[2] < optimum


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_large_mean_does_not_drown_w(size):
    """All z move all intercepts: the mean of U is thousands of times the largest of W."""
    problem = text_problem("lee_lin_wahba", n=2000, d=100)
    problem = replace(problem, dataset=replace(problem.dataset, bias=1.0))

    def call(rank):
        solver = partial(DistributedSumToZero, rng=np.random.default_rng(0), communicator=rank)
        return solve(problem, solver, RULES["gap"](1e-3), max_iter=100)

    found = on_ranks(size, call)[0]
    theirs = objective.certificate(problem, found.weights, found.duals)
    exact = objective.primal(problem, objective.weights_of(problem, found.duals))
    assert found.certificate.gap >= -1e-6 * exact
    assert theirs.primal_objective == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("bias", [1.0, 10.0])
@pytest.mark.parametrize("name", ["lee_lin_wahba", "ats", "mmr"])
def test_intercepts_are_built_anew_to_their_last_digit(name, bias):
    """All examples move them, by what mostly cancels."""
    problem = text_problem(name, n=2000, k=100)
    problem = replace(problem, dataset=replace(problem.dataset, bias=bias))

    def call(rank):
        solver = partial(DistributedSumToZero, rng=np.random.default_rng(0), communicator=rank)
        return solve(problem, solver, RULES["gap"](1e-6), max_iter=2)

    solution = on_ranks(2, call)[0]
    exact = objective.weights_of(problem, solution.duals.astype(np.float64))[-1]
    digit = np.finfo(np.float32).eps * np.abs(exact).max()
    assert np.abs(solution.weights[-1] - exact).max() <= 2 * digit


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("name", ["lee_lin_wahba", "ats"])
def test_w_sums_to_zero_where_most_classes_have_equal_weights(name, size):
    """What all classes have in common is thousands of times as large as what is left of each."""
    problem = text_problem(name, n=2000, k=1000)

    def call(rank):
        solver = partial(DistributedSumToZero, rng=np.random.default_rng(0), communicator=rank)
        return solve(problem, solver, RULES["gap"](1e-6), max_iter=3)

    solution = on_ranks(size, call)[0]
    W = np.asarray(solution.weights, np.float64)
    digit = np.finfo(np.float32).eps * np.abs(W).max(axis=1)
    assert (np.abs(W.mean(axis=1)) <= digit).all()
    exact = objective.weights_of(problem, solution.duals.astype(np.float64))
    assert np.abs(W - exact).max() <= 8 * digit.max()
    at_w = objective.primal(problem, W)
    assert solution.certificate.primal_objective == pytest.approx(at_w, rel=1e-7)
    assert solution.certificate.gap >= -1e-8 * at_w
