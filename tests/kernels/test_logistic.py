"""Kernels of multinomial logistic regression beside NumPy, for both layouts of W."""

import itertools

import numpy as np
import pytest
from scipy.special import entr, logsumexp, softmax

from manyclass import _core
from manyclass.problem.problem import problem_arguments
from manyclass.rows.logistic_sums import as_matrix
from manyclass.solvers.logistic.certificate import class_shift
from manyclass.solvers.logistic.engine import NO_SHIFT, new_log_u
from manyclass.solvers.logistic.weight_arrays import new_weights
from manyclass.utils.machine import core_class
from tests.helpers.cases import each
from tests.helpers.dense_data import rows_with_bias
from tests.helpers.logistic import class_counts, gradient, random_logistic

SHAPES = [(7, 3, 2), (40, 5, 17), (70, 33, 70), (170, 6, 150)]
NONE = np.empty(0)
pytestmark = [
    pytest.mark.parametrize("instruction_set", _core.instruction_sets()),
    pytest.mark.parametrize("dtype", [np.float32, np.float64]),
    pytest.mark.parametrize("class_major", [False, True]),
]


class Setting:
    """A problem, its trainer, and a random W."""

    def __init__(self, shape, class_major, dtype, instruction_set):
        self.given = shape, class_major, dtype, instruction_set
        self.problem = random_logistic(sum(shape), dtype=dtype, shape=shape)
        self.trainer = self.with_threads(1)
        self.class_major = class_major
        self.rng = np.random.default_rng(0)
        self.X = rows_with_bias(self.problem.dataset)
        self.tolerance = 2e-4 if dtype == np.float32 else 1e-10

    @classmethod
    def like(cls, setting, n_threads):
        """The same problem, with a trainer of so many threads."""
        same = cls(*setting.given)
        same.trainer.use_threads(n_threads)
        return same

    def with_threads(self, n_threads):
        """A trainer of so many threads, of the problem as it is."""
        _, _, dtype, instruction_set = self.given
        arguments = problem_arguments(self.problem) | {"instruction_set": instruction_set}
        problem = core_class("Problem", np.dtype(dtype))(**arguments)
        trainer = core_class("LogisticTrainer", np.dtype(dtype))(problem)
        trainer.use_threads(n_threads)
        return trainer

    def zeros(self, dtype=None):
        return new_weights(
            self.problem, np.dtype(dtype or self.problem.dataset.dtype), self.class_major
        )

    def matrix(self, weights):
        return as_matrix(weights, self.problem, class_major=self.class_major)

    def random(self, dtype=None):
        weights = self.zeros(dtype)
        self.matrix(weights)[:] = self.rng.normal(size=self.matrix(weights).shape)
        return weights

    def weights_of(self, u):
        y = self.problem.dataset.labels
        return self.X.T @ (self.problem.costs[:, None] * (np.eye(u.shape[1])[y] - u))


def of_shapes(shapes):
    """Run a test of a setting for each shape."""

    def decorate(test):
        @each("shape", shapes)
        def looped(shape, class_major, dtype, instruction_set):
            test(Setting(shape, class_major, dtype, instruction_set))

        return looped

    return decorate


of_each_shape = of_shapes(SHAPES)


@of_each_shape
def test_gradient(setting):
    W, out = setting.random(), setting.zeros()
    loss = setting.trainer.gradient(W, out, setting.class_major)
    M = setting.matrix(W).astype(np.float64)
    y = setting.problem.dataset.labels
    S = setting.X @ M
    losses = logsumexp(S, axis=1) - S[np.arange(len(y)), y]
    assert loss == pytest.approx(setting.problem.costs @ losses, rel=1e-5)
    expected = gradient(setting.problem, M, free=False) - M
    scale = np.abs(expected).max()
    np.testing.assert_allclose(setting.matrix(out), expected, atol=setting.tolerance * scale)


@of_each_shape
def test_curvature_is_the_derivative_of_the_gradient(setting):
    W, V, out = setting.random(), setting.random(), setting.zeros()
    setting.trainer.curvature(W, V, out, setting.class_major)
    M, step = setting.matrix(W).astype(np.float64), 1e-5
    along = setting.matrix(V).astype(np.float64)
    ahead = gradient(setting.problem, M + step * along, free=True)
    behind = gradient(setting.problem, M - step * along, free=True)
    expected = (ahead - behind) / (2 * step)
    expected[:-1] -= along[:-1]
    scale = np.abs(expected).max()
    tolerance = max(setting.tolerance, 1e-7)
    np.testing.assert_allclose(setting.matrix(out), expected, atol=tolerance * scale)


