"""The comparison methods reach the optimum of the sequential dual method, certified."""

from __future__ import annotations

from functools import partial
from itertools import count

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass.problem import objective
from manyclass.problem.solution import Start, Status
from manyclass.solvers.comparison import simplex_qp
from manyclass.solvers.comparison.cutting_plane import CuttingPlane
from manyclass.solvers.comparison.exponentiated_gradient import ExponentiatedGradient
from manyclass.solvers.comparison.most_violating import MostViolating
from manyclass.solvers.sequential_dual import SequentialDual
from tests.helpers.cases import each
from tests.helpers.catalog import PAIRS, five_points, make_problem, random_problem, train
from tests.helpers.reference import optimal_objective

WithoutLineSearch = partial(CuttingPlane, line_search=False)
RELATIVE = [("crammer_singer", "hinge"), ("weston_watkins", "hinge")]
CUTS = [pair for pair in PAIRS if pair[0] in ("crammer_singer", "weston_watkins", "one_vs_rest")]
# Formulation, loss, solver, the gap that it reaches on tiny problems within the epochs of `train`:
# exponentiated gradient gains little per epoch near the optimum, where some u fall like 1 / epochs.
ROWS = [(*pair, ExponentiatedGradient, 1e-3) for pair in RELATIVE]
ROWS += [(*pair, MostViolating, 1e-4) for pair in RELATIVE]
ROWS += [(*pair, CuttingPlane, 1e-6) for pair in CUTS]
ROWS += [(*pair, WithoutLineSearch, 1e-4) for pair in CUTS]
rows = pytest.mark.parametrize(("name", "loss", "solver", "tol"), ROWS)
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@rows
@each("seed", range(20))
def test_equals_the_quadratic_program(name, loss, solver, tol, seed):
    problem = random_problem(seed, name, loss)
    solution = train(problem, solver, tol=tol, max_iter=5000)
    optimum = optimal_objective(problem)
    reached = solution.certificate
    assert reached.relative_gap <= 1.5 * tol  # 1.2e-3 of 1e-3 where C ||x||^2 is 486
    assert reached.dual_objective <= optimum * (1 + 1e-9)
    assert optimum * (1 - 1e-9) <= reached.primal_objective
    assert reached.primal_objective <= optimum * (1 + 2 * tol)


@rows
@dtypes
def test_five_points_by_hand(name, loss, solver, tol, dtype):
    solved = five_points(name, loss, dtype)
    solution = train(solved.problem, solver, tol=max(tol, 1e-5), max_iter=5000)
    reached = solution.certificate
    assert reached.relative_gap <= max(tol, 1e-5)
    assert reached.primal_objective == pytest.approx(solved.objective, rel=2 * max(tol, 1e-5))
    np.testing.assert_allclose(solution.weights, solved.weights, atol=0.1)


@rows
@each("seed", range(5))
def test_certificate_equals_numpy(name, loss, solver, tol, seed):
    problem = random_problem(seed, name, loss)
    for max_iter in (1, 3):
        solution = train(problem, solver, max_iter=max_iter)
        ours = solution.certificate
        theirs = objective.certificate(problem, solution.weights, solution.duals)
        size = theirs.primal_objective
        assert ours.primal_objective == pytest.approx(size, rel=1e-11)
        assert ours.dual_objective == pytest.approx(theirs.dual_objective, abs=1e-10 * size)
        assert ours.gap == pytest.approx(theirs.gap, abs=1e-10 * size)


@rows
def test_goes_on_from_the_optimum_of_another_solver(name, loss, solver, tol):
    problem = random_problem(3, name, loss)
    optimal = train(problem, SequentialDual, tol=1e-8)
    start = Start(sp.csr_array(optimal.duals))
    again = train(problem, solver, tol=max(tol, 1e-3), start=start)
    assert again.certificate.relative_gap <= max(tol, 1e-3)
    cold = train(problem, solver, tol=max(tol, 1e-3))
    assert len(again.history) <= len(cold.history)


@rows
def test_rows_of_zeros_weights_and_no_intercept(name, loss, solver, tol):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 4, 30)
    X[[2, 17]] = 0
    problem = make_problem(
        X,
        y,
        C=0.5,
        formulation=name,
        loss=loss,
        n_classes=4,
        bias=0.0,
        weights=rng.uniform(0.5, 2, 30),
    )
    solution = train(problem, solver, tol=max(tol, 1e-4), max_iter=5000)
    optimum = optimal_objective(problem)
    assert solution.certificate.dual_objective <= optimum * (1 + 1e-9)
    assert solution.certificate.primal_objective == pytest.approx(optimum, rel=20 * max(tol, 1e-4))


@rows
def test_the_same_seed_gives_the_same_weights(name, loss, solver, tol):
    problem = random_problem(1, name, loss)
    first, second = (train(problem, solver, max_iter=5) for _ in range(2))
    np.testing.assert_array_equal(first.weights, second.weights)


@pytest.mark.parametrize(("name", "loss"), RELATIVE)
def test_the_dual_objective_never_falls(name, loss):
    for solver in (ExponentiatedGradient, MostViolating, CuttingPlane):
        problem = random_problem(2, name, loss)
        duals = [
            train(problem, solver, max_iter=m).certificate.dual_objective for m in (1, 2, 4, 8, 16)
        ]
        assert duals == sorted(duals)


def test_idle_cuts_are_dropped(monkeypatch):
    monkeypatch.setattr("manyclass.solvers.comparison.cutting_plane.IDLE", 3)
    problem = random_problem(4, "crammer_singer", "hinge")
    solution = train(problem, CuttingPlane, tol=1e-6)
    assert solution.status is Status.CONVERGED
    assert max(record.loops for record in solution.history) < len(solution.history)


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins", "one_vs_rest"])
@pytest.mark.parametrize("value", [0.0, 1e-170, 1e-3, 1.0])
@pytest.mark.parametrize("k", [2, 3])
def test_equal_rows_of_all_labels(name, value, k):
    """Cuts whose W is 0 made the master's system singular."""
    y = np.arange(6) % k
    problem = make_problem(np.full((6, 1), value), y, formulation=name, n_classes=k)
    assert train(problem, CuttingPlane, tol=1e-6).certificate.relative_gap <= 1e-6


def test_weights_of_ten_decades_end_with_a_certificate(monkeypatch):
    """A ridge of the largest cuts would hide the others, and the master never reach its end."""
    systems = count()
    stationary = simplex_qp._stationary

    def counted(*arguments):
        assert next(systems) < 3000
        return stationary(*arguments)

    monkeypatch.setattr(simplex_qp, "_stationary", counted)
    rng = np.random.default_rng(0)
    X, y = 5 * rng.normal(size=(10, 2)), np.array([0, 1, 2, 3, 4, 5, 6, 7, 5, 7])
    weights = 10.0 ** np.array([-5.4, -2.5, -2.1, -5.1, -3, 4.4, -1.4, 5.6, 5.6, -1.9])
    problem = make_problem(X, y, weights=weights, n_classes=8, bias=1.0)
    solution = train(problem, CuttingPlane, tol=1e-9, max_iter=300)
    optimum = train(problem, SequentialDual, tol=1e-9, max_iter=3000).certificate
    assert solution.certificate.relative_gap <= 1e-6
    assert solution.certificate.dual_objective <= optimum.primal_objective
    assert optimum.dual_objective <= solution.certificate.primal_objective
