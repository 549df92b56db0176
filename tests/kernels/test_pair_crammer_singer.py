"""The kernels of shares that class blocks trade: each visit a projection, budgets kept,
refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from manyclass import _core
from manyclass.problem import objective
from manyclass.problem.problem import core_problem
from manyclass.solvers.weights.storage import allocate_weights
from tests.helpers.catalog import make_problem, random_problem

CORES = {np.float32: _core.PairTrainer32, np.float64: _core.PairTrainer64}
LISTS = {np.float32: _core.Duals32, np.float64: _core.Duals64}
TABLES = {np.float32: _core.PairTables32, np.float64: _core.PairTables64}
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
KINDS = pytest.mark.parametrize("kind", ["dense", "tables"])
BOTH, NO_SLOTS = 3, np.empty(0, np.uint8)


class Setting:
    """A problem whose first classes are in the first slot and the rest in the second."""

    def __init__(self, problem, n_first, elsewhere=(), kind="dense"):
        data = self.data = problem.dataset
        self.problem, self.dtype = problem, data.dtype.type
        self.trainer = CORES[self.dtype](core_problem(problem))
        per_block = 64 // data.dtype.itemsize
        n_second = data.n_classes - n_first
        width = -(-max(n_first, n_second) // per_block) * per_block
        self.columns = np.r_[:n_first, width : width + n_second].astype(np.int32)
        labels = self.columns[data.labels]
        labels[list(elsewhere)] = -1
        self.pair = _core.ClassPair(width, n_first, n_second, labels)
        self.width = width
        if kind == "dense":
            _, self.weights = allocate_weights(data.n_features + 1, 2 * width, data.dtype)
        else:
            self.weights = TABLES[self.dtype](data.n_features + 1, width, 8)
        self.lists = LISTS[self.dtype](data.n_examples, 2 * width)
        self.rows = np.flatnonzero(self.trainer.problem.squared_norms() > 0).astype(np.int32)

    def put(self, shares):
        """Set the shares, shape (n, k)."""
        rows, classes = np.nonzero(shares)
        counts = np.bincount(rows, minlength=len(shares))
        self.lists.from_csr(
            np.append(0, np.cumsum(counts)).astype(np.int64),
            self.columns[classes],
            shares[rows, classes].astype(self.dtype),
        )

    def matrix(self):
        """Of shape (d + 1, k); the columns of no class are zero."""
        wide = self.weights
        if not isinstance(wide, np.ndarray):
            _, wide = allocate_weights(self.data.n_features + 1, 2 * self.width, self.data.dtype)
            for slot in (0, 1):
                _core.put_rows(
                    wide, slot, 0, *_core.read_rows(self.weights, slot, 0, len(wide), drop=False)
                )
        assert not np.delete(wide, self.columns, axis=1).any()
        return wide[:, self.columns]

    def set_weights(self, coefficients):
        """W = the rows of X times coefficients of shape (n, k)."""
        before = self.shares
        self.put(-coefficients)
        nothing, once = np.zeros(self.data.n_examples), np.ones(self.data.n_examples)
        self.trainer.rebuild(self.pair, self.weights, self.lists, nothing, once)
        self.put(before)

    @property
    def shares(self):
        indptr, columns, values = self.lists.to_csr()
        wide = np.zeros((len(indptr) - 1, 2 * self.width))
        wide[np.repeat(np.arange(len(wide)), np.diff(indptr)), columns] = values
        assert not np.delete(wide, self.columns, axis=1).any()
        return wide[:, self.columns]

    def trade(self, scored, rows=None, seed=1):
        rows = self.rows if rows is None else np.asarray(rows, np.int32)
        active = np.empty_like(rows)
        result = self.trainer.trade(self.pair, self.weights, self.lists, rows, active, scored, seed)
        return result, active[: result.n_active]


def own_budgets(problem):
    """All budgets with y_i, shape (n, k)."""
    shares = np.zeros((problem.dataset.n_examples, problem.dataset.n_classes))
    shares[np.arange(len(shares)), problem.dataset.labels] = problem.costs
    return shares


def duals_of(problem, shares):
    z = shares.copy()
    z[np.arange(len(z)), problem.dataset.labels] = 0
    return sp.csr_array(z)


def projected(b, mass):
    """The nearest point of {z >= 0, sum z = mass}, by sorting (Held, Wolfe, Crowder 1974)."""
    falling = np.sort(b)[::-1]
    thetas = (np.cumsum(falling) - mass) / np.arange(1, len(b) + 1)
    return np.maximum(0, b - thetas[falling > thetas][-1])


@DTYPES
@KINDS
@pytest.mark.parametrize("shrunk", [False, True])
def test_a_loop_gains_what_it_says(dtype, kind, shrunk, instruction_set):
    problem = random_problem(3, dtype=dtype)
    setting = Setting(problem, 2, kind=kind)
    setting.put(own_budgets(problem))
    gain = setting.trade(np.full(problem.dataset.n_examples, BOTH, np.uint8))[0].dual_gain
    if shrunk:
        some, active = setting.trade(NO_SLOTS)
        gain += some.dual_gain
        assert (np.count_nonzero(setting.shares, axis=1)[active] > 1).all()
    digits = 1e-4 if dtype is np.float32 else 1e-9
    z = duals_of(problem, setting.shares)
    start = objective.dual(problem, sp.csr_array(z.shape))
    assert objective.dual(problem, z) - start == pytest.approx(gain, rel=digits)
    np.testing.assert_allclose(setting.shares.sum(axis=1), problem.costs, rtol=digits)
    np.testing.assert_allclose(
        setting.matrix(),
        objective.weights_of(problem, z),
        atol=digits * abs(setting.matrix()).max(),
    )


@settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    st.integers(2, 9),  # so that four classes of a slot are many to every instruction set
    st.integers(0, BOTH),
    st.booleans(),
    st.sampled_from([1e-3, 1.0, 1e3]),
    st.sampled_from(["dense", "tables"]),
)
def test_a_visit_is_a_projection(seed, k, scored, elsewhere, scale, kind):
    rng = np.random.default_rng(seed)
    n_first = int(rng.integers(1, k))
    X, label = rng.normal(size=(1, 3)), int(rng.integers(k))
    problem = make_problem(X, [label], n_classes=k)
    setting = Setting(problem, n_first, [0] if elsewhere else [], kind)
    setting.set_weights(rng.normal(size=(1, k)))
    shares = rng.random((1, k)) * scale * (rng.random((1, k)) < 0.3)
    shares[0, rng.integers(k)] = scale
    setting.put(shares)
    W = setting.matrix()[:3].copy()
    found = setting.trade(np.array([scored], np.uint8))[0]

    z, q = shares[0], float((X @ X.T).item())
    a = (X @ W)[0] + (1 if elsewhere else np.arange(k) != label)
    slots = (np.arange(k) >= n_first).astype(int)
    may = (z > 0) | ((scored >> slots) & 1 == 1)
    many = [
        kind == "dense" and np.count_nonzero(z[slots == s]) > 4 for s in (0, 1)
    ]  # then a slot is scored whole
    may |= np.array(many)[slots]
    expected = np.zeros(k)
    expected[may] = projected(z[may] + a[may] / q, z.sum())
    delta = expected - z
    np.testing.assert_allclose(setting.shares[0], expected, atol=1e-9 * max(scale, 1 / q))
    np.testing.assert_allclose(
        setting.matrix()[:3], W - np.outer(X[0], delta), atol=1e-9 * max(scale, 1 / q)
    )
    assert found.gap == pytest.approx(z.sum() * a[may].max() - z @ a, abs=1e-9 * scale)
    assert found.max_violation == pytest.approx(a[may].max() - a[z > 0].min(), abs=1e-9)
    assert found.dual_gain == pytest.approx(a @ delta - q / 2 * delta @ delta, abs=1e-8 * scale)
    assert found.dual_gain >= -1e-12 * scale


def test_rows_without_a_share_are_passed_over():
    problem = random_problem(3)
    setting = Setting(problem, 2)
    found, active = setting.trade(np.full(problem.dataset.n_examples, BOTH, np.uint8))
    assert (found.evaluations, found.gap, found.steps, len(active)) == (0, 0, 0, 0)
    assert not setting.matrix().any()


@DTYPES
@KINDS
def test_the_survey_finds_slacks(dtype, kind):
    problem = random_problem(3, dtype=dtype)
    setting = Setting(problem, 2, kind=kind)
    setting.put(own_budgets(problem))
    setting.trade(np.full(problem.dataset.n_examples, BOTH, np.uint8))
    z = duals_of(problem, setting.shares).toarray()
    setting.put(z)
    n = problem.dataset.n_examples
    own = np.zeros(n)
    every = np.arange(n, dtype=np.int32)
    setting.trainer.own_scores(setting.pair, setting.weights, every, own)
    largest, smallest, z_dot_xi = np.empty((3, n))
    setting.trainer.survey(
        setting.pair, setting.weights, setting.lists, own, largest, smallest, z_dot_xi
    )
    xi = objective.slacks(problem, setting.matrix())
    np.testing.assert_allclose(largest, xi.max(axis=1), atol=1e-4)
    np.testing.assert_allclose(smallest, np.where(z > 0, xi, np.inf).min(axis=1), atol=1e-4)
    expected = np.where(z > 0, z * np.maximum(xi, -1e9), 0).sum(axis=1)
    np.testing.assert_allclose(z_dot_xi, expected, atol=1e-4 * problem.costs.max())


def test_what_the_core_refuses():
    problem = random_problem(3)
    setting = Setting(problem, 2)
    n, stride = problem.dataset.n_examples, 2 * setting.width
    rows, active = setting.rows, np.empty_like(setting.rows)
    good = [setting.pair, setting.weights, setting.lists, rows, active, NO_SLOTS, 1]
    setting.trainer.trade(*good)
    cases = [
        (1, setting.weights[:-1], "n_features"),
        (2, _core.Duals64(n + 1, stride), "one list per example"),
        (2, _core.Duals64(n, stride // 2), "columns of the weights"),
        (3, np.array([n], np.int32), "row out of range"),
        (4, active[:0], "as long as rows"),
        (5, np.zeros(n + 1, np.uint8), "a number for every example"),
    ]
    for place, bad, message in cases:
        with pytest.raises(ValueError, match=message):
            setting.trainer.trade(*good[:place], bad, *good[place + 1 :])
    numbers = [np.zeros(n)] * 4
    for place in range(4):
        bad = [*numbers[:place], np.zeros(n + 1), *numbers[place + 1 :]]
        with pytest.raises(ValueError, match="one number per example"):
            setting.trainer.survey(setting.pair, setting.weights, setting.lists, *bad)
    with pytest.raises(ValueError, match="sums of losses"):
        setting.trainer.loop(*good[:5], False, 0.0, 1)
    other = Setting(random_problem(3, "weston_watkins"), 2)
    with pytest.raises(ValueError, match="the largest loss"):
        other.trade(NO_SLOTS)
