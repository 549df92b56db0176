"""Warm starts while rows, classes, columns and weights come and go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from manyclass.estimators import exact_fit
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.objective import dual, primal
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.solvers.logistic.engine import LogisticEngine
from tests.helpers.catalog import PAIRS
from tests.helpers.logistic import random_logistic

TOL = 1e-6
NAMES = np.array(["ash", "birch", "elm", "oak", "yew"])
LOGISTIC = ("logistic", "log_loss")


class Rows(NamedTuple):
    X: Any
    y: Any
    weights: Any

    def some(self, rows):
        return Rows(self.X[rows], self.y[rows], self.weights[rows])


def drawn(n=60, d=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = rng.normal(size=(n, d)) + rng.normal(size=(k, d))[y]
    return Rows(X, NAMES[1:][y], np.ones(n))


def joined(*parts):
    return Rows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def with_column(rows):
    return rows._replace(X=np.hstack([rows.X, np.zeros((len(rows.y), 1))]))


FIRST, MORE = drawn(), drawn(6, seed=1)
WIDE = MORE._replace(X=np.hstack([MORE.X, np.ones((6, 1))]))
ORDER = np.random.default_rng(2).permutation(60)
HEAVY = np.where(np.arange(60) % 7 == 0, 30.0, 1.0)
CHANGES = {
    "added": joined(FIRST, MORE),
    "removed": FIRST.some(slice(5, None)),
    "added and removed": joined(MORE, FIRST.some(slice(5, None))),
    "doubled": joined(FIRST, FIRST.some(slice(0, 4)), FIRST.some(slice(0, 4))),
    "reordered": FIRST.some(ORDER),
    "weights": FIRST._replace(weights=HEAVY),
    "class added": joined(FIRST, MORE._replace(y=np.full(6, "ash"))),
    "class gone": FIRST.some(FIRST.y != "elm"),
    "class for another": joined(FIRST.some(FIRST.y != "birch"), MORE._replace(y=np.full(6, "fir"))),
    "columns added": joined(with_column(FIRST), WIDE),
    "column gone": with_column(FIRST)._replace(X=FIRST.X),
    "all others": drawn(seed=7),
}


def made(pair, **params):
    params = {"tol": TOL, "random_state": 0, "max_iter": 20_000, **params}
    if pair == LOGISTIC:
        return MultinomialLogisticRegression(**params)
    return MulticlassSVC(formulation=pair[0], loss=pair[1], C=0.3, **params)


def fitted(model, rows):
    return model.fit(rows.X, rows.y, rows.weights)


def returned_weights(model):
    """W, shape (d + 1, k), of both classes when binary."""
    W = np.vstack([np.asarray(model.coef_).T, model.intercept_])
    if len(model.classes_) > 2:
        return W
    return np.hstack([-W, W]) / (1 if model.formulation == "one_vs_rest" else 2)


def check_in_numpy(model, rows):
    """The certificate holds for W and z, in NumPy."""
    labels = np.searchsorted(model.classes_, rows.y)
    n_classes = len(model.classes_)
    data = Dataset.from_matrix(
        rows.X, labels, n_classes=n_classes, weights=rows.weights, bias=1.0, keeps_dense=False
    )
    problem = Problem(data, FORMULATIONS[model.formulation], model.C, model.loss)
    W = returned_weights(model)
    p, d = primal(problem, W), dual(problem, model._warm_start.start.duals)
    claim = model.certificate_
    assert p <= claim.primal_objective * (1 + 1e-9)
    assert d >= claim.dual_objective - 1e-9 * p
    assert p - d <= claim.gap + 1e-9 * p


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("pair", [*PAIRS, LOGISTIC], ids="-".join)
def test_optimum_is_that_of_a_cold_start(pair, change):
    rows = CHANGES[change]
    first = with_column(FIRST) if change == "column gone" else FIRST
    warm = fitted(fitted(made(pair, warm_start=True), first), rows)
    cold = fitted(made(pair), rows)
    assert warm.classes_.tolist() == cold.classes_.tolist()
    assert warm.certificate_.relative_gap <= TOL
    for one, other in ((warm, cold), (cold, warm)):
        p = other.certificate_.primal_objective
        assert one.certificate_.dual_objective <= p * (1 + 1e-12)
    if pair != LOGISTIC:
        check_in_numpy(warm, rows)


def text(n=400, seed=0):
    """Sparse rows of 20 classes, in float32."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 20, n)
    X = sp.random_array((n, 300), density=0.03, random_state=rng, format="lil", dtype=np.float64)
    X[np.arange(n), y] = 1.0
    return Rows(sp.csr_array(X, dtype=np.float32), y, np.ones(n))


