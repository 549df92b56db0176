"""Decisions by expected cost, and rows that are rejected, beside a loop over rows."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    StochasticClassifier,
)
from manyclass.estimators import decisions
from manyclass.estimators.decisions import cost_table, top2_margins

X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names[Y]


@pytest.fixture(scope="module", name="model")
def model_fixture():
    return MultinomialLogisticRegression(C=0.01, random_state=0).fit(X, NAMES)


@pytest.fixture(scope="module", name="svm")
def svm_fixture():
    return MulticlassSVC(random_state=0).fit(X, Y)


def test_the_class_of_least_expected_cost(model, monkeypatch):
    monkeypatch.setattr(decisions, "SCORES_AT_A_TIME", 60)  # 20 rows
    costs = np.random.default_rng(0).uniform(size=(3, 3)) * [[1, 9, 1]]
    np.fill_diagonal(costs, 0)
    found = model.predict(X, costs=costs)
    for p, label in zip(model.predict_proba(X), found, strict=True):
        expected = [sum(p[j] * costs[j, c] for j in range(3)) for c in range(3)]
        assert label == model.classes_[np.argmin(expected)]
    assert (found != model.predict(X)).any()


def test_costs_of_one_change_nothing_and_labels_name_costs(model):
    ones = np.ones((3, 3)) - np.eye(3)
    np.testing.assert_array_equal(model.predict(X, costs=ones), model.predict(X))
    np.testing.assert_array_equal(model.predict(X, costs={}), model.predict(X))
    table = [[0, 1, 1], [1, 0, 5], [1, 1, 0]]
    by_label = {"versicolor": {"virginica": 5}}
    assert cost_table(by_label, model.classes_).tolist() == table
    np.testing.assert_array_equal(model.predict(X, costs=by_label), model.predict(X, costs=table))


def test_costs_of_a_frame_are_found_by_its_labels(model):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        [[0, 1, 1], [1, 0, 5], [1, 1, 0]], index=model.classes_, columns=model.classes_
    )
    shuffled = table.loc[
        ["virginica", "setosa", "versicolor"], ["versicolor", "virginica", "setosa"]
    ]
    assert cost_table(shuffled, model.classes_).tolist() == table.to_numpy().tolist()
    names = model.classes_.tolist()
    for wrong, message in [
        (
            table.reset_index(drop=True),
            "index of the frame must hold the label of each class once; missing: 'setosa', "
            "'versicolor', 'virginica'; not classes: 0, 1, 2; give an array for costs in the order",
        ),
        (
            table.rename(columns={"versicolor": "versicolour"}),
            "columns of .*; missing: 'versicolor'; not classes: 'versicolour'; did you mean "
            "'versicolor'",
        ),
        (table.loc[names[:2]], "index of .*; missing: 'virginica'$"),
        (table.loc[[*names, names[0]]], "index of .*; more than once: 'setosa'$"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.predict(X, costs=wrong)


@pytest.mark.parametrize("binary", [False, True])
def test_rows_of_a_small_margin_are_rejected(binary):
    y = Y == 2 if binary else Y
    model = MulticlassSVC(random_state=0).fit(X, y.astype(int))
    scores = model.decision_function(X)
    if binary:
        margin = np.abs(scores)
    else:
        ranked = np.sort(scores, axis=1)
        margin = ranked[:, -1] - ranked[:, -2]
    found = model.predict(X, reject=0.5)
    np.testing.assert_array_equal(found, np.where(margin < 0.5, -1, model.predict(X)))
    assert 0 < np.count_nonzero(found == -1) < len(X)
    assert (model.predict(X, reject=margin.min()) != -1).all()  # as large as the threshold


def test_rows_of_a_small_probability_are_rejected_also_with_costs(model):
    found = model.predict(X, reject=0.6, reject_label="unsure")
    small = model.predict_proba(X).max(axis=1) < 0.6
    np.testing.assert_array_equal(found == "unsure", small)
    assert 0 < np.count_nonzero(small) < len(X)
    assert (model.predict(X, reject=0) == model.predict(X)).all()
    certain = model.predict_proba(X).max(axis=1) == 1
    np.testing.assert_array_equal(model.predict(X, reject=1) != "", certain)
    costs = {"versicolor": {"virginica": 5}}
    found = model.predict(X, costs=costs, reject=0.6)
    kept = found != ""
    np.testing.assert_array_equal(found[kept], model.predict(X, costs=costs)[kept])


def test_estimators_decide_alike():
    search = MulticlassSVCCV(Cs=[1.0], cv=2, random_state=0).fit(X, Y)
    assert (search.predict(X, reject=1e9) == -1).all()
    stochastic = StochasticClassifier(loss="log_loss", random_state=0).fit(X, Y)
    assert (stochastic.predict(X, costs=[[0, 0, 9], [9, 0, 9], [9, 0, 0]]) == 1).all()
    pipeline = make_pipeline(StandardScaler(), MulticlassSVC(random_state=0)).fit(X, Y)
    assert (pipeline.predict(X, reject=1e9, reject_label=7) == 7).all()
    calibrated = MulticlassSVC(random_state=0).fit(X, Y).calibrate(X, Y)
    assert (calibrated.predict(X, costs=[[0, 0, 9], [9, 0, 9], [9, 0, 0]]) == 1).any()


def test_frames_are_decided_without_a_warning():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = MultinomialLogisticRegression().fit(frame, Y)
    expected = model.predict(frame)
    np.testing.assert_array_equal(model.predict(frame, reject=0.0), expected)
    np.testing.assert_array_equal(model.predict(frame, costs={}), expected)


def test_no_probability_reaches_a_threshold_above_one(model):
    calibrated = MulticlassSVC(random_state=0).fit(X, Y).calibrate(X, Y)
    for fitted, threshold in ((model, 2), (calibrated, 90), (calibrated, np.float32(1.5))):
        with pytest.raises(ValueError, match="from 0 to 1, as it is compared with probabilities"):
            fitted.predict(X, reject=threshold)


def test_leads_of_two_columns():
    assert top2_margins(np.array([[1.0, 3.5], [2.0, 2.0]])).tolist() == [2.5, 0.0]


HOSTILE = {
    "shape": ([[0, 1], [1, 0]], r"shape \(2, 2\); a row for each of the 3 true classes"),
    "ragged": ([[0, 1], [1]], "must be a table of numbers, a data frame of pandas or a dict"),
    "complex": (np.zeros((3, 3), complex), "it holds complex numbers"),
    "negative": ([[0, -1, 1], [1, 0, 1], [1, 1, 0]], "'versicolor' where 'setosa' is true"),
    "infinite": ([[0, np.inf, 1], [1, 0, 1], [1, 1, 0]], "costs are finite"),
    "NaN": ([[0, np.nan, 1], [1, 0, 1], [1, 1, 0]], "costs are finite"),
    "diagonal": ([[1, 1, 1], [1, 0, 1], [1, 1, 0]], "a right prediction costs 0"),
    "unknown label": ({"setosa": {"rose": 1}}, "'rose' is not a class of the model"),
    "misspelled": ({"setossa": {"virginica": 1}}, "'setossa' is not .*; did you mean 'setosa'?"),
    "no dict": ({"setosa": 3}, "must be a dict of predicted labels"),
    "text": ({"setosa": {"virginica": "much"}}, "must be a number, not 'much'"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_costs(model, name):
    costs, message = HOSTILE[name]
    with pytest.raises(ValueError, match=message):
        model.predict(X, costs=costs)


def test_too_many_classes_for_a_table():
    with pytest.raises(ValueError, match="up to 4096 classes, but there are 5000"):
        cost_table({}, np.arange(5000))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reject": -1}, "at least 0; got -1"),
        ({"reject": np.nan}, "at least 0; got nan"),
        ({"reject": True}, "at least 0; got True"),
        ({"reject": "0.5"}, "at least 0; got '0.5'"),
        ({"reject_label": 7}, "give reject, the threshold, too"),
        ({"reject": 1, "reject_label": 2}, "2 is a class; give another label"),
        ({"reject": 1, "reject_label": "none"}, "must be a number, as the classes are"),
        ({"costs": np.ones((3, 3)) - np.eye(3)}, "costs need probabilities"),
    ],
    ids=str,
)
def test_hostile_arguments(svm, arguments, message):
    with pytest.raises(ValueError, match=message):
        svm.predict(X, **arguments)


def test_the_default_label_may_be_a_class():
    model = MulticlassSVC(random_state=0).fit(X[:100], np.where(Y[:100] == 0, -1, 1))
    with pytest.raises(ValueError, match="-1 is a class; give another label"):
        model.predict(X, reject=0.5)
    assert set(model.predict(X, reject=1e9, reject_label=0)) == {0}
