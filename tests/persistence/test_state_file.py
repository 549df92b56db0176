"""Files of state: training continues in another process, and damage is one clear error."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyclass import (
    MulticlassSVC,
    MultilabelSVC,
    MultinomialLogisticRegression,
    StochasticClassifier,
    load_model,
    load_state,
    save_model,
    save_state,
)
from manyclass.datasets import make_text_corpus
from manyclass.io.tensors import write_tensors
from manyclass.persistence.model_file import read_parts
from manyclass.persistence.state_file import FORMAT, start_from
from tests.helpers.model_files import NAMES, X, Y

TEXT = make_text_corpus(150, 1000, 5, random_state=0)
SETS = np.stack([Y == 0, Y > 0, Y == 2], axis=1).astype(int)
MODELS = {
    "svc": (MulticlassSVC(random_state=0), NAMES[Y]),
    "squared": (MulticlassSVC(formulation="ww", loss="squared_hinge", random_state=0), Y),
    "costs": (
        MulticlassSVC(formulation="ww", costs=1 - np.eye(3), cost_scaling="slack", random_state=0),
        Y,
    ),
    "two classes": (MulticlassSVC(random_state=0), Y > 0),
    "logistic": (MultinomialLogisticRegression(random_state=0), NAMES[Y].astype(object)),
    "log_u": (MultinomialLogisticRegression(random_state=0), TEXT[1]),
    "multilabel": (MultilabelSVC(random_state=0), SETS),
}


def yesterday(kind):
    """A model of the first 140 rows, and all rows."""
    model, y = MODELS[kind]
    rows = TEXT[0] if kind == "log_u" else X
    model = type(model)(**{**model.get_params(), "warm_start": True}).fit(rows[:140], y[:140])
    return model, rows, y


@pytest.mark.parametrize("kind", MODELS)
def test_the_next_fit_is_the_same(kind, path):
    model, X, y = yesterday(kind)
    save_state(path, model)
    loaded = load_state(path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.warm_start
    for one in (model, loaded):
        one.fit(X[5:], y[5:])
    assert loaded.n_iter_ == model.n_iter_
    np.testing.assert_array_equal(loaded.coef_, model.coef_)


@pytest.mark.parametrize("kind", MODELS)
def test_nothing_changed(kind, path):
    model, X, y = yesterday(kind)
    save_state(path, model)
    again = load_state(path).fit(X[:140], y[:140])
    if kind != "multilabel":
        assert again.n_iter_ == 0
    assert again.certificate_.relative_gap <= again.tol


@pytest.mark.parametrize("kind", ["svc", "log_u", "multilabel"])
def test_pickles(kind):
    """SVMs keep their state; logistic regression keeps its weights alone."""
    model, X, y = yesterday(kind)
    loaded = pickle.loads(pickle.dumps(model))
    assert hasattr(loaded, "_warm_start") == (kind != "log_u")
    for one in (model, loaded):
        one.fit(X[5:], y[5:])
    if kind != "log_u":
        np.testing.assert_array_equal(loaded.coef_, model.coef_)


def test_another_process(path):
    model, X, y = yesterday("svc")
    save_state(path, model)
    code = f"""
from sklearn.datasets import load_iris
from manyclass import load_state
X, y = load_iris(return_X_y=True)
names = load_iris().target_names
model = load_state({str(path)!r}).set_params(verbose=1)
print(model.fit(X[5:], names[y[5:]]).coef_.tolist())
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = found.stdout.splitlines()
    assert "warm start: 135 rows kept, 10 new, 5 gone" in lines
    np.testing.assert_array_equal(json.loads(lines[-1]), model.fit(X[5:], y[5:]).coef_)


def test_wrong_arguments(path):
    cold = MulticlassSVC().fit(X, Y)
    with pytest.raises(ValueError, match="no state; fit it with warm_start=True"):
        save_state(path, cold)
    with pytest.raises(NotFittedError):
        save_state(path, MulticlassSVC(warm_start=True))
    for model in (
        StochasticClassifier().fit(X, Y),
        make_pipeline(StandardScaler(), cold),
        MulticlassSVC,
    ):
        with pytest.raises(TypeError, match=r"save_state takes a MulticlassSVC, .* save the last"):
            save_state(path, model)
    with pytest.raises(TypeError, match="save_state takes a path, not 3"):
        save_state(3, cold)
    assert not path.exists()


def test_files_of_other_kinds(path):
    model, *_ = yesterday("svc")
    save_model(path, model)
    with pytest.raises(ValueError, match="as a state file: it holds a model"):
        load_state(path)
    save_state(path, model)
    with pytest.raises(ValueError, match="it holds a model with its state, for load_state"):
        load_model(path)
    with pytest.raises(
        ValueError, match=r"is a model of MulticlassSVC, crammer_singer, hinge, not"
    ):
        start_from(MulticlassSVC(formulation="ww"), path)


