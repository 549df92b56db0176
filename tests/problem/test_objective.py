"""The NumPy reference itself, against sums written out."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass.problem import objective
from tests.helpers.cases import each
from tests.helpers.catalog import PAIRS, five_points, make_problem, random_problem
from tests.helpers.dense_data import rows_with_bias

rows = pytest.mark.parametrize(("name", "loss"), PAIRS)


def feasible_duals(problem, rng):
    data = problem.dataset
    z = rng.random((data.n_examples, data.n_classes)) * objective.targets(problem)
    z *= (problem.costs / z.sum(axis=1) * rng.random(data.n_examples))[:, None]
    return sp.csr_array(z)


def loss_written_out(name, loss, W, x, y):
    """As the papers have them, without the catalogue."""
    k = W.shape[1]
    others = [c for c in range(k) if c != y]
    absolute = [1 + W[:, c] @ x for c in others]
    own = W[:, y] @ x
    terms = {
        "crammer_singer": [1 - (W[:, y] - W[:, c]) @ x for c in others],
        "weston_watkins": [1 - (W[:, y] - W[:, c]) @ x for c in others],
        "lee_lin_wahba": absolute,
        "adm": absolute,
        "ats": [*absolute, 1 - own],
        "atm": [*absolute, 1 - own],
        "reinforced": [*absolute, k - 1 - own],
        "mmr": [1 - own],
        "one_vs_rest": [*absolute, 1 - own],
    }[name]
    positive = [max(0.0, term) ** (2 if loss == "squared_hinge" else 1) for term in terms]
    return max(positive) if name in ("crammer_singer", "adm", "atm") else sum(positive)


@rows
@each("seed", range(5))
def test_sums_written_out(name, loss, seed):
    problem = random_problem(seed, name, loss)
    data = problem.dataset
    k = data.n_classes
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(data.n_features + 1, k))
    X = rows_with_bias(data)
    expected = 0.5 * (W**2).sum()
    for x, y, cost in zip(X, data.labels, problem.costs, strict=True):
        expected += cost * loss_written_out(name, loss, W, x, y)
    assert objective.primal(problem, W) == pytest.approx(expected)

    z = feasible_duals(problem, rng)
    expected_w = np.zeros_like(W)
    for x, y, row in zip(X, data.labels, z.toarray(), strict=True):
        for c in range(k):
            if name in ("crammer_singer", "weston_watkins"):
                expected_w[:, y] += row[c] * x
                expected_w[:, c] -= row[c] * x
            else:
                expected_w[:, c] += row[c] * x if c == y else -row[c] * x
    if name not in ("crammer_singer", "weston_watkins", "one_vs_rest"):
        expected_w -= expected_w.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(objective.weights_of(problem, z), expected_w, atol=1e-12)


@rows
@each("seed", range(10))
def test_weak_duality_and_the_gap_as_a_sum(name, loss, seed):
    """P - D at W(z) is the sum over the examples that the solver uses."""
    problem = random_problem(seed, name, loss)
    z = feasible_duals(problem, np.random.default_rng(seed))
    W = objective.weights_of(problem, z)
    certificate = objective.certificate(problem, W, z)
    empty = np.asarray(problem.dataset.matrix().power(2).sum(axis=1)).ravel() == 0
    if problem.dataset.bias == 0 and empty.any():
        return  # their z, which no solver sets, count twice
    assert certificate.gap >= -1e-12 * certificate.primal_objective
    z = z.toarray()
    xi = np.where(z > 0, objective.slacks(problem, W), 0)
    terms = problem.costs * objective.losses(problem, W) - (z * xi).sum(axis=1)
    if problem.loss == "squared_hinge":
        terms += (z**2).sum(axis=1) / (4 * problem.costs)
    assert (terms >= -1e-12).all()
    size = certificate.primal_objective
    assert certificate.gap == pytest.approx(terms.sum(), abs=1e-12 * size)


def test_violations_of_the_optimum_and_the_origin():
    solved = five_points("crammer_singer", "hinge")
    z = sp.csr_array(solved.duals)
    assert objective.max_violation(solved.problem, solved.weights, z) == pytest.approx(0, abs=1e-12)
    assert objective.certificate(solved.problem, solved.weights, z).gap == 0
    problem = make_problem(np.eye(3), [0, 1, 2], n_classes=3)
    zero = sp.csr_array((3, 3))
    assert objective.max_violation(problem, np.zeros((4, 3)), zero) == 1
