"""The NumPy reference itself, against sums written out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import objective
from tests.catalog import five_points, make_problem, random_problem


def feasible_duals(problem, rng):
    data = problem.dataset
    z = rng.random((data.n_examples, data.n_classes))
    z[np.arange(data.n_examples), data.labels] = 0
    z *= (problem.costs / z.sum(axis=1) * rng.random(data.n_examples))[:, None]
    return sp.csr_array(z)


@pytest.mark.parametrize("seed", range(20))
def test_sums_written_out(seed):
    problem = random_problem(seed)
    data = problem.dataset
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(data.n_features + 1, data.n_classes))
    X = np.column_stack([data.matrix().toarray(), np.full(data.n_examples, data.bias)])
    expected = 0.5 * (W**2).sum()
    for x, y, cost in zip(X, data.labels, problem.costs, strict=True):
        margins = [(W[:, y] - W[:, c]) @ x for c in range(data.n_classes) if c != y]
        expected += cost * max(0.0, max(1 - margin for margin in margins))
    assert objective.primal(problem, W) == pytest.approx(expected)

    z = feasible_duals(problem, rng).toarray()
    expected_w = np.zeros_like(W)
    for x, y, row in zip(X, data.labels, z, strict=True):
        expected_w[:, y] += row.sum() * x
        expected_w -= np.outer(x, row)
    np.testing.assert_allclose(
        objective.weights_of(problem, sp.csr_array(z)), expected_w, atol=1e-12
    )


@pytest.mark.parametrize("seed", range(20))
def test_weak_duality_and_the_gap_as_a_sum(seed):
    """P - D at W(z) is the sum over the examples that the solver uses."""
    problem = random_problem(seed)
    z = feasible_duals(problem, np.random.default_rng(seed))
    W = objective.weights_of(problem, z)
    certificate = objective.certificate(problem, W, z)
    assert certificate.gap >= 0
    xi = objective.slacks(problem, W)
    terms = problem.costs * xi.max(axis=1) - (z.toarray() * xi).sum(axis=1)
    empty = np.asarray(problem.dataset.matrix().power(2).sum(axis=1)).ravel() == 0
    if problem.dataset.bias == 0:
        assert (z.toarray()[empty] * xi[empty]).sum() == pytest.approx(z.toarray()[empty].sum())
        terms[empty] = -z.toarray()[empty].sum()  # dual() counts C_i for them and z as well
    assert (terms[~empty] >= -1e-12).all()
    assert certificate.gap == pytest.approx(terms.sum(), abs=1e-9)


def test_no_violation_at_the_optimum():
    solved = five_points()
    z = sp.csr_array(solved.duals)
    assert objective.max_violation(solved.problem, solved.weights, z) == pytest.approx(0, abs=1e-12)
    assert objective.certificate(solved.problem, solved.weights, z).gap == 0


def test_violation_of_the_origin_is_one():
    problem = make_problem(np.eye(3), [0, 1, 2], n_classes=3)
    zero = sp.csr_array((3, 3))
    assert objective.max_violation(problem, np.zeros((4, 3)), zero) == 1
