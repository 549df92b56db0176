"""The history in model files: kept, thinned, and not trusted."""

from dataclasses import astuple

import numpy as np
import pytest

from manyclass import (
    MulticlassSVC,
    MultinomialLogisticRegression,
    StochasticClassifier,
    load_model,
    save_model,
)
from manyclass.persistence import history_table, model_file
from manyclass.persistence.model_file import describe_model
from tests.helpers.model_files import X, Y, fitted, with_tensors

STOCHASTIC = {"max_iter": 3, "tol": None, "random_state": 0}
MODELS = {
    "svc": MulticlassSVC(random_state=0),
    "logistic": MultinomialLogisticRegression(random_state=0),
    "stochastic": StochasticClassifier(**STOCHASTIC),
    "validated": StochasticClassifier(early_stopping=True, **STOCHASTIC),
}


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(path, name):
    model = MODELS[name].fit(X, Y)
    save_model(path, model)
    loaded = load_model(path)
    assert loaded.history_ == model.history_
    for loaded_record, record in zip(loaded.history_, model.history_, strict=True):
        for value, before in zip(astuple(loaded_record), astuple(record), strict=True):
            assert isinstance(before, type(value))  # NumPy's float64 is a float, too
    assert describe_model(path)["seconds"] == model.history_[-1].seconds
    save_model(path, loaded)
    assert load_model(path).history_ == model.history_


def test_long_histories_are_thinned(path, monkeypatch):
    model = fitted(C=100, tol=1e-6)
    assert model.n_iter_ > 8
    monkeypatch.setattr(history_table, "MAX_RECORDS", 5)
    save_model(path, model)
    kept = load_model(path).history_
    assert len(kept) == 5
    assert (kept[0], kept[-1]) == (model.history_[0], model.history_[-1])
    assert [r.epoch for r in kept] == sorted({r.epoch for r in kept})
    assert load_model(path).n_iter_ == model.n_iter_


def test_a_file_without(path):
    model = fitted()
    del model.history_
    save_model(path, model)
    assert not hasattr(load_model(path), "history_")
    assert describe_model(path)["seconds"] is None


def changed(column, value):
    def change(table):
        table = table.copy()
        table[0, column] = value
        return table

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t[:, 1:], "a history of type float64, shape"),
        (lambda t: t[0], "a history of type float64, shape"),
        (lambda t: t.astype(np.float32), "a history of type float32"),
        (lambda t: np.zeros((401, 10)), r"a history of type float64, shape \(401, 10\)"),
        (changed(0, 1.5), "epoch of the history must be integers"),
        (changed(0, -1), "epoch of the history must be integers"),
        (changed(7, np.nan), "evaluations of the history must be integers"),
        (changed(7, np.inf), "evaluations of the history must be integers"),
        (changed(9, 1e300), "n_duals of the history must be integers"),
        (changed(1, -1.0), "seconds of the history must be finite"),
        (changed(1, np.inf), "seconds of the history must be finite"),
        (changed(1, np.nan), "seconds of the history must be finite"),
    ],
)
def test_hostile_histories(path, change, message):
    save_model(path, fitted())
    history = model_file.read_parts(path)[0]["history"]
    with_tensors(path, {"history": np.ascontiguousarray(change(history))})
    with pytest.raises(ValueError, match=f"cannot be read as a manyclass model.*{message}"):
        load_model(path)
