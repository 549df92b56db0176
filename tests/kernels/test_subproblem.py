"""The block step of every formulation, through a data set of one example."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from manyclass import _core
from manyclass.problem.problem import core_formulation
from manyclass.utils.machine import core_class, instruction_set
from tests.helpers.cases import each
from tests.helpers.catalog import PAIRS, make_problem
from tests.helpers.dual_kernels import kinds_for, set_duals

clarabel = pytest.importorskip("clarabel")

formulations = pytest.mark.parametrize(("name", "loss"), PAIRS)


@dataclass
class Block:
    """An example with ||x||^2 = q of class y, its scores and dual variables before the step."""

    scores: np.ndarray
    y: int
    z: np.ndarray
    q: float
    cost: float


class Subproblem:
    """The same in NumPy: H, the gradient xi, and the set of z."""

    def __init__(self, block, name, loss):
        k = len(block.scores)
        problem = make_problem(
            np.ones((1, 1)), [block.y], n_classes=k, formulation=name, loss=loss, C=block.cost
        )
        f = problem.formulation
        self.problem = problem
        self.core = core_formulation(problem)
        self.centred = f.centred
        self.maximum = f.aggregation == "max"
        self.cost, self.q, self.z = block.cost, block.q, block.z
        self.ridge = 1 / (2 * block.cost) if problem.loss == "squared_hinge" else 0.0
        own = np.arange(k) == block.y
        self.targets = {"others": ~own, "all": own | True, "own": own}[f.targets]
        self.relative = f.margin == "relative"
        self.v = np.ones(k) if self.relative else np.where(own, 1.0, -1.0)
        self.v *= self.targets
        self.sigma = 1.0 if self.relative else -1 / k if self.centred else 0.0
        s = block.scores
        if self.relative:
            self.xi = 1 - s[block.y] + s
        else:
            self.xi = np.where(own, f.margins(k)[1] - s, 1 + s)

    def times_hessian(self, z):
        return self.q * (z + self.sigma * self.v * (self.v @ z)) + self.ridge * z

    def gradient(self, z):
        """Of the dual objective, at z."""
        return self.xi - self.ridge * self.z - self.times_hessian(z - self.z)

    def violation(self, z):
        g = self.gradient(z)[self.targets]
        z = z[self.targets]
        free = 1e-9 * self.cost
        if self.maximum:
            top = max(0.0, g.max()) if z.sum() >= self.cost - free else 0.0
            low = np.where(z > free, top - g, 0)
            return max(np.abs(low).max(), g.max() - top)
        capped = (z >= self.cost - free) & (self.ridge == 0)
        return np.where(z > free, np.where(capped, np.maximum(0, -g), np.abs(g)), g.clip(0)).max()

    def value(self, z):
        delta = z - self.z
        linear = (self.xi - self.ridge * self.z) @ delta
        return linear - 0.5 * delta @ self.times_hessian(delta)

    def best_value(self):
        """By an interior-point method."""
        t = np.flatnonzero(self.targets)
        v = self.v[t]
        H = self.q * (np.eye(len(t)) + self.sigma * np.outer(v, v)) + self.ridge * np.eye(len(t))
        linear = (self.xi - self.ridge * self.z)[t] + H @ self.z[t]
        A, b = [-np.eye(len(t))], [np.zeros(len(t))]
        if self.maximum:
            A.append(np.ones((1, len(t))))
            b.append([self.cost])
        elif not self.ridge:
            A.append(np.eye(len(t)))
            b.append(np.full(len(t), self.cost))
        A, b = sp.csc_matrix(np.vstack(A)), np.concatenate(b)
        options = clarabel.DefaultSettings()
        options.verbose = False
        options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
        cones = [clarabel.NonnegativeConeT(len(b))]
        solved = clarabel.DefaultSolver(sp.csc_matrix(H), -linear, A, b, cones, options).solve()
        best = np.zeros(len(self.z))
        best[t] = solved.x
        return self.value(best)


def steps(block, sub, dtype=np.float64):
    """With each kind of kernels: z after a visit, the scores after it, what the visit found."""
    return [step(block, sub, dtype, kind) for kind in kinds_for(sub.problem)]


def step(block, sub, dtype=np.float64, kind="lists"):
    """The same with one of them."""
    k = len(block.scores)
    root = np.sqrt(block.q)
    problem = core_class("Problem", np.dtype(dtype))(
        sub.core,
        np.array([0, 1]),
        np.zeros(1, np.int32),
        np.array([root], dtype),
        1,
        0.0,
        np.array([block.y], np.int32),
        k,
        np.array([block.cost]),
        instruction_set(),
    )
    engine = _core.Engine(problem, "dense", 1, lists=kind == "lists")
    set_duals(engine, [block.z])
    engine.W.matrix[0] = block.scores / root
    result = engine.full_loop(np.zeros(1, np.int32), np.empty(1, np.int32), -np.inf, 0)
    indptr, classes, values = engine.export_duals()
    z = sp.csr_array((values, classes, indptr), shape=(1, k)).toarray()[0].astype(np.float64)
    padded = engine.W.padded[0].astype(np.float64) * root
    apart = sub.centred and kind == "lists"  # the mean, in column k
    return z, padded[:k] - (padded[k] if apart else 0), result


@st.composite
def blocks(draw, name, loss, k=None, largest_log_q=2, largest_log_cost=2):
    k = k or draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cost = 10 ** draw(st.floats(-largest_log_cost, largest_log_cost))
    q = 10 ** draw(st.floats(-largest_log_q, largest_log_q))
    scores = rng.normal(size=k) * 10 ** rng.uniform(-2, 1)
    if draw(st.booleans()):
        scores = np.round(scores)  # equal entries
    y = int(rng.integers(k))
    z = rng.random(k) * (rng.random(k) < 0.4)
    z *= Subproblem(Block(scores, y, z, q, cost), name, loss).targets
    largest = z.sum() if name in ("crammer_singer", "adm", "atm") else z.max()
    if largest > 0:
        z *= cost * draw(st.sampled_from([1.0, 0.5, 1e-3])) / largest
    return Block(scores, y, z, q, cost)


@formulations
@settings(max_examples=60)
@given(data=st.data())
def test_no_worse_than_an_interior_point_method(name, loss, data):
    block = data.draw(blocks(name, loss))
    sub = Subproblem(block, name, loss)
    best = sub.best_value()
    size = abs(best) + block.cost * (1 + np.abs(sub.xi).max())
    for z, _, result in steps(block, sub):
        assert sub.value(z) >= best - 1e-8 * size
        assert result.dual_gain == pytest.approx(sub.value(z), abs=1e-9 * size)


@formulations
@settings(max_examples=60)
@given(data=st.data())
def test_optimality_conditions_hold_and_weights_follow(name, loss, data):
    block = data.draw(blocks(name, loss))
    sub = Subproblem(block, name, loss)
    for z, moved, _ in steps(block, sub):
        size = 1 + np.abs(sub.xi).max() + block.q * np.abs(block.z).sum() * len(z)
        assert sub.violation(z) <= 1e-7 * size
        delta = z - block.z
        expected = block.scores - (delta if sub.relative else -sub.v * delta) * block.q
        if sub.relative:
            expected[block.y] += block.q * delta.sum()
        if sub.centred:
            expected -= block.q * (sub.v @ delta) / len(z)
        np.testing.assert_allclose(moved, expected, rtol=1e-9, atol=1e-9 * size)


@formulations
@each("dtype", [np.float32, np.float64])
@settings(max_examples=60)
@given(data=st.data())
def test_extremes_are_feasible_and_finite(name, loss, dtype, data):
    block = data.draw(blocks(name, loss, largest_log_q=12, largest_log_cost=8))
    block.z *= 1 - 1e-6  # feasible in float32 too
    sub = Subproblem(block, name, loss)
    digits = 16 * np.finfo(dtype).eps
    for z, moved, result in steps(block, sub, dtype):
        assert np.isfinite(z).all()
        assert np.isfinite(moved).all()
        assert (z >= 0).all()
        assert (z[~sub.targets] == 0).all()
        if sub.ridge == 0:
            assert (z.sum() if sub.maximum else z.max()) <= block.cost * (1 + digits)
        found = [result.gap, result.loss, result.dual_gain, result.max_violation]
        assert np.isfinite(found).all()


@formulations
@each("k", [2, 3, 5000])
@each("equal", [True, False])
def test_numbers_of_classes(name, loss, k, equal, instruction_set):
    rng = np.random.default_rng(k)
    scores = np.zeros(k) if equal else rng.normal(size=k)
    block = Block(scores, k // 2, np.zeros(k), 1.0, 1.0)
    sub = Subproblem(block, name, loss)
    for kind in kinds_for(sub.problem):
        z, _, result = step(block, sub, kind=kind)
        assert sub.violation(z) <= 1e-7 * k
        assert result.evaluations == k
        z32, _, _ = step(block, sub, np.float32, kind)
        assert sub.value(z32) == pytest.approx(sub.value(z), rel=1e-3)


@formulations
@settings(max_examples=60)
@given(data=st.data())
def test_second_visit_changes_nothing(name, loss, data):
    block = data.draw(blocks(name, loss))
    sub = Subproblem(block, name, loss)
    for kind in kinds_for(sub.problem):
        once, moved, _ = step(block, sub, kind=kind)
        again = Block(moved, block.y, once, block.q, block.cost)
        twice, _, result = step(again, Subproblem(again, name, loss), kind=kind)
        size = max(1, block.q * block.cost * len(once), np.abs(block.scores).max())
        np.testing.assert_allclose(
            sub.times_hessian(twice - once), 0, atol=1e-8 * size * max(1, sub.ridge / block.q)
        )
        assert result.dual_gain <= 1e-8 * size * max(1, block.cost)


def one(scores, y, **options):
    block = Block(np.asarray(scores, float), y, np.zeros(len(scores)), 1.0, 1.0)
    for key, value in options.items():
        setattr(block, key, value)
    return block


def test_argmax_is_found_when_its_step_is_below_rounding():
    block = one([5.0, 7.0, 7.0 - 1e-9], 0, q=1e-12, cost=1e-8)
    for z, _, _ in steps(block, Subproblem(block, "crammer_singer", "hinge")):
        np.testing.assert_allclose(z, [0, 1e-8, 0], rtol=1e-12)


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins"])
def test_two_classes(name):
    block = one(np.zeros(2), 1, q=4.0)
    for z, _, _ in steps(block, Subproblem(block, name, "hinge")):
        np.testing.assert_allclose(z, [1 / 8, 0])  # (I + 1 1^T) z = xi / q: 2 z = 1/4


@formulations
def test_satisfied_margins_give_zero(name, loss):
    block = one([99.0, -99.0, -99.0], 0)
    for z, _, result in steps(block, Subproblem(block, name, loss)):
        assert z.tolist() == [0, 0, 0]
        assert (result.steps, result.gap, result.loss) == (0, 0, 0)
