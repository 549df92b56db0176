"""The kernels of the comparison methods: what they compute, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from manyclass import _core
from manyclass.problem import objective
from manyclass.problem.problem import problem_arguments
from manyclass.solvers.weights.storage import allocate_weights
from manyclass.utils.machine import core_class
from tests.helpers.catalog import random_problem
from tests.helpers.dense_data import rows_with_bias

SETS = pytest.mark.parametrize("instruction_set", _core.instruction_sets())
RELATIVE = pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins"])


class Setting:
    """A problem with z, W(z) and the kernels."""

    def __init__(self, seed, name, loss="hinge", dtype=np.float64, instruction_set=None):
        self.problem = problem = random_problem(seed, name, loss, dtype)
        data = problem.dataset
        arguments = problem_arguments(problem)
        if instruction_set:
            arguments["instruction_set"] = instruction_set
        checked = core_class("Problem", dtype)(**arguments)
        self.kernels = core_class("ComparisonTrainer", dtype)(checked)
        self.lists = core_class("Duals", dtype)(data.n_examples, data.n_classes)
        _, self.weights = allocate_weights(data.n_features + 1, data.n_classes, data.dtype)
        norms = checked.squared_norms()
        self.rows = np.flatnonzero(norms > 0).astype(np.int32)

    def z(self):
        indptr, labels, values = self.lists.to_csr()
        data = self.problem.dataset
        return sp.csr_array((values, labels, indptr), shape=(data.n_examples, data.n_classes))

    def rebuild(self):
        self.kernels.rebuild(self.weights, self.lists)

    def current(self):
        return self.weights[:, : self.problem.dataset.n_classes].astype(np.float64)

    def all_scores(self):
        return rows_with_bias(self.problem.dataset) @ self.current()


def u_of(setting, log_u):
    """Return u, shape (n, k), by NumPy."""
    k = setting.problem.dataset.n_classes
    values = log_u[:, :k].astype(np.float64)
    if setting.problem.formulation.takes_maximum:
        return np.exp(values)
    return 1 / (1 + np.exp(-values))


def begun(setting, seed):
    """Return random log u with W of it."""
    data, rng = setting.problem.dataset, np.random.default_rng(seed)
    n, k = data.n_examples, data.n_classes
    _, log_u = allocate_weights(n, k, data.dtype)
    log_u.fill(-np.inf)
    values = rng.normal(size=(n, k))
    if setting.problem.formulation.takes_maximum:
        values -= np.log(np.exp(values).sum(axis=1, keepdims=True))
    else:
        values[np.arange(n), data.labels] = -np.inf
    log_u[:, :k] = values
    put(setting, log_u)
    setting.rebuild()
    return log_u


def put(setting, log_u):
    data = setting.problem.dataset
    z = u_of(setting, log_u) * setting.problem.costs[:, None]
    z[np.arange(data.n_examples), data.labels] = 0
    z[np.setdiff1d(np.arange(data.n_examples), setting.rows)] = 0  # x_i = 0 has a constant loss
    csr = sp.csr_array(z)
    setting.lists.from_csr(
        csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data.astype(data.dtype)
    )


@SETS
@RELATIVE
@given(seed=st.integers(0, 1000))
def test_a_gradient_step_gains_what_it_says(name, instruction_set, seed):
    setting = Setting(seed, name, instruction_set=instruction_set)
    log_u = begun(setting, seed)
    before = objective.dual(setting.problem, setting.z())
    gap = objective.certificate(setting.problem, setting.current(), setting.z()).gap
    rates = np.full(len(log_u), 0.5)
    one = setting.rows[:1]
    found = setting.kernels.exponentiated_gradient(setting.weights, log_u, rates, one, seed)
    held = setting.current()
    put(setting, log_u)
    setting.rebuild()
    after = objective.dual(setting.problem, setting.z())
    size = 1 + abs(before)
    assert found.dual_gain == pytest.approx(after - before, abs=1e-10 * size)
    assert found.dual_gain >= -1e-12 * size
    assert found.gap <= gap + 1e-10 * size
    np.testing.assert_allclose(held, setting.current(), rtol=1e-9, atol=1e-10 * size)
    if setting.problem.formulation.takes_maximum:
        np.testing.assert_allclose(u_of(setting, log_u).sum(axis=1), 1)


@SETS
@RELATIVE
def test_a_loop_of_gradient_steps_in_float32(name, instruction_set):
    setting = Setting(7, name, dtype=np.float32, instruction_set=instruction_set)
    log_u = begun(setting, 7)
    rates = np.full(len(log_u), 0.5)
    for seed in range(20):
        setting.kernels.exponentiated_gradient(setting.weights, log_u, rates, setting.rows, seed)
    held = setting.current()
    put(setting, log_u)
    setting.rebuild()
    np.testing.assert_allclose(held, setting.current(), atol=1e-4)
    assert np.isfinite(rates).all()


@SETS
@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("crammer_singer", "hinge"),
        ("weston_watkins", "hinge"),
        ("weston_watkins", "squared_hinge"),
        ("one_vs_rest", "hinge"),
        ("one_vs_rest", "squared_hinge"),
    ],
)
@given(seed=st.integers(0, 1000))
def test_a_cut_touches_the_losses_where_it_is_taken(name, loss, instruction_set, seed):
    """b - <W(z), W> is the sum of losses at W; with W = 0 afterwards b is D at t z for small t."""
    setting = Setting(seed, name, loss, instruction_set=instruction_set)
    problem, k = setting.problem, setting.problem.dataset.n_classes
    assume(len(setting.rows) == problem.dataset.n_examples)  # x_i = 0 has a constant loss
    rng = np.random.default_rng(seed)
    setting.weights[:, :k] = W = 0.3 * rng.normal(size=(len(setting.weights), k))
    found = setting.kernels.separate(setting.weights, setting.lists)
    loss_at_W = objective.primal(problem, W) - 0.5 * (W * W).sum()
    assert found.loss == pytest.approx(loss_at_W)
    z = setting.z()
    setting.rebuild()
    of_z = setting.current()
    b = objective.dual(problem, z) + 0.5 * (of_z * of_z).sum()
    assert b - (of_z * W).sum() == pytest.approx(loss_at_W, rel=1e-10, abs=1e-10 * (1 + abs(b)))


@SETS
@RELATIVE
@given(seed=st.integers(0, 1000))
def test_steps_on_the_most_violating_example(name, instruction_set, seed):
    setting = Setting(seed, name, instruction_set=instruction_set)
    problem, data = setting.problem, setting.problem.dataset
    _, scores = allocate_weights(data.n_examples, data.n_classes, data.dtype)
    violations = np.zeros(data.n_examples)
    setting.kernels.violations(scores, setting.lists, violations)
    columns = sp.csc_array(data.matrix())
    by_feature = (
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int32),
        columns.data,
    )
    dual = objective.dual(problem, setting.z())
    for _ in range(5):
        most = violations.max()
        certificate = objective.certificate(problem, setting.current(), setting.z())
        size = 1 + certificate.primal_objective
        assert most == pytest.approx(certificate.max_violation, abs=1e-10 * size)
        found = setting.kernels.most_violating(scores, setting.lists, violations, *by_feature, 1)
        dual += found.dual_gain
        assert dual == pytest.approx(objective.dual(problem, setting.z()), abs=1e-10 * size)
        setting.rebuild()
        np.testing.assert_allclose(
            scores[:, : data.n_classes], setting.all_scores(), atol=1e-10 * size
        )


def test_scores_are_those_of_numpy():
    setting = Setting(3, "one_vs_rest")
    data, rng = setting.problem.dataset, np.random.default_rng(3)
    setting.weights[:, : data.n_classes] = rng.normal(size=setting.current().shape)
    _, out = allocate_weights(data.n_examples - 1, data.n_classes, data.dtype)
    setting.kernels.scores(setting.weights, out, 1, data.n_examples)
    np.testing.assert_allclose(out[:, : data.n_classes], setting.all_scores()[1:], atol=1e-12)


def test_what_does_not_fit_is_refused():
    setting = Setting(1, "weston_watkins")
    data, kernels = setting.problem.dataset, setting.kernels
    _, rows = allocate_weights(data.n_examples, data.n_classes, data.dtype)
    rates = np.ones(data.n_examples)
    with pytest.raises(ValueError, match="rate for every example"):
        kernels.exponentiated_gradient(setting.weights, rows, rates[1:], setting.rows, 0)
    with pytest.raises(ValueError, match="log_u must have"):
        kernels.exponentiated_gradient(setting.weights, rows[1:], rates, setting.rows, 0)
    with pytest.raises(ValueError, match="out of range"):
        kernels.exponentiated_gradient(setting.weights, rows, rates, setting.rows + 10**6, 0)
    with pytest.raises(ValueError, match="weights must have"):
        kernels.separate(setting.weights[1:], setting.lists)
    with pytest.raises(ValueError, match="duals must have"):
        kernels.separate(setting.weights, _core.Duals64(data.n_examples + 1, data.n_classes))
    with pytest.raises(ValueError, match="rows out of range"):
        kernels.scores(setting.weights, rows, 1, data.n_examples + 1)
    indptr = np.append(0, np.ones(data.n_features, np.int64))
    bad = indptr, np.array([data.n_examples], np.int32), np.ones(1)
    with pytest.raises(ValueError, match="out of range"):
        kernels.most_violating(rows, setting.lists, rates, *bad, 1)
    squared = Setting(1, "weston_watkins", "squared_hinge")
    with pytest.raises(ValueError, match="hinge loss"):
        squared.kernels.violations(rows, squared.lists, rates)
