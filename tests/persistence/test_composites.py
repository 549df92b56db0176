"""Searches, calibration and ensembles of scikit-learn in model files."""

import json

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    load_model,
    save_model,
)
from manyclass.persistence.model_file import describe_model
from tests.helpers.model_files import stored
from tests.helpers.pipelines import TEXTS, TOPICS, UNSEEN, X, Y

pytest.importorskip("skops")

SVM = MulticlassSVC(random_state=0)
SCALED = make_pipeline(StandardScaler(), SVM)
GRID = {"C": [0.1, 1.0]}
MODELS = {
    "grid": GridSearchCV(SVM, GRID, cv=2),
    "grid of estimators": GridSearchCV(SCALED, {"multiclasssvc": [SVM, MulticlassSVC(C=2)]}, cv=2),
    "grid of pipelines": GridSearchCV(SCALED, {"multiclasssvc__C": [0.1, 1.0]}, cv=2),
    "splitter and scorer": GridSearchCV(
        SVM, GRID, cv=StratifiedKFold(2), scoring=make_scorer(f1_score, average="macro")
    ),
    "calibrated": CalibratedClassifierCV(SVM, cv=2),
    "isotonic": CalibratedClassifierCV(SVM, cv=2, method="isotonic"),
    "calibrated in a pipeline": make_pipeline(StandardScaler(), CalibratedClassifierCV(SVM, cv=2)),
    "one against the rest": OneVsRestClassifier(SVM),
    "bagging": BaggingClassifier(SVM, n_estimators=3, random_state=0),
    "voting": VotingClassifier([("a", SVM), ("b", MultinomialLogisticRegression())]),
    "stacking": StackingClassifier([("a", SVM), ("b", SCALED)], MultinomialLogisticRegression()),
    "search in a search": GridSearchCV(MulticlassSVCCV(Cs=2, cv=2), {"loss": ["hinge"]}, cv=2),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_predictions_are_the_same(model, path):
    model.fit(X, Y)
    save_model(path, model)
    loaded = load_model(path)
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    json.dumps(describe_model(path))
    loaded.fit(X, Y)  # what is not fitted came back, too
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_search_keeps_its_results_and_certificates(path):
    search = GridSearchCV(SVM, GRID, cv=2).fit(X, Y)
    save_model(path, search)
    loaded = load_model(path)
    assert loaded.best_params_ == search.best_params_
    assert loaded.cv_results_["mean_test_score"].tolist() == pytest.approx(
        search.cv_results_["mean_test_score"].tolist()
    )
    assert loaded.best_estimator_.certificate_ == search.best_estimator_.certificate_
    assert not hasattr(loaded.estimator, "classes_")
    assert loaded.estimator.get_params() == SVM.get_params()


def test_tuned_calibrated_text(path):
    """Raw texts, a tuned and calibrated model, one file."""
    inner = GridSearchCV(make_pipeline(TfidfVectorizer(), SVM), {"multiclasssvc__C": [1, 10]}, cv=2)
    texts, topics = TEXTS * 4, TOPICS * 4
    model = CalibratedClassifierCV(inner, cv=2).fit(texts, topics)
    loaded = stored(model)
    np.testing.assert_array_equal(loaded.predict_proba(UNSEEN), model.predict_proba(UNSEEN))


def test_description_of_several_classifiers(path):
    save_model(path, CalibratedClassifierCV(SVM, cv=3).fit(X, Y))
    about = describe_model(path)
    assert about["composite"] == "CalibratedClassifierCV of 3 classifiers"
    assert about["estimator"] == "MulticlassSVC"
    save_model(path, GridSearchCV(SCALED, {"multiclasssvc__C": [2.0]}, cv=2).fit(X, Y))
    about = describe_model(path)
    assert (about["composite"], about["C"]) == (None, 2.0)
    assert [step["kind"] for step in about["steps"]] == ["StandardScaler"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GridSearchCV(SVM, GRID, cv=2, refit=False), "contains no fitted classifier.*refit=True"),
        (
            RandomizedSearchCV(SVM, {"C": loguniform(0.1, 1)}, n_iter=2, cv=2, random_state=0),
            "this RandomizedSearchCV: it holds numpy.*scipy.*; save its best_estimator_",
        ),
        (GridSearchCV(SVM, GRID, cv=2, scoring=lambda *_: 0.0), "<lambda>.*; save its best_est"),
    ],
)
def test_models_that_cannot_be_stored(model, message, path):
    with pytest.raises(TypeError, match=message):
        save_model(path, model.fit(X, Y))
    assert not path.exists()


def test_models_that_are_not_fitted(path):
    with pytest.raises(NotFittedError):
        save_model(path, CalibratedClassifierCV(SVM))
    assert not path.exists()
