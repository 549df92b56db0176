"""The block step, through a data set of one example: feasible, optimal, finite, whatever comes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from manyclass import _core
from manyclass.instruction_sets import instruction_set
from manyclass.solvers.sequential_dual import allocate_weights

K = {np.float32: (_core.Trainer32, _core.Duals32), np.float64: (_core.Trainer64, _core.Duals64)}


def step(scores, y, z, *, q=1.0, cost=1.0, dtype=np.float64):
    """z after one visit of the example x = sqrt(q) of class y, whose scores are given."""
    trainer_of, duals_of = K[dtype]
    k = len(scores)
    root = np.sqrt(q)
    labels = np.array([y], np.int32)
    trainer = trainer_of(
        np.array([0, 1]),
        np.zeros(1, np.int32),
        np.array([root], dtype),
        1,
        0.0,
        labels,
        k,
        np.array([cost]),
        instruction_set(),
    )
    duals = duals_of(1, k)
    start = sp.csr_array(np.asarray([z], dtype))
    duals.from_csr(start.indptr.astype(np.int64), start.indices, start.data)
    _, weights = allocate_weights(2, k, np.dtype(dtype))
    weights[0, :k] = np.asarray(scores) / root
    order, active = np.zeros(1, np.int32), np.empty(1, np.int32)
    result = trainer.full_loop(weights, duals, order, active, 0)
    indptr, classes, values = duals.to_csr()
    return (
        sp.csr_array((values, classes, indptr), shape=(1, k)).toarray()[0].astype(np.float64),
        weights[0, :k].astype(np.float64) * root,
        result,
    )


def projected(scores, y, z, q, cost):
    """The same by bisection on theta, in float64."""
    g = 1 - scores[y] + scores
    b = z + z.sum() + g / q
    b[y] = -np.inf
    low, high = 0.0, max(b.max(), 0.0)
    for _ in range(200):
        theta = (low + high) / 2
        if np.maximum(0, b - theta).sum() > min(theta, cost):
            low = theta
        else:
            high = theta
    return np.maximum(0, b - high)


@st.composite
def blocks(draw, largest_log_q=2, largest_log_cost=2):
    k = draw(st.integers(2, 40))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    cost = 10 ** draw(st.floats(-largest_log_cost, largest_log_cost))
    q = 10 ** draw(st.floats(-largest_log_q, largest_log_q))
    scores = rng.normal(size=k) * 10 ** rng.uniform(-2, 1)
    if draw(st.booleans()):
        scores = np.round(scores)  # equal entries
    z = rng.random(k) * (rng.random(k) < 0.4)
    y = int(rng.integers(k))
    z[y] = 0
    if z.sum() > 0:
        z *= cost * draw(st.sampled_from([1.0, 0.5, 1e-3])) / z.sum()
    return scores, y, z, q, cost


@settings(max_examples=300, deadline=None)
@given(block=blocks())
def test_equals_bisection(block):
    scores, y, z, q, cost = block
    new, _, _ = step(scores, y, z, q=q, cost=cost)
    np.testing.assert_allclose(new, projected(scores, y, z, q, cost), atol=1e-9 * max(1, cost))


@settings(max_examples=200, deadline=None)
@given(block=blocks(largest_log_q=12, largest_log_cost=8))
def test_extremes_are_feasible_and_finite(block):
    scores, y, z, q, cost = block
    z = z * (1 - 1e-6)  # feasible in float32 too
    for dtype in K:
        new, moved, result = step(scores, y, z, q=q, cost=cost, dtype=dtype)
        digits = 16 * np.finfo(dtype).eps
        assert np.isfinite(new).all()
        assert np.isfinite(moved).all()
        assert (new >= 0).all()
        assert new[y] == 0
        assert new.sum() <= cost * (1 + digits)
        assert np.isfinite([result.gap, result.loss, result.dual_gain]).all()
        assert result.dual_gain >= -digits * (1 + abs(result.loss))


@settings(max_examples=100, deadline=None)
@given(block=blocks())
def test_weights_follow(block):
    scores, y, z, q, cost = block
    new, moved, _ = step(scores, y, z, q=q, cost=cost)
    delta = new - z
    expected = scores - q * delta
    expected[y] += q * delta.sum()
    np.testing.assert_allclose(moved, expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=100, deadline=None)
@given(block=blocks())
def test_second_visit_changes_nothing(block):
    scores, y, z, q, cost = block
    once, moved, _ = step(scores, y, z, q=q, cost=cost)
    twice, _, result = step(moved, y, once, q=q, cost=cost)
    np.testing.assert_allclose(twice, once, atol=1e-9 * max(1, cost, 1 / q))
    assert result.max_violation <= 1e-8 * max(1, q * cost, np.abs(scores).max())


def test_argmax_is_found_when_its_step_is_below_rounding():
    new, _, _ = step(np.array([5.0, 7.0, 7.0 - 1e-9]), 0, np.zeros(3), q=1e-12, cost=1e-8)
    np.testing.assert_allclose(new, [0, 1e-8, 0], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_five_thousand_equal_classes(dtype, instruction_set):
    new, _, result = step(np.zeros(5000), 17, np.zeros(5000), dtype=dtype)
    # z_c = t for all: t + 4999 t = 1.
    np.testing.assert_allclose(np.delete(new, 17), 1 / 5000, rtol=1e-5)
    assert new[17] == 0
    assert result.evaluations == 5000


def test_two_classes():
    new, _, _ = step(np.zeros(2), 1, np.zeros(2), q=4.0, cost=1.0)
    np.testing.assert_allclose(new, [1 / 8, 0])  # (I + 1) z = g / q: 2 z = 1/4


def test_satisfied_margin_gives_zero():
    new, _, result = step(np.array([3.0, 0.0, 0.0]), 0, np.zeros(3))
    assert new.tolist() == [0, 0, 0]
    assert result.steps == 0
    assert result.gap == 0
