"""Training that begins with stochastic steps: z feasible, W(z) theirs, the same optimum."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from manyclass import _core
from manyclass.problem import objective
from manyclass.problem.solution import Status
from manyclass.solvers import sequential_dual
from manyclass.solvers.engines import Engine
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.sgd import Plan, Stochastic, new_clock
from manyclass.solvers.sgd_storage import DenseAccumulator
from manyclass.solvers.stochastic_init import is_worthwhile, stochastic_start
from manyclass.solvers.weights.storage import Shape, allocate_weights
from manyclass.training.epoch_loop import Interrupted
from tests.helpers.catalog import SparseDual, make_problem, train


def clouds(seed=0, n=300, d=5, k=4, C=10.0, dtype=np.float64, **kind):
    """Classes that overlap, with weights; every tenth row is empty."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    X = rng.normal(size=(k, d))[y] + rng.normal(size=(n, d))
    X[::10] = 0
    weights = rng.uniform(0.5, 2, n)
    return make_problem(X.astype(dtype), y, n_classes=k, weights=weights, C=C, **kind)


def start(problem, seed=0):
    """Return z and W, shape (d + 1, k)."""
    data, engine = problem.dataset, Engine(problem, storage="dense")
    rows = np.flatnonzero(np.diff(data.indptr) + data.bias).astype(np.int32)
    assert stochastic_start(engine, rows, np.random.default_rng(seed)) is not None
    return engine.duals(), engine.weights()


@given(
    seed=st.integers(0, 2**20),
    k=st.integers(2, 40),
    dtype=st.sampled_from([np.float32, np.float64]),
    C=st.floats(0.01, 100),
)
def test_duals_are_feasible_and_give_the_weights_of_the_steps(seed, k, dtype, C):
    problem = clouds(seed, n=60, k=k, C=C, dtype=dtype)
    z, W = start(problem, seed)
    rows = np.arange(60)
    assert z[rows, problem.dataset.labels].sum() == 0
    assert set(np.round(z.sum(axis=1) / problem.costs, 6)) <= {0.0, 1.0}
    atol = 100 * np.finfo(dtype).eps * C * 60
    np.testing.assert_allclose(W, objective.weights_of(problem, z), atol=atol)


def test_weights_are_those_of_the_stochastic_solver():
    problem = clouds()
    data = problem.dataset
    visited = np.flatnonzero(np.diff(data.indptr)).astype(np.int32)
    sums = DenseAccumulator(Shape(data.n_features, data.n_classes, data.dtype), averages=False)
    run = Stochastic(sums, new_clock(1 / problem.costs[visited].sum(), False))
    order = np.random.default_rng(3).permutation(visited)
    run._steps(data, order, Plan("hinge", 1, True, 1))
    _, W = start(problem, seed=3)
    np.testing.assert_allclose(W, run.weights(), rtol=1e-9, atol=1e-9)


def test_moved_labels_tell_the_steps():
    """S is the sum of the steps that were told."""
    problem = clouds()
    data = problem.dataset
    trainer, clock = core_trainer(data), _core.StochasticClock()
    clock.alpha = 0.1
    _, S = allocate_weights(data.n_features + 1, data.n_classes, data.dtype)
    moved = np.full(data.n_examples, 7, np.int32)
    rows = np.arange(0, data.n_examples, 2, dtype=np.int32)
    passage = _core.Passage(_core.StochasticLoss.hinge, 4, 1)
    trainer.steps(S, None, clock, passage, rows, moved)
    assert (moved[1::2] == 7).all()  # not visited
    assert set(moved[::2]) <= {-1, 0, 1, 2, 3}
    moved[1::2] = -1
    against = np.flatnonzero(moved >= 0)
    signs = sp.coo_array((-data.weights[against], (against, moved[against])), shape=(300, 4))
    signs = signs.toarray()
    signs[against, data.labels[against]] += data.weights[against]
    np.testing.assert_allclose(S[:-1, :4], data.matrix().T @ signs, atol=1e-9)


def core_trainer(data):
    problem = _core.Problem64(
        None,
        data.indptr,
        data.indices,
        data.values,
        data.n_features,
        data.bias,
        data.labels,
        data.n_classes,
        data.weights,
        "baseline",
    )
    return _core.StochasticTrainer64(problem)


