"""v = log u of logistic regression after rows have changed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from manyclass.training.log_duals import balance, class_sums
from tests.helpers.catalog import make_problem


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_balance_restores_the_sums_of_the_classes(k, dtype):
    rng = np.random.default_rng(0)
    n = 3000
    labels = rng.integers(0, k, n).astype(np.int32)
    problem = make_problem(
        rng.normal(size=(n, 3)).astype(dtype),
        labels,
        n_classes=k,
        formulation="one_vs_rest",
        loss="hinge",
        weights=rng.uniform(0.5, 2, n),
        bias=1.0,
    )
    scores = 4 * np.eye(k)[labels] + rng.normal(size=(n, k))
    v = (scores - scipy.special.logsumexp(scores, axis=1, keepdims=True)).astype(dtype)
    u = np.exp(v.astype(np.float64))
    expected = problem.costs @ (np.eye(k)[labels] - u)
    before = class_sums(labels, problem.costs, v)
    np.testing.assert_allclose(before, expected, rtol=1e-4, atol=1e-2)
    shift = np.linspace(-1, 1, k)
    wanted = before + 10 * (shift - shift.mean())
    p = balance(problem, v, wanted)
    np.testing.assert_allclose(class_sums(labels, problem.costs, v), wanted, atol=0.5)
    np.testing.assert_allclose(np.exp(v).sum(axis=1), 1, rtol=1e-5)
    moved = scipy.special.log_softmax(np.log(u) + p, axis=1)
    np.testing.assert_allclose(v, moved, atol=1e-4)
