"""Newton's method on parts: its sums in NumPy, the optimum of quadratic programs, lost parts."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MulticlassSVC
from manyclass.distributed.rows import svm
from manyclass.distributed.rows.svm import SvmOnRows
from manyclass.distributed.rows.svm_rows import COUNTS, SvmRows
from manyclass.problem import objective
from manyclass.problem.dataset import Dataset
from manyclass.problem.problem import Problem
from manyclass.rows.parts import LocalParts
from manyclass.rows.proximal_response import RESPONSE_TERMS, ProximalRows, n_blocks
from manyclass.solvers.newton.steps_on_parts import is_small
from manyclass.solvers.stopping import GapRule, ViolationRule
from tests.helpers.cases import each
from tests.helpers.catalog import PAIRS, make_problem, random_problem
from tests.helpers.dual_kernels import random_data
from tests.helpers.newton_kernels import expected_response
from tests.helpers.parts import X, Y, ends
from tests.helpers.ranks import on_ranks
from tests.helpers.reference import optimal_objective

formulations = pytest.mark.parametrize(("name", "loss"), PAIRS)


def blobs(n=160, d=7, k=5, dtype=np.float64, **kind):
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, k, n))  # most parts lack most classes
    X = rng.normal(size=(k, d))[labels] + rng.normal(size=(n, d))
    weights = rng.choice([0.5, 1.0, 3.0], n)
    return make_problem(X.astype(dtype), labels, n_classes=k, weights=weights, bias=1.0, **kind)


def parts_of(problem, cuts):
    data, parts = problem.dataset, []
    for number, (a, b) in enumerate(itertools.pairwise(cuts)):
        own = Dataset.from_matrix(
            data.rows(slice(a, b)),
            data.labels[a:b],
            n_classes=data.n_classes,
            weights=data.weights[a:b],
            bias=data.bias,
        )
        part = Problem(own, problem.formulation, problem.C, problem.loss)
        parts.append(SvmRows(part, number=number))
    return parts


@pytest.fixture
def at_once(monkeypatch):
    """Newton's method begins after the first round; counts its rounds."""
    rounds, play = [], SvmOnRows._round_of

    def counted(self, phase):
        rounds.append(phase)
        return play(self, phase)

    monkeypatch.setattr(SvmOnRows, "_round_of", counted)
    monkeypatch.setattr(SvmOnRows, "_is_slow", lambda self, rule: bool(self._n_rounds))
    return rounds


def train(problem, parts, tol, most=60):
    solver, rule = SvmOnRows(problem, LocalParts(parts), None), GapRule(tol)
    for _ in range(most):
        solver.epoch(rule)
        if solver.promising(rule) and rule.met(solver.certify()):
            break
    return solver


def around(problem, seed=0):
    """Rows around a feasible zbar, which is returned; a W of the problem's kind; epsilon."""
    rng, data = np.random.default_rng(seed), problem.dataset
    centre = rng.random((data.n_examples, data.n_classes)) * problem.costs[:, None]
    centre *= objective.targets(problem) & objective._has_features(problem)[:, None]
    centre *= (rng.random(centre.shape) < 0.5) / data.n_classes
    W = 0.3 * rng.normal(size=(data.n_features + 1, data.n_classes))
    if problem.formulation.centred:
        W -= W.mean(axis=1, keepdims=True)
    return ProximalRows(problem, centre), centre, W, 0.3


def responded(rows, W, epsilon):
    total, terms = np.zeros(W.shape), np.zeros(RESPONSE_TERMS)
    rows.respond(W, epsilon, total, terms)
    return total, terms


@formulations
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_response_is_a_projection(name, loss, dtype):
    problem = random_data(40, 9, 5, dtype, bias=0.5, name=name, loss=loss)
    rows, centre, W, epsilon = around(problem)
    z = expected_response(problem, centre, W, epsilon)
    np.testing.assert_allclose(rows.moved(W, epsilon, 1.0), z, atol=1e-9)
    half = centre + 0.5 * (z - centre)
    np.testing.assert_allclose(rows.moved(W, epsilon, 0.5), half, atol=1e-9)
    total, terms = responded(rows, W, epsilon)
    if problem.formulation.centred:
        total -= total.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(total, objective.weights_of(problem, sp.csr_array(z)), atol=1e-8)
    xi = np.where(z > 0, objective.slacks(problem, W), 0.0)
    ridge = 0.5 / problem.costs[:, None] * (loss == "squared_hinge")
    squares = ((z - centre) ** 2).sum()
    phi = (z * xi).sum() - (ridge / 2 * z**2).sum() - epsilon / 2 * squares
    np.testing.assert_allclose(terms[:2], [phi, squares], rtol=1e-7)


