"""The master problem of the cutting-plane method."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from manyclass.solvers.comparison.simplex_qp import solve_simplex_qp


def gap_of(gram, b, x):
    gradient = b - gram @ x
    return max(gradient.max(), 0.0) - gradient @ x


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12))
def test_gap_is_below_the_tolerance(seed, size, rank):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(size, rank))
    gram, b = factor @ factor.T, rng.normal(size=size)
    x = solve_simplex_qp(gram, b, np.zeros(size), 1e-9)
    assert (x >= 0).all()
    assert x.sum() <= 1 + 1e-12
    assert gap_of(gram, b, x) <= 1e-8


def test_equals_another_solver():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(6, 4))
    gram, b = factor @ factor.T, rng.normal(size=6)
    x = solve_simplex_qp(gram, b, np.zeros(6), 1e-12)
    other = minimize(
        lambda v: 0.5 * v @ gram @ v - b @ v,
        np.full(6, 0.1),
        bounds=[(0, None)] * 6,
        constraints={"type": "ineq", "fun": lambda v: 1 - v.sum()},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    value = b @ x - 0.5 * x @ gram @ x
    assert abs(value + other.fun) < 1e-8


def test_equal_cuts():
    gram, b = np.ones((3, 3)), np.ones(3)
    x = solve_simplex_qp(gram, b, np.array([1.0, 0, 0]), 1e-9)
    assert gap_of(gram, b, x) <= 1e-9


def test_zero_cuts_leave_no_singular_system():
    for size in (1, 2, 5):
        x = solve_simplex_qp(np.zeros((size, size)), np.arange(size), np.zeros(size), 1e-9)
        assert gap_of(np.zeros((size, size)), np.arange(size), x) <= 1e-9
