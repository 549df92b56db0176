"""MulticlassSVC(costs=...): its problem by definition, labels, folds, files, what is refused."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegressionCV,
    c_path,
    loo_error_bounds,
)
from manyclass.distributed.ranks_backend import check_formulation
from manyclass.estimators.costs import LabelledCosts, mean_cost
from manyclass.estimators.exact_fit import Training
from manyclass.persistence import model_schema
from manyclass.problem.formulations import FORMULATIONS
from tests.helpers.cases import each
from tests.helpers.model_files import stored

X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names[Y]
COSTS = np.array([[0.0, 1.0, 0.2], [3.0, 0.0, 1.5], [2.0, 5.0, 0.0]])
ZEROS = np.where(COSTS == 2.0, 0.0, COSTS)
WITH_COSTS = [name for name in FORMULATIONS if name != "mmr"]


def loss_of_row(name, squared, scores, y, costs):
    """The loss of one row, by its definition."""
    k, losses = len(scores), []
    for c in range(k):
        if name in ("crammer_singer", "weston_watkins"):
            xi = costs[y, c] - (scores[y] - scores[c]) if c != y else 0.0
        elif c != y:
            xi = costs[y, c] + scores[c]
        else:
            is_target = name in ("ats", "atm", "reinforced", "one_vs_rest")
            xi = (k - 1 if name == "reinforced" else 1) - scores[y] if is_target else 0.0
        losses.append(max(0.0, xi) ** (2 if squared else 1))
    return max(losses) if FORMULATIONS[name].takes_maximum else sum(losses)


@pytest.mark.parametrize("name", WITH_COSTS)
@each("loss", ["hinge", "squared_hinge"])
def test_the_objective_is_that_of_the_definition(name, loss):
    if loss not in FORMULATIONS[name].losses:
        return
    model = MulticlassSVC(
        formulation=name, loss=loss, costs=COSTS, C=0.1, tol=1e-3, random_state=0
    ).fit(X, Y)
    W = np.vstack([model.coef_.T, model.intercept_])
    scores = model.decision_function(X)
    losses = [
        loss_of_row(name, loss != "hinge", s, y, COSTS) for s, y in zip(scores, Y, strict=True)
    ]
    primal = 0.5 * np.sum(W * W) + 0.1 * np.sum(losses)
    assert model.certificate_.primal_objective == pytest.approx(primal, rel=1e-10)
    assert model.certificate_.relative_gap <= 1e-3


def test_costs_shift_mistakes():
    X_digits, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    X_digits = X_digits / 16 + rng.normal(scale=0.5, size=X_digits.shape)
    costs = np.ones((10, 10)) - np.eye(10)
    costs[8] *= 20  # an 8 must not be missed
    found = {}
    for name, given in (("none", None), ("costs", costs)):
        model = MulticlassSVC(formulation="ww", costs=given, C=0.1, random_state=0)
        model.fit(X_digits[:900], y[:900])
        found[name] = model.predict(X_digits[900:])
    labelled = LabelledCosts.from_costs(costs, np.arange(10))
    before, after = (mean_cost(labelled, y[900:], found[name]) for name in ("none", "costs"))
    assert after < 0.7 * before


@each("weights", ["dense", "sparse"])
@each("dtype", [np.float32, np.float64])
def test_costs_by_label_are_those_of_the_table(weights, dtype):
    pd = pytest.importorskip("pandas")
    table = [[0, 1, 1], [1, 0, 5], [1, 1, 0]]
    labels = ["setosa", "versicolor", "virginica"]
    frame = pd.DataFrame(table, labels, labels).iloc[::-1, [1, 0, 2]]
    models = [
        MulticlassSVC(costs=costs, weights=weights, random_state=0).fit(X.astype(dtype), NAMES)
        for costs in (table, {"versicolor": {"virginica": 5}}, frame)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.decision_function(X), models[0].decision_function(X))
    plain = MulticlassSVC(weights=weights, random_state=0).fit(X.astype(dtype), NAMES)
    assert (plain.decision_function(X) != models[0].decision_function(X)).any()


SCALINGS = {
    "margin": {"random_state": 0},
    "slack": {"formulation": "ww", "cost_scaling": "slack", "random_state": 0},
    "squared": {"formulation": "ww", "cost_scaling": "slack", "loss": "squared_hinge"},
}
scalings = pytest.mark.parametrize("settings", SCALINGS.values(), ids=SCALINGS)


@scalings
@each("costs", [{}, np.ones((3, 3)) - np.eye(3)])
def test_costs_of_one_are_no_costs(settings, costs):
    settings = {**settings, "n_jobs": 2, "random_state": 0}
    plain, given = (MulticlassSVC(costs=c, **settings).fit(X, Y) for c in (None, costs))
    np.testing.assert_array_equal(plain.coef_, given.coef_)
    assert plain.certificate_ == given.certificate_


def test_parts_of_sparse_one_vs_rest_keep_their_costs(monkeypatch):
    monkeypatch.setattr("manyclass.training.class_chunks.groups_in_part", lambda *_: 1)
    monkeypatch.setattr("manyclass.training.class_chunks.classes_in_group", lambda *_: 2)
    settings = {"formulation": "one_vs_rest", "costs": COSTS, "random_state": 0, "tol": 1e-6}
    dense, sparse = (MulticlassSVC(weights=w, **settings).fit(X, Y) for w in ("dense", "sparse"))
    expected = dense.certificate_.primal_objective
    assert sparse.certificate_.primal_objective == pytest.approx(expected, rel=2e-6)
    # After one epoch of the first part, the others lose their costs.
    with pytest.warns(UserWarning, match="stopped after"):
        first = MulticlassSVC(weights="sparse", **settings, max_iter=1).fit(X, Y)
    assert first.history_[0].primal_estimate > expected


def test_class_weights_multiply_costs():
    weighted = MulticlassSVC(costs=COSTS, class_weight={1: 3.0}, tol=1e-6, random_state=0)
    rows = MulticlassSVC(costs=COSTS, tol=1e-6, random_state=0)
    first = weighted.fit(X, Y).certificate_.primal_objective
    second = rows.fit(X, Y, np.where(Y == 1, 3.0, 1.0)).certificate_.primal_objective
    assert first == pytest.approx(second, rel=1e-5)


@scalings
def test_float32_continues_in_double(settings):
    model = MulticlassSVC(**settings, costs=COSTS, C=10.0, tol=1e-6)
    rows = X.astype(np.float32)
    single = model.fit(rows, Y).certificate_
    assert single.relative_gap <= 1e-6
    double = model.fit(rows.astype(np.float64), Y).certificate_
    assert single.primal_objective == pytest.approx(double.primal_objective, rel=2e-6)


@scalings
def test_a_warm_start_takes_other_costs(settings):
    """Its dual variables are moved into the new boxes, those of new zeros away."""
    settings = {"random_state": 0, "costs": COSTS, **settings}
    model = MulticlassSVC(warm_start=True, tol=1e-8, **settings).fit(X, Y)
    again = model.fit(X, Y)
    assert again.n_iter_ == 0 or again.certificate_.relative_gap <= 1e-8
    for changes in ({"costs": ZEROS.T}, {"costs": None}, {"costs": ZEROS / 8, "C": 2.0}):
        found = model.set_params(tol=1e-6, **changes).fit(X, Y).certificate_
        cold = MulticlassSVC(**{**settings, "tol": 1e-6, **changes}).fit(X, Y).certificate_
        assert found.primal_objective == pytest.approx(cold.primal_objective, rel=2e-6)


@scalings
def test_checkpoints_are_of_their_costs(settings, tmp_path):
    settings = {"random_state": 0, "costs": COSTS, **settings}
    first = MulticlassSVC(checkpoint=tmp_path / "first", **settings).fit(X, Y)
    again = clone(first).set_params(resume=True).fit(X, Y)
    primal = first.certificate_.primal_objective
    assert again.certificate_.primal_objective == pytest.approx(primal, rel=2e-3)
    for changes in ({"costs": COSTS.T}, {"costs": None}, {"cost_scaling": "margin"}):
        if changes.get("cost_scaling") != first.cost_scaling:
            with pytest.raises(ValueError, match=r"costs and offsets of classes|factors of losses"):
                clone(first).set_params(resume=True, **changes).fit(X, Y)


def test_model_files_hold_costs_of_models_and_of_means_of_folds():
    model = MulticlassSVC(costs={"setosa": {"virginica": 7}}, random_state=0).fit(X, NAMES)
    loaded = stored(model)
    np.testing.assert_array_equal(loaded.costs, [[0, 1, 7], [1, 0, 1], [1, 1, 0]])
    np.testing.assert_array_equal(loaded.fit(X, NAMES).coef_, model.coef_)
    search = MulticlassSVCCV(Cs=[1.0], costs=COSTS, refit=False, random_state=0).fit(X, Y)
    assert search.best_estimator_.costs is search.costs
    np.testing.assert_array_equal(stored(search).predict(X), search.predict(X))


@each("scoring", ["cost", None])
def test_folds_take_costs_by_label(scoring):
    """One fold lacks a class, whose rows are all in another one."""
    y = NAMES.copy()
    y[:2] = "rare"
    costs = {"rare": {"setosa": 0.5}, "virginica": {"versicolor": 4}}
    halves = np.arange(0, 150, 2), np.arange(1, 150, 2)
    folds = [(np.arange(2, 150), np.arange(2)), halves, halves[::-1]]
    search = MulticlassSVCCV(Cs=[0.1, 1.0], costs=costs, cv=folds, scoring=scoring, random_state=0)
    search.fit(X, y)
    if scoring == "cost":
        assert search.scores_[0, 0] == pytest.approx(-0.5)  # both are predicted as setosa
        known = LabelledCosts.from_costs(costs, search.classes_)
        assert search.score(X, y) == pytest.approx(-mean_cost(known, y, search.predict(X)))
    loaded = stored(search)
    np.testing.assert_array_equal(loaded.costs, loaded.best_estimator_.costs)
    assert loaded.score(X, y) == search.score(X, y)


def test_files_hold_costs_of_templates():
    pytest.importorskip("skops")
    search = GridSearchCV(MulticlassSVC(costs=COSTS, random_state=0), {"C": [0.1, 1.0]}, cv=2)
    loaded = stored(search.fit(X, Y))
    np.testing.assert_array_equal(loaded.estimator.costs, COSTS)
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))
    search.estimator.costs = {0: {1: 2.0}}
    with pytest.raises(ValueError, match="give it the table"):
        stored(search)


@each("table", [COSTS[:2], COSTS.astype(np.float32), -COSTS, np.full((3, 3), np.inf)])
def test_files_with_other_costs_are_refused(table):
    model = MulticlassSVC(costs=COSTS, random_state=0).fit(X, Y)
    tensors, entry = model_schema.pack(model)
    with pytest.raises(ValueError, match="costs"):
        model_schema.unpack({**tensors, "costs": table}, entry)


def test_routed_metadata_leaves_the_scorer_alone():
    with config_context(enable_metadata_routing=True):
        search = MulticlassSVCCV(Cs=[1.0], costs=COSTS, scoring="cost", random_state=0)
        assert search.fit(X, Y).score(X, Y) <= 0


def test_a_path_and_bounds_are_of_the_costs():
    path = c_path(X, Y, C_min=0.01, C_max=1.0, epsilon=0.05, costs=COSTS, random_state=0)
    fit = MulticlassSVC(C=0.3, costs=COSTS, tol=1e-6, random_state=0).fit(X, Y)
    low, high = path.bounds_at(0.3)
    assert low <= fit.certificate_.primal_objective <= 1.05 * high
    bounds = loo_error_bounds(X, Y, costs=COSTS, random_state=0)
    assert 0 <= bounds.lower <= bounds.upper < 0.5


def test_sparsify_knows_the_objective():
    model = MulticlassSVC(costs=COSTS, tol=1e-6, random_state=0).fit(X, Y)
    before = model.certificate_.primal_objective
    report = model.sparsify(1e-12, X=X, y=Y).sparsity_report_
    assert report.objective_before == pytest.approx(before, rel=1e-9)


@each(
    ("costs", "settings", "message"),
    [
        (COSTS, {"formulation": "mmr"}, "another formulation"),
        (COSTS, {"solver": "cutting_plane"}, "trains without costs"),
        (COSTS[:2], {}, "shape"),
        (COSTS - np.eye(3), {}, "a right prediction costs 0"),
        (-COSTS, {}, "at least 0"),
        (np.where(COSTS == 5, np.inf, COSTS), {}, "finite"),
        (np.where(COSTS == 5, np.nan, COSTS), {}, "finite"),
        (COSTS * 0, {}, "at least one mistake"),
        (COSTS * 1e10, {}, "scale it to about 1"),
        (COSTS * 1e-10, {}, "scale it to about 1"),
        ({0: {4: 1.0}}, {}, "4 is not a class"),
        ({"0": {1: 1.0}}, {}, "'0' is not a class of the model; did you mean 0?"),
        ({0: 3.0}, {}, "must be a dict"),
        ("balanced", {}, "costs"),
        ([["a", "b", "c"]] * 3, {}, "table of numbers.* it holds text; labels are the index"),
    ],
)
def test_costs_that_are_none(costs, settings, message):
    with pytest.raises(ValueError, match=message):
        MulticlassSVC(costs=costs, **settings).fit(X, Y)


def test_where_there_is_no_place_for_costs():
    costs = [[0, 2.0], [1.0, 0]]
    two = Y < 2
    with pytest.raises(ValueError, match="binary model has one"):
        MulticlassSVC(formulation="ovr", costs=costs).fit(X[two], Y[two])
    model = MulticlassSVC(costs=costs, random_state=0).fit(X[two], Y[two])
    assert model.coef_.shape == (1, 4)
    model = MulticlassSVC(costs=COSTS, formulation="reinforced")
    problem = Training(model).given(X, Y, None).problem
    with pytest.raises(ValueError, match="one process"):
        check_formulation(problem)
    with pytest.raises(ValueError, match="give costs"):
        MulticlassSVCCV(scoring="cost").fit(X, Y)
    with pytest.raises(ValueError, match="needs costs=, a parameter of MulticlassSVCCV"):
        MultinomialLogisticRegressionCV(scoring="cost").fit(X, Y)
    with pytest.raises(ValueError, match="none of class 9"):
        LabelledCosts.from_costs(COSTS, np.arange(3)).of_predictions(np.array([9]), np.array([1]))
