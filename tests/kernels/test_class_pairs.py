"""The kernels of class blocks that meet: what they compute, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from manyclass import _core
from manyclass.problem import objective
from manyclass.problem.problem import core_problem
from manyclass.solvers.weights.storage import allocate_weights
from tests.helpers.cases import each
from tests.helpers.catalog import make_problem, random_problem

CORES = {np.float32: _core.PairTrainer32, np.float64: _core.PairTrainer64}
LISTS = {np.float32: _core.Duals32, np.float64: _core.Duals64}


TABLES = {np.float32: _core.PairTables32, np.float64: _core.PairTables64}
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
kinds = pytest.mark.parametrize("kind", ["dense", "tables"])


class Setting:
    """A problem whose classes 0 to 2 are in the first slot and the rest in the second."""

    def __init__(self, dtype, loss="hinge", kind="dense", seed=3):
        self.problem = random_problem(seed, "weston_watkins", loss, dtype)
        data = self.problem.dataset
        self.trainer = CORES[dtype](core_problem(self.problem))
        self.width = width = 64 // np.dtype(dtype).itemsize
        self.columns = np.array([0, 1, 2, width, width + 1], np.int32)[: data.n_classes]
        self.sizes = (min(3, data.n_classes), max(0, data.n_classes - 3))
        if kind == "dense":
            _, self.weights = allocate_weights(data.n_features + 1, 2 * width, data.dtype)
        else:
            self.weights = TABLES[dtype](data.n_features + 1, width, 8)
        self.z = LISTS[dtype](data.n_examples, 2 * width)
        self.rows = np.flatnonzero(self.trainer.problem.squared_norms() > 0).astype(np.int32)

    def pair(self, own_too=True):
        labels = self.columns[self.problem.dataset.labels]
        return _core.ClassPair(self.width, *self.sizes, labels, own_too)

    def loop(self, seed, *, shrunk=False, own_too=True, min_gap=-np.inf):
        active = np.empty_like(self.rows)
        pair = self.pair(own_too)
        return self.trainer.loop(
            pair, self.weights, self.z, self.rows, active, shrunk, min_gap, seed
        )

    def matrix(self):
        """Of shape (d + 1, k); the columns of no class are zero."""
        W = self.weights
        if not isinstance(W, np.ndarray):
            _, W = allocate_weights(
                self.problem.dataset.n_features + 1, 2 * self.width, np.dtype("d")
            )
            for slot in (0, 1):
                rows = _core.read_rows(self.weights, slot, 0, len(W), drop=False)
                _core.put_rows(W, slot, 0, *rows[:2], rows[2].astype(np.float64))
        assert not W[:, np.setdiff1d(np.arange(W.shape[1]), self.columns)].any()
        return W[:, self.columns]

    def duals(self):
        """Of shape (n, k)."""
        indptr, labels, values = self.z.to_csr()
        z = np.zeros((len(indptr) - 1, 2 * self.width))
        z[np.repeat(np.arange(len(z)), np.diff(indptr)), labels] = values
        return z[:, self.columns]


@dtypes
@each("loss", ["hinge", "squared_hinge"])
@each("later", ["nothing", "shrunk", "other block"])
@kinds
def test_a_loop_gains_what_it_says(dtype, loss, later, kind, instruction_set):
    setting = Setting(dtype, loss, kind)
    gain = setting.loop(1).dual_gain
    if later != "nothing":
        gain += setting.loop(2, shrunk=later == "shrunk", own_too=False).dual_gain
    problem, z = setting.problem, sp.csr_array(setting.duals())
    start = objective.dual(problem, sp.csr_array(z.shape))
    digits = 1e-4 if dtype is np.float32 else 1e-9
    assert objective.dual(problem, z) - start == pytest.approx(gain, rel=digits)
    W = setting.matrix()
    expected = objective.weights_of(problem, z)
    np.testing.assert_allclose(W, expected, atol=digits * abs(W).max())


@dtypes
@each("loss", ["hinge", "squared_hinge"])
@each("own_too", [False, True])
@kinds
def test_a_full_loop_counts_each_class_once(dtype, loss, own_too, kind, instruction_set):
    setting = Setting(dtype, loss, kind)
    setting.loop(1)
    problem, z = setting.problem, setting.duals()
    found = setting.loop(2, own_too=own_too, min_gap=np.inf)  # which moves nothing
    labels = problem.dataset.labels
    scores = objective.scores(problem, setting.matrix())
    xi = 1 - scores[np.arange(len(z)), labels][:, None] + scores
    cost = problem.costs[:, None]
    if problem.loss == "squared_hinge":
        losses = cost * np.maximum(xi, 0) ** 2
        gaps = losses + z**2 / (4 * cost) - z * xi
    else:
        losses = cost * np.maximum(xi, 0)
        gaps = losses - z * xi
    slot_of = setting.columns // setting.width
    counts = np.ones_like(xi, bool) if own_too else slot_of[labels][:, None] != slot_of
    counts[np.arange(len(z)), labels] = False
    counts[np.setdiff1d(np.arange(len(z)), setting.rows)] = False
    digits = 1e-4 if dtype is np.float32 else 1e-9
    assert found.loss == pytest.approx(losses[counts].sum(), rel=digits)
    assert found.gap == pytest.approx(gaps[counts].sum(), rel=digits, abs=digits * found.loss)
    assert found.steps == 0
    looked_at = counts | (z > 0)
    assert found.max_violation <= np.abs(xi[looked_at]).max() * (1 + digits)


@dtypes
@kinds
def test_inspect_finds_the_certificate(dtype, kind):
    setting = Setting(dtype, kind=kind)
    setting.loop(1)
    problem, pair = setting.problem, setting.pair()
    own = np.zeros(problem.dataset.n_examples)
    everything = np.arange(len(own), dtype=np.int32)
    setting.trainer.own_scores(pair, setting.weights, everything, own)
    scores = objective.scores(problem, setting.matrix())
    labels = problem.dataset.labels
    np.testing.assert_allclose(own, scores[np.arange(len(own)), labels], rtol=1e-4, atol=1e-4)
    norm = float(np.linalg.norm(setting.matrix()))
    found = setting.trainer.inspect(pair, setting.weights, setting.z, own, norm)
    expected = problem.costs @ objective.losses(problem, setting.matrix())
    assert found.loss == pytest.approx(expected, rel=1e-4)


@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(["hinge", "squared_hinge"]),
    own_too=st.booleans(),
)
def test_dense_weights_and_tables_do_the_same(seed, loss, own_too):
    """With so few classes all may enter in one visit."""
    dense, tables = (Setting(np.float64, loss, kind, seed % 50) for kind in ("dense", "tables"))
    scale = dense.problem.costs.sum() * dense.problem.dataset.n_classes
    for number, shrunk in enumerate([False, False, True]):
        one, other = (
            setting.loop(seed + number, shrunk=shrunk, own_too=own_too or number == 0)
            for setting in (dense, tables)
        )
        assert one.gap == pytest.approx(other.gap, rel=1e-6, abs=1e-9 * scale)
        assert one.dual_gain == pytest.approx(other.dual_gain, rel=1e-6, abs=1e-9 * scale)
    np.testing.assert_allclose(dense.duals(), tables.duals(), atol=1e-7 * scale)
    np.testing.assert_allclose(dense.matrix(), tables.matrix(), atol=1e-7 * scale)


def test_what_the_core_refuses_of_tables():
    setting = Setting(np.float64, kind="tables")
    setting.weights = _core.PairTables64(setting.problem.dataset.n_features, setting.width, 8)
    with pytest.raises(ValueError, match="n_features"):
        setting.loop(1)
    rows = setting.problem.dataset.n_features + 1
    setting.weights = _core.PairTables64(rows, 2 * setting.width, 8)
    with pytest.raises(ValueError, match="as wide as the pair's"):
        setting.loop(1)


def test_what_the_core_refuses():
    setting = Setting(np.float64)
    trainer, pair, W, z, rows = (
        setting.trainer,
        setting.pair(),
        setting.weights,
        setting.z,
        setting.rows,
    )
    active, n = np.empty_like(rows), z.to_csr()[0].size - 1
    good = [pair, W, z, rows, active, False, 0.0, 1]
    trainer.loop(*good)
    elsewhere = _core.ClassPair(8, 3, 1, np.full(n, -1, np.int32))
    cases = [
        (0, elsewhere, "another class block"),
        (1, W[:-1], "n_features"),
        (1, np.zeros((len(W), 24)), "two slots"),
        (2, _core.Duals64(n + 1, 16), "one list per example"),
        (2, _core.Duals64(n, 8), "columns of the weights"),
        (3, np.array([n], np.int32), "row out of range"),
        (4, active[:0], "as long as rows"),
    ]
    for place, bad, message in cases:
        arguments = [*good[:place], bad, *good[place + 1 :]]
        with pytest.raises(ValueError, match=message):
            trainer.loop(*arguments)
    for width, first, labels, message in [
        (0, 0, [0], "must have a column"),
        (8, 9, [0], "too few columns"),
        (8, 3, [16], "label out of range"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.ClassPair(width, first, 0, np.array(labels, np.int32))
    problem = make_problem(np.eye(3), [0, 1, 2], n_classes=3, formulation="ats")
    with pytest.raises(ValueError, match="relative margins"):
        _core.PairTrainer64(core_problem(problem))
