"""Errors of the most confident rows and accuracy of the best classes, beside loops."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import top_k_accuracy_score

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from manyclass.estimators import decisions
from manyclass.reports.coverage import SHARES, Coverage, threshold
from manyclass.reports.evaluation import evaluate

X, Y = load_digits(return_X_y=True)
X = X / 16
TRAIN, TEST = slice(600), slice(600, None)
MODELS = [MulticlassSVC(C=0.01, random_state=0), MultinomialLogisticRegression(C=0.01)]


@pytest.mark.parametrize("model", MODELS, ids=["top-2 margin", "probability"])
@pytest.mark.parametrize("binary", [False, True])
def test_errors_are_those_of_predict_with_the_threshold(monkeypatch, model, binary):
    monkeypatch.setattr(decisions, "SCORES_AT_A_TIME", 1000)
    y = Y % 2 if binary else Y
    model.fit(X[TRAIN], y[TRAIN])
    found = evaluate(model, X[TEST], y[TEST])
    assert found.coverage.measure == ("top-2 margin" if model is MODELS[0] else "probability")
    assert found.coverage.coverage.tolist() == pytest.approx(SHARES, abs=0.002)
    for row in found.coverage.as_dicts():
        threshold = np.nextafter(row["threshold"], 0)  # probabilities of parts may round otherwise
        answers = model.predict(X[TEST], reject=threshold, reject_label=99)
        kept = answers != 99
        assert kept.mean() == pytest.approx(row["coverage"], abs=1e-3)
        assert (answers != y[TEST])[kept].mean() == pytest.approx(row["error"], abs=1e-3)


def test_top_k_accuracy_is_that_of_scikit_learn():
    model = MulticlassSVC(C=0.01, random_state=0).fit(X[TRAIN], Y[TRAIN])
    found = evaluate(model, X[TEST], Y[TEST])
    scores = model.decision_function(X[TEST])
    wanted = {k: top_k_accuracy_score(Y[TEST], scores, k=k) for k in (3, 5)}
    assert found.top_k == pytest.approx(wanted)
    assert found.as_dict()["top_3_accuracy"] == pytest.approx(wanted[3])
    assert "top 3" in found.lines()[0]


def test_few_classes_unseen_labels_and_no_confidence():
    few = Y[TRAIN] % 3
    model = MulticlassSVC(random_state=0).fit(X[TRAIN], few)
    assert evaluate(model, X[TRAIN], few).top_k == {}
    model = MulticlassSVC(random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert evaluate(model, X[:4], [77, 77, 77, 77]).top_k == {3: 0.0, 5: 0.0}
    found = evaluate(model, X[TEST], Y[TEST], confidence=False)
    assert found.coverage is None
    assert found.top_k == {}


def test_equally_confident_rows_are_kept_together_and_lines_of_one_row():
    found = Coverage.from_confidence(
        "top-2 margin", np.array([1.0, 1.0, 1.0, 0.5]), np.array([True, False, True, False])
    )
    assert found.thresholds.tolist() == [0.5, 1.0]
    assert found.coverage.tolist() == [1.0, 0.75]
    assert found.errors.tolist() == [0.5, pytest.approx(1 / 3)]
    found = Coverage.from_confidence("probability", np.array([0.25]), np.array([False]))
    assert found.lines() == [
        "least probability     rows   errors",
        "             0.25  100.0 %  100.0 %",
    ]


def test_shown_thresholds_keep_the_same_rows():
    assert threshold({"threshold": 0.31457, "coverage": 1, "error": 0}) == "0.3145"
    assert threshold({"threshold": 12345678.0, "coverage": 1, "error": 0}) == "1.234E+7"
    assert threshold({"threshold": 0.0, "coverage": 1, "error": 0}) == "0"
