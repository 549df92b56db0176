"""Stochastic classifiers in model files: the same predictions, and training that goes on."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from manyclass import StochasticClassifier, load_model, save_model
from manyclass.persistence.model_file import describe_model
from tests.helpers.model_files import rewritten

X, Y = load_digits(return_X_y=True)
X = (X / 16).astype(np.float32)


@pytest.mark.parametrize("weights", ["dense", "sparse"])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("binary", [False, True])
def test_round_trip(path, weights, average, binary):
    y = Y % 2 if binary else np.array([f"class {c}" for c in Y])
    params = {"weights": weights, "average": average, "shuffle": False, "max_iter": 2, "tol": None}
    model = StochasticClassifier(compute_objective=True, **params).fit(X, y)
    save_model(path, model)
    loaded = load_model(path)
    assert isinstance(loaded, StochasticClassifier)
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    for name in ("n_iter_", "n_steps_", "weight_seen_", "objective_", "n_features_in_"):
        assert getattr(loaded, name) == getattr(model, name)
    for one in (model, loaded):
        one.partial_fit(X, y).densify()
    np.testing.assert_array_equal(loaded.coef_, model.coef_)


def test_streams_are_saved_where_they_are(path):
    model = StochasticClassifier(loss="log_loss").partial_fit(X, Y, classes=range(10))
    save_model(path, model)
    np.testing.assert_array_equal(load_model(path).predict_proba(X), model.predict_proba(X))


def test_description(path):
    save_model(path, StochasticClassifier(max_iter=1, tol=None).fit(X, Y))
    about = describe_model(path)
    assert about["estimator"] == "StochasticClassifier"
    assert (about["alpha"], about["n_steps"], about["weight_seen"]) == (1e-4, len(Y), len(Y))
    assert (about["objective"], about["certificate"], about["formulation"]) == (None, None, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, m: m.update(n_steps=-1), "n_steps must be"),
        (lambda h, m: m.update(n_steps=1.5), "n_steps must be"),
        (lambda h, m: m.update(weight_seen=float("nan")), "weight_seen must be"),
        (lambda h, m: m.update(weight_seen=-1), "weight_seen must be"),
        (lambda h, m: m.update(weight_seen="1"), "weight_seen must be"),
        (lambda h, m: m.update(objective=[]), "objective must be"),
        (lambda h, m: m.pop("n_steps"), "inconsistent"),
        (lambda h, m: m["params"].update(alpha=float("inf")), "alpha"),
        (lambda h, m: m["params"].update(loss="squared_hinge"), "loss"),
        (lambda h, m: m["params"].update(C=1.0), "has no parameter .C."),
        (lambda h, m: m.update(estimator=["StochasticClassifier"]), "no estimator"),
        (lambda h, m: m.update(estimator="MulticlassSVC"), "inconsistent"),
    ],
)
def test_hostile_files(path, change, message):
    save_model(path, StochasticClassifier(max_iter=1, tol=None).fit(X, Y))
    rewritten(path, change)
    with pytest.raises(ValueError, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value)


def test_an_objective_that_is_no_number_is_left_out(path):
    model = StochasticClassifier(max_iter=1, tol=None, compute_objective=True).fit(X, Y)
    model.objective_ = float("inf")
    save_model(path, model)
    assert describe_model(path)["objective"] is None