@of_each_shape
def test_visits_follow_w_of_u_and_raise_the_dual(setting):
    check_visits(setting, setting.trainer)


@of_shapes([(2700, 31, 70)])  # enough rows for rounds of two batches, which interact
def test_visits_in_rounds(setting):
    check_visits(setting, setting.with_threads(4))


def check_visits(setting, trainer):
    """W stays W(u), and D rises."""
    problem = setting.problem
    k = problem.dataset.n_classes
    W, v = setting.zeros(), new_log_u(problem)
    v[:] = np.nan  # not read while everything is fresh
    before = -np.inf
    for epoch in range(4):
        found = trainer.visit(W, v, epoch == 0, setting.class_major, epoch)
        assert found.gap >= 0
        u = softmax(v[:, :k].astype(np.float64), axis=1)
        expected = setting.weights_of(u)
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(setting.matrix(W), expected, atol=setting.tolerance * scale)
        entropy = problem.costs @ entr(u).sum(axis=1)
        dual = entropy - 0.5 * (expected**2).sum()
        assert dual >= before - setting.tolerance * abs(dual)
        before = dual


@of_each_shape
def test_a_visit_maximises_the_dual_over_one_example(setting):
    problem = setting.problem
    k = problem.dataset.n_classes
    W, v = setting.zeros(), new_log_u(problem)
    for epoch in range(30):
        setting.trainer.visit(W, v, epoch == 0, setting.class_major, epoch)
    u = softmax(v[:, :k].astype(np.float64), axis=1)
    # At the optimum, u_i is the softmax of the scores.
    expected = softmax(setting.X @ setting.matrix(W).astype(np.float64), axis=1)
    np.testing.assert_allclose(u, expected, atol=2e-2)


@pytest.mark.parametrize("from_scores", [False, True])
@pytest.mark.parametrize("shifted", [False, True])
@each("shape", SHAPES)
def test_inspect_sums_what_numpy_sums(
    shape, class_major, dtype, instruction_set, from_scores, shifted
):
    setting = Setting(shape, class_major, dtype, instruction_set)
    problem = setting.problem
    n, k = problem.dataset.n_examples, problem.dataset.n_classes
    W, v = setting.random(np.float64), new_log_u(problem)
    v[:, :k] = np.log(setting.rng.dirichlet(np.ones(k), n))
    v[:, k:] = -1000
    S = setting.X @ setting.matrix(W)
    u = softmax(S if from_scores else v[:, :k].astype(np.float64), axis=1)
    shift = (
        class_shift(class_counts(problem), class_counts(problem) - problem.costs @ u)
        if shifted
        else NO_SHIFT
    )
    if shifted:
        u = u * (1 - shift.leaves) + ((u * shift.leaves).sum(axis=1))[:, None] * shift.enters
        np.testing.assert_allclose(problem.costs @ u, class_counts(problem), rtol=1e-10)
    sums, left = setting.zeros(np.float64), np.zeros(k)
    found = setting.trainer.inspect(
        W,
        np.abs(setting.matrix(W)).max(axis=1),
        None if from_scores else v,
        shift.leaves,
        shift.enters,
        sums,
        left,
        setting.class_major,
    )
    entropy = (u * np.log(u)).sum(axis=1)
    terms = logsumexp(S, axis=1) + entropy - (u * S).sum(axis=1)
    assert found.gap == pytest.approx(problem.costs @ terms, rel=1e-9, abs=1e-9)
    expected = class_counts(problem) - problem.costs @ u
    np.testing.assert_allclose(left, expected, atol=1e-9 * class_counts(problem).max())
    np.testing.assert_allclose(setting.matrix(sums), setting.weights_of(u), atol=1e-8)
    if from_scores:
        return
    again, left = setting.zeros(np.float64), np.zeros(k)
    setting.trainer.dual_sums(v, shift.leaves, shift.enters, again, left, setting.class_major)
    np.testing.assert_allclose(again, sums, atol=1e-12 * max(1, np.abs(sums).max()))