def test_start_from_a_model_file(path):
    """Weights serve logistic regression; z of SVMs begins at 0."""
    for kind, found in {"logistic": "starts from its weights", "svc": "start at 0"}.items():
        model, X, y = yesterday(kind)
        save_model(path, model)
        other = type(model)(random_state=0)
        text = start_from(other, path)
        assert found in text
        other.fit(X, y)
        cold = type(model)(random_state=0).fit(X, y)
        if kind == "logistic":
            assert other.n_iter_ <= cold.n_iter_
        else:
            np.testing.assert_array_equal(other.coef_, cold.coef_)


@pytest.mark.parametrize("kind", ["svc", "logistic"])
def test_truncations_and_flipped_bits(kind, path):
    save_state(path, yesterday(kind)[0])
    content = path.read_bytes()
    for size in [*range(0, 64, 7), *np.linspace(64, len(content) - 1, 20).astype(int)]:
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match="cannot be read as a state file"):
            load_state(path)
    rng = np.random.default_rng(0)
    for at in rng.integers(0, len(content), 150):
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="state"):
            load_state(path)


def changed(path, tensors, **about):
    """Change tensors and JSON of a state file, whose checksums are right then."""
    found, _, metadata = read_parts(path, FORMAT)
    new = {f"state/{name}": change(found[f"state/{name}"]) for name, change in tensors.items()}
    metadata["state"] = json.dumps({**json.loads(metadata["state"]), **about})
    kept = {n: v for n, v in {**found, **new}.items() if v is not None}
    write_tensors(path, kept, metadata)


HOSTILE = {
    "z exceeds its bounds": ("svc", {"duals.values": lambda z: 9 * z}, {}),
    "z is negative": ("svc", {"duals.values": lambda z: -z}, {}),
    "where a class is not a target": ("svc", {"labels": lambda y: (y + 1) % 3}, {}),
    "classes that do not exist": ("svc", {"duals.classes": lambda c: c + 3}, {}),
    "costs of rows must be positive": ("svc", {"costs": lambda c: -c}, {}),
    "labels of rows are out": ("svc", {"labels": lambda y: y + 1}, {}),
    "an array of float64": ("svc", {"duals.values": lambda z: z}, {"dtype": "float32"}),
    "an array of uint64": ("svc", {"prints": lambda p: p[:-1]}, {}),
    "number of features": ("svc", {}, {"n_features": -1}),
    "cannot be combined with": ("svc", {}, {"loss": "squared_hinge"}),
    "belongs to a different estimator": (
        "svc",
        {},
        {"formulation": "logistic", "loss": "log_loss"},
    ),
    "'all'": ("svc", {}, {"formulation": "all"}),
    "do not add up to 1": ("log_u", {"log_u": lambda v: v - 1}, {}),
    "logarithms": ("log_u", {"log_u": lambda v: v * np.nan}, {}),
    "requires the weights": ("log_u", {"weights": lambda W: None}, {}),
    "weights are not finite": ("logistic", {"weights": lambda W: W * np.inf}, {}),
    "a label twice": ("multilabel", {"sets.labels": lambda c: 0 * c + 1}, {}),
    "label sets require formulation": ("multilabel", {}, {"formulation": "weston_watkins"}),
    "no fingerprints": ("multilabel", {"prints": lambda p: None}, {}),
}


@pytest.mark.parametrize("message", HOSTILE)
def test_contents_that_do_not_fit(message, path):
    kind, tensors, about = HOSTILE[message]
    save_state(path, yesterday(kind)[0])
    changed(path, tensors, **about)
    with pytest.raises(ValueError, match=message) as caught:
        load_state(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("kind", ["svc", "squared", "log_u"])
def test_nothing_of_deleted_rows_stays(kind, path):
    """No bytes of values, fingerprints or z of rows that went, in files and pickles."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    rows = rng.normal(size=(90, 8)) + 2 * np.eye(3, 8)[y]
    model = MODELS[kind][0]
    if kind == "log_u":
        rows = np.hstack([rows, np.eye(90)])  # many features
    model = type(model)(**{**model.get_params(), "warm_start": True}).fit(rows, y)
    before = model._warm_start
    seen = pickle.dumps(before)
    gone = slice(0, 30)
    secrets = [one.tobytes() for one in (*rows[gone, :8].ravel(), *before.prints[gone].ravel())]
    if kind == "log_u":
        secrets += [v.tobytes() for v in before.start.log_u[gone].ravel()]
    elif kind == "squared":  # z has no bounds that rows share
        secrets += [z.tobytes() for z in before.start.duals[gone].data]
    assert before.prints[0].tobytes() in seen
    model.fit(rows[30:], y[30:])
    save_state(path, model)
    save_model(path.with_suffix(".model"), model)
    files = [path.read_bytes(), path.with_suffix(".model").read_bytes(), pickle.dumps(model)]
    assert before.prints[40].tobytes() in files[0]
    for content in files:
        assert not any(secret in content for secret in secrets)


def test_numbers_of_rows_ascend(path):
    model = MulticlassSVC(warm_start=True, random_state=0)
    save_state(path, model.fit(X, Y, sample_weight=np.arange(len(Y)) % 3))
    assert load_state(path)._warm_start.numbers[:2].tolist() == [1, 2]
    changed(path, {"numbers": lambda numbers: numbers[::-1].copy()})
    with pytest.raises(ValueError, match="not ascending"):
        load_state(path)