TEXT = text()


@pytest.mark.parametrize("weights", ["dense", "sparse"])
@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins", "one_vs_rest"])
def test_sparse_rows_and_weights(name, weights):
    given = {"weights": weights, "random_state": 0, "formulation": name}
    model = MulticlassSVC(warm_start=True, **given)
    fitted(model, TEXT.some(slice(0, 396)))
    rows = TEXT.some(np.random.default_rng(0).permutation(np.arange(4, 400)))
    fitted(model, rows)
    cold = fitted(MulticlassSVC(**given), rows)
    assert model.certificate_.relative_gap <= 1e-3
    assert model.n_iter_ < cold.n_iter_
    for one, other in ((model, cold), (cold, model)):
        assert one.certificate_.dual_objective <= other.certificate_.primal_objective


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("pair", [*PAIRS, LOGISTIC], ids="-".join)
def test_nothing_changed_takes_no_epoch(pair, n_jobs):
    model = fitted(made(pair, warm_start=True, n_jobs=n_jobs), FIRST)
    before = model.certificate_
    fitted(model, FIRST.some(ORDER))
    assert model.n_iter_ == 0
    assert model.history_ == []
    assert model.certificate_.relative_gap <= TOL
    assert model.certificate_.primal_objective == pytest.approx(before.primal_objective, rel=1e-6)
    assert fitted(model.set_params(tol=1e-9), FIRST).certificate_.relative_gap <= 1e-9


@pytest.mark.parametrize("pair", [("crammer_singer", "hinge"), LOGISTIC], ids="-".join)
def test_few_changes_take_fewer_epochs(pair):
    model = fitted(made(pair, warm_start=True, tol=1e-3), TEXT)
    cold = model.n_iter_
    rows = TEXT.some(np.arange(2, 400))
    assert fitted(model, rows).n_iter_ <= cold // 2


@pytest.mark.parametrize("pair", [("crammer_singer", "hinge"), LOGISTIC], ids="-".join)
def test_a_few_rows_that_are_the_same_are_no_start(pair):
    model = fitted(made(pair, warm_start=True), FIRST)
    rows = joined(drawn(60, seed=5), FIRST.some(slice(0, 2)))
    np.testing.assert_array_equal(fitted(model, rows).coef_, fitted(made(pair), rows).coef_)


def test_storage_and_type_of_rows_may_change():
    rows = FIRST._replace(X=np.round(8 * FIRST.X) / 8)
    model = fitted(made(PAIRS[0], warm_start=True), rows)
    for X in (sp.csr_array(rows.X), sp.csc_matrix(rows.X), rows.X.tolist()):
        assert fitted(model, rows._replace(X=X)).n_iter_ == 0
    narrow = rows._replace(X=rows.X.astype(np.float32))
    assert fitted(model.set_params(tol=1e-4), narrow).n_iter_ == 0
    assert model.coef_.dtype == np.float32


def test_counts_of_rows_are_shown(capsys):
    model = made(PAIRS[0], warm_start=True, verbose=1)
    fitted(model, FIRST)
    assert "rows kept" not in capsys.readouterr().out
    fitted(model, CHANGES["added and removed"])
    assert "warm start: 55 rows kept, 6 new, 5 gone\n" in capsys.readouterr().out


def test_what_makes_an_earlier_fit_useless_is_shown(capsys):
    model = fitted(MulticlassSVC(warm_start=True, verbose=1, random_state=0), FIRST)
    X, y = FIRST.X, FIRST.y
    renamed = np.where(y == y[0], "fir", y)
    for change, rows, message in [
        ({"formulation": "ww"}, (X, y), "formulation='weston_watkins' instead of 'crammer_singer'"),
        ({"loss": "squared_hinge"}, (X, y), "loss='squared_hinge' instead of 'hinge'"),
        ({}, (X[:, :2], y), f"2 columns instead of {X.shape[1]}"),
        ({}, (X[:, :2] + 1, renamed), "new classes: 'fir'; classes gone: 'birch'"),
        ({}, (X[:, :2] + 2, renamed), "the content of nearly all rows"),
    ]:
        capsys.readouterr()
        model.set_params(**change).fit(*rows)
        assert f"the beginning (here: {message})" in capsys.readouterr().out