@of_each_shape
def test_inspect_of_weights_as_they_are_held(setting):
    if setting.class_major:
        pytest.skip("rows for each class are converted")
    problem = setting.problem
    W, v = setting.random(), new_log_u(problem)
    setting.trainer.log_softmax(setting.random(), v, False)
    bias = W.dtype.type(problem.dataset.rounded_bias)
    wide = setting.zeros(np.float64)
    setting.matrix(wide)[:] = setting.matrix(W)
    if bias:  # the intercept is bias * w, rounded
        setting.matrix(wide)[-1] = (setting.matrix(W)[-1] * bias) / float(bias)
    largest = np.abs(setting.matrix(wide)).max(axis=1)
    expected = setting.trainer.inspect(wide, largest, v, NONE, NONE, None, NONE, False)
    found = setting.trainer.inspect_held(W, v, NONE, NONE)
    for name in ("loss", "gap", "loss_error", "moved_by_features", "moved_by_bias"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-7)
    assert found.loss == pytest.approx(expected.loss, rel=1e-13)


@of_each_shape
def test_inspect_bounds_its_rounding(setting):
    problem = setting.problem
    W = setting.random(np.float64)
    W *= 10
    largest = np.abs(setting.matrix(W)).max(axis=1)
    found = setting.trainer.inspect(W, largest, None, NONE, NONE, None, NONE, setting.class_major)
    S = setting.X.astype(np.longdouble) @ setting.matrix(W)
    S -= S[np.arange(len(S)), problem.dataset.labels][:, None]
    best = S.max(axis=1)
    losses = best + np.log(np.exp(S - best[:, None]).sum(axis=1))
    off = abs(found.loss - problem.costs @ losses)
    assert off <= found.loss_error + 1e-15 * found.loss
    assert found.loss_error <= 1e-11 * found.loss


@of_each_shape
def test_log_softmax(setting):
    W, v = setting.random(), new_log_u(setting.problem)
    setting.trainer.log_softmax(W, v, setting.class_major)
    k = setting.problem.dataset.n_classes
    S = setting.X @ setting.matrix(W).astype(np.float64)
    expected = S - logsumexp(S, axis=1)[:, None]
    np.testing.assert_allclose(v[:, :k], expected, atol=setting.tolerance * np.abs(S).max())


@of_each_shape
def test_passes_do_not_depend_on_threads(setting):
    W, V, wide = setting.random(), setting.random(), setting.random(np.float64)
    largest, major = np.abs(setting.matrix(wide)).max(axis=1), setting.class_major
    results = []
    for n_threads in (1, 3):
        trainer = Setting.like(setting, n_threads).trainer
        v, left = new_log_u(setting.problem), np.zeros(setting.problem.dataset.n_classes)
        out = [setting.zeros(), setting.zeros(), setting.zeros(np.float64)]
        trainer.log_softmax(W, v, major)
        loss = trainer.gradient(W, out[0], major)
        trainer.curvature(W, V, out[1], major)
        trainer.dual_sums(v, NONE, NONE, out[2], left, major)
        found = trainer.inspect(wide, largest, v, NONE, NONE, out[2], left, major)
        numbers = [loss, found.loss, found.gap, found.loss_error]
        results.append([v, *out, left, np.array(numbers)])
    for alone, several in zip(*results, strict=True):
        np.testing.assert_array_equal(alone, several)


@of_each_shape
def test_rows_whose_features_do_not_ascend(setting):
    """One thread adds all of them, with any number of threads."""
    data = setting.problem.dataset
    for begin, end in itertools.pairwise(data.indptr):
        for numbers in () if data.is_dense else (data.indices, data.values):
            numbers[begin:end] = numbers[begin:end][::-1].copy()
    W, results = setting.random(), []
    for n_threads in (1, 3):
        out = setting.zeros()
        setting.with_threads(n_threads).gradient(W, out, setting.class_major)
        results.append(out)
    np.testing.assert_array_equal(*results)


@of_shapes([*SHAPES, (530, 140, 200)])  # the last is worth three threads
def test_visits_do_not_depend_on_threads(setting):
    results = []
    for n_threads in (1, 3):
        s = Setting.like(setting, n_threads)
        W, v = s.zeros(), new_log_u(s.problem)
        for seed in range(3):
            s.trainer.visit(W, v, seed == 0, s.class_major, seed)
        results.append((W, v))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])
