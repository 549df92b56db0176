"""fit(..., base_scores=): the problem by definition, weights of 0, another model's rest, errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn.datasets import load_iris

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from tests.estimators.test_offsets import loss_by_definition
from tests.helpers.cases import each

X, Y = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(len(Y), 3))


def test_the_objective_of_an_svm_is_that_of_the_definition():
    model = MulticlassSVC(C=0.1, tol=1e-6, random_state=0).fit(X, Y, base_scores=SCORES)
    W = np.vstack([model.coef_.T, model.intercept_])
    scores = model.decision_function(X)
    losses = [loss_by_definition(s, y, b) for s, y, b in zip(scores, Y, SCORES, strict=True)]
    primal = 0.5 * np.sum(W * W) + 0.1 * np.sum(losses)
    assert model.certificate_.primal_objective == pytest.approx(primal, rel=1e-10)
    assert model.certificate_.relative_gap <= 1e-6


@each("settings", [{}, {"regularize_intercept": True}, {"fit_intercept": False}])
@each("dtype", [np.float32, np.float64])
@each("offset", [None, [0.5, -1.0, 2.0]])
def test_the_objective_of_logistic_regression_is_that_of_the_definition(settings, dtype, offset):
    model = MultinomialLogisticRegression(tol=1e-5, class_offset=offset, **settings)
    model.fit(X.astype(dtype), Y, base_scores=SCORES)
    scores = X.astype(dtype) @ model.coef_.T.astype(np.float64) + model.intercept_
    scores += SCORES + (0 if offset is None else np.array(offset))
    primal = 0.5 * np.sum(model.coef_.astype(np.float64) ** 2)
    if settings.get("regularize_intercept"):
        primal += 0.5 * np.sum(model.intercept_.astype(np.float64) ** 2)
    primal -= log_softmax(scores, axis=1)[np.arange(len(Y)), Y].sum()
    assert model.certificate_.primal_objective == pytest.approx(primal, rel=1e-6)
    assert model.certificate_.relative_gap <= 1e-5


@each("make", [MulticlassSVC, MultinomialLogisticRegression])
def test_rows_of_weight_zero_take_theirs_along(make):
    weight = RNG.integers(0, 2, len(Y)).astype(float)
    kept = weight > 0
    settings = {"tol": 1e-6, "random_state": 0}
    whole = make(**settings).fit(X, Y, weight, base_scores=SCORES)
    part = make(**settings).fit(X[kept], Y[kept], base_scores=SCORES[kept])
    np.testing.assert_array_equal(whole.coef_, part.coef_)


@each("make", [MulticlassSVC, MultinomialLogisticRegression])
def test_one_row_for_all_is_an_offset(make):
    settings = {"tol": 1e-6, "random_state": 0}
    offset = np.array([0.5, -1.0, 2.0])
    models = [
        make(**settings).fit(X, Y, base_scores=offset),
        make(**settings).fit(X, Y, base_scores=np.tile(offset, (len(Y), 1))),
        make(class_offset=offset, **settings).fit(X, Y),
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)


def test_offsets_of_logistic_regression_move_its_free_intercepts():
    """Its optimum is that without them, less the offsets."""
    offset = np.array([0.5, -1.0, 0.5])
    plain = MultinomialLogisticRegression(tol=1e-9).fit(X, Y)
    moved = MultinomialLogisticRegression(tol=1e-9, class_offset=offset).fit(X, Y)
    np.testing.assert_allclose(moved.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(moved.intercept_, plain.intercept_ - offset, atol=1e-3)


@each("two", [False, True])
def test_a_second_model_lowers_the_loss_that_the_first_one_leaves(two):
    rows = Y > 0 if two else Y >= 0
    x, y = X[rows], Y[rows]
    first = MultinomialLogisticRegression(C=1e-3).fit(x[:, :2], y)
    base = np.log(first.predict_proba(x[:, :2]))
    second = MultinomialLogisticRegression(C=1.0).fit(x[:, 2:], y, base_scores=base)
    own = second.decision_function(x[:, 2:])
    own = np.column_stack([-own / 2, own / 2]) if two else own
    places = np.searchsorted(second.classes_, y)
    losses = [-log_softmax(s, axis=1)[np.arange(len(y)), places].sum() for s in (base, base + own)]
    assert losses[1] < 0.5 * losses[0]


@each("solver", ["descent", "newton"])
def test_both_methods_of_logistic_regression_know_them(solver, monkeypatch):
    if solver == "newton":
        monkeypatch.setattr(
            "manyclass.solvers.logistic.multinomial.duals_fit", lambda problem: False
        )
    model = MultinomialLogisticRegression(tol=1e-8).fit(X, Y, base_scores=SCORES)
    other = MultinomialLogisticRegression(tol=1e-8).fit(sp.csr_array(X), Y, base_scores=SCORES)
    primal = model.certificate_.primal_objective
    assert other.certificate_.primal_objective == pytest.approx(primal, rel=1e-7)


def test_a_warm_start_keeps_the_problem():
    model = MulticlassSVC(C=0.1, tol=1e-6, warm_start=True, random_state=0).fit(X, Y)
    again = model.fit(X, Y, base_scores=SCORES).certificate_
    fresh = MulticlassSVC(C=0.1, tol=1e-6).fit(X, Y, base_scores=SCORES).certificate_
    assert again.primal_objective == pytest.approx(fresh.primal_objective, rel=1e-5)


@each(
    ("scores", "message"),
    [
        (SCORES[:10], r"\(10, 3\); \(150, 3\) or \(3,\)"),
        (SCORES[:, :2], "a column for each class"),
        (np.where(SCORES[3, 1] == SCORES, np.nan, SCORES), r"base_scores\[3, 1\] is nan"),
        ([1.0, np.inf, 0.0], "finite"),
        ([1.0, 2e9, 0.0], "up to 1e\\+09"),
        (SCORES.astype(complex), "array of numbers"),
        (sp.csr_array(SCORES), "toarray"),
        ("text", "array of numbers"),
    ],
)
@each("make", [MulticlassSVC, MultinomialLogisticRegression])
def test_scores_that_are_none(make, scores, message):
    model = make()
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y, base_scores=scores)
    assert not hasattr(model, "n_features_in_")


def test_scores_are_refused_where_there_is_no_place_for_them():
    class Alone:
        def Get_rank(self):
            return 0

    two = Y < 2
    with pytest.raises(ValueError, match="binary model has one"):
        MulticlassSVC(formulation="ovr").fit(X[two], Y[two], base_scores=[0, 1])
    with pytest.raises(ValueError, match="without costs of mistakes, class_offset and base_scores"):
        MulticlassSVC(solver="most_violating").fit(X, Y, base_scores=SCORES)
    for model in (MulticlassSVC, MultinomialLogisticRegression):
        with pytest.raises(ValueError, match="one process"):
            model(communicator=Alone(), split="rows").fit(X, Y, base_scores=SCORES)
