"""Class sums of z, and z that restore them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.free_duals import has_free, rows_of
from manyclass.problem.objective import coefficients_of
from manyclass.training.balance import balance, class_sums_of
from tests.helpers.catalog import PAIRS, make_problem


def balanced(z, problem, wanted):
    balance(z, problem, wanted, problem.dataset.labels[rows_of(z)] == z.indices)


def problem_and_duals(name, loss, n=200, k=5, seed=0):
    """A problem and feasible z, some of them at their bounds."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    problem = make_problem(
        rng.normal(size=(n, 3)),
        labels,
        n_classes=k,
        formulation=name,
        loss=loss,
        C=2.0,
        weights=rng.uniform(0.5, 2, n),
        bias=1.0,
    )
    own = labels[:, None] == np.arange(k)
    targets = {"others": ~own, "all": True, "own": own}[FORMULATIONS[name].targets]
    z = rng.uniform(0, 1.5, (n, k)) * targets * (rng.random((n, k)) < 0.6)
    costs = problem.costs[:, None]
    if problem.formulation.takes_maximum:
        z *= np.minimum(1, costs / np.maximum(z.sum(axis=1, keepdims=True), 1e-9))
    elif loss == "hinge":
        z = np.minimum(z, costs)
    return problem, sp.csr_array(z)


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_class_sums_are_those_of_the_coefficients(name, loss):
    problem, z = problem_and_duals(name, loss)
    labels, formulation = problem.dataset.labels, problem.formulation
    expected = coefficients_of(formulation, labels, z, centred=False).sum(axis=0)
    found = class_sums_of(problem, labels, z)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_balance_restores_sums_and_stays_feasible(name, loss):
    problem, z = problem_and_duals(name, loss)
    labels = problem.dataset.labels
    before = class_sums_of(problem, labels, z)
    wanted = before + 3 * np.array([1, -1, 0.5, -0.5, 0])
    balanced(z, problem, wanted)
    after = class_sums_of(problem, labels, z)
    assert np.abs(after - wanted).max() < 0.1 * np.abs(before - wanted).max()
    assert (z.data >= 0).all()
    costs = problem.costs[:, None] * (1 + 1e-12)
    if problem.formulation.takes_maximum:
        assert (z.sum(axis=1) <= costs[:, 0]).all()
    elif loss == "hinge":
        assert (z.toarray() <= costs).all()


def test_sums_that_nothing_can_restore_leave_finite_duals():
    problem, z = problem_and_duals("crammer_singer", "hinge", n=4, k=5)
    balanced(z, problem, np.full(5, 1e6))
    assert np.isfinite(z.data).all()
    empty = sp.csr_array((4, 5))
    balanced(empty, problem, np.ones(5))
    assert empty.nnz == 0


def test_free_rows():
    weights = np.ones(4)
    X = np.ones((4, 1))
    at = sp.csr_array(np.array([[0, 1.0, 0], [0.5, 0, 0.5], [0.2, 0, 0], [0, 0, 0]]))
    for name, expected in (
        ("crammer_singer", [False, True, True, False]),
        ("weston_watkins", [False, True, True, False]),
    ):
        labels = [0, 1, 2, 0]
        given = {"n_classes": 3, "formulation": name, "C": 1.0, "weights": weights}
        assert has_free(make_problem(X, labels, **given), at).tolist() == expected
    squared = make_problem(X, labels, n_classes=3, formulation="weston_watkins",
                           loss="squared_hinge")  # fmt: skip
    assert has_free(squared, at).tolist() == [True, True, True, False]


def test_balance_of_classes_that_no_row_links():
    """What is missing of two classes cannot come from two others: no division by 0, finite z."""
    X = np.eye(4)
    labels = np.array([0, 1, 2, 3])
    problem = make_problem(
        X, labels, n_classes=4, formulation="crammer_singer", loss="hinge", C=2.0, bias=1.0
    )
    z = sp.csr_array((np.full(4, 0.5), (np.arange(4), np.array([1, 0, 3, 2]))), shape=(4, 4))
    wanted = class_sums_of(problem, labels, z) + np.array([0.2, 0.1, 0.0, -0.3])
    balanced(z, problem, wanted)
    assert np.isfinite(z.data).all()
    sums = class_sums_of(problem, labels, z)
    assert sums[0] - sums[1] == pytest.approx(0.1, abs=1e-3)
    assert sums[2] - sums[3] == pytest.approx(0.3, abs=1e-3)
