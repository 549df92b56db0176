"""Products with (I + H)^-1, also where rounding or infinities keep H from a factor."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass.solvers.cholesky import inverse_of
from tests.helpers.cases import each


@each("seed", range(3))
def test_it_solves_a_system(seed):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(7, 5))
    H, right = factor.T @ factor, rng.normal(size=5)
    solved = inverse_of(H.copy())(right)
    np.testing.assert_allclose(solved + H @ solved, right, rtol=1e-10)


def test_rounding_that_exceeds_the_unit_is_added_to_the_diagonal():
    x = np.array([1.0, 1.0]) * 1e10
    H = np.outer(x, x)
    H[0, 1] = H[1, 0] = H[0, 1] * (1 + 1e-10)  # indefinite by 1e10
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(H + np.eye(2))
    solved = inverse_of(H.copy())(np.array([1.0, 1.0]))
    assert np.isfinite(solved).all()
    assert solved.sum() > 0


@each("bad", [np.inf, np.nan, -1e10])
def test_the_diagonal_is_used_where_there_is_no_factor(bad):
    H = np.diag([3.0, 1.0])
    H[0, 1] = H[1, 0] = bad
    np.testing.assert_allclose(inverse_of(H)(np.array([4.0, 4.0])), [1.0, 2.0])
