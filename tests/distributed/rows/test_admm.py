"""SVMs on ranks with rows of their own: the optimum of one process, certificates in NumPy."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from manyclass import MulticlassSVC, load_model, save_model
from manyclass.distributed.communicator import Serial
from manyclass.distributed.rows.admm import ConsensusAdmm, scales
from manyclass.distributed.rows.svm_rows import COUNTS, SvmRows
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import named
from manyclass.problem.objective import certificate
from manyclass.problem.problem import Problem
from manyclass.rows.parts import LocalParts
from manyclass.solvers.stopping import GapRule
from tests.helpers.cases import each
from tests.helpers.catalog import train
from tests.helpers.parts import DATA, WEIGHTS, WIDE, N, X, Y, ends, primal
from tests.helpers.ranks import caught, on_ranks
from tests.helpers.reference import optimal_objective

CASES = [
    ("crammer_singer", "hinge"),
    ("weston_watkins", "hinge"),
    ("weston_watkins", "squared_hinge"),
    ("one_vs_rest", "hinge"),
    ("one_vs_rest", "squared_hinge"),
    ("lee_lin_wahba", "hinge"),
    ("lee_lin_wahba", "squared_hinge"),
    ("adm", "hinge"),
    ("ats", "hinge"),
    ("atm", "hinge"),
    ("reinforced", "hinge"),
    ("mmr", "hinge"),
]
TOL = 1e-3


def fit(rank, X, y, sample_weight=None, **params):
    cuts = ends(rank.size)
    mine = slice(*cuts[rank.rank : rank.rank + 2])
    options = {"communicator": rank, "split": "rows", "tol": TOL, "C": 0.1, "random_state": 0}
    own = None if sample_weight is None else sample_weight[mine]
    return MulticlassSVC(**{**options, **params}).fit(X[mine], y[mine], own)


def alone(X, y, weights=None, **params):
    return MulticlassSVC(**{"C": 0.1, "tol": 1e-6, **params}).fit(X, y, weights)


@pytest.mark.parametrize(("formulation", "loss"), CASES)
@pytest.mark.parametrize("size", [2, 3, 7])
def test_parts_reach_the_optimum_of_one_process(formulation, loss, size):
    best = alone(X, Y, formulation=formulation, loss=loss).certificate_
    models = on_ranks(size, lambda rank: fit(rank, X, Y, formulation=formulation, loss=loss))
    for model in models:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        assert model.certificate_ == models[0].certificate_
    proof = models[0].certificate_
    assert proof.relative_gap <= TOL
    assert proof.dual_objective <= best.primal_objective
    assert proof.primal_objective >= best.dual_objective
    assert primal(models[0], X, Y) == pytest.approx(proof.primal_objective, rel=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("formulation", ["lee_lin_wahba", "adm"])
def test_sums_to_zero_of_sparse_float32_rows(formulation):
    rows = sp.csr_array(DATA["sparse"], dtype=np.float32)
    best = alone(sp.csr_array(DATA["sparse"]), Y, formulation=formulation).certificate_
    params = {"formulation": formulation, "max_iter": 12}
    model = on_ranks(3, lambda rank: fit(rank, rows, Y, **params))[1]
    assert model.coef_.sum(axis=0) == pytest.approx(0, abs=1e-6)
    proof = model.certificate_
    # The optimum of adm is W = 0, and float32 holds z to 1e-7 of it.
    measure = proof.primal_objective if formulation == "adm" else proof.gap / proof.relative_gap
    assert proof.gap <= TOL * measure
    assert model.certificate_.dual_objective <= best.primal_objective
    P = primal(model, rows, Y)
    assert model.certificate_.primal_objective == pytest.approx(P, rel=1e-5)


@pytest.mark.parametrize("rows", DATA)
def test_kinds_of_rows(rows):
    best = alone(DATA[rows], Y).certificate_
    model = on_ranks(3, lambda rank: fit(rank, DATA[rows], Y))[1]
    assert model.coef_.dtype == DATA[rows].dtype
    assert model.certificate_.relative_gap <= TOL
    assert model.certificate_.dual_objective <= best.primal_objective
    rel = 1e-5 if DATA[rows].dtype == np.float32 else 1e-12
    found = primal(model, DATA[rows], Y)
    assert found == pytest.approx(model.certificate_.primal_objective, rel=rel)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 0.0, 2: 0.5, 3: 1, 4: 1}])
def test_weights_are_those_of_one_process(class_weight):
    best = alone(X, Y, WEIGHTS, class_weight=class_weight)
    for model in on_ranks(3, lambda rank: fit(rank, X, Y, WEIGHTS, class_weight=class_weight)):
        np.testing.assert_array_equal(model.classes_, best.classes_)
        P = best.certificate_.primal_objective
        assert model.certificate_.primal_objective == pytest.approx(P, rel=1.1 * TOL)
        assert model.certificate_.dual_objective <= P


def test_classes_are_those_of_all_parts(tmp_path):
    order = np.argsort(Y, kind="stable")  # most parts lack most classes
    names = np.array(["a", "bb", "ccc", "dddd", "e"])[Y]
    models = on_ranks(7, lambda rank: fit(rank, X[order], names[order]))
    assert all(list(model.classes_) == ["a", "bb", "ccc", "dddd", "e"] for model in models)
    save_model(tmp_path / "model", models[0])
    loaded = load_model(tmp_path / "model")
    assert (loaded.communicator, loaded.split) == (None, None)
    np.testing.assert_array_equal(loaded.predict(X), models[1].predict(X))


@pytest.mark.parametrize("formulation", ["crammer_singer", "one_vs_rest", "ats"])
def test_two_classes(formulation):
    y = np.minimum(Y, 1)
    best = alone(X, y, formulation=formulation).certificate_.primal_objective
    model = on_ranks(3, lambda rank: fit(rank, X, y, formulation=formulation))[1]
    assert model.coef_.shape == (1, X.shape[1])
    assert model.certificate_.primal_objective == pytest.approx(best, rel=1.1 * TOL)
    assert primal(model, X, y) == pytest.approx(model.certificate_.primal_objective, rel=1e-12)


def test_the_kkt_rule_and_threads():
    model = on_ranks(2, lambda rank: fit(rank, X, Y, stopping="kkt", tol=0.05, n_jobs=2))[0]
    assert model.certificate_.max_violation < 0.05


def test_a_warm_start_begins_at_the_weights():
    def twice(rank):
        model = fit(rank, X, Y, warm_start=True, max_iter=3)
        first = model.certificate_
        mine = slice(*ends(rank.size)[rank.rank : rank.rank + 2])
        model.set_params(max_iter=1).fit(X[mine], Y[mine])
        return first, model.certificate_

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        first, second = on_ranks(2, twice)[0]
    assert second.primal_objective < 2 * first.primal_objective


def test_checkpoints(tmp_path):
    folder = tmp_path / "checkpoints"

    def begin(rank):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return fit(rank, X, Y, checkpoint=folder, max_iter=4)

    on_ranks(2, begin)
    model = on_ranks(2, lambda rank: fit(rank, X, Y, checkpoint=folder, resume=True))[0]
    assert model.certificate_.relative_gap <= TOL
    assert [record.epoch for record in model.history_[:6]] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"solver": "cutting_plane"}, "solver='cutting_plane' trains in one process"),
        ({"weights": "sparse"}, "with split='rows' weights are dense"),
        ({"split": "columns"}, "'split' parameter"),
        ({"C": -1.0}, "'C' parameter"),
    ],
)
def test_what_is_refused(params, message):
    errors = on_ranks(2, caught(lambda rank: fit(rank, X, Y, **params)))
    assert message in str(errors[0])


def test_one_process_trains_as_without():
    expected = alone(X, Y, random_state=0)
    for communicator in (None, Serial()):
        model = alone(X, Y, random_state=0, communicator=communicator, split="rows")
        np.testing.assert_array_equal(model.coef_, expected.coef_)


def parts_of(problem, n_parts):
    data = problem.dataset
    X = np.asarray(data.matrix().toarray() if data.is_sparse else data.matrix())
    parts = []
    for number, rows in enumerate(np.array_split(np.arange(data.n_examples), n_parts)):
        own = Dataset.from_matrix(
            X[rows],
            data.labels[rows],
            n_classes=data.n_classes,
            weights=data.weights[rows],
            bias=1.0,
        )
        part = Problem(own, problem.formulation, problem.C, problem.loss)
        parts.append(SvmRows(part, number=number))
    return parts


PROBLEM = Problem(
    Dataset.from_matrix(X, Y, n_classes=5, weights=np.ones(N), bias=1.0),
    named("crammer_singer"),
    0.1,
)


@pytest.mark.parametrize(("formulation", "loss"), CASES)
def test_the_certificate_is_that_of_numpy(formulation, loss):
    problem = Problem(PROBLEM.dataset, named(formulation), 0.1, loss)
    parts = parts_of(problem, 3)
    solver = ConsensusAdmm(problem, LocalParts(parts), None)
    known = []
    for _ in range(8):
        solver.epoch(GapRule(TOL))
        z = sp.vstack([part.duals() for part in parts], format="csr")
        expected = certificate(problem, solver.V, z)
        known.append(expected)
        best = min(known, key=lambda one: one.primal_objective)
        dual = max(0.0, *(one.dual_objective for one in known), 0.0)
        found = solver.certify()
        assert found.primal_objective == pytest.approx(best.primal_objective, rel=1e-12)
        assert found.dual_objective <= dual
        assert found.gap == pytest.approx(best.primal_objective - dual, rel=1e-9)
        assert found.max_violation == pytest.approx(best.max_violation, rel=1e-6)


def test_a_part_that_is_lost_begins_again():
    """Its z and U are 0 then; the certificate stays true, and training goes on."""
    parts = parts_of(PROBLEM, 3)
    solver = ConsensusAdmm(PROBLEM, LocalParts(parts), None)
    best = alone(X, Y).certificate_
    rule = GapRule(TOL)
    for number in range(200):
        if number == 5:
            parts[1] = parts_of(PROBLEM, 3)[1]
        solver.epoch(rule)
        proof = solver.certify()
        assert proof.dual_objective <= best.primal_objective * (1 + 1e-12)
        if rule.met(proof):
            break
    assert rule.met(proof)
    assert number > 6


def test_a_part_that_is_lost_after_its_round_proves_nothing(monkeypatch):
    """Its z is in W(z) then, and no longer in the terms of the gap."""
    parts = parts_of(PROBLEM, 3)
    solver = ConsensusAdmm(PROBLEM, LocalParts(parts), None)
    for _ in range(5):
        solver.epoch(GapRule(TOL))
    dual, seen = solver.dual, SvmRows.round

    def lose(self, number, *arguments):
        seen(self, number, *arguments)
        if self.number == 2:  # the last one
            fresh = parts_of(PROBLEM, 3)[1]
            parts[1].__dict__.update(vars(fresh))

    monkeypatch.setattr(SvmRows, "round", lose)
    solver.epoch(GapRule(TOL))
    assert solver.dual == dual
    proof = solver.certify()
    assert np.isfinite(proof.gap)
    monkeypatch.undo()
    for _ in range(60):
        solver.epoch(GapRule(TOL))
    assert solver.certify().dual_objective <= alone(X, Y).certificate_.primal_objective
    assert solver.certify().relative_gap < proof.relative_gap


def test_the_mean_is_of_the_parts_that_have_a_feature():
    """Then rho m_j sum_r U_r is V: a part without a feature keeps none of its weights."""
    data = Dataset.from_matrix(WIDE, Y, n_classes=5, weights=np.ones(N), bias=1.0)
    problem = Problem(data, PROBLEM.formulation, 0.1)
    parts = parts_of(problem, 3)
    solver = ConsensusAdmm(problem, LocalParts(parts), None)
    cuts = np.array_split(WIDE.toarray() != 0, 3)
    has = np.array([np.append(rows.any(axis=0), True) for rows in cuts])
    assert {0, 1, 2, 3} == set(has.sum(axis=0))
    sqrt_m = np.append(scales(np.square(WIDE.toarray()).sum(axis=0), 3), 1.0)[:, None]
    assert len(set(sqrt_m.ravel())) > 2
    for number in range(6):
        if number == 4:
            parts[1].begin()  # it is lost: its U is 0
        solver.epoch(GapRule(TOL))
        after = [
            (part._U + part._relaxed) / sqrt_m - solver.V * on[:, None]
            for part, on in zip(parts, has, strict=True)
        ]
        assert not any(U[~on].any() for U, on in zip(after, has, strict=True))
        expected = parts[0]._rho * sqrt_m**2 * sum(after)
        np.testing.assert_allclose(expected, solver.V, atol=1e-12)


def test_a_round_that_is_asked_for_again_is_answered_as_before():
    part = parts_of(PROBLEM, 3)[0]
    V = np.zeros((X.shape[1] + 1, 5))
    answers = []
    for _ in range(2):
        total, of_duals, counts = np.zeros_like(V), np.zeros_like(V), np.zeros((3, COUNTS))
        part.round(1, V, np.ones((len(V), 1)), 4.0, 1.7, 0, total, of_duals, counts)
        answers.append((total, of_duals, counts))
    for one, other in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, other)


@each("given", [{}, {"formulation": "weston_watkins", "cost_scaling": "slack"}])
def test_costs_of_mistakes(given):
    costs = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) / 4.0
    costs[1, 0] = 0
    given = {**given, "costs": costs}
    best = alone(X, Y, **given).certificate_
    for size in (2, 7):
        proof = on_ranks(size, lambda rank: fit(rank, X, Y, **given))[0].certificate_
        assert proof.relative_gap <= TOL
        assert proof.dual_objective <= best.primal_objective
        assert proof.primal_objective >= best.dual_objective


@each("size", [1, 3])
def test_two_machines_of_two_classes(size):
    """Offsets make two machines of one-vs-rest with two classes, which are no (-v, v)."""
    labels, shift = (Y > 1).astype(np.int32), np.array([0.7, -0.4])

    def problem_of_rows(rows):
        weights = np.ones(len(rows))
        data = Dataset.from_matrix(X[rows], labels[rows], n_classes=2, weights=weights, bias=1.0)
        base = BaseScores.from_offsets(shift, len(rows))
        return Problem(data, named("one_vs_rest"), 0.1, base=base)

    problem = problem_of_rows(np.arange(N))
    parts = [
        SvmRows(problem_of_rows(rows), number=number)
        for number, rows in enumerate(np.array_split(np.arange(N), size))
    ]
    solver, rule = ConsensusAdmm(problem, LocalParts(parts), None), GapRule(TOL)
    for _ in range(200):
        solver.epoch(rule)
        if rule.met(solver.certify()):
            break
    optimum = optimal_objective(problem, None, shift)
    proof = solver.certify()
    assert proof.primal_objective == pytest.approx(optimum, rel=1.1 * TOL)
    assert proof.dual_objective <= optimum * (1 + 1e-9)
    W = solver.weights()
    assert np.abs(W[:, 0] + W[:, 1]).max() > 0.01
    alone = train(problem, tol=1e-9).certificate
    assert alone.primal_objective == pytest.approx(optimum, rel=1e-7)


def test_the_best_weights_are_returned():
    """P and D rise and fall at large C; the proven gap falls only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = on_ranks(3, lambda rank: fit(rank, X, Y, C=1000.0, max_iter=40))[0]
    gaps = [record.gap_estimate for record in model.history_]
    assert gaps == sorted(gaps, reverse=True)
    assert primal(model, X, Y) == pytest.approx(model.certificate_.primal_objective, rel=1e-12)


