"""One-vs-rest in groups of classes: the same optimum, certified, whatever the threads."""

from __future__ import annotations

import threading
from functools import partial

import numpy as np
import pytest

from manyclass import MulticlassSVC
from manyclass.problem import objective
from manyclass.problem.solution import Status
from manyclass.solvers.one_vs_rest import OneVsRest
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.stopping import RULES
from manyclass.training.epoch_loop import Interrupted, solve
from tests.helpers.catalog import make_problem, random_problem, text_problem, train
from tests.helpers.reference import optimal_objective

losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


def train_apart(problem, n_jobs=2, *, tol=1e-9, stopping="gap", **options):
    solver = partial(OneVsRest, rng=np.random.default_rng(0), n_jobs=n_jobs)
    return solve(problem, solver, RULES[stopping](tol), max_iter=20_000, **options)


@losses
@pytest.mark.parametrize("n_jobs", [2, 3, 9])
def test_equals_the_quadratic_program(loss, n_jobs):
    for seed in range(20):
        problem = random_problem(seed, "one_vs_rest", loss)
        solution = train_apart(problem, n_jobs)
        optimum = optimal_objective(problem)
        assert solution.certificate.primal_objective == pytest.approx(optimum, rel=1e-6)
        theirs = objective.certificate(problem, solution.weights, solution.duals)
        assert solution.certificate.gap == pytest.approx(theirs.gap, abs=1e-9 * optimum)
        assert solution.certificate.max_violation == pytest.approx(theirs.max_violation, abs=1e-8)


@losses
def test_equals_one_thread(loss):
    problem = text_problem("one_vs_rest", loss, np.float64)
    one = train(problem, SequentialDual, tol=1e-10)
    two = train_apart(problem, tol=1e-10)
    assert two.status is Status.CONVERGED
    np.testing.assert_allclose(two.weights, one.weights, atol=1e-4)
    again = train_apart(problem, tol=1e-10)
    assert (again.weights == two.weights).all()


def test_warm_start_and_the_other_rule():
    problem = text_problem("one_vs_rest", "hinge")
    cold = train_apart(problem, tol=1e-3)
    warm = train_apart(problem, tol=1e-3, start=cold.start)
    assert len(warm.history) == len(cold.history) + 1
    solution = train_apart(problem, tol=1e-2, stopping="kkt")
    assert solution.certificate.max_violation < 1e-2


def test_progress_has_weights_of_all_classes():
    shapes = []

    def on_epoch(progress):
        shapes.append(progress.weights().shape)
        return True

    solution = train_apart(text_problem("one_vs_rest"), on_epoch=on_epoch)
    assert shapes == [solution.weights.shape] == [(401, 40)]
    assert solution.status is Status.STOPPED


def test_interrupt_is_heard_in_all_threads(ctrl_c_in):
    rng = np.random.default_rng(0)
    X = rng.random((4000, 300)).astype(np.float32)
    problem = make_problem(
        X, rng.integers(0, 2000, 4000), n_classes=2000, formulation="one_vs_rest"
    )
    before = set(threading.enumerate())
    ctrl_c_in(OneVsRest, "epoch")
    with pytest.raises(Interrupted):
        train_apart(problem, tol=1e-9)
    left = set(threading.enumerate()) - before
    assert all(isinstance(thread, threading.Timer) for thread in left)


@losses
def test_the_estimator_uses_them(loss):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 6)), np.arange(90) % 4
    fits = [
        MulticlassSVC(
            formulation="one_vs_rest", loss=loss, n_jobs=n_jobs, tol=1e-9, random_state=0
        ).fit(X, y)
        for n_jobs in (None, 2)
    ]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-3)
    assert fits[1].coef_.flags.f_contiguous


def test_epochs_are_counted_whatever_group_waits():
    solution = train_apart(text_problem("one_vs_rest", dtype=np.float64), tol=1e-9)
    assert [record.epoch for record in solution.history] == list(
        range(1, len(solution.history) + 1)
    )
