"""The command line: models for LIBLINEAR and ONNX, and from LIBLINEAR."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from manyclass import MulticlassSVC, load_liblinear, load_model, save_model
from manyclass.cli import commands
from tests.helpers.command_line import names
from tests.helpers.iris import IRIS
from tests.helpers.liblinear_files import predicted, trained

X, Y = IRIS


@pytest.fixture(name="iris")
def iris_fixture(here):
    """A folder with data `iris` of the labels 0, 1 and 2, and models `svm` and `logistic` of it."""
    dump_svmlight_file(X, Y, "iris", zero_based=False)
    assert commands.main(["train", "iris", "svm", "--quiet"]) == 0
    assert commands.main(["train", "iris", "logistic", "--formulation", "logistic", "--quiet"]) == 0
    return here


def test_liblinear_predicts_what_we_predict(run, iris):
    lines = run.works("export", "svm", "out", "--format", "liblinear")
    assert lines == [f"saved out: {Path('out').stat().st_size / 1e6:,.3g} MB"]
    expected = run.works("predict", "iris", "svm", "-")
    assert predicted("out", X)[0].astype(int).astype(str).tolist() == expected
    lines = run.works("export", "logistic", "out", "--format", "liblinear")
    assert lines[0] == "probabilities are left out: LIBLINEAR's are of one-vs-rest models"


def test_a_model_of_liblinear_takes_the_place_of_ours(run, iris):
    trained("foreign", X, Y, "-s 2 -B 1 -e 0.1")
    assert run.works("import", "foreign", "m") == ["saved m: MulticlassSVC, 3 classes, 4 features"]
    labels = predicted("foreign", X)[0].astype(int).astype(str).tolist()
    assert run.works("predict", "iris", "m", "-") == labels
    assert run.works("evaluate", "iris", "m")[1].startswith("accuracy")
    info = run.works("info", "m")
    assert info[-1] == "certificate  none: the model was not trained by manyclass"
    run.works("export", "m", "again", "--format", "liblinear")
    np.testing.assert_array_equal(load_liblinear("again").coef_, load_liblinear("foreign").coef_)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_onnx(run, iris, dtype):
    onnxruntime = pytest.importorskip("onnxruntime")
    run.works("export", "svm", "out", "--format", "onnx", "--dtype", dtype)
    session = onnxruntime.InferenceSession("out", providers=["CPUExecutionProvider"])
    labels, scores = session.run(None, {"X": X.astype(dtype)})
    assert labels.astype(str).tolist() == run.works("predict", "iris", "svm", "-")
    assert scores.dtype == dtype
    run.works("export", "svm", "OUT.ONNX", "--dtype", dtype)
    assert Path("OUT.ONNX").read_bytes() == Path("out").read_bytes()


def test_other_names_need_a_format(run, iris):
    message = run.fails("export", "svm", "out.txt")
    assert message == "--format is required unless OUT ends in .onnx"
    assert "out.txt" not in names(iris)


def test_names_of_classes(run, tiny):
    onnxruntime = pytest.importorskip("onnxruntime")
    message = run.fails("export", "abc", "out", "--format", "liblinear")
    assert message == (
        "abc: LIBLINEAR's labels are 32-bit integers, unlike the class 'a'; "
        "use --encode-labels to write positions of classes in their place"
    )
    run.works("export", "abc", "out", "--format", "liblinear", "--encode-labels")
    assert "label 0 1 2" in Path("out").read_text().splitlines()
    run.works("export", "abc", "graph", "--format", "onnx")
    session = onnxruntime.InferenceSession("graph", providers=["CPUExecutionProvider"])
    assert session.run(None, {"X": np.eye(3, dtype=np.float32)})[0].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["liblinear", "onnx"])
@pytest.mark.parametrize("model", ["svm", "logistic"])
def test_standard_output(kind, model, iris, capfdbinary):
    if kind == "onnx":
        pytest.importorskip("skl2onnx")
    assert commands.main(["export", model, "file", "--format", kind]) == 0
    capfdbinary.readouterr()
    assert commands.main(["export", model, "-", "--format", kind]) == 0
    assert capfdbinary.readouterr() == (Path("file").read_bytes(), b"")
    assert not Path("-").exists()


def test_steps_that_onnx_would_get_wrong(run, here):
    pytest.importorskip("skops")
    pytest.importorskip("skl2onnx")
    save_model("pipeline", make_pipeline(Normalizer(), MulticlassSVC()).fit(X, Y))
    message = run.fails("export", "pipeline", "out", "--format", "onnx", "--dtype", "float64")
    assert message == (
        "pipeline: to_onnx cannot convert the step 'normalizer', a Normalizer with norm='l2': in "
        "float64 skl2onnx gives NaN for rows of zeros; use --dtype float32"
    )
    save_model("pipeline", make_pipeline(Normalizer("max"), MulticlassSVC()).fit(X, Y))
    for dtype in ("float32", "float64"):
        message = run.fails("export", "pipeline", "out", "--format", "onnx", "--dtype", dtype)
        assert "a Normalizer with norm='max'" in message
    assert names(here) == ["pipeline"]


@pytest.mark.parametrize(
    "how", [["--format", "onnx"], ["--format", "liblinear", "--encode-labels"]], ids=str
)
def test_the_same_kind_is_replaced_and_others_by_force(run, tiny, how):
    if "onnx" in how:
        pytest.importorskip("skl2onnx")
    for _ in range(2):
        run.works("export", "abc", "out", *how)
    Path("text").write_text("a line of text\n")
    run.works("export", "abc", "text", *how, "--force")
    assert Path("text").read_bytes() == Path("out").read_bytes()


def test_an_imported_model_replaces_a_model(run, tiny):
    run.works("export", "abc", "out", "--format", "liblinear", "--encode-labels")
    run.works("import", "out", "abc")
    assert load_model("abc").classes_.tolist() == [0, 1, 2]
    Path("text").write_text("a line of text\n")
    run.works("import", "out", "text", "--force")
    load_model("text")


def test_without_skl2onnx(run, tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    monkeypatch.delitem(sys.modules, "manyclass.onnx", raising=False)
    message = run.fails("export", "abc", "out", "--format", "onnx")
    assert message.startswith("argument --format onnx: manyclass.onnx needs skl2onnx")
    assert message.endswith("pip install skl2onnx")
