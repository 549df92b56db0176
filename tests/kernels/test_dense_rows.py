"""The kernels for dense rows: batched visits with W class-major."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass import _core
from manyclass.problem import objective
from manyclass.problem.problem import problem_arguments
from manyclass.solvers.engines import NO_COMMON
from tests.helpers.cases import each
from tests.helpers.catalog import PAIRS, make_problem
from tests.helpers.dual_kernels import duals_of, engine_for, filled_rows, random_data, sums_of

SEEDS = range(3)


class Run:
    """An engine, and the loops that were made with it."""

    def __init__(self, problem, n_threads, storage="class_major"):
        self.problem = problem
        self.engine = engine_for(problem, storage, n_threads, lists=True)
        self.rows = filled_rows(problem)
        self.active = np.empty(len(self.rows), np.int32)

    def full(self, seed):
        return self.engine.full_loop(self.rows, self.active, -np.inf, seed)

    def shrunk(self, n_active, seed, effort):
        goal = _core.ShrunkGoal(0.0, 0.0, effort, 0.0)
        return self.engine.shrunk_loops(self.active, n_active, goal, seed).dual_gain


def dense_problem(k, dtype, *, n=70, d=19, bias=0.5, name="crammer_singer", loss="hinge"):
    rng = np.random.default_rng(k)
    y = np.concatenate([np.arange(k), rng.integers(0, k, max(0, n - k))])[:n]
    X = rng.normal(size=(n, d)).astype(dtype)
    X[3] = 0
    X[7] = X[8]
    weights = rng.integers(1, 4, n).astype(float)
    return make_problem(
        X, y, n_classes=k, formulation=name, loss=loss, C=2.0, weights=weights, bias=bias
    )


def check(problem, n_threads=1):
    """A few loops; then W, D, gap and violation as NumPy has them."""
    data = problem.dataset
    run = Run(problem, n_threads)
    W_of = run.engine.copy_weights
    gains = run.engine.constant_loss()
    for seed in SEEDS:
        result = run.full(seed)
        gains += result.dual_gain
        gains += run.shrunk(result.n_active, seed, 20 * data.n_classes)
    duals = duals_of(run.engine, problem)
    digits = 1e-4 if data.dtype == np.float32 else 1e-10
    W = objective.weights_of(problem, duals)
    np.testing.assert_allclose(W_of(), W, rtol=digits, atol=digits)
    assert (run.engine.W.padded[:, data.n_features + 1 :] == 0).all()
    expected = objective.certificate(problem, W_of(), duals)
    size = expected.primal_objective
    assert gains == pytest.approx(expected.dual_objective, abs=digits * size)
    run.engine.rebuild()
    np.testing.assert_allclose(W_of(), W, rtol=digits, atol=digits)
    seen = sums_of(run.engine.gap_sums(NO_COMMON, float(np.linalg.norm(W_of()))))
    assert seen.gap == pytest.approx(expected.gap, abs=digits * size)
    assert seen.max_violation == pytest.approx(expected.max_violation, rel=1e-2, abs=digits)


@each("k", [2, 5, 16, 65, 130])
@each("dtype", [np.float32, np.float64])
@each("bias", [0.0, 0.5])
def test_visits_agree_with_numpy(k, dtype, bias, instruction_set):
    check(dense_problem(k, dtype, bias=bias))


# Every remainder of a tile, of a batch and of a block of features.
@each("n", [2, 31, 32, 33, 64, 67])
@each("d", [1, 15, 16, 40, 129])
def test_all_sizes(n, d, instruction_set):
    check(dense_problem(7, np.float32, n=max(n, 9), d=d))


@pytest.mark.parametrize(("name", "loss"), PAIRS)
@each("k", [3, 70])
@each("dtype", [np.float32, np.float64])
def test_formulations_agree_with_numpy(name, loss, k, dtype):
    check(dense_problem(k, dtype, name=name, loss=loss))


def test_sparse_rows_are_taken_too(instruction_set):
    check(random_data(40, 20, 9, np.float32, bias=0.5))


@pytest.mark.parametrize(("name", "loss"), PAIRS)
@each("k", [4, 70])
def test_same_as_single_visits_in_the_same_order(name, loss, k):
    problem = dense_problem(k, np.float64, name=name, loss=loss)
    run, other = Run(problem, 1), Run(problem, 1, "dense")
    for seed in SEEDS:
        batched, single = run.full(seed), other.full(seed)
        assert batched.gap == pytest.approx(single.gap, rel=1e-9)
        assert batched.dual_gain == pytest.approx(single.dual_gain, rel=1e-9)
        assert (batched.steps, batched.n_active) == (single.steps, single.n_active)
        np.testing.assert_array_equal(
            run.active[: batched.n_active], other.active[: single.n_active]
        )
    # W and not z: another z may give the same W and D.
    ours, theirs = (
        objective.weights_of(problem, duals_of(made.engine, problem)) for made in (run, other)
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins", "lee_lin_wahba"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_result_with_any_number_of_threads(name, dtype):
    problem = dense_problem(200, dtype, n=530, d=140, name=name)  # worth three threads
    runs = [Run(problem, n_threads) for n_threads in (1, 2, 3)]
    for run in runs:
        for seed in SEEDS:
            result = run.full(seed)
            run.shrunk(result.n_active, seed, 2000)
        run.engine.rebuild()
    for run in runs[1:]:
        np.testing.assert_array_equal(run.engine.W.padded, runs[0].engine.W.padded)


def test_a_stopped_trainer_ends_with_threads():
    run = Run(dense_problem(130, np.float32), 2)
    run.engine.stop()
    with pytest.raises(RuntimeError, match="stopped"):
        run.full(0)


def test_weights_of_another_layout_are_refused():
    problem = dense_problem(5, np.float32)
    run, other = Run(problem, 1), Run(problem, 1, "dense")
    with pytest.raises(ValueError, match="laid out"):
        run.engine.take(other.engine.W)
    with pytest.raises(ValueError, match="laid out"):
        run.engine.gap_sums(NO_COMMON, 0.0, other.engine.W)
    with pytest.raises(ValueError, match="n_threads"):
        Run(problem, 0)


@pytest.mark.parametrize("name", ["indptr", "indices", "values"])
def test_arrays_that_are_no_dense_matrix_are_refused(name):
    arguments = problem_arguments(dense_problem(5, np.float32))
    arrays = {
        "indptr": arguments["indptr"] + 1,
        "indices": arguments["indices"][::-1].copy(),
        "values": arguments["values"][:-1],
    }
    with pytest.raises(ValueError, match="dense"):
        _core.Problem32(**{**arguments, name: arrays[name]})
