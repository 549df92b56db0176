"""``partial_fit(classes="grow")``: classes that appear in a stream."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import StochasticClassifier, load_model, save_model
from tests.helpers.cases import each
from tests.helpers.digits import refused

ALPHA = 0.1
# Classes appear before, between and behind the others.
PIECES = [["c", "g"], ["c", "g", "e"], ["a", "c", "e", "g"], ["a", "c", "e", "g", "i"]]


def stream():
    rng = np.random.default_rng(3)
    for labels in PIECES:
        yield rng.standard_normal((20, 6)), np.append(labels, rng.choice(labels, 20 - len(labels)))


def step(loss, scores, own):
    """What a row of the class ``own`` adds to S, as factors of x."""
    if loss == "log_loss":
        p = np.exp(scores - scores.max())
        return (np.arange(len(scores)) == own) - p / p.sum()
    margins = scores - scores[own] + (loss == "hinge")
    margins[own] = -np.inf
    found = np.zeros(len(scores))
    if margins.max() > 0 or (loss == "perceptron" and margins.max() == 0):
        found[[margins.argmax(), own]] = -1, 1
    return found


def reference(loss, average):
    """W of the stream by the formulas of the solver: a class has w = 0 until it appears."""
    names, S, T = np.array([]), np.zeros((6, 0)), 0
    mean, weight = np.zeros((6, 0)), 0
    for X, y in stream():
        known = np.union1d(names, y)
        places = np.searchsorted(known, names)
        wide, wide_mean = np.zeros((6, len(known))), np.zeros((6, len(known)))
        wide[:, places], wide_mean[:, places] = S, mean
        names, S, mean = known, wide, wide_mean
        for x, label in zip(X, y, strict=True):
            scores = x @ S / (ALPHA * max(T, 1))
            S += np.outer(x, step(loss, scores, np.searchsorted(names, label)))
            T += 1
            weight += T**2
            mean += T**2 / weight * (S / (ALPHA * T) - mean)
    return names, mean if average else S / (ALPHA * T)


def trained(loss, weights="auto", average=False, between=lambda model: model):
    model = StochasticClassifier(
        loss=loss, alpha=ALPHA, weights=weights, average=average, shuffle=False, fit_intercept=False
    )
    for X, y in stream():
        model = between(model.partial_fit(X, y, classes="grow"))
    return model


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "perceptron"])
@pytest.mark.parametrize("weights", ["dense", "sparse"])
@each("average", [False, True])
def test_a_new_class_begins_at_zero(loss, weights, average):
    if loss == "log_loss" and weights == "sparse":
        pytest.skip("log_loss moves all classes")
    names, W = reference(loss, average)
    model = trained(loss, weights, average)
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    assert model.classes_.tolist() == names.tolist() == ["a", "c", "e", "g", "i"]
    assert model.n_steps_ == 80
    np.testing.assert_allclose(coef, W.T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weights", ["dense", "sparse"])
def test_classes_grow_after_pickle_and_load(tmp_path, weights):
    def saved(model):
        save_model(tmp_path / "a.model", model)
        return load_model(tmp_path / "a.model")

    plain = trained("hinge", weights)
    for between in (lambda model: pickle.loads(pickle.dumps(model)), saved):
        other = trained("hinge", weights, between=between)
        other.densify(), plain.densify()
        np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-9, atol=1e-12)


def test_classes_grow_where_the_first_call_names_some():
    X, y = np.eye(3), ["a", "b", "z"]
    model = StochasticClassifier(random_state=0).partial_fit(X[:2], y[:2], classes=["a", "b"])
    model.partial_fit(X, y, classes="grow").partial_fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "z"]
    assert model.n_steps_ == 8


def test_warm_starts_take_new_classes():
    X, y = np.eye(3), np.array([0, 1, 2])
    model = StochasticClassifier(max_iter=4, tol=None, warm_start=True, random_state=0)
    model.fit(X[:2], y[:2]).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.n_steps_ == 4 * 2 + 4 * 3


@pytest.mark.parametrize(
    ("labels", "match"),
    [(["c", "c"], "at least two classes"), ([1, 2], "like 'a'"), (["a", ""], "empty")],
)
def test_labels_that_cannot_be_added(labels, match):
    started = StochasticClassifier(random_state=0).partial_fit(np.eye(2), ["a", "b"], ["a", "b"])
    model = StochasticClassifier() if match == "at least two classes" else started
    before = dict(model.__dict__)
    refused(ValueError, match, lambda: model.partial_fit(np.eye(2), labels, classes="grow"))
    assert model.__dict__ == before


def test_rows_without_weight_add_no_class():
    model = StochasticClassifier(random_state=0).partial_fit(np.eye(2), ["a", "b"], ["a", "b"])
    model.partial_fit(np.eye(2), ["a", "z"], "grow", sample_weight=[1, 0])
    model.partial_fit(np.eye(2), ["y", "z"], "grow", sample_weight=[0, 0])
    assert model.classes_.tolist() == ["a", "b"]
    assert model.n_steps_ == 3


def test_a_label_that_was_not_announced_names_the_remedy():
    model = StochasticClassifier(random_state=0).partial_fit(np.eye(2), ["a", "b"], ["a", "b"])
    refused(ValueError, 'classes="grow"', lambda: model.partial_fit(np.eye(2), ["a", "z"]))
    refused(ValueError, '"grow"', lambda: model.partial_fit(np.eye(2), ["a", "z"], "add"))


def test_offsets_of_the_classes_name_the_new_one():
    model = StochasticClassifier(class_offset={"a": 0.0, "b": 1.0, "z": -1.0}, random_state=0)
    refused(ValueError, "class", lambda: model.partial_fit(np.eye(2), ["a", "b"], "grow"))


def test_warm_starts_do_not_take_booleans_for_numbers():
    X, y = np.eye(4), np.arange(4)
    model = StochasticClassifier(max_iter=1, tol=None, warm_start=True, random_state=0)
    assert model.fit(X, y > 1).fit(X, y).n_steps_ == 4


def test_classes_without_class_weight_are_not_added():
    X, y = np.eye(4), np.array([0, 1, 9, 9])
    model = StochasticClassifier(class_weight={9: 0.0}, random_state=0)
    model.partial_fit(X, y, classes="grow").partial_fit(X, y[::-1], classes="grow")
    assert model.classes_.tolist() == [0, 1]


def test_whole_numbers_stay_integers():
    model = StochasticClassifier(random_state=0).partial_fit(np.eye(2), [0, 1], [0, 1])
    model.partial_fit(np.eye(2), [2.0, 3.0], classes="grow")
    assert model.classes_.dtype == np.int64