def test_equal_rows_count_as_often_as_they_are_there(capsys):
    model = fitted(made(PAIRS[0], warm_start=True), CHANGES["doubled"])
    fitted(model.set_params(verbose=1), FIRST)
    assert "60 rows kept, 0 new, 8 gone" in capsys.readouterr().out


def test_rows_with_another_label_or_no_weight_are_gone(capsys):
    model = fitted(made(PAIRS[0], warm_start=True), FIRST)
    y, weights = FIRST.y.copy(), FIRST.weights.copy()
    y[0], weights[1] = "yew", 0.0
    fitted(model.set_params(verbose=1), FIRST._replace(y=y, weights=weights))
    assert "58 rows kept, 1 new, 2 gone" in capsys.readouterr().out


@pytest.mark.parametrize("pair", [*PAIRS, LOGISTIC], ids="-".join)
def test_nothing_is_left_of_rows_that_are_gone(pair):
    """The state is that of the rows there are, and W(z) of their z alone."""
    model = fitted(made(pair, warm_start=True), FIRST)
    rows = CHANGES["removed"]
    state = fitted(model, rows)._warm_start
    n = len(rows.y)
    assert {len(state.labels), len(state.costs), len(state.prints)} == {n}
    assert state.start.duals.shape == (n, 3)
    assert state.start.new_rows is None
    anew = fitted(made(pair, warm_start=True), rows)._warm_start
    np.testing.assert_array_equal(np.sort(state.prints, axis=0), np.sort(anew.prints, axis=0))
    if state.start.log_u is not None:
        assert state.start.log_u.shape == (n, 3)


def test_a_weight_that_grows_does_not_scale_its_duals():
    rows = FIRST._replace(weights=np.where(np.arange(60) == 3, 1e-3, 1.0))
    for pair in PAIRS:
        state = fitted(made(pair, warm_start=True), rows)._warm_start
        heavy = fitted(made(pair), FIRST)
        data = Dataset.from_matrix(
            FIRST.X, np.searchsorted(heavy.classes_, FIRST.y), n_classes=3, bias=1.0
        )
        problem = Problem(data, FORMULATIONS[pair[0]], 0.3, pair[1])
        match = state.match(problem, heavy.classes_, state.prints)
        start = state.start_for(problem, match)
        before, after = state.start.duals.toarray(), start.duals.toarray()
        np.testing.assert_allclose(after, before, rtol=1e-12)
        assert start.new_rows.tolist() == [3]


def test_weights_that_change_alike_scale_all_duals():
    state = fitted(made(PAIRS[0], warm_start=True), FIRST)._warm_start
    model = fitted(made(PAIRS[0]), FIRST)
    labels = np.searchsorted(model.classes_, FIRST.y)
    data = Dataset.from_matrix(FIRST.X, labels, n_classes=3, weights=np.full(60, 2.0), bias=1.0)
    problem = Problem(data, FORMULATIONS["crammer_singer"], 0.3)
    start = state.start_for(problem, state.match(problem, model.classes_, state.prints))
    np.testing.assert_allclose(start.duals.toarray(), 2 * state.start.duals.toarray())
    assert start.new_rows is None


