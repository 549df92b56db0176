"""Probabilities of SVMs by a temperature: in Python, files, ONNX and on the command line."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    load_model,
    save_model,
)
from manyclass.estimators.probabilities import COLDEST, HOTTEST

X, Y = load_digits(return_X_y=True)
X = X / 16
TRAIN, HELD = slice(0, 900), slice(900, None)


def fitted(y=Y, **params):
    return MulticlassSVC(random_state=0, **params).fit(X[TRAIN], y[TRAIN])


@pytest.mark.parametrize("y", [Y, Y > 4, np.array(list("abcdefghij"))[Y]])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_log_loss_is_the_least(y, weighted):
    weights = np.random.default_rng(0).random(len(Y))[HELD] if weighted else None
    model = fitted(y).calibrate(X[HELD], y[HELD], weights)
    scores = model.decision_function(X[HELD])
    scores = np.stack([-scores / 2, scores / 2], axis=1) if scores.ndim == 1 else scores

    def loss(log_T):
        p = np.exp(scores / np.exp(log_T) - (scores / np.exp(log_T)).max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return log_loss(y[HELD], p, sample_weight=weights, labels=model.classes_)

    best = minimize_scalar(loss, bounds=(-5, 5), method="bounded", options={"xatol": 1e-9})
    assert model.temperature_ == pytest.approx(np.exp(best.x), rel=1e-4)
    p = model.predict_proba(X[HELD])
    assert log_loss(y[HELD], p, sample_weight=weights, labels=model.classes_) <= best.fun + 1e-9
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X[HELD]))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X[HELD])), p)


def test_blocks_of_rows_do_not_matter(monkeypatch):
    expected = fitted().calibrate(X[HELD], Y[HELD]).temperature_
    monkeypatch.setattr("manyclass.estimators.probabilities.SCORES_AT_A_TIME", 100)
    found = fitted().calibrate(X[HELD], Y[HELD]).temperature_
    assert found == pytest.approx(expected, rel=1e-9)


def test_there_are_none_before_and_of_other_weights():
    model = fitted()
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="has no attribute"):
        model.predict_proba(X)
    assert hasattr(model.calibrate(X[HELD], Y[HELD]), "predict_proba")
    assert not hasattr(clone(model).fit(X[TRAIN], Y[TRAIN]), "predict_proba")
    assert not hasattr(MultinomialLogisticRegression(), "calibrate")
    model = fitted().calibrate(X[HELD], Y[HELD])
    model.coef_ = 2 * model.coef_
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("changed", [lambda m: m.fit(X, Y), lambda m: m.sparsify(0.05)])
def test_other_weights_have_no_temperature(changed):
    model = fitted().calibrate(X[HELD], Y[HELD])
    assert not hasattr(changed(model), "temperature_")


def test_rows_that_are_all_right_or_tell_nothing():
    easy = MulticlassSVC(C=100).fit([[-1.0], [0.0], [1.0]], [0, 1, 2])
    with pytest.warns(UserWarning, match="1e-06: every row is predicted correctly"):
        assert easy.calibrate([[-9.0], [9.0]], [0, 2]).temperature_ == COLDEST
    with pytest.warns(UserWarning, match="no better than chance, so that no temperature is best"):
        assert easy.calibrate([[-1.0], [1.0]], [2, 0]).temperature_ == HOTTEST
    p = easy.predict_proba([[-1.0], [1.0]])
    assert np.isfinite(p).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X[HELD], Y[HELD] + 5), "y holds 10, which is not a class of the model"),
        ((X[HELD], Y[HELD][:-1]), "inconsistent numbers of samples"),
        ((X[HELD], Y[HELD], np.zeros(len(Y) - 900)), "at least one non-zero number"),
        ((X[HELD], Y[HELD], -np.ones(len(Y) - 900)), "[Nn]egative"),
        ((X[HELD, :3], Y[HELD]), "features"),
        ((np.full_like(X[HELD], np.nan), Y[HELD]), "NaN"),
    ],
)
def test_what_cannot_be(arguments, message):
    model = fitted().calibrate(X[HELD], Y[HELD])
    before = model.temperature_
    with pytest.raises(ValueError, match=message):
        model.calibrate(*arguments)
    assert model.temperature_ == before


def test_model_files_and_onnx(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    from manyclass import onnx

    search = MulticlassSVCCV(Cs=[0.1, 1.0], cv=2, random_state=0).fit(X[TRAIN], Y[TRAIN])
    for model in (fitted(), fitted(Y > 4), search):
        y = Y > 4 if len(model.classes_) == 2 else Y
        model.calibrate(X[HELD], y[HELD])
        save_model(tmp_path / "model", model)
        loaded = load_model(tmp_path / "model")
        assert loaded.temperature_ == model.temperature_
        p = model.predict_proba(X)
        np.testing.assert_array_equal(loaded.predict_proba(X), p)
        session = onnxruntime.InferenceSession(onnx.to_onnx(model, "float64").SerializeToString())
        np.testing.assert_allclose(session.run(None, {"X": X})[1], p, atol=1e-12)


@pytest.mark.parametrize("stored", [0.0, -1.0, "x", np.inf])
def test_hostile_temperatures(tmp_path, stored):
    model = fitted().calibrate(X[HELD], Y[HELD])
    model.temperature_ = stored
    with pytest.raises(ValueError, match="cannot be saved"):
        save_model(tmp_path / "model", model)


def test_weights_of_any_size_and_scores_that_overflow():
    model = fitted().calibrate(X[HELD], Y[HELD])
    expected = model.temperature_
    for size in (1e308, 5e-324):
        model.calibrate(X[HELD], Y[HELD], np.full(len(Y) - 900, size))
        assert model.temperature_ == pytest.approx(expected, rel=1e-6)
    model.temperature_ = 1e-6
    with pytest.raises(FloatingPointError, match="overflow"):
        model.predict_proba(X[:1] * 1e303)
