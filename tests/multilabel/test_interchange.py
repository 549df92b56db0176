"""MultilabelSVC as an estimator of scikit-learn and in ONNX."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from manyclass import MultilabelSVC, save_model
from manyclass.cli import main
from tests.helpers.cases import each

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(120, 8))
Y = (X @ RNG.normal(size=(8, 5)) + RNG.normal(size=(120, 5)) > 1.5).astype(int)
NAMES = np.array(list("abcde"))
KINDS = {
    "array": lambda Y: Y,
    "sparse": sp.csr_array,
    "sets": lambda Y: [set(NAMES[: len(row)][row.astype(bool)].tolist()) for row in Y],
    "frame": lambda Y: pd.DataFrame(Y, columns=NAMES[: Y.shape[1]]),
}


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def run(model, rows, *dtype):
    pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    from manyclass.onnx import to_onnx

    proto = to_onnx(model, *dtype)
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    assert [output.name for output in session.get_outputs()] == ["label", "scores"]
    return session.run(None, {"X": rows})


@pytest.mark.parametrize("kind", KINDS)
@each("weights", ["dense", "sparse"])
@each("threshold", ["zero", "tuned", 0.2])
@pytest.mark.parametrize("n_labels", [1, 2, 5])
def test_scikit_learn_predicts_the_same(kind, weights, threshold, n_labels):
    model = MultilabelSVC(weights=weights, threshold=threshold, random_state=0)
    model.fit(X, KINDS[kind](Y[:, :n_labels]))
    plain = pickle.loads(pickle.dumps(model.to_sklearn()))
    assert type(plain) is OneVsRestClassifier
    assert sp.issparse(plain.predict(X)) == model.predicts_sparse_
    np.testing.assert_array_equal(dense(plain.predict(X)), dense(model.predict(X)))
    scores = np.reshape(plain.decision_function(X), (len(X), n_labels))
    np.testing.assert_allclose(
        scores, model.decision_function(X) - model.thresholds_, rtol=1e-10, atol=1e-10
    )


def test_the_weights_are_those_of_linear_svc():
    params = {"C": 0.5, "loss": "squared_hinge"}
    ours = MultilabelSVC(tol=1e-10, **params).fit(X, Y).to_sklearn()
    theirs = OneVsRestClassifier(LinearSVC(tol=1e-10, max_iter=10**6, **params)).fit(X, Y)
    for one, other in zip(ours.estimators_, theirs.estimators_, strict=True):
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-4)
    assert ours.estimator.get_params()["C"] == 0.5


def test_names_of_columns_and_copies():
    frame = pd.DataFrame(X, columns=list("stuvwxyz"))
    model = MultilabelSVC().fit(frame, Y)
    plain = model.to_sklearn()
    assert plain.predict(frame).shape == Y.shape  # without a warning
    plain.estimators_[0].coef_[:] = 0
    assert model.coef_[0].any()
    with pytest.raises(NotFittedError):
        MultilabelSVC().to_sklearn()


@each("dtype", [np.float32, np.float64])
@each("weights", ["dense", "sparse"])
@pytest.mark.parametrize("threshold", ["zero", "tuned", 0.2])
@pytest.mark.parametrize("n_labels", [1, 2, 5])
def test_onnx_predicts_the_same(dtype, weights, threshold, n_labels):
    rows = X.astype(dtype)
    model = MultilabelSVC(weights=weights, threshold=threshold, random_state=0)
    model.fit(rows, Y[:, :n_labels])
    labels, scores = run(model, rows, dtype)
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(labels, model.predict(rows))
    np.testing.assert_allclose(scores, model.decision_function(rows), rtol=1e-4, atol=1e-5)


def test_onnx_of_a_pipeline_and_on_the_command_line(tmp_path, capsys):
    onnxruntime = pytest.importorskip("onnxruntime")
    rows = X.astype(np.float32)
    pipeline = make_pipeline(StandardScaler(), MultilabelSVC(random_state=0)).fit(rows, Y)
    labels, _ = run(pipeline, rows)
    np.testing.assert_array_equal(labels, pipeline.predict(rows))
    path, out = str(tmp_path / "model"), tmp_path / "out.onnx"
    save_model(path, pipeline[-1])
    assert main(["export", path, str(out), "--format", "onnx"]) == 0
    session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    labels = session.run(None, {"X": pipeline[0].transform(rows)})[0]
    np.testing.assert_array_equal(labels, pipeline.predict(rows))
