"""Model files: what goes in comes out, and nothing that comes in does harm."""

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.svm import LinearSVC

from manyclass import MulticlassSVC, load_model, save_model
from manyclass.io.tensors import write_tensors
from manyclass.persistence import model_file
from manyclass.persistence.model_file import describe_model
from tests.helpers.memory import peak_of
from tests.helpers.model_files import NAMES, X, Y, fitted, refused, rewritten, with_tensors


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """A model file of the names of iris."""
    path = tmp_path_factory.mktemp("model") / "model"
    save_model(path, fitted(NAMES[Y]))
    return path.read_bytes()


@pytest.mark.parametrize(
    "y",
    [
        *(Y, Y.astype(np.int32), Y.astype(np.float64), NAMES[Y], NAMES[Y].astype(object), Y > 0),
        np.array(["é中", "b\n", " "])[Y],
    ],
    ids=["int64", "int32", "float", "str", "object", "bool", "unicode"],
)
def test_round_trip(y, path):
    model = fitted(y)
    save_model(path, model)
    loaded = load_model(path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert (loaded.predict(X) == model.predict(X)).all()
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    for name in ("certificate_", "n_iter_"):
        assert getattr(loaded, name) == getattr(model, name)
    assert loaded.get_params() == model.get_params()


def test_parameters_of_every_kind(path):
    weights = {"setosa": np.int64(1), "versicolor": 2.5}
    model = fitted(NAMES[Y], C=np.float64(0.5), class_weight=weights, n_jobs=2, fit_intercept=False)
    save_model(path, model)
    wanted = {**model.get_params(), "n_jobs": None}  # the machine's, not the model's
    assert load_model(path).get_params() == wanted
    rewritten(path, lambda _, stored: stored["params"].update(n_jobs=4096, checkpoint="/tmp/x"))
    assert load_model(path).get_params() == wanted
    model.set_params(random_state=np.random.RandomState(0))
    save_model(path, model)
    assert load_model(path).random_state is None


def test_float32_and_feature_names(path):
    pd = pytest.importorskip("pandas")

    frame = pd.DataFrame(X.astype(np.float32), columns=list("abcd"))
    model = fitted(X=frame)
    save_model(path, model)
    loaded = load_model(path)
    assert loaded.coef_.dtype == np.float32
    assert loaded.feature_names_in_.tolist() == list("abcd")
    assert (loaded.predict(frame) == model.predict(frame)).all()


def test_a_loaded_model_can_be_trained_and_saved_again(path):
    save_model(path, fitted())
    again = load_model(path).fit(X, Y)
    save_model(path, again)
    assert (load_model(path).predict(X) == again.predict(X)).all()


def test_description(path):
    model = fitted(C=2.0)
    save_model(path, model)
    described = json.loads(json.dumps(describe_model(path)))
    assert described["formulation"] == "crammer_singer"
    assert (described["C"], described["n_classes"], described["n_features"]) == (2.0, 3, 4)
    assert described["density"] == 1.0
    assert described["certificate"] == model.certificate_.as_dict()


def test_unfitted_or_odd_models_are_refused(path):
    with pytest.raises(NotFittedError):
        save_model(path, MulticlassSVC())
    odd = fitted()
    odd.classes_ = np.array([(1,), "a", None], dtype=object)
    with pytest.raises(ValueError, match="numbers or strings"):
        save_model(path, odd)
    assert not path.exists()


class Named(MulticlassSVC):
    """Not what a file would bring back."""


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (LinearSVC().fit(X, Y), "LinearSVC"),
        (Named().fit(X, Y), "Named"),
        (MulticlassSVC, "MulticlassSVC, fitted, not the class"),
        ({"a": 1}, "dict"),
    ],
)
def test_only_our_estimators_can_be_saved(what, told, path):
    kinds = "MulticlassSVC or a MultinomialLogisticRegression or a StochasticClassifier or a "
    kinds += "MultilabelSVC or a MulticlassSVCCV or a MultinomialLogisticRegressionCV or a "
    kinds += "MultilabelSVCCV, or scikit-learn's own Pipeline, GridSearchCV or the like with one of"
    with pytest.raises(TypeError, match=f"save_model takes a {kinds} them, not {told}"):
        save_model(path, what)
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, m: h.update(model="[" * 100_000), "header is damaged"),
        (lambda h, m: h.update(format="other"), "something else"),
        (lambda h, m: h.update(format_version="99", version="7.0"), r"format 99.*7\.0.*upgrade"),
        (lambda h, m: h.update(format_version="x"), "format version is damaged"),
        (lambda h, m: h.update(model="[]"), "no estimator"),
        (lambda h, m: m.update(estimator="Popen"), "no estimator that this version supports"),
        (lambda h, m: m["params"].update(C=-1), "'C'"),
        (lambda h, m: m["params"].update(evil=1), "evil"),
        (lambda h, m: m["params"].pop("C"), None),
        (lambda h, m: m.pop("params"), "params"),
        (lambda h, m: m.update(params=[1]), "inconsistent"),
        (lambda h, m: m.update(certificate={}), "inconsistent"),
        (lambda h, m: m.update(certificate={"gap": "x"}), "inconsistent"),
        (lambda h, m: m.update(n_iter="many"), "inconsistent"),
        (lambda h, m: m.update(classes=["a", "b"]), "classes"),
        (lambda h, m: m.update(classes=["a", "a", "b"]), "distinct"),
        (lambda h, m: m.update(classes=["a", 2, "b"]), "strings"),
        (lambda h, m: m.update(classes=7), "inconsistent"),
        (lambda h, m: m.update(feature_names=["a"]), "features"),
        (lambda h, m: m.update(feature_names="abcd"), "feature names must be a list"),
        (lambda h, m: m.update(feature_names=["a", "b", "c", 4]), "feature names must be a list"),
        (lambda h, m: m.update(feature_names=["a", "b", "c", "\ud800"]), "surrogates"),
        (lambda h, m: m.update(classes=["a", "b", "\udfff"]), "surrogates"),
        (lambda h, m: m.update(classes=["c", "b", "a"]), "ascending"),
        (lambda h, m: m.update(certificate=[1, 2, 3, 4, 5]), "inconsistent"),
        (lambda h, m: m.update(certificate=7), "inconsistent"),
        (lambda h, m: m["certificate"].update(gap=10**400), "inconsistent"),
        (lambda h, m: m["certificate"].update(gap=float("inf")), "six finite numbers"),
        (lambda h, m: m["certificate"].update(gap=float("nan")), "six finite numbers"),
        (lambda h, m: m["certificate"].update(gap="1"), "inconsistent"),
        (lambda h, m: m["certificate"].update(more=1.0), "six finite numbers"),
        (lambda h, m: m.update(n_iter=float("inf")), "n_iter must be"),  # as 1e999 is read
        (lambda h, m: m.update(n_iter=-1), "n_iter must be"),
        (lambda h, m: m.update(n_iter=1.5), "n_iter must be"),
        (lambda h, m: m.update(n_iter=10**400), "n_iter must be"),
        (lambda h, m: h.update(format_version="9" * 5000), "format version is damaged"),
        (lambda h, m: h.update(format_version="0"), "format version is damaged"),
        (lambda h, m: h.update(format_version="٢"), "format version is damaged"),
        (lambda h, m: m["params"].update(C=10**400), "inconsistent"),
        (lambda h, m: m["params"].update(C=float("inf")), "inconsistent"),
        (lambda h, m: m["params"].update(tol=float("inf")), "inconsistent"),
        (lambda h, m: m["params"].update(loss="squared_hinge"), "cannot be combined with"),
        (lambda h, m: m["params"].update({"evil\n" * 1000: 1}), "inconsistent"),
        (lambda h, m: m["params"].update(class_weight={"items": [[[], 1]]}), "inconsistent"),
    ],
)
def test_foreign_newer_and_hostile_headers(change, message, path, content):
    path.write_bytes(content)
    rewritten(path, change)
    if message is None:
        assert load_model(path).C == 1.0
    else:
        refused(path, message)


