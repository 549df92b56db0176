"""Examples with sets of classes: kernels of one-vs-rest, against NumPy and binary machines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MultilabelSVC
from manyclass.multilabel import groups
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import ELSEWHERE, Problem, core_problem, problem_of
from manyclass.solvers import newton_phase
from manyclass.solvers.engines import Engine
from manyclass.training.epoch_loop import Options
from manyclass.training.train import train
from tests.helpers.cases import each

OVR = FORMULATIONS["one_vs_rest"]


def problem(loss="hinge", dtype=np.float64, n_labels=20, n=150, C=0.7, bias=1.0):
    """Return a problem whose rows have up to many labels, and the signs s_ic."""
    rng = np.random.default_rng(5)
    dense = rng.normal(size=(n, 12)) * (rng.random((n, 12)) < 0.4)
    dense[7] = 0
    X = sp.csr_array(dense.astype(dtype))
    Y = (X @ rng.normal(size=(12, n_labels)) + rng.normal(size=(n, n_labels)) > 1).astype(np.int8)
    Y[3] = 1
    Y[4] = 0
    rows = Dataset.from_matrix(
        X, np.zeros(n, int), n_classes=1, weights=rng.uniform(0.5, 2, n), bias=bias
    )
    data = groups.dataset_of(rows, sp.csr_array(Y), np.arange(n_labels), apart=False)
    return Problem(data, OVR, C, loss), 2.0 * Y - 1


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@each("dtype", [np.float32, np.float64])
@each("bias", [0.0, 1.0])
@pytest.mark.parametrize("n_labels", [1, 7, 20, 32])
@pytest.mark.usefixtures("instruction_set")
def test_certificate_is_that_of_numpy(loss, dtype, bias, n_labels):
    given, signs = problem(loss, dtype, n_labels, bias=bias)
    tol = 1e-4 if dtype == np.float32 else 1e-10
    found = train(given, Options(tol=tol, max_iter=5000))
    proof = found.certificate
    assert proof.relative_gap <= tol
    X = np.c_[given.dataset.matrix().toarray().astype(np.float64), np.full(len(signs), bias)]
    W = np.asarray(found.weights, np.float64)
    slacks = np.maximum(0, 1 - signs * (X @ W))
    losses = (slacks if loss == "hinge" else slacks**2).sum(axis=1)
    assert proof.primal_objective == pytest.approx(0.5 * (W**2).sum() + given.costs @ losses)
    z = found.duals.toarray().astype(np.float64)
    of_zero = given.costs @ (~X.any(axis=1)) * n_labels  # the best z is not seen by x_i = 0
    dual = of_zero + z.sum() - 0.5 * ((X.T @ (signs * z)) ** 2).sum()
    if loss == "squared_hinge":
        dual -= (z**2 / (4 * given.costs[:, None])).sum()
    assert z.min() >= 0
    assert proof.dual_objective == pytest.approx(dual, rel=max(1e-9, tol))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_groups_in_both_ways_give_the_same_weights(loss, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 6))
    Y = (X @ rng.normal(size=(6, 40)) > 1).astype(int)
    model = MultilabelSVC(loss=loss, tol=1e-12, max_iter=10**5, random_state=0)
    sets = model.fit(X, Y).coef_.copy()
    monkeypatch.setattr("manyclass.multilabel.training.has_wide_rows", lambda _: True)
    np.testing.assert_allclose(model.fit(X, Y).coef_, sets, atol=1e-6)


def test_newton_rounds(monkeypatch):
    """Many more rows than features, at a C where coordinate ascent is slow."""
    given, _ = problem(n=2000, n_labels=5, C=100.0)
    entered = []
    begin = newton_phase.NewtonPhase.begin
    monkeypatch.setattr(
        newton_phase.NewtonPhase, "begin", lambda *a: (entered.append(1), begin(*a))
    )
    found = train(given, Options(tol=1e-9, max_iter=2000))
    assert entered
    assert found.certificate.relative_gap <= 1e-9


def test_some_of_the_classes():
    given, signs = problem()
    some = np.array([17, 2, 5])
    part = problem_of(given, some)
    bits = part.dataset.sets[:, None] >> np.arange(3, dtype=np.uint64) & np.uint64(1)
    np.testing.assert_array_equal(bits, (signs[:, some] > 0).astype(int))
    assert (part.dataset.labels == ELSEWHERE).all()


def test_threads_share_groups():
    """More threads than groups: classes of a group are divided."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    Y = (X @ rng.normal(size=(6, 20)) > 1).astype(int)
    one, four = (
        MultilabelSVC(n_jobs=n, tol=1e-10, max_iter=10**5, random_state=0).fit(X, Y) for n in (1, 4)
    )
    np.testing.assert_allclose(one.coef_, four.coef_, atol=1e-6)


def test_wide_dense_rows_keep_their_kernels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 300))
    Y = (rng.random((80, 40)) < 0.1).astype(int)
    model = MultilabelSVC(tol=1e-8, random_state=0).fit(X, Y)
    assert model.certificate_.relative_gap <= 1e-8
    few = MultilabelSVC(tol=1e-8, random_state=0).fit(
        sp.csr_array(X * (rng.random(X.shape) < 0.2)), Y
    )
    assert few.certificate_.relative_gap <= 1e-8


BAD = [
    ({"sets": np.zeros(3, np.uint64)}, "every example must have a set"),
    ({"labels": np.zeros(150, np.int32)}, "has a set, or a label"),
    ({"sets": np.full(150, 1 << 20, np.uint64)}, "a class that is out of range"),
    ({"n_classes": 65}, "have 64 at most"),
]


@pytest.mark.parametrize(("changed", "message"), BAD, ids=[message for _, message in BAD])
def test_sets_that_do_not_fit_are_refused(changed, message):
    given, _ = problem()
    data = replace(given.dataset, **changed)
    costs = given.costs
    bad = Problem(data, OVR, 0.7)
    object.__setattr__(bad, "costs", costs)
    with pytest.raises(ValueError, match=message):
        core_problem(bad)


def test_what_knows_of_one_class_refuses_sets():
    given, _ = problem()
    for formulation in ("crammer_singer", "lee_lin_wahba", "mmr"):
        with pytest.raises(ValueError, match="go with one-vs-rest"):
            core_problem(replace(given, formulation=FORMULATIONS[formulation]))
    for options in ({"storage": "class_major"}, {"lists": True}):
        with pytest.raises(ValueError, match="for engines with z in lanes"):
            Engine(given, **options)
