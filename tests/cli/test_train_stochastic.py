"""The command line: stochastic training, also of files in blocks, and probabilities."""

import json
from pathlib import Path

import numpy as np
import pytest

from manyclass import StochasticClassifier, load_model, load_svmlight
from manyclass.cli.input import blocks
from manyclass.io.svmlight_stream import SvmlightBlocks
from tests.helpers.command_line import names

pytestmark = pytest.mark.usefixtures("here")


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "perceptron"])
def test_train_evaluate_info(run, corpus, loss):
    train = ["train", corpus / "train.txt", "m", "--solver", "stochastic", "--loss", loss]
    lines = run.works(*train, "--average", "--max-iter", "1000", "--jobs", "2")
    assert lines[0].startswith("read ")
    assert lines[1].startswith("epoch    1 ")
    assert lines[-2].startswith("trained ")
    assert "steps in" in lines[-2]
    assert lines[-1] == "saved m"
    model = load_model("m")
    assert (model.loss, model.average, model.n_steps_) == (loss, True, 400 * model.n_iter_)
    score = json.loads(run.works("evaluate", corpus / "test.txt", "m", "--json")[0])
    assert score["accuracy"] > 0.6
    about = json.loads(run.works("info", "m", "--json")[0])
    assert about["estimator"] == "StochasticClassifier"
    assert (about["loss"], about["alpha"], about["certificate"]) == (loss, 1e-4, None)
    assert about["n_steps"] == model.n_steps_
    words = run.works("info", "m")
    assert f"loss         {loss}, stochastic steps, alpha = 0.0001" in words
    assert "certificate  none: stochastic training has no certificate" in words


def test_options_are_those_of_the_estimator(run, corpus):
    given = ["--alpha", "0.01", "--batch-size", "8", "--max-steps", "120", "--seed", "7"]
    options = [*given, "--class-weight", "balanced", "--no-intercept", "--dtype", "float64"]
    run.works("train", corpus / "train.txt", "m", "--solver", "stochastic", "--quiet", *options)
    X, y = load_svmlight(corpus / "train.txt", dtype=np.float64)
    params = {"alpha": 0.01, "batch_size": 8, "max_steps": 120, "random_state": 7}
    params |= {"class_weight": "balanced", "fit_intercept": False}
    model = StochasticClassifier(**params).fit(X, y)
    np.testing.assert_array_equal(load_model("m").coef_, model.coef_)


def test_early_stopping(run, corpus):
    train = ["train", corpus / "train.txt", "m", "--solver", "stochastic", "--early-stopping"]
    assert "validation" in run.works(*train)[1]


def test_out_of_core_is_training_on_blocks(run, corpus):
    train = ["train", corpus / "train.txt", "m", "--solver", "stochastic", "--out-of-core"]
    lines = run.works(*train, "--max-steps", "900", "--class-weight", "balanced")
    assert lines[0].startswith("looked through ")
    assert "reading blocks of up to 400 rows" in lines[0]
    blocks = SvmlightBlocks(corpus / "train.txt")
    counts = blocks.class_counts
    model = StochasticClassifier(
        max_steps=900,
        random_state=0,
        class_weight=dict(zip(blocks.classes.tolist(), 400 / (20 * counts), strict=True)),
    )
    source = [(X, blocks.classes[codes]) for X, codes in blocks]
    model.fit_blocks(source, blocks.classes, blocks.n_features)
    np.testing.assert_array_equal(load_model("m").coef_, model.coef_)


def test_files_that_may_not_fit_are_read_in_blocks(run, corpus, monkeypatch):
    train = ["train", corpus / "train.txt", "m", "--solver", "stochastic"]
    assert run.works(*train)[0].startswith("read ")
    monkeypatch.setattr(blocks, "SHARE_OF_MEMORY", 1e-9)
    assert run.works(*train)[0].startswith("looked through ")


def test_text_labels_in_blocks(run):
    Path("data").write_text("a 1:1\nb 2:1\nc 3:1\n" * 5)
    run.works("train", "data", "m", "--solver", "stochastic", "--out-of-core", "--quiet")
    assert run.works("predict", "data", "m", "-") == list("abc") * 5


def test_probabilities(run, corpus):
    train = ["train", corpus / "train.txt", "m", "--solver", "stochastic", "--loss", "log_loss"]
    run.works(*train, "--quiet")
    X, _ = load_svmlight(corpus / "test.txt", 400)
    model = load_model("m")
    P = model.predict_proba(X)
    lines = run.works("predict", corpus / "test.txt", "m", "-", "--probabilities")
    expected = zip(model.predict(X).tolist(), P.max(axis=1).tolist(), strict=True)
    assert lines == [f"{label}\t{share}" for label, share in expected]
    lines = run.works("predict", corpus / "test.txt", "m", "-", "--probabilities", "--top-k", "2")
    second = np.sort(P, axis=1)[:, -2]
    assert [float(line.split("\t")[3]) for line in lines] == second.tolist()
    assert lines[0].split("\t")[::2] == [str(c) for c in model.predict_top_k(X[:1], 2)[0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1:1\nb 2:x\n", "data:2: "),
        ("a 1:1\na 2:1\n", "data: every row has the label a"),
        ("", "data:1: no examples"),
        ("1.5 1:1\n2 1:1\n", "data: the label 1.5 is not a whole number"),
        ("a 1:1e30\nb 2:1e30\n", "data: the weights may overflow"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--out-of-core"]])
def test_bad_data(run, text, message, more):
    Path("data").write_text(text)
    assert run.fails("train", "data", "m", "--solver", "stochastic", *more).startswith(message)
    assert names(".") == ["data"]


@pytest.mark.parametrize("more", [[], ["--out-of-core"]])
def test_offsets_of_classes(run, corpus, more):
    """The shares of blocks are those of all rows, weights of classes among them."""
    file = corpus / "train.txt"
    train = ["train", file, "m", "--solver", "stochastic", "--max-iter", "1000", *more]
    _, y = load_svmlight(file)
    labels, counts = np.unique(y, return_counts=True)
    first = f"{labels[0]:g}"
    run.works(*train, "--class-offset", f"{first}=-1.5")
    given = load_model("m").class_offset
    assert given == {labels[0]: -1.5}
    run.works(*train, "--class-offset", "logit_adjustment", "--class-weight", f"{first}=3")
    counts[0] *= 3
    found = load_model("m").class_offset
    if more:
        np.testing.assert_allclose(found, np.log(counts / counts.sum()))
    else:
        assert found == "logit_adjustment"
    message = run.fails(*train, "--class-offset", "none=1")
    assert "has the label 'none'" in message
