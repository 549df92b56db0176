"""Sparse weights: tables of classes for every feature, cut into slices for the threads."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from manyclass import _core
from manyclass.problem import objective
from manyclass.problem.problem import core_problem
from manyclass.problem.solution import Status
from manyclass.solvers.engines import NO_COMMON
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.weights import tables
from manyclass.utils.machine import VARIABLE
from tests.helpers.cases import each
from tests.helpers.catalog import SparseDual, make_problem, text_problem, train
from tests.helpers.dual_kernels import duals_of, engine_for, filled_rows, set_duals, sums_of

machines = pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("crammer_singer", "hinge"),
        ("weston_watkins", "hinge"),
        ("weston_watkins", "squared_hinge"),
    ],
)


def weights_of(engine, n_classes):
    """W of shape (d + 1, k), dense."""
    indptr, labels, values = engine.copy_weights()
    W = sp.csr_array((values, labels, indptr), shape=(len(indptr) - 1, n_classes))
    assert W.has_canonical_format
    assert (W.data != 0).all()
    return W.toarray()


@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(2, 400),
    n_threads=st.integers(1, 5),
    dense_from=st.sampled_from([1, 2, 8]),
    dtype=st.sampled_from([np.float32, np.float64]),
    bias=st.sampled_from([0.0, 2.0]),
)
def test_tables_hold_the_weights_of_any_duals(seed, k, n_threads, dense_from, dtype, bias):
    rng = np.random.default_rng(seed)
    X = sp.random_array((30, 12), density=0.3, random_state=rng, dtype=np.float64).astype(dtype)
    labels = rng.integers(0, k, 30)
    problem = make_problem(sp.csr_array(X), labels, n_classes=k, bias=bias)
    z = (
        sp.random_array((30, k), density=rng.random() ** 3, random_state=rng).tolil() / k
    )  # feasible
    z = z.tolil()
    z[np.arange(30), labels] = 0
    z = sp.csr_array(z, dtype=dtype)
    engine = engine_for(problem, "tables", n_threads, dense_from=dense_from)
    set_duals(engine, z)
    for _ in range(2):  # the second time the tables were used before
        engine.rebuild()
        expected = objective.weights_of(problem, z)
        size = max(1.0, np.abs(expected).max())
        digits = 1e-5 if dtype == np.float32 else 1e-13
        np.testing.assert_allclose(weights_of(engine, k), expected, atol=digits * size)
        assert engine.squared_norm() == pytest.approx((expected**2).sum(), rel=1e-4)


@machines
@each("n_threads", [1, 2, 3])
@each("dense_from", [1, 8])
def test_loops_agree_with_numpy(name, loss, n_threads, dense_from):
    problem = text_problem(name, loss, np.float64, k=150)
    data = problem.dataset
    engine = engine_for(problem, "tables", n_threads, dense_from=dense_from)
    rows = np.arange(data.n_examples, dtype=np.int32)
    active = np.empty_like(rows)
    gained = 0.0
    for seed in range(4):
        full = engine.full_loop(rows, active, -np.inf, seed)
        goal = _core.ShrunkGoal(0.0, 0.0, 3 * engine.n_duals, 0.0)
        shrunk = engine.shrunk_loops(active, full.n_active, goal, seed)
        gained += full.dual_gain + shrunk.dual_gain
        W, duals = weights_of(engine, 150), duals_of(engine, problem)
        np.testing.assert_allclose(W, objective.weights_of(problem, duals), atol=1e-12)
        assert gained == pytest.approx(objective.dual(problem, duals), rel=1e-9)
        found = sums_of(engine.gap_sums(NO_COMMON, float(np.linalg.norm(W))))
        theirs = objective.certificate(problem, W, duals)
        assert found.gap == pytest.approx(theirs.gap, abs=1e-9 * theirs.primal_objective)
        assert found.max_violation == pytest.approx(theirs.max_violation, abs=1e-9)
    assert shrunk.loops >= 2


@machines
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_dense_weights(name, loss, dtype):
    problem = text_problem(name, loss, dtype, k=120)
    tol = 1e-5 if dtype == np.float32 else 1e-9
    dense, sparse = (train(problem, solver, tol=tol) for solver in (SequentialDual, SparseDual))
    assert sparse.status is Status.CONVERGED
    assert sparse.certificate.primal_objective == pytest.approx(
        dense.certificate.primal_objective, rel=2 * tol
    )
    np.testing.assert_allclose(sparse.weights, dense.weights, atol=30 * tol**0.5)


@machines
def test_threads_change_nothing(name, loss):
    problem = text_problem(name, loss, k=200)
    solutions = [
        train(problem, partial(SparseDual, n_jobs=n_jobs), tol=1e-4) for n_jobs in (1, 2, 3)
    ]
    for other in solutions[1:]:
        np.testing.assert_allclose(other.weights, solutions[0].weights, rtol=1e-3, atol=1e-5)
        assert other.certificate.relative_gap <= 1e-4
    again = train(problem, partial(SparseDual, n_jobs=2), tol=1e-4)
    assert (again.weights == solutions[1].weights).all()
    assert (again.duals != solutions[1].duals).nnz == 0


@pytest.mark.parametrize("choice", ["baseline", "avx2", "avx512"])
def test_every_instruction_set(choice, monkeypatch):
    if choice not in _core.instruction_sets():
        pytest.skip(f"this machine has no {choice}")
    problem = text_problem("weston_watkins", k=150)
    best = train(problem, SparseDual, tol=1e-4)
    monkeypatch.setenv(VARIABLE, choice)
    solution = train(problem, SparseDual, tol=1e-4)
    assert solution.certificate.relative_gap <= 1e-4
    assert solution.certificate.primal_objective == pytest.approx(
        best.certificate.primal_objective, rel=2e-4
    )


def test_an_example_by_itself_may_need_all_classes():
    """Its z are spread over the classes that nothing else tells apart: lists must grow fast."""
    k = 2000
    X = sp.eye_array(k, format="csr", dtype=np.float64)
    problem = make_problem(X, np.arange(k), n_classes=k, formulation="weston_watkins")
    solution = train(problem, SparseDual, tol=1e-3, max_iter=30)
    assert solution.status is Status.CONVERGED
    assert (np.diff(solution.duals.indptr) > 100).all()


def test_rows_without_features_have_their_loss():
    X = sp.csr_array(np.vstack([np.eye(6), np.zeros((3, 6))]))
    problem = make_problem(X, np.arange(9) % 6, n_classes=6, formulation="weston_watkins")
    solution = train(problem, SparseDual, tol=1e-8)
    theirs = objective.certificate(problem, solution.weights, solution.duals)
    assert solution.certificate.primal_objective == pytest.approx(theirs.primal_objective)
    assert solution.certificate.dual_objective == pytest.approx(theirs.dual_objective)


def test_plain_rows_where_memory_is_short(monkeypatch):
    problem = text_problem(k=300)
    monkeypatch.setattr(tables, "available_memory", lambda: 10**5)
    small = train(problem, SparseDual, tol=1e-4)
    monkeypatch.setattr(tables, "available_memory", lambda: 10**12)
    fast = train(problem, SparseDual, tol=1e-4)
    assert small.history[-1].n_weights < fast.history[-1].n_weights
    assert np.abs(small.weights - fast.weights).max() < 1e-3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_threads": 0}, "n_threads"),
        ({"dense_from": 0}, "dense_from"),
        ({"order": np.zeros(40, np.int32)}, "permutation"),
        ({"order": np.arange(1, 41, dtype=np.int32)}, "permutation"),
        ({"order": np.arange(39, dtype=np.int32)}, "permutation"),
    ],
)
def test_the_core_refuses_what_does_not_fit(change, message):
    arguments = {"n_threads": 1, "order": np.arange(40, dtype=np.int32)} | change
    with pytest.raises(ValueError, match=message):
        _core.Engine(core_problem(text_problem()), "tables", **arguments)


def test_tables_are_for_relative_margins():
    with pytest.raises(ValueError, match="margins must be relative"):
        engine_for(text_problem("one_vs_rest"), "tables")


def test_classes_keep_their_names_in_any_order():
    problem = text_problem("weston_watkins", k=40)
    order = np.random.default_rng(3).permutation(40).astype(np.int32)
    engine = _core.Engine(core_problem(problem), "tables", 2, order=order)
    rows, active = filled_rows(problem), np.empty(problem.dataset.n_examples, np.int32)
    engine.full_loop(rows, active, -np.inf, 0)
    duals = duals_of(engine, problem)
    np.testing.assert_allclose(
        weights_of(engine, 40), objective.weights_of(problem, duals), atol=1e-5
    )
    again = _core.Engine(core_problem(problem), "tables", 1, order=order[::-1].copy())
    set_duals(again, duals)
    assert (duals_of(again, problem) != duals).nnz == 0
