"""Models in ONNX predict under onnxruntime what they predict here."""

import importlib
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
    StochasticClassifier,
)
from tests.helpers.cases import each
from tests.helpers.iris import IRIS

pytest.importorskip("skl2onnx")
pytest.importorskip("onnxruntime")

import onnxruntime
import skl2onnx
from skl2onnx.common.data_types import BooleanTensorType, Int64TensorType

import manyclass.onnx
from manyclass.onnx import to_onnx

X, Y = IRIS
NAMES = np.array(["setosa", "versicolor", "virginica"])
STEPS = {"max_steps": 2000, "tol": None}
MODELS = {
    "svc": MulticlassSVC(random_state=0),
    "one-vs-rest": MulticlassSVC(formulation="ovr", loss="squared_hinge", random_state=0),
    "logistic": MultinomialLogisticRegression(random_state=0),
    "log_loss": StochasticClassifier(loss="log_loss", random_state=0, **STEPS),
    "hinge": StochasticClassifier(loss="hinge", random_state=0, **STEPS),
}


def run(proto, rows):
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {session.get_inputs()[0].name: rows})


def shown(model, rows):
    """What the second output must hold."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(rows)
    scores = model.decision_function(rows)
    return np.c_[-scores, scores] if scores.ndim == 1 else scores


@pytest.mark.parametrize("name", MODELS)
@each("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "y",
    [Y, NAMES[Y], NAMES[Y].astype(object), Y.astype(float), Y > 0, NAMES[(Y > 0) * 1]],
    ids=["int", "str", "object", "float", "bool", "two names"],
)
def test_the_same_predictions(name, dtype, y):
    rows = X.astype(dtype)
    model = MODELS[name].fit(rows, y)
    labels, second = run(to_onnx(model, dtype), rows)
    assert labels.shape == (len(X),)
    assert (labels == model.predict(rows)).all()
    tolerance = 1e-4 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(second, shown(model, rows), rtol=tolerance, atol=tolerance)
    assert second.dtype == dtype


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("y", [NAMES[Y], Y > 0], ids=["multi", "binary"])
def test_pipelines_with_a_scaler(name, y):
    rows = X.astype(np.float32)
    pipeline = make_pipeline(StandardScaler(), MODELS[name]).fit(rows, y)
    labels, second = run(to_onnx(pipeline), rows)
    assert (labels == pipeline.predict(rows)).all()
    expected = shown(pipeline[-1], pipeline[:-1].transform(rows))
    np.testing.assert_allclose(second, expected, rtol=1e-3, atol=1e-4)


SAME = [
    "passthrough",
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MaxAbsScaler(),
    MinMaxScaler((-1, 2), clip=True),
    TfidfTransformer(norm=None, smooth_idf=False),
]
SAME_IN_FLOAT32 = [
    Normalizer("l1"),
    Normalizer("l2"),
    TfidfTransformer(),
    TfidfTransformer(norm="l1", use_idf=False),
]


@pytest.mark.parametrize(
    ("step", "dtype"),
    [
        *((step, dtype) for step in SAME for dtype in ("float32", "float64")),
        *((step, "float32") for step in SAME_IN_FLOAT32),
    ],
    ids=str,
)
def test_steps_predict_the_same(step, dtype):
    """Also on rows of zeros, and beyond the values of training."""
    pipeline = make_pipeline(step, MultinomialLogisticRegression()).fit(X, Y)
    rows = np.r_[3 * X, np.where(X > 3, 0, X), np.zeros((1, 4)), -X].astype(dtype)
    chances = run(to_onnx(pipeline, dtype), rows)[1]
    np.testing.assert_allclose(chances, pipeline.predict_proba(rows), rtol=1e-3, atol=1e-4)


EMPTY = np.c_[X, np.zeros(len(X))]


@pytest.mark.parametrize(
    ("step", "dtype", "message"),
    [
        (MaxAbsScaler(clip=True), "float32", "'a'.* with clip=True: .*train with clip=False"),
        (TfidfTransformer(norm=None, smooth_idf=False), "float32", "smooth_idf=False: a column"),
        (TfidfTransformer(norm="l1"), "float64", "'a'.*norm='l1': .*NaN.*; use float32"),
        (Normalizer("l1"), "float64", "'a', a Normalizer with norm='l1': .*NaN.*; use float32"),
        (Normalizer("max"), "float32", "norm='max': skl2onnx takes the largest value"),
        (Normalizer("max"), "float64", "norm='max': skl2onnx takes the largest value"),
        (make_pipeline(Normalizer()), "float64", "step 'a__normalizer'"),
    ],
)
def test_steps_that_would_predict_otherwise_are_refused(step, dtype, message):
    with np.errstate(divide="ignore"):
        pipeline = Pipeline([("a", step), ("b", MulticlassSVC())]).fit(EMPTY, Y)
    with pytest.raises(ValueError, match=message):
        to_onnx(pipeline, dtype)


class Unknown(StandardScaler):
    """No step of skl2onnx."""


def test_steps_that_skl2onnx_does_not_know():
    pipeline = make_pipeline(Unknown(), MulticlassSVC()).fit(X, Y)
    with pytest.raises(ValueError, match=r"skl2onnx cannot convert the pipeline: .*Unknown"):
        to_onnx(pipeline)


@pytest.mark.parametrize("kind", [MulticlassSVCCV, MultinomialLogisticRegressionCV])
@pytest.mark.parametrize("y", [NAMES[Y], Y > 0], ids=["multi", "binary"])
def test_estimators_that_choose_C(kind, y):
    rows = X.astype(np.float32)
    pipeline = make_pipeline(StandardScaler(), kind(Cs=[0.1, 1.0], cv=2, random_state=0))
    labels, second = run(to_onnx(pipeline.fit(rows, y)), rows)
    assert (labels == pipeline.predict(rows)).all()
    expected = shown(pipeline[-1], pipeline[:-1].transform(rows))
    np.testing.assert_allclose(second, expected, rtol=1e-3, atol=1e-4)


def test_sparse_weights():
    rows = X.astype(np.float32)
    model = MODELS["svc"].fit(rows, NAMES[Y]).sparsify(0.3)
    assert (run(to_onnx(model), rows)[0] == model.predict(rows)).all()


def test_integers_and_truth_values():
    for cast, kind in ((np.int64, Int64TensorType), (bool, BooleanTensorType)):
        rows = np.rint(X).astype(cast)
        model = MultinomialLogisticRegression(C=0.1).fit(rows, Y)
        options = {id(model): {"zipmap": False}}
        proto = skl2onnx.to_onnx(model, initial_types=[("X", kind([None, 4]))], options=options)
        labels, chances = run(proto, rows)
        assert (labels == model.predict(rows)).all()
        np.testing.assert_allclose(chances, model.predict_proba(rows), rtol=1e-4, atol=1e-5)


def test_options_of_skl2onnx():
    rows = X.astype(np.float32)
    model = MODELS["logistic"].fit(rows, NAMES[Y])
    maps = run(skl2onnx.to_onnx(model, rows), rows)[1]
    assert sorted(maps[0]) == NAMES.tolist()
    raw = {id(model): {"zipmap": False, "raw_scores": True, "nocl": True}}
    labels, scores = run(skl2onnx.to_onnx(model, rows, options=raw), rows)
    np.testing.assert_allclose(scores, model.decision_function(rows), rtol=1e-4, atol=1e-4)
    assert (NAMES[labels] == model.predict(rows)).all()
    named = {id(model): {"zipmap": False, "output_class_labels": True}}
    assert run(skl2onnx.to_onnx(model, rows, options=named), rows)[2].tolist() == NAMES.tolist()
    columns = run(skl2onnx.to_onnx(model, rows, options={id(model): {"zipmap": "columns"}}), rows)
    np.testing.assert_allclose(columns[2], model.predict_proba(rows)[:, 1], atol=1e-5)


def test_weights_that_do_not_fit(monkeypatch):
    monkeypatch.setattr(manyclass.onnx, "MAX_BYTES", 40)
    model = MODELS["svc"].fit(X, Y).sparsify()
    with pytest.raises(ValueError, match=r"of 3 classes and 4 features.*holds 2 GB; keep"):
        to_onnx(model)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (LogisticRegression(), TypeError, "not LogisticRegression"),
        (make_pipeline(StandardScaler(), LogisticRegression()), TypeError, "Pipeline that ends"),
        (GridSearchCV(MulticlassSVC(), {"C": [1]}, cv=2).fit(X, Y), TypeError, "best_estimator_"),
        (MulticlassSVC(), NotFittedError, "not fitted"),
        (MulticlassSVCCV(), NotFittedError, "not fitted"),
        (make_pipeline(StandardScaler(), MODELS["svc"].fit(X, Y)), NotFittedError, "StandardSc"),
    ],
)
def test_what_is_refused(model, error, message):
    with pytest.raises(error, match=message):
        to_onnx(model)


def test_weights_classes_and_types_that_onnx_does_not_hold():
    model = MODELS["svc"].fit(X, Y)
    model.coef_[0, 0] = 1e300
    with pytest.raises(ValueError, match="not finite in float32; use float64"):
        to_onnx(model)
    to_onnx(model, np.float64)
    model = MODELS["svc"].fit(X, Y)
    model.classes_ = np.array([0.5, 1.0, 2.0])
    with pytest.raises(ValueError, match="whole numbers or strings"):
        to_onnx(model)
    model.classes_ = np.array(["a", "b", "\ud800"], dtype=object)
    with pytest.raises(ValueError, match=r"the class '\\ud800' cannot be stored in ONNX"):
        to_onnx(model)
    hashed = make_pipeline(HashingVectorizer(n_features=9), MulticlassSVC())
    with pytest.raises(ValueError, match="HashingVectorizer does not take a table of numbers; cal"):
        to_onnx(hashed.fit(["a cat", "a dog"], [0, 1]))
    for dtype, name in ((np.int64, "int64"), (None, "None")):
        with pytest.raises(ValueError, match=f"dtype must be float32 or float64, not {name}"):
            to_onnx(MODELS["svc"].fit(X, Y), dtype)


def test_without_skl2onnx(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    monkeypatch.delitem(sys.modules, "manyclass.onnx")
    with pytest.raises(ImportError, match=r"needs skl2onnx.*pip install skl2onnx"):
        importlib.import_module("manyclass.onnx")