@formulations
def test_slopes_and_hessian_are_derivatives(name, loss):
    """The gradient is linear near almost every W."""
    problem = random_data(50, 6, 4, np.float64, bias=0.5, name=name, loss=loss)
    rows, _, W, epsilon = around(problem)
    m, k = W.shape
    blocks = np.zeros((n_blocks(problem), m, m))
    rows.hessian(W, epsilon, blocks)
    rng, step = np.random.default_rng(1), 1e-6
    V = rng.normal(size=W.shape)
    change = responded(rows, W - step * V, epsilon)[0] - responded(rows, W + step * V, epsilon)[0]
    product = np.zeros(W.shape)
    if problem.formulation.is_separable:
        product = np.stack([blocks[c] @ V[:, c] for c in range(k)], axis=1)
    else:
        pairs = ((c, b) for c in range(k) for b in range(c + 1))
        for block, (c, b) in zip(blocks, pairs, strict=True):
            product[:, c] += block @ V[:, b]
            product[:, b] += (block @ V[:, c]) * (b != c)
    np.testing.assert_allclose(change / (2 * step), product, rtol=1e-5, atol=1e-5)
    slopes, lengths = np.zeros(2), np.array([0.0, 0.7])
    rows.slopes(W, V, epsilon, lengths, slopes)
    for slope, t in zip(slopes, lengths, strict=True):
        up, down = (responded(rows, W + (t + e) * V, epsilon)[1][0] for e in (step, -step))
        assert slope == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-5)


@formulations
@pytest.mark.parametrize("size", [2, 3, 7])
def test_it_reaches_the_quadratic_program(name, loss, size, at_once):
    for seed in range(6):
        problem = random_problem(seed, name, loss)
        n = problem.dataset.n_examples
        cuts = np.sort(np.random.default_rng(seed).integers(0, n + 1, size - 1))
        parts = parts_of(problem, [0, *cuts.tolist(), n])
        proof = train(problem, parts, 1e-7).certify()
        assert proof.relative_gap <= 1e-7
        assert proof.primal_objective == pytest.approx(optimal_objective(problem), rel=2e-6)
    assert at_once


@formulations
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_certificate_is_that_of_numpy(name, loss, dtype, at_once):
    problem = blobs(dtype=dtype, formulation=name, loss=loss)
    parts = parts_of(problem, ends(7))
    tol = 1e-5 if dtype == np.float32 else 1e-8
    # The optimum of adm and atm is nearly W = 0, and float32 holds z to 1e-7 of it.
    near_zero = dtype == np.float32 and name in ("adm", "atm")
    solver = train(problem, parts, tol, most=9 if near_zero else 60)
    proof = solver.certify()
    assert (proof.gap / proof.primal_objective if near_zero else proof.relative_gap) <= tol
    z = sp.vstack([part.duals() for part in parts], format="csr")
    expected = objective.certificate(problem, solver.V, z)
    digits = 1e-5 if dtype == np.float32 else 1e-10
    assert proof.primal_objective == pytest.approx(expected.primal_objective, rel=digits)
    assert proof.dual_objective == pytest.approx(expected.dual_objective, rel=digits)
    assert at_once
    assert solver.weights().dtype == dtype


@pytest.mark.parametrize(("name", "loss"), [("crammer_singer", "hinge"), PAIRS[-1]])
@pytest.mark.parametrize("when", ["respond", "hessian", "move_duals", "inspect"])
def test_a_part_that_is_lost_begins_again(name, loss, when, at_once, monkeypatch):
    """Its z is 0 then, at any question; the certificate stays true, and training goes on."""
    problem = blobs(formulation=name, loss=loss)
    best = train(problem, parts_of(problem, ends(3)), 1e-9).certify()
    original, parts = getattr(SvmRows, when), parts_of(problem, ends(3))
    asked = itertools.count()

    def lose(self, *arguments):
        if self.number == 1 and at_once and next(asked) == 2:
            self.__dict__.update(vars(parts_of(problem, ends(3))[1]))
        original(self, *arguments)

    monkeypatch.setattr(SvmRows, when, lose)
    solver, rule = SvmOnRows(problem, LocalParts(parts), None), GapRule(1e-6)
    for _ in range(60):
        solver.epoch(rule)
        if not solver.promising(rule):
            continue
        proof = solver.certify()
        assert proof.dual_objective <= best.primal_objective * (1 + 1e-12)
        assert proof.primal_objective >= best.dual_objective * (1 - 1e-12)
        if rule.met(proof):
            break
    assert rule.met(proof)


