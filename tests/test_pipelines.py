"""Methods of the classifier at the end of a pipeline, a search, or both."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultilabelSVC,
    MultilabelSVCCV,
    StochasticClassifier,
    calibrate,
    predict_labels,
    predict_top_k,
)

X, Y = load_iris(return_X_y=True)
SETS = [{int(label)} if i % 5 else {int(label), 7} for i, label in enumerate(Y)]
SCALED = StandardScaler().fit_transform(X)
GRID = {"C": [0.01, 1.0]}
AROUND = {
    "classifier": lambda model: model,
    "pipeline": make_pipeline,
    "scaled": lambda model: make_pipeline(StandardScaler(), model),
    "nested": lambda model: make_pipeline(make_pipeline(StandardScaler(), model)),
    "skipped": lambda model: make_pipeline("passthrough", StandardScaler(), model),
    "search": lambda model: GridSearchCV(model, GRID, cv=2),
    "search in a pipeline": lambda model: make_pipeline(
        StandardScaler(), GridSearchCV(model, GRID, cv=2)
    ),
    "pipeline in a search": lambda model: GridSearchCV(
        make_pipeline(StandardScaler(), model),
        {f"{type(model).__name__.lower()}__C": GRID["C"]},
        cv=2,
    ),
}
SCALES = {"scaled", "nested", "skipped", "search in a pipeline", "pipeline in a search"}


def alone(model, fitted):
    """The same classifier as at the end of a model, fitted by itself on scaled rows."""
    while not isinstance(fitted, type(model)):
        fitted = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted.best_estimator_
    return fitted


@pytest.mark.parametrize("kind", AROUND)
def test_top_k_of_the_classifier_at_the_end(kind):
    model = AROUND[kind](MulticlassSVC(random_state=0)).fit(X, Y)
    rows = SCALED if kind in SCALES else X
    expected = alone(MulticlassSVC(), model).predict_top_k(rows, 2)
    np.testing.assert_array_equal(predict_top_k(model, X, 2), expected)
    np.testing.assert_array_equal(predict_top_k(model, X, 1)[:, 0], model.predict(X))


@pytest.mark.parametrize("kind", ["classifier", "scaled", "nested", "skipped"])
def test_labels_of_the_classifier_at_the_end(kind):
    model = AROUND[kind](MultilabelSVC(C=10, random_state=0)).fit(X, SETS)
    found = predict_labels(model, X)
    assert found == alone(MultilabelSVC(), model).predict_labels(SCALED if kind in SCALES else X)
    assert {0} in found


@pytest.mark.parametrize(
    "kind", ["classifier", "scaled", "search", "search in a pipeline", "pipeline in a search"]
)
def test_calibration_gives_probabilities(kind):
    model = AROUND[kind](MulticlassSVC(random_state=0)).fit(X[::2], Y[::2])
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="no attribute 'predict_proba'") as raised:
        model.predict_proba(X)
    assert "calibrate(X, y) first" in words_of(raised.value)
    assert calibrate(model, X[1::2], Y[1::2]) is model
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


def words_of(error):
    """Messages of an error and its causes, as a traceback shows them."""
    found = []
    while error is not None:
        found.append(str(error))
        error = error.__cause__
    return "; ".join(found)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MulticlassSVC(), "loss='hinge' has no probabilities; call calibrate\\(X, y\\) first"),
        (StochasticClassifier(), "loss='hinge' has no probabilities; train with loss='log_loss'"),
    ],
)
def test_models_without_probabilities_say_how_to_get_them(model, message):
    for method in ("predict_proba", "predict_log_proba"):
        with pytest.raises(AttributeError, match=f"no attribute '{method}': {message}"):
            getattr(model, method)


def test_estimators_that_choose_c_are_classifiers():
    single = MulticlassSVCCV(Cs=[0.1, 1], cv=2, random_state=0)
    model = make_pipeline(StandardScaler(), single).fit(X, Y)
    np.testing.assert_array_equal(
        predict_top_k(model, X, 2), model.steps[-1][1].predict_top_k(SCALED, 2)
    )
    labels = MultilabelSVCCV(Cs=[0.1, 1], cv=2, random_state=0)
    model = make_pipeline(StandardScaler(), labels).fit(X, SETS)
    assert predict_labels(model, X) == model.steps[-1][1].predict_labels(SCALED)


def test_other_classifiers_are_refused():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    for call in (
        lambda: predict_top_k(model, X, 1),
        lambda: predict_labels(model, X),
        lambda: calibrate(model, X, Y),
    ):
        with pytest.raises(TypeError, match="LogisticRegression, at the end of Pipeline"):
            call()


def test_searches_without_a_best_model_are_refused():
    model = GridSearchCV(MulticlassSVC(), GRID, cv=2, refit=False).fit(X, Y)
    with pytest.raises(TypeError, match="refit=True"):
        predict_top_k(model, X, 1)


def test_models_without_fit_are_refused():
    for kind in ("scaled", "search"):
        with pytest.raises(NotFittedError):
            predict_top_k(AROUND[kind](MulticlassSVC()), X, 1)
