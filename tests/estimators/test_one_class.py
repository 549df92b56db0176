"""Warnings of models that give nearly all training rows one class, and of scores that are alike."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultilabelSVCCV,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
)

SETTINGS = {"n_informative": 12, "n_classes": 4, "class_sep": 0.8, "random_state": 0}
NAMES = np.array(["often", "some", "few", "rare"])


def overlapping():
    """Rows of overlapping classes, of which one has 85 %."""
    X, y = make_classification(8000, 30, weights=[0.85, 0.1, 0.04, 0.01], **SETTINGS)
    return StandardScaler().fit_transform(X).astype(np.float32), NAMES[y]


def noise():
    """Rows that say nothing of their classes, of which one has 85 %."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(400, 3)), rng.choice(2, 400, p=[0.85, 0.15])


@pytest.mark.parametrize("sparse", [False, True])
def test_one_class_for_all_rows_is_warned_of(sparse):
    X, y = overlapping()
    with pytest.warns(UserWarning, match="nearly all training rows are given class often") as seen:
        model = MulticlassSVC(random_state=0).fit(sp.csr_array(X) if sparse else X, y)
    assert (model.predict(X) == "often").mean() > 0.98
    assert "16 % are of other classes" in str(seen[0].message)
    assert "class_weight='balanced'" in str(seen[0].message)
    assert seen[0].filename == __file__


def test_with_costs_other_remedies_are_named():
    X, y = noise()
    with pytest.warns(UserWarning, match="cost_scaling='slack' or loss='squared_hinge'"):
        MulticlassSVC(costs=[[0, 1], [2, 0]], random_state=0).fit(X, y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [MulticlassSVC, MultinomialLogisticRegression])
def test_the_remedies_are_not_warned_of(kind):
    X, y = overlapping()
    model = kind(class_weight="balanced", random_state=0).fit(X, y)
    assert len(np.unique(model.predict(X))) == 4


def test_the_line_that_calls_fit_is_named():
    X, y = overlapping()
    search = MulticlassSVCCV(Cs=[0.01], cv=2, random_state=0, class_weight={"often": 1.5})
    with pytest.warns(UserWarning, match="nearly all training rows") as seen:
        search.fit(X, y)
    assert {one.filename for one in seen} == {__file__}
    assert "balanced" not in str(seen[0].message)


@pytest.mark.filterwarnings("error")
def test_rare_classes_that_are_found_are_not_warned_of():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [5000, 5])
    X = rng.normal(size=(5005, 3)) + 20 * y[:, None]
    assert (MulticlassSVC(random_state=0).fit(X, y).predict(X) == y).all()


@pytest.mark.filterwarnings("error")
def test_base_scores_may_be_all_that_tells_rows_apart():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    model = MultinomialLogisticRegression(C=1e-4, random_state=0)
    model.fit(rng.normal(size=(300, 2)), y, base_scores=10 * np.eye(3)[y])


def test_an_unfinished_fit_has_its_own_warning_alone():
    X, y = overlapping()
    with pytest.warns(match="training stopped after 1 epoch") as seen:
        MulticlassSVC(max_iter=1, random_state=0).fit(X, y)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("kind", "scoring"), [(MulticlassSVCCV, None), (MultinomialLogisticRegressionCV, "accuracy")]
)
def test_scores_that_do_not_tell_values_of_C_apart_are_warned_of(kind, scoring):
    X, y = noise()
    model = kind(Cs=[1e-3, 2e-3, 1e-2], cv=2, scoring=scoring, random_state=0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(X, y)
    told = [str(warning.message) for warning in seen]
    assert told[0].startswith(
        "all 3 values of C have the same score (0.83), not better than a model that ignores the "
        "features (0.83); C = 0.001 was chosen. The models may"
    )
    assert told[1].startswith("nearly all training rows are given class 0")
    assert len(told) == 2


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_flipped", [0, 6])
@pytest.mark.parametrize("scoring", [None, "top_2_accuracy", lambda model, X, y: 0 * model.C])
def test_equal_scores_of_models_that_use_features_are_not_warned_of(n_flipped, scoring):
    y = np.arange(60) % 3
    X = np.random.default_rng(0).normal(size=(60, 3)) + 10 * np.eye(3)[y]
    y[:n_flipped] = (y[:n_flipped] + 1) % 3
    model = MulticlassSVCCV(Cs=[0.01, 0.02, 0.03], cv=2, scoring=scoring, random_state=0)
    assert len(np.unique(model.fit(X, y).scores_.mean(axis=0))) == 1
    assert n_flipped == 0 or model.best_score_ < 1


def test_labels_that_are_never_predicted_are_warned_of():
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 2)) < 0.2).astype(int)
    model = MultilabelSVCCV(Cs=[1e-3, 2e-3, 3e-3], cv=2, random_state=0)
    with pytest.warns(UserWarning, match=r"the same score \(0\), not better than a model"):
        model.fit(rng.normal(size=(60, 2)), Y)


def test_frequent_labels_need_no_features():
    rng = np.random.default_rng(0)
    Y = (rng.random((200, 2)) < [0.95, 0.05]).astype(int)
    model = MultilabelSVCCV(Cs=[1e-4, 1e-3, 1e-2], cv=3, random_state=0)
    with pytest.warns(UserWarning, match="not better than a model.* give all rows the same labels"):
        model.fit(rng.normal(size=(200, 5)), Y)


@pytest.mark.filterwarnings("ignore:fold .*lack")
def test_folds_that_lack_classes():
    X, y = np.random.default_rng(0).normal(size=(90, 4)), np.repeat([0, 1, 2], 30)
    model = MulticlassSVCCV(Cs=[0.1, 1, 10], cv=KFold(3), random_state=0)
    with pytest.warns(match="not better than a model that ignores the features"):
        model.fit(X, y)
    assert not model.scores_.any()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("error", [AssertionError, RuntimeError, KeyError, IndexError])
def test_scorers_need_not_know_the_baseline(error):
    def scoring(model, X, y):
        if not hasattr(model, "coef_"):
            raise error
        return 0.5

    X, y = noise()
    MulticlassSVCCV(
        Cs=[0.1, 1, 10], cv=2, scoring=scoring, class_weight="balanced", random_state=0
    ).fit(X, y)


@pytest.mark.filterwarnings("error")
def test_warnings_of_scores_of_the_baseline_are_ignored():
    X = 10 * np.eye(3)[np.arange(60) % 3]
    model = MulticlassSVCCV(Cs=[0.1, 1, 10], cv=3, scoring="precision_macro", random_state=0)
    assert model.fit(X, np.arange(60) % 3).best_score_ == 1
