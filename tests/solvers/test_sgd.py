"""The stochastic solver against NumPy, numerical differentiation and the exact optimum."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from manyclass.prediction.scoring import split_weights
from manyclass.problem.dataset import Dataset
from manyclass.solvers import sgd as sgd
from manyclass.solvers.sgd import (
    STOCHASTIC_LOSSES,
    NoImprovement,
    Plan,
    Stochastic,
    new_clock,
    train_stochastic,
)
from manyclass.solvers.sgd_objective import losses
from manyclass.solvers.sgd_storage import DenseAccumulator
from manyclass.solvers.weights.storage import Shape
from manyclass.solvers.weights.tables import TableAccumulator
from tests.helpers.cases import each
from tests.helpers.dense_data import rows_with_bias
from tests.helpers.stochastic_reference import average, gradient, train

KINDS = ("dense", "sparse")
PAIRS = [
    (loss, kind)
    for loss in STOCHASTIC_LOSSES
    for kind in KINDS
    if (loss, kind) != ("log_loss", "sparse")
]


def tiny(seed=0, n=30, d=7, k=5, dtype=np.float64, bias=1.0, weighted=True):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.5, random_state=rng, dtype=dtype, format="csr")
    X.data[:] = rng.normal(size=X.nnz)
    weights = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    y = rng.integers(0, k, n)
    return Dataset.from_matrix(X, y, n_classes=k, weights=weights, bias=bias)


def start(data, kind="dense", alpha=0.1, averages=False, n_shards=1):
    shape = Shape(data.n_features, data.n_classes, data.dtype)
    kinds = {
        "dense": lambda: DenseAccumulator(shape, averages=bool(averages)),
        "sparse": lambda: TableAccumulator(
            shape, averages=bool(averages), n_shards=n_shards, spacious=True
        ),
    }
    return Stochastic(kinds[kind](), new_clock(alpha, averages))


def dense(W):
    return W.toarray() if sp.issparse(W) else W


def made_steps(run, data, order, loss, batch_size=1, n_threads=1):
    """W after steps with the rows in this order."""
    run._steps(data, order.astype(np.int32), Plan(loss, batch_size, False, n_threads))
    return dense(run.weights())


def at(W, data, alpha=0.1, kind="dense", seen=10.0):
    """A run that has come to W."""
    run = start(data, kind, alpha)
    run.resume(W, seen, 1)
    return run


@given(
    pair=st.sampled_from(PAIRS),
    seed=st.integers(0, 1000),
    batch_size=st.sampled_from([1, 2, 7, 100]),
    kind=st.sampled_from([False, True, 8]),
    dtype=st.sampled_from([np.float32, np.float64]),
    k=st.sampled_from([2, 5, 17, 70]),
    bias=st.sampled_from([0.0, 1.0, 2.5]),
)
def test_steps_are_those_of_numpy(pair, seed, batch_size, kind, dtype, k, bias):
    loss, weights = pair
    data = tiny(seed, k=k, dtype=dtype, bias=bias)
    order = np.random.default_rng(seed).permutation(data.n_examples)
    # Without the first rows W has columns of zeros, among which the arg max may be any.
    before = np.random.default_rng(seed + 1).normal(size=(data.n_features + 1, k))
    if not bias:
        before[-1] = 0
    X, y, v = rows_with_bias(data), data.labels, data.weights
    run = start(data, weights, averages=kind)
    run.resume(before.astype(dtype), 3.0, 1)
    W = made_steps(run, data, order, loss, batch_size)
    seen, now, path = 3.0, before.astype(dtype).astype(np.float64), []
    for begin in range(0, len(order), batch_size):
        i = order[begin : begin + batch_size]
        G = gradient(loss, now, X[i], y[i], v[i])
        now = (seen * now - G / 0.1) / (seen + v[i].sum())
        seen += v[i].sum()
        path.append((seen, now))
    expected = average(path, kind)
    tol = 2e-3 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(W, expected, rtol=tol, atol=tol * np.abs(expected).max())


@pytest.mark.parametrize(("loss", "kind"), PAIRS)
def test_from_zero(loss, kind):
    """The first step forgets W = 0 and moves by 1/(alpha r)."""
    data = tiny(weighted=False)
    order = np.array([3])
    W = made_steps(start(data, kind), data, order, loss)
    x, y = rows_with_bias(data)[3], data.labels[3]
    np.testing.assert_allclose(W[:, y], x * (0.8 if loss == "log_loss" else 1) / 0.1, rtol=1e-12)
    np.testing.assert_allclose(W.sum(axis=1), 0, atol=1e-12)
    assert np.count_nonzero(W.any(axis=0)) == (5 if loss == "log_loss" else 2)


@pytest.mark.parametrize("loss", STOCHASTIC_LOSSES)
@each("seed", range(3))
def test_gradients_are_those_of_numerical_differentiation(loss, seed, instruction_set):
    """One step on all rows moves S by minus the gradient of the sum of losses."""
    data = tiny(seed)
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(data.n_features + 1, data.n_classes))
    X = rows_with_bias(data)

    def total(flat):
        scores = X @ flat.reshape(W.shape)
        return float(data.weights @ losses(loss, data.labels, scores))

    numerical = scipy.optimize.approx_fprime(W.ravel(), total, 1e-7).reshape(W.shape)
    run = at(W, data)
    after = made_steps(run, data, np.arange(data.n_examples), loss, batch_size=data.n_examples)
    moved = 0.1 * (10 * W - run.seen * after)
    np.testing.assert_allclose(moved, numerical, atol=2e-5)
    np.testing.assert_allclose(moved, gradient(loss, W, X, data.labels, data.weights), atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@each("size", [1e-3, 1.0, 50.0, 1e4])
def test_softmax_of_any_size(dtype, size, instruction_set):
    """Scores from tiny to enormous: no overflow, and as right as the type allows."""
    data = tiny(k=40, dtype=dtype)
    W = (size * np.random.default_rng(0).normal(size=(8, 40))).astype(dtype)
    run = at(W, data, seen=1.0)
    made_steps(run, data, np.arange(30), "log_loss", batch_size=30)
    S = dense(run.sums.weights(run.clock)).astype(np.float64) * 0.1 * run.seen
    moved = 0.1 * W.astype(np.float64) - S
    expected = gradient(
        "log_loss", W.astype(np.float64), rows_with_bias(data), data.labels, data.weights
    )
    digits = {np.float32: 4e-6, np.float64: 1e-13}[dtype]
    np.testing.assert_allclose(moved, expected, atol=digits * max(size, 1) * 30)


@pytest.mark.parametrize("loss", STOCHASTIC_LOSSES)
def test_loss_of_the_visits(loss):
    data = tiny()
    W = np.random.default_rng(0).normal(size=(8, 5))
    run = at(W, data)
    mean = run.epoch([data], Plan(loss, 30, False, 1), np.random.default_rng(0))
    each = losses(loss, data.labels, rows_with_bias(data) @ W)
    assert mean == pytest.approx(data.weights @ each / data.weights.sum(), rel=1e-10)


@pytest.mark.parametrize(("loss", "kind"), PAIRS)
@pytest.mark.parametrize("batch_size", [1, 8])
def test_threads_change_nothing_but_digits(loss, kind, batch_size):
    data = tiny(n=200, d=30, k=150)
    order = np.random.default_rng(0).permutation(200)
    W = np.random.default_rng(1).normal(size=(31, 150))
    results = []
    for n_threads in (1, 3, 3):
        run = start(data, kind, n_shards=n_threads, averages=True)
        run.resume(W, 5.0, 1)
        passage = Plan(loss, batch_size, False, n_threads)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sgd, "WORK_OF_THREAD", 1)
            run._steps(data, order.astype(np.int32), passage)
        results.append(dense(run.weights()))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-9, atol=1e-12)
    assert (results[1] == results[2]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_weight_two_is_two_rows_in_a_batch_of_all(kind):
    data = tiny(weighted=False)
    matrix = data.matrix()
    twice = np.append(np.arange(30), 4)
    weights = np.ones(30)
    weights[4] = 2
    common = {"n_classes": 5, "bias": 1.0}
    doubled = Dataset.from_matrix(matrix[twice], data.labels[twice], **common)
    weighted = Dataset.from_matrix(matrix, data.labels, weights=weights, **common)
    W = np.random.default_rng(1).normal(size=(8, 5))
    results = [
        made_steps(at(W, d, kind=kind), d, np.arange(d.n_examples), "hinge", batch_size=100)
        for d in (doubled, weighted)
    ]
    np.testing.assert_allclose(results[0], results[1], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("averages", [False, True])
def test_a_run_can_be_copied(kind, averages):
    data = tiny()
    order = np.arange(30)
    run = start(data, kind, averages=averages)
    made_steps(run, data, order, "hinge")
    copy = pickle.loads(pickle.dumps(run))
    first, second = (made_steps(r, data, order[::-1], "hinge") for r in (run, copy))
    np.testing.assert_array_equal(first, second)
    assert run.seen == copy.seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("averages", [False, True])
def test_finish_gives_what_weights_gave(kind, averages):
    data = tiny(k=20)
    run = start(data, kind, averages=averages)
    W = made_steps(run, data, np.arange(30), "perceptron")
    np.testing.assert_allclose(dense(run.finish()), W, rtol=1e-12)


def test_max_steps_ends_an_epoch():
    data = tiny()
    run = start(data)
    rng = np.random.default_rng(0)
    plan = Plan("hinge", 4, True, 1)
    history, _ = train_stochastic(
        run, [data, data], plan, NoImprovement(None, 1), rng, max_iter=10, max_steps=11
    )
    assert run.clock.steps == 11
    assert [record.steps for record in history] == [11]


def test_rule():
    rule = NoImprovement(0.1, 2)
    assert [rule.met(x) for x in (1.0, 0.5, 0.45, 0.44)] == [False, False, False, True]
    endless = NoImprovement(None, 1)
    assert not any(endless.met(x) for x in (1.0, 2.0, 3.0))


def test_overflow_is_foreseen():
    data = tiny(dtype=np.float32)
    huge = Dataset.from_matrix(data.matrix() * np.float32(1e17), data.labels, n_classes=5, bias=1.0)
    run = at(np.random.default_rng(0).normal(size=(8, 5)), data)
    before = run.weights().copy()
    with pytest.raises(FloatingPointError, match="scale the features"):
        made_steps(at(before, huge, alpha=1e-9), huge, np.arange(30), "hinge")
    assert (run.weights() == before).all()


@pytest.mark.parametrize("n", [2, 3])
def test_coefficients_are_those_of_the_weights(n):
    data = tiny(k=n)
    W = made_steps(start(data), data, np.arange(30), "log_loss")
    coef, intercept = split_weights(W, data.bias)
    scores = rows_with_bias(data) @ W
    found = data.matrix() @ coef.T + intercept
    expected = scores[:, 1:] - scores[:, :1] if n == 2 else scores
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_reference_from_zero():
    """The reference itself: W after all steps is minus the mean gradient over alpha."""
    data = tiny()
    path = train(data, np.arange(30), "log_loss", 0.1, 30)
    zero = np.zeros((8, 5))
    G = gradient("log_loss", zero, rows_with_bias(data), data.labels, data.weights)
    np.testing.assert_allclose(path[-1][1], -G / (0.1 * data.weights.sum()))


def test_the_unit_is_chosen_anew_after_a_first_piece_that_overflows():
    """Weights of 1/16 count in their own unit; the average still begins after 2 of them."""
    data = tiny(weighted=False)
    light = Dataset.from_matrix(
        data.matrix(), data.labels, n_classes=5, weights=np.full(30, 1 / 16), bias=1.0
    )
    huge = Dataset.from_matrix(
        data.matrix() * 1e200, data.labels, n_classes=5, weights=np.full(30, 1 / 16), bias=1.0
    )
    fresh, again = (start(data, averages=1) for _ in range(2))
    with pytest.raises(FloatingPointError):
        made_steps(again, huge, np.arange(30), "hinge")
    results = [made_steps(run, light, np.arange(30), "hinge") for run in (fresh, again)]
    np.testing.assert_array_equal(*results)
    path = train(light, np.arange(30), "hinge", 0.1, 1)
    np.testing.assert_allclose(results[0], average(path, 1), rtol=1e-9, atol=1e-9)
    assert again.suits(again.shape, "hinge", 0.1, 1)


@pytest.mark.parametrize(("loss", "kind"), PAIRS)
@each(("batch_size", "n_shards", "averages"), [(1, 1, False), (7, 1, True), (4, 3, 8)])
def test_offsets_are_added_to_the_scores_of_all_steps(loss, kind, batch_size, n_shards, averages):
    """From W = 0 on, whose scale is none."""
    data, order = tiny(3, k=9), np.random.default_rng(0).permutation(30)
    offsets = np.random.default_rng(1).normal(size=9)
    run = start(data, kind, averages=averages, n_shards=n_shards)
    plan = Plan(loss, batch_size, False, n_shards, offsets)
    run._steps(data, order.astype(np.int32), plan)
    expected = average(train(data, order, loss, 0.1, batch_size, offsets), averages)
    np.testing.assert_allclose(dense(run.weights()), expected, rtol=1e-8, atol=1e-8)