@pytest.mark.parametrize(
    ("loss", "size", "message"), [("log_loss", 300, "moves all"), ("hinge", 299, "every row")]
)
def test_moved_labels_are_checked(loss, size, message):
    data = clouds().dataset
    _, S = allocate_weights(data.n_features + 1, data.n_classes, data.dtype)
    passage = _core.Passage(_core.StochasticLoss[loss], 1, 1)
    rows, moved = np.arange(3, dtype=np.int32), np.zeros(size, np.int32)
    with pytest.raises(ValueError, match=message):
        core_trainer(data).steps(S, None, _core.StochasticClock(), passage, rows, moved)
    assert (S == 0).all()


def norms_of(problem):
    data = problem.dataset
    return np.asarray(sp.csr_array(data.matrix()).power(2).sum(axis=1)).ravel() + data.bias**2


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ({}, True),
        ({"C": 0.1}, False),
        ({"n": 300, "d": 40}, False),
        ({"formulation": "weston_watkins"}, False),
        ({"formulation": "adm"}, False),
    ],
)
def test_where_it_is_worthwhile(kind, expected):
    problem = clouds(**kind)
    assert is_worthwhile(problem, norms_of(problem)) == expected


def test_only_few_classes_in_dense_weights_begin_so():
    few, many = clouds(), clouds(k=80)
    rng = np.random.default_rng(0)
    assert SequentialDual(few, None, rng)._begins_stochastic
    assert not SequentialDual(many, None, rng)._begins_stochastic
    assert not SparseDual(few, None, rng)._begins_stochastic


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_optimum_and_certificate_are_the_same(monkeypatch, dtype):
    problem = clouds(dtype=dtype)
    tol = 1e-8 if dtype == np.float64 else 1e-4
    with_steps = train(problem, SequentialDual, tol=tol)
    monkeypatch.setattr(sequential_dual, "is_worthwhile", lambda *_: False)
    without = train(problem, SequentialDual, tol=tol)
    assert with_steps.history[0].primal_estimate != without.history[0].primal_estimate
    for solution in (with_steps, without):
        proven = solution.certificate
        assert solution.status is Status.CONVERGED
        assert proven.relative_gap <= tol
        assert objective.primal(problem, solution.weights) == pytest.approx(
            proven.primal_objective, rel=1e-5
        )
    assert with_steps.certificate.primal_objective == pytest.approx(
        without.certificate.primal_objective, rel=2 * tol
    )


def test_dual_objective_and_weights_agree_after_the_steps():
    problem = clouds()
    solver = SequentialDual(problem, None, np.random.default_rng(0))
    dual = solver.dual + stochastic_start(solver.engine, solver._rows, solver.rng)
    weights = solver.weights()
    certificate = solver.certify()
    assert dual == pytest.approx(certificate.dual_objective, rel=1e-12)
    np.testing.assert_allclose(weights, solver.weights(), atol=1e-11)


def test_one_seed_one_result():
    first, again = (train(clouds(), SequentialDual) for _ in range(2))
    np.testing.assert_array_equal(first.weights, again.weights)
    assert first.history[0].evaluations > 270 * 4


def test_a_start_is_gone_on_from_as_it_is():
    done = train(clouds(), SequentialDual, tol=1e-6)
    again = train(clouds(), SequentialDual, tol=1e-6, start=done.start)
    assert len(again.history) == len(done.history) + 1


def test_what_would_overflow_is_left_to_descent():
    problem = clouds(C=1e34, dtype=np.float32)
    solver = SequentialDual(problem, None, np.random.default_rng(0))
    assert solver._begins_stochastic
    assert stochastic_start(solver.engine, solver._rows, solver.rng) is None
    assert (solver.weights() == 0).all()
    assert solver.engine.n_duals == 0


def test_interrupted_steps_leave_nothing(monkeypatch):
    problem = clouds()

    class Pressed:
        def __init__(self, problem):
            pass

        def steps(self, weights, *_):
            weights.fill(1)
            raise KeyboardInterrupt

    monkeypatch.setattr(_core, "StochasticTrainer64", Pressed)
    engine = Engine(problem)
    with pytest.raises(KeyboardInterrupt):
        stochastic_start(engine, np.arange(3, dtype=np.int32), np.random.default_rng(0))
    assert (engine.matrix == 0).all()
    with pytest.raises(Interrupted) as caught:
        train(problem, SequentialDual)
    assert caught.value.start.duals.nnz == 0
