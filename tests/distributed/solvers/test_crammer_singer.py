"""Crammer-Singer over ranks: budgets that have to go round all class blocks."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass.distributed.solvers.crammer_singer import DistributedCrammerSinger
from manyclass.problem import objective
from manyclass.problem.solution import Start, Status
from manyclass.solvers.stopping import RULES
from manyclass.training.epoch_loop import solve
from tests.helpers.cases import each
from tests.helpers.catalog import make_problem, random_problem
from tests.helpers.ranks import on_ranks


def train_on(size, problem, start=None, tol=1e-10, max_iter=300, sparse=False):
    def call(rank):
        solver = partial(
            DistributedCrammerSinger,
            rng=np.random.default_rng(0),
            communicator=rank,
            sparse=sparse,
        )
        return solve(problem, solver, RULES["gap"](tol), max_iter=max_iter, start=start)

    return on_ranks(size, call)[0]


def dense(W):
    return W.toarray() if sp.issparse(W) else W


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@each("all_with", [0, 1, 6])
@each("sparse", [False, True])
def test_a_budget_spreads_over_all_class_blocks(size, all_with, sparse):
    """One example, whose budget is too small for the margin: by symmetry all others have as much.

    With four ranks each class is a class block of its own. Where the start has given all to one
    wrong class, y_i has no share to give, and the others must buy of each other.
    """
    k, C = 7, 0.01
    problem = make_problem(np.ones((1, 1)), [0], n_classes=k, C=C)
    duals = np.zeros((1, k))
    duals[0, all_with] = C
    duals[0, 0] = 0
    solution = train_on(size, problem, Start(sp.csr_array(duals)), sparse=sparse)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(solution.duals.toarray(), [[0] + [C / (k - 1)] * (k - 1)])
    np.testing.assert_allclose(dense(solution.weights)[0], [C] + [-C / (k - 1)] * (k - 1))


@pytest.mark.parametrize("size", [2, 4])
def test_a_wide_margin_gives_budget_back(size):
    """A start with all budgets in use, where at the optimum y_i keeps most of them."""
    X = np.repeat(np.eye(4), 3, axis=0)
    labels = np.repeat(np.arange(4), 3)
    problem = make_problem(X, labels, n_classes=4, C=10.0)
    duals = np.zeros((12, 4))
    duals[np.arange(12), (labels + 1) % 4] = 10.0
    solution = train_on(size, problem, Start(sp.csr_array(duals)))
    assert solution.status is Status.CONVERGED
    # Per class: the three examples' sum S gives w_y = S, w_c = -S / 3 along theirs; 4 S / 3 = 1.
    expected = np.kron(np.eye(4), np.ones((3, 1))) * 1.0 - 0.25
    np.testing.assert_allclose(problem.dataset.matrix() @ solution.weights[:-1], expected)
    assert solution.certificate.primal_objective == pytest.approx(1.5)


def test_a_start_beyond_its_budgets_is_scaled_back():
    problem = random_problem(7)
    z = np.full((problem.dataset.n_examples, problem.dataset.n_classes), problem.C)
    z[np.arange(len(z)), problem.dataset.labels] = 0
    solution = train_on(2, problem, Start(sp.csr_array(z)), tol=1e-6)
    assert (solution.duals.sum(axis=1) <= problem.costs * (1 + 1e-12)).all()
    theirs = objective.certificate(problem, solution.weights, solution.duals)
    assert theirs.relative_gap == pytest.approx(solution.certificate.relative_gap, abs=1e-12)


def test_in_float32_budgets_hold():
    problem = random_problem(7, dtype=np.float32)
    duals = train_on(3, problem, tol=1e-5, max_iter=200).duals
    totals = np.asarray(duals.astype(np.float64).sum(axis=1)).ravel()
    assert (totals <= problem.costs * (1 + 1e-6)).all()


def test_two_classes_and_one_class_to_a_block():
    for k in (2, 3):
        X = np.random.default_rng(0).normal(size=(12, 3))
        problem = make_problem(X, np.arange(12) % k, n_classes=k)
        optima = [train_on(size, problem).certificate.primal_objective for size in (1, 2, 3)]
        assert optima == pytest.approx([optima[0]] * 3, rel=1e-9)
