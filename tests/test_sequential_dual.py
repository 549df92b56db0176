"""The sequential dual method: optimal, certified, repeatable, resumable."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import objective
from manyclass.solution import Status
from manyclass.solvers import base
from manyclass.solvers.base import Interrupted, has_stalled, solve
from manyclass.solvers.sequential_dual import allocate_weights, pack
from manyclass.solvers.stopping import GapRule
from tests.catalog import PAIRS, five_points, make_problem, random_problem, text_problem, train
from tests.reference import optimal_objective

solvers = pytest.mark.parametrize("solver", [solver for _, solver in PAIRS])


@solvers
@pytest.mark.parametrize("seed", range(200))
def test_equals_the_quadratic_program(solver, seed):
    problem = random_problem(seed)
    solution = train(problem, solver)
    assert solution.status is Status.CONVERGED
    optimum = optimal_objective(problem)
    assert solution.certificate.primal_objective == pytest.approx(optimum, rel=1e-6)
    assert objective.primal(problem, solution.weights) == pytest.approx(optimum, rel=1e-6)


@solvers
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_five_points_by_hand(solver, dtype):
    solved = five_points(dtype)
    solution = train(solved.problem, solver, tol=1e-6 if dtype == np.float32 else 1e-12)
    digits = 1e-5 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(solution.duals.toarray(), solved.duals, atol=digits)
    np.testing.assert_allclose(solution.weights, solved.weights, atol=digits)
    assert solution.certificate.primal_objective == pytest.approx(solved.objective, rel=digits)
    assert objective.primal(solved.problem, solved.weights) == solved.objective
    assert objective.dual(solved.problem, sp.csr_array(solved.duals)) == solved.objective


@solvers
@pytest.mark.parametrize("seed", range(20))
def test_certificate_equals_numpy(solver, seed):
    problem = random_problem(seed)
    for max_iter in (1, 3):
        solution = train(problem, solver, max_iter=max_iter)
        ours = solution.certificate
        theirs = objective.certificate(problem, solution.weights, solution.duals)
        size = theirs.primal_objective
        assert ours.primal_objective == pytest.approx(size, rel=1e-12)
        assert ours.dual_objective == pytest.approx(theirs.dual_objective, abs=1e-11 * size)
        assert ours.gap == pytest.approx(theirs.gap, abs=1e-11 * size)
        assert ours.relative_gap == pytest.approx(theirs.relative_gap, abs=1e-11)
        assert ours.max_violation == pytest.approx(theirs.max_violation, abs=1e-9)
        assert ours.primal_objective >= ours.dual_objective


@solvers
def test_gap_to_1e_8(solver):
    solution = train(text_problem(dtype=np.float64), solver, tol=1e-8)
    assert solution.status is Status.CONVERGED
    assert 0 <= solution.certificate.relative_gap <= 1e-8


@solvers
def test_duals_are_feasible(solver):
    problem = text_problem()
    z = train(problem, solver, tol=1e-4).duals
    assert (z.data > 0).all()
    assert (np.asarray(z.sum(axis=1)).ravel() <= problem.costs * (1 + 1e-6)).all()
    assert (z[np.arange(problem.dataset.n_examples), problem.dataset.labels] == 0).all()


@solvers
def test_instruction_sets_reach_one_optimum(solver, instruction_set):
    certificate = train(text_problem(), solver, tol=1e-5).certificate
    assert certificate.relative_gap <= 1e-5
    assert certificate.primal_objective == pytest.approx(91.0350, rel=1e-5)


@solvers
def test_kkt_rule_bounds_the_violation(solver):
    problem = text_problem()
    for epsilon in (2.0, 0.1, 1e-3):
        solution = train(problem, solver, tol=epsilon, stopping="kkt")
        assert solution.status is Status.CONVERGED
        assert solution.certificate.max_violation < epsilon
        theirs = objective.max_violation(problem, solution.weights, solution.duals)
        assert theirs < epsilon * 1.01


@solvers
def test_one_seed_one_result(solver):
    first, second = (train(text_problem(), solver, tol=1e-3, seed=5) for _ in range(2))
    assert (first.weights == second.weights).all()
    assert first.history[-1].evaluations == second.history[-1].evaluations
    other = train(text_problem(), solver, tol=1e-3, seed=6)
    assert (first.weights != other.weights).any()


@solvers
def test_threads_of_the_certificate_change_nothing(solver):
    problem = text_problem()
    one = train(problem, solver)
    two = solve(problem, solver(np.random.default_rng(0), n_jobs=3), GapRule(1e-9), max_iter=20_000)
    assert (one.weights == two.weights).all()
    assert one.certificate.gap == pytest.approx(two.certificate.gap, abs=1e-9)


@solvers
def test_warm_start_from_the_optimum_ends_at_once(solver):
    problem = text_problem()
    cold = train(problem, solver, tol=1e-3)
    warm = train(problem, solver, tol=1e-3, start=cold.duals)
    assert len(cold.history) > 2
    assert len(warm.history) == 1


@solvers
def test_max_iter_ends_training_with_a_true_certificate(solver):
    problem = text_problem(dtype=np.float64)
    solution = train(problem, solver, tol=1e-12, max_iter=2)
    assert solution.status is Status.MAX_ITER
    assert len(solution.history) == 2
    theirs = objective.certificate(problem, solution.weights, solution.duals)
    assert solution.certificate.gap == pytest.approx(theirs.gap, rel=1e-9)


@solvers
def test_float32_stalls_where_its_digits_end(solver):
    solution = train(text_problem(), solver, tol=1e-15, max_iter=5000)
    assert solution.status is Status.STALLED
    assert solution.certificate.relative_gap < 1e-5


@solvers
def test_a_callback_stops(solver):
    seen = []

    def on_epoch(progress):
        seen.append(progress.weights().copy())
        return len(seen) == 2

    solution = train(text_problem(), solver, on_epoch=on_epoch)
    assert solution.status is Status.STOPPED
    assert len(solution.history) == 2
    assert seen[0].shape == solution.weights.shape
    np.testing.assert_allclose(seen[-1], solution.weights, atol=1e-5)


@solvers
def test_interrupt_keeps_the_duals(solver):
    problem = text_problem()

    def on_epoch(progress):
        if progress.record.epoch == 3:
            raise KeyboardInterrupt
        return False

    with pytest.raises(Interrupted) as caught:
        train(problem, solver, on_epoch=on_epoch)
    assert caught.value.duals.nnz > 0
    resumed = train(problem, solver, start=caught.value.duals, tol=1e-6)
    assert resumed.certificate.relative_gap <= 1e-6


@solvers
def test_signal_is_heard_inside_the_core(solver):
    """One epoch of this problem takes minutes; Ctrl-C must not wait for it."""
    n, d, k = 4000, 300, 2000
    rng = np.random.default_rng(0)
    X = rng.random((n, d)).astype(np.float32)
    problem = make_problem(X, rng.integers(0, k, n), n_classes=k)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(Interrupted):
            train(problem, solver, tol=1e-9)
    finally:
        timer.join()


@solvers
def test_rows_without_features_have_a_known_loss(solver):
    X = np.array([[0.0, 0], [1, 0], [0, 1], [0, 0]])
    with_empty = train(make_problem(X, [0, 0, 1, 1], n_classes=2, weights=[2, 1, 1, 1]), solver)
    without = train(make_problem(X[1:3], [0, 1], n_classes=2), solver)
    np.testing.assert_allclose(with_empty.weights, without.weights, atol=1e-9)
    difference = with_empty.certificate.primal_objective - without.certificate.primal_objective
    assert difference == pytest.approx(3)
    assert with_empty.certificate.relative_gap <= 1e-9


@solvers
def test_nothing_but_empty_rows(solver):
    solution = train(make_problem(np.zeros((3, 2)), [0, 1, 2], n_classes=3), solver)
    assert solution.status is Status.CONVERGED
    assert (solution.weights == 0).all()
    assert solution.certificate.primal_objective == 3


@solvers
@pytest.mark.parametrize("size", [1e160, 1e300])
def test_overflow_is_an_error(solver, size):
    problem = make_problem(np.array([[size], [1.0]]), [0, 1], n_classes=2)
    with pytest.raises(FloatingPointError, match="scale"):
        train(problem, solver, max_iter=100)


def test_weights_larger_than_the_machine_are_refused():
    with pytest.raises(MemoryError, match=r"10000000 features and 1000000 classes .* GB"):
        allocate_weights(10_000_001, 1_000_000, np.dtype(np.float32))


@pytest.mark.parametrize("k", [1, 3, 8, 9, 16])
def test_packing_moves_every_row(k):
    buffer, weights = allocate_weights(50, k, np.dtype(np.float64))
    weights[:, :k] = np.arange(50 * k).reshape(50, k)
    assert weights.ctypes.data % 64 == 0
    packed = pack(buffer, weights, k)[: 50 * k]
    assert packed.tolist() == list(range(50 * k))


def test_stalling_needs_patience_and_no_progress():
    flat, falling = [1.0] * 200, [0.9**i for i in range(200)]
    assert not has_stalled(flat[: base.PATIENCE], flat[: base.PATIENCE], 1e-16)
    assert has_stalled(flat, flat, 1e-16)
    assert not has_stalled(flat, falling, 1e-16)
    assert not has_stalled(list(range(200)), flat, 1e-16)
    assert has_stalled([np.nan], [1.0], 1e-16)