def test_it_begins_later_if_all_parts_are_lost(at_once, monkeypatch):
    """There is no z to begin with; consensus continues, and Newton's method after it."""
    problem = blobs(formulation="weston_watkins", loss="hinge")
    parts = parts_of(problem, ends(3))
    original, lost = SvmRows.squared_duals, set()

    def lose(self, total):
        if self.number not in lost:
            lost.add(self.number)
            self.__dict__.update(vars(parts_of(problem, ends(3))[self.number]))
        original(self, total)

    monkeypatch.setattr(SvmRows, "squared_duals", lose)
    solver = SvmOnRows(problem, LocalParts(parts), None)
    for _ in range(60):
        solver.epoch(GapRule(1e-6))
        if GapRule(1e-6).met(solver.certify()):
            break
    assert GapRule(1e-6).met(solver.certify())
    assert at_once
    assert len(lost) == 3


def test_questions_that_are_asked_again_are_answered_as_before(at_once):
    problem = blobs(formulation="crammer_singer")
    parts = parts_of(problem, ends(3))
    solver = train(problem, parts, 1e-2)
    W = solver.V + 0.1
    answers = []
    for _ in range(3):
        of_duals, counts = np.zeros_like(W), np.zeros((3, COUNTS))
        parts[1].move_duals(99, W, solver._scale, 0.5, 0.7, of_duals, counts)
        answers.append((of_duals, counts, parts[1].duals().toarray(), *asked_of(parts[1], W)))
        parts[1] = pickle.loads(pickle.dumps(parts[1]))  # as on a worker short of memory
    for answer in answers[1:]:
        for one, other in zip(answer, answers[0], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def asked_of(part, W):
    total, terms = np.zeros_like(W), np.zeros(RESPONSE_TERMS)
    part.respond(W, 0.5, total, terms)
    return total, terms


@pytest.mark.parametrize(("name", "loss"), [("crammer_singer", "hinge"), PAIRS[-1]])
@pytest.mark.parametrize("size", [2, 7])
def test_ranks_end_with_the_same_weights(name, loss, size):
    params = {"formulation": name, "loss": loss, "tol": 1e-7, "C": 3.0}
    best = MulticlassSVC(**params).fit(X, Y).certificate_
    cuts = ends(size)

    def fit(rank):
        mine = slice(*cuts[rank.rank : rank.rank + 2])
        return MulticlassSVC(communicator=rank, split="rows", **params).fit(X[mine], Y[mine])

    models = on_ranks(size, fit)
    for model in models:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        assert model.certificate_ == models[0].certificate_
    proof = models[0].certificate_
    assert proof.relative_gap <= 1e-7
    assert proof.dual_objective <= best.primal_objective
    assert proof.primal_objective >= best.dual_objective
    assert len(models[0].history_) < 40


def test_it_begins_where_consensus_is_slow():
    problem = blobs(n=400, C=10.0, loss="squared_hinge", formulation="weston_watkins")
    solver = train(problem, parts_of(problem, [0, 90, 200, 400]), 1e-6)
    assert solver.certify().relative_gap <= 1e-6
    assert svm.SEEN < solver._n_rounds < 30
    wide = make_problem(
        sp.csr_array((30, 2000)), np.arange(30) % 5, n_classes=5, formulation="weston_watkins"
    )
    assert not is_small(wide)
    assert is_small(problem)
    one_vs_rest = make_problem(np.zeros((30, 500)), np.arange(30) % 16, n_classes=16)
    assert not is_small(one_vs_rest)
    separable = make_problem(
        np.zeros((30, 500)), np.arange(30) % 16, n_classes=16, formulation="one_vs_rest"
    )
    assert is_small(separable)


@each(
    ("gaps", "tol", "slow"),
    [
        ((4.4e-3, 4.2e-3, 4.0e-3), 1e-3, False),  # 29 rounds are left
        ((4.4e-3, 4.2e-3, 4.0e-3), 1e-4, True),  # 77
        ((4.1e-3, 4.05e-3, 4.0e-3), 1e-3, True),  # 112
    ],
)
def test_the_hinge_is_left_to_consensus_near_the_end(gaps, tol, slow):
    problem = blobs()
    solver = SvmOnRows(problem, LocalParts(parts_of(problem, ends(2))), None)
    P = solver.certify().primal_objective
    solver._n_rounds, solver._proven = 20, tuple(P * gap for gap in gaps)
    assert solver._is_slow(GapRule(tol)) is slow


def test_the_kkt_rule_is_left_to_consensus():
    problem = blobs(C=10.0)
    solver = SvmOnRows(problem, LocalParts(parts_of(problem, ends(2))), None)
    for _ in range(20):
        solver.epoch(ViolationRule(1e-3))
    assert solver._phase is None
