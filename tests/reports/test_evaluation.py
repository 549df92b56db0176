"""Scores of classes and calibration, beside scikit-learn's."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss, precision_recall_fscore_support
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from manyclass.reports import evaluation as module
from manyclass.reports.confusion import label_codes
from manyclass.reports.evaluation import ClassScores, evaluate

X, Y = load_digits(return_X_y=True)
X = X / 16


@pytest.fixture(scope="module", name="model")
def model_fixture():
    return MultinomialLogisticRegression(C=0.1, random_state=0).fit(X[:600], Y[:600])


def test_scores_are_scikit_learn_s(model):
    found = evaluate(model, X[600:], Y[600:]).classes
    expected = precision_recall_fscore_support(Y[600:], model.predict(X[600:]), average=None)
    for scores, wanted in zip(
        (found.precision, found.recall, found.f1, found.support), expected, strict=True
    ):
        np.testing.assert_allclose(scores, wanted)
    assert found.labels == list(range(10))


def test_labels_that_do_not_occur_and_support_in_integers():
    codes = label_codes(np.arange(4), np.array([0, 0, 7]), np.array([0, 1, 1]))
    found = ClassScores.from_codes(codes)
    assert found.labels == [0, 1, 7]
    assert found.support.tolist() == [2, 0, 1]
    assert found.f1.tolist() == [pytest.approx(2 / 3), 0, 0]
    assert found.worst_first().tolist() == [2, 1, 0]
    found = ClassScores.from_codes(label_codes(np.arange(3), np.array([0, 1]), np.array([2, 2])))
    assert found.support.dtype == np.int64
    assert found.as_dicts()[0]["support"] == 1
    assert isinstance(found.as_dicts()[0]["support"], int)


@pytest.mark.parametrize("steps", [[], ["passthrough"], [MaxAbsScaler()]], ids=str)
def test_pipelines_that_overwrite_their_rows(steps):
    rows = 7 * X + 3
    scaler = StandardScaler(copy=False)
    classifier = MultinomialLogisticRegression(C=0.1, random_state=0)
    pipeline = make_pipeline(scaler, *steps, classifier).fit(rows.copy(), Y)
    given = rows.copy()
    found = evaluate(pipeline, given, Y)
    assert found.accuracy == pipeline.score(rows.copy(), Y)
    expected = log_loss(Y, pipeline.predict_proba(rows.copy()))
    assert found.calibration.log_loss == pytest.approx(expected)
    np.testing.assert_array_equal(given, rows)


def test_thousands_of_classes_in_text():
    labels = np.arange(5000)
    true = np.concatenate([labels, [17] * 50])
    predicted = np.where(true % 100 == 3, 0, true)
    found = ClassScores.from_codes(label_codes(labels, true, predicted))
    lines = found.lines()
    assert len(lines) < 60
    assert lines[0] == "the 20 classes with the lowest F1"
    assert "3          0.0 %   0.0 %  0.0 %        1" in lines
    assert any(line.split()[::7] == ["17", "51"] for line in lines)
    assert lines[-1].startswith("4971 more classes, F1 ")


@pytest.mark.parametrize("at_a_time", [100, 1 << 22])
@pytest.mark.parametrize("binary", [False, True])
def test_log_loss_and_ece(monkeypatch, at_a_time, binary):
    monkeypatch.setattr(module, "PROBABILITIES_AT_A_TIME", at_a_time)
    y = Y % 2 if binary else Y
    model = MultinomialLogisticRegression(C=0.1, random_state=0).fit(X[:600], y[:600])
    found = evaluate(model, sp.coo_array(X[1600:]), y[1600:]).calibration
    p = model.predict_proba(X[1600:])
    assert found.log_loss == pytest.approx(log_loss(y[1600:], p))
    largest, right = p.max(axis=1), model.classes_[p.argmax(axis=1)] == y[1600:]
    ece = 0.0
    for begin in np.arange(10) / 10:
        inside = (largest >= begin) & (largest < begin + 0.1)
        if inside.any():
            ece += abs(right[inside].mean() - largest[inside].mean()) * inside.mean()
    assert found.ece == pytest.approx(ece, abs=1e-9)
    assert found.counts.sum() == len(p)


def test_labels_unseen_have_no_log_loss(model):
    found = evaluate(model, X[:5], [77, 78, 79, 80, 81])
    assert found.codes.n_unseen == 5
    assert found.calibration.log_loss is None
    assert found.accuracy == 0


def test_json(model):
    about = json.loads(json.dumps(evaluate(model, X[600:], Y[600:]).as_dict()))
    assert {"accuracy", "f1_macro", "log_loss", "ece", "confused_pairs"} <= set(about)
    assert set(about["classes"][0]) == {"label", "precision", "recall", "f1", "support"}
    pair = about["confused_pairs"][0]
    assert pair["true"] != pair["predicted"]
    hinge = evaluate(MulticlassSVC().fit(X[:100], Y[:100]), X, Y)
    assert hinge.calibration is None
    assert "log_loss" not in hinge.as_dict()
    assert evaluate(model, X, Y, confidence=False).calibration is None