def test_many_features():
    best = alone(WIDE, Y).certificate_.primal_objective
    model = on_ranks(3, lambda rank: fit(rank, WIDE, Y))[0]
    assert model.certificate_.primal_objective == pytest.approx(best, rel=1.1 * TOL)


@pytest.mark.parametrize("when", ["round", "inspect"])
def test_a_part_that_is_written_and_read_continues(monkeypatch, when):
    """As where a worker of Dask is short of memory."""

    def train(parts):
        solver = ConsensusAdmm(PROBLEM, LocalParts(parts), None)
        return [(solver.epoch(GapRule(TOL)), solver.certify())[1] for _ in range(12)]

    expected = train(parts_of(PROBLEM, 3))
    original, parts = getattr(SvmRows, when), parts_of(PROBLEM, 3)

    def question(self, *arguments):
        if self._round == {"round": 5, "inspect": 6}[when]:
            z = self.duals().toarray()
            self.__dict__.update(vars(pickle.loads(pickle.dumps(self))))
            np.testing.assert_array_equal(self.duals().toarray(), z)
        original(self, *arguments)

    question.__name__ = when
    monkeypatch.setattr(SvmRows, when, question)
    found = train(parts)
    for one, other in zip(found, expected, strict=True):
        assert one.relative_gap == pytest.approx(other.relative_gap, rel=0.3)
        assert one.dual_objective <= alone(X, Y).certificate_.primal_objective
    assert found[-1].relative_gap <= 2e-2


def test_the_size_of_a_part_counts_what_it_keeps():
    part = parts_of(PROBLEM, 3)[0]
    before = part.__sizeof__()
    V = np.zeros((X.shape[1] + 1, 5))
    sums = np.zeros_like(V), np.zeros_like(V), np.zeros((3, COUNTS))
    part.round(1, V, np.ones((len(V), 1)), 4.0, 1.7, 0, *sums)
    assert part.__sizeof__() >= before + 3 * V.nbytes