@pytest.mark.parametrize("pair", [("weston_watkins", "hinge"), LOGISTIC], ids="-".join)
def test_base_scores_offsets_and_costs_may_change(pair):
    rng = np.random.default_rng(0)
    rows, base = CHANGES["added and removed"], rng.normal(size=(61, 3))
    model = fitted(made(pair, warm_start=True), FIRST)
    model.fit(rows.X, rows.y, base_scores=base)
    cold = made(pair).fit(rows.X, rows.y, base_scores=base)
    np.testing.assert_allclose(model.coef_, cold.coef_, atol=1e-2)
    model.set_params(class_offset="logit_adjustment")
    fitted(model, FIRST)
    cold = fitted(made(pair, class_offset="logit_adjustment"), FIRST)
    np.testing.assert_allclose(model.coef_, cold.coef_, atol=1e-2)
    if pair != LOGISTIC:
        costs = 1 - np.eye(3) + np.triu(np.ones((3, 3)), 1)
        for scaling in ("margin", "slack"):
            given = {"costs": costs, "cost_scaling": scaling}
            fitted(model.set_params(**given), rows)
            cold = fitted(made(pair, class_offset="logit_adjustment", **given), rows)
            np.testing.assert_allclose(model.coef_, cold.coef_, atol=1e-2)


@pytest.mark.parametrize("regularized", [False, True])
def test_rows_that_change_do_not_move_intercepts(regularized):
    """W(u) of the rows there are: P of the start is near the optimum."""
    given = {"regularize_intercept": regularized, "fit_intercept": True, "tol": 1e-6}
    model = fitted(made(LOGISTIC, warm_start=True, **given), TEXT.some(slice(0, 396)))
    rows = TEXT.some(slice(4, 400))
    fitted(model.set_params(tol=1e-3), rows)
    assert model.n_iter_ <= 2
    first = model.history_[0]
    assert first.gap_estimate <= 0.02 * first.primal_estimate


def test_costs_that_grow_too_much_start_anew():
    for pair in PAIRS:
        model = fitted(made(pair, warm_start=True, tol=1e-2), FIRST)
        heavy = FIRST._replace(weights=np.full(60, 1e40))
        given = {"tol": 1e-2, "max_iter": 5}
        with pytest.warns(ConvergenceWarning):
            fitted(model.set_params(**given), heavy)
        with pytest.warns(ConvergenceWarning):
            cold = fitted(made(pair, **given), heavy)
        np.testing.assert_array_equal(model.coef_, cold.coef_)


def test_two_classes_become_one():
    """Classes that no row links any more."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 4
    X = rng.normal(size=(120, 6)) + 1.5 * rng.normal(size=(4, 6))[y]
    for pair in PAIRS:
        model = made(pair, warm_start=True, tol=1e-4).fit(X, y)
        model.fit(X, np.maximum(y, 1))
        cold = made(pair, tol=1e-4).fit(X, np.maximum(y, 1))
        assert model.certificate_.dual_objective <= cold.certificate_.primal_objective


def test_merged_columns():
    n = 3000
    X = sp.random_array((n, 60), density=0.1, random_state=np.random.default_rng(0), format="csr")
    X = sp.csr_array(sp.hstack([X, 2 * X]))
    y = np.asarray(X[:, :3].argmax(axis=1)).ravel() % 3
    model = MulticlassSVC(warm_start=True, random_state=0, verbose=0).fit(X[20:], y[20:])
    warm = model.fit(X[:-20], y[:-20])
    cold = MulticlassSVC(random_state=0).fit(X[:-20], y[:-20])
    assert warm.certificate_.relative_gap <= 1e-3
    assert warm.certificate_.dual_objective <= cold.certificate_.primal_objective


def test_fits_without_warm_start_make_no_fingerprints(monkeypatch):
    def fails(*_):
        raise AssertionError

    monkeypatch.setattr(exact_fit, "row_prints", fails)
    fitted(made(PAIRS[0]), FIRST)
    fitted(made(LOGISTIC), FIRST)


@pytest.mark.parametrize(("size", "is_kept"), [(0.01, True), (100.0, False)])
def test_a_start_that_is_worse_than_a_cold_one_is_forgotten(size, is_kept):
    problem = random_logistic(3, dtype=np.float64, shape=(40, 5, 3))
    data = problem.dataset
    problem = replace(problem, dataset=replace(data, values=size * data.values))
    engine = LogisticEngine(problem, regularize_intercept=True, keeps_duals=True)
    start = Start.at_zero(data.n_examples, data.n_classes, data.dtype)
    share = np.full((data.n_examples, data.n_classes), -np.log(data.n_classes))
    engine.load(replace(start, weights=engine.weights(), log_u=share))
    assert engine.is_fresh != is_kept
    assert engine.W.any() == is_kept