@pytest.mark.filterwarnings("ignore:nearly all training rows")
def test_few_long_class_names_take_little_memory(path):
    """As an array of strings, they would take 1.6 GB."""
    names = [f"{i:04d}" for i in range(2000)]
    save_model(path, MulticlassSVC(tol=1.0).fit(np.eye(4000, 10), 2 * names))
    names[-1] *= 50_000
    rewritten(path, lambda _, model: model.update(classes=names, classes_are_objects=False))
    classes, peak = peak_of(lambda: load_model(path).classes_)
    assert classes.dtype == object
    assert len(classes[-1]) == 200_000
    assert peak < 150e6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.full((4, 3), np.nan)}, "not finite"),
        ({"intercept": np.array([0, 0, np.inf])}, "not finite"),
        ({"weights": np.zeros((4, 3), np.float16)}, "type float16"),
        ({"intercept": np.zeros(3, np.int64)}, "type int64"),
        ({"weights": np.zeros((0, 3))}, "shape"),
        ({"weights": np.zeros((3, 4))}, "shape"),
        ({"weights": np.zeros(12)}, "shape"),
        ({"weights": np.zeros(())}, "shape"),
        ({"intercept": np.zeros((3, 1))}, "shape"),
        ({"classes": np.array([2, 1, 0])}, "ascending"),
        ({"classes": np.array([0, 1, 1])}, "ascending"),
        ({"classes": np.array([0, 1, np.nan])}, "ascending"),
        ({"classes": np.array([[0, 1, 2]])}, "shape"),
        ({"classes": np.array([0]), "weights": np.zeros((4, 1)), "intercept": np.zeros(1)}, ""),
        ({"weights": np.zeros((4, 0)), "intercept": np.zeros(0), "classes": np.zeros(0)}, ""),
    ],
)
def test_hostile_tensors(change, message, path):
    save_model(path, fitted())
    with_tensors(path, change)
    refused(path, f"cannot be read as a manyclass model.*{message}")


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("coef_", np.full((3, 4), np.inf), "not finite"),
        ("intercept_", np.array([0, 0, np.nan]), "not finite"),
        ("classes_", np.array(["a", "b", "\ud800"]), "surrogates"),
        ("classes_", np.array([2, 1, 0]), "ascending"),
        ("n_iter_", -1, "n_iter"),
        ("class_weight", {(1, 2): 1.0}, "cannot be saved"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(attribute, value, message, path):
    model = fitted()
    setattr(model, attribute, value)
    with pytest.raises(ValueError, match=message):
        save_model(path, model)
    assert not path.exists()


def test_weights_lie_in_the_file_as_prediction_uses_them(path):
    model = fitted()
    save_model(path, model)
    assert model_file.read_parts(path)[0]["weights"].shape == (4, 3)
    loaded = load_model(path)
    assert loaded.coef_.shape == (3, 4)
    assert loaded.coef_.flags.f_contiguous
    assert loaded.coef_.T.flags.c_contiguous


def test_weights_are_not_copied_on_saving(path):
    model = MulticlassSVC(tol=1.0).fit(np.eye(10, 100_000), np.arange(10))
    _, peak = peak_of(lambda: save_model(path, model))
    assert peak < model.coef_.nbytes / 2  # a byte for each weight, to see that it is finite


def test_a_description_reads_the_file_once(path, monkeypatch):
    save_model(path, fitted())
    read, calls = model_file.read_parts, []
    monkeypatch.setattr(model_file, "read_parts", lambda p: calls.append(p) or read(p))
    describe_model(path)
    assert calls == [path]


def test_safetensors_reads_a_model_file(path):
    safetensors = pytest.importorskip("safetensors")
    model = fitted(NAMES[Y])
    save_model(path, model)
    with safetensors.safe_open(path, framework="np") as file:
        np.testing.assert_array_equal(file.get_tensor("weights"), model.coef_.T)
        metadata = file.metadata()
    assert (metadata["format"], metadata["format_version"]) == ("manyclass", "1")
    assert json.loads(metadata["model"])["classes"] == NAMES.tolist()


def test_a_header_without_its_checksum_is_refused(path):
    safetensors = pytest.importorskip("safetensors.numpy")
    save_model(path, fitted())
    tensors, _, metadata = model_file.read_parts(path)
    del metadata["header_checksum"]
    safetensors.save_file(tensors, path, metadata)
    with pytest.raises(ValueError, match="the checksum of its header differs"):
        load_model(path)
    metadata["version"] = '0.1.0"header_checksum":"00000000"'  # quotes are escaped
    write_tensors(path, tensors, metadata)
    load_model(path)
