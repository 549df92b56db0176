"""Sums of certificates: compensated, so that their rounding does not grow with their terms."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from manyclass import _core
from manyclass.solvers.engines import NO_COMMON, returned_intercepts, returned_square
from tests.helpers.catalog import make_problem
from tests.helpers.dual_kernels import engine_for, kinds_for

UNIT = 2.0**-53


def exact_squares(matrix):
    return sum((Fraction(float(x)) ** 2 for x in matrix.ravel()), Fraction(0))


@pytest.mark.parametrize("shape", [(3000, 3), (3, 3000), (1, 1), (0, 5), (65, 64), (1, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_of_matrices_with_neighbors_in_rows_or_columns(shape, dtype):
    rng = np.random.default_rng(0)
    whole = (rng.normal(size=(shape[0], shape[1] + 5)) * 10.0 ** rng.integers(-3, 3)).astype(dtype)
    part = whole[:, : shape[1]]
    exact = exact_squares(part)
    for matrix in (part, part.T, np.ascontiguousarray(part)):
        found = Fraction(_core.sum_of_squares(matrix))
        assert abs(found - exact) <= 16 * UNIT * exact


def test_squares_need_neighbors():
    with pytest.raises(ValueError, match="neighbors"):
        _core.sum_of_squares(np.ones((6, 6))[::2, ::2])


@pytest.mark.parametrize("squares", [[1e200, 1e200], [np.inf, 1.0]])
def test_squares_that_overflow_are_infinite(squares):
    assert _core.sum_of_squares(np.array([squares])) == np.inf


@pytest.mark.parametrize("kind", ["lists", "lanes"])
def test_losses_of_many_rows(kind, instruction_set):
    """C = 0.1 twice a row, 20,001 times: a naive sum is off in its twelfth digit."""
    problem = make_problem(np.zeros((20_001, 1)), np.arange(20_001) % 3, n_classes=3, C=0.1)
    assert kind in kinds_for(problem)
    (found,) = engine_for(problem, kind).gap_sums(NO_COMMON, 0.0)
    exact = 20_001 * Fraction(0.1)
    assert abs(Fraction(found.loss) - exact) <= 2 * UNIT * exact


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bias", [0.0, 1.0, 0.37, 71.0])
def test_squared_norm_and_distance_of_returned_intercepts(dtype, bias):
    """Of intercepts as users have them: bias * w, rounded, over intercept_scaling as given."""
    w = np.random.default_rng(0).normal(size=50).astype(dtype)
    data = make_problem(np.zeros((2, 1), dtype), [0, 1], n_classes=2, bias=bias).dataset
    assert (data.rounded_bias, data.bias) == (float(dtype(bias)), bias)
    returned = [Fraction(float(x)) for x in w]
    if bias:
        returned = [Fraction(float(dtype(bias) * x)) / Fraction(bias) for x in w]
    exact = sum(x**2 for x in returned)
    square, moved = returned_square(_core.sum_of_squares(w[None]), w, data)
    assert abs(Fraction(square) - exact) <= 20 * UNIT * exact
    change = sum((x - Fraction(float(held))) ** 2 for x, held in zip(returned, w, strict=True))
    assert change <= Fraction(moved) ** 2
    apart = data.bias_error * float(np.linalg.norm(w.astype(float)))  # of W(z), as of W
    assert apart <= moved <= 1.01 * float(change) ** 0.5 + 1.01 * apart + 1e-14
    np.testing.assert_allclose(returned_intercepts(w, data), [float(x) for x in returned])
