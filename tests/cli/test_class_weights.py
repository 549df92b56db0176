"""Weights of classes, the bias, the alias of C and standard input, on the command line."""

import subprocess
import sys

import numpy as np
import pytest

from manyclass import MulticlassSVC, load_model, load_svmlight


def trained(path):
    return load_model(path).coef_


def test_weights_of_labels(run, corpus, here):
    data = corpus / "train.txt"
    run.works("train", data, "m", "--class-weight", "3=2", "--class-weight", "5.0=0.5", "-c", "2")
    X, y = load_svmlight(data)
    same = MulticlassSVC(C=2, class_weight={3: 2.0, 5: 0.5}, random_state=0).fit(X, y)
    np.testing.assert_array_equal(trained("m"), same.coef_)


def test_weights_of_words(run, tiny):
    for solver in ("dual", "stochastic"):
        run.works("train", "tiny", solver, "--class-weight", "a=2", "--solver", solver)
    X, y = load_svmlight("tiny")
    same = MulticlassSVC(class_weight={"a": 2.0}, random_state=0).fit(X, y)
    np.testing.assert_array_equal(trained("dual"), same.coef_)


@pytest.mark.parametrize(("bias", "intercept"), [("2", True), ("-1", False), ("0", False)])
def test_bias(run, tiny, bias, intercept):
    run.works("train", "tiny", "m", "--bias", bias)
    X, y = load_svmlight("tiny")
    same = MulticlassSVC(fit_intercept=intercept, intercept_scaling=2.0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(load_model("m").intercept_, same.intercept_)


def test_a_label_that_is_written_in_two_ways(run, corpus, here):
    weights = ["--class-weight", "3=2", "--class-weight", "3.0=3"]
    message = run.fails("train", corpus / "train.txt", "m", *weights)
    assert message == "argument --class-weight: the label 3 is given twice"


def test_a_bias_that_overflows(run, tiny):
    message = run.fails("train", "tiny", "m", "--bias", "1e300")
    assert message == "tiny: --bias 1e+300 is inf in float32; choose about 1"


@pytest.mark.parametrize("command", ["train", "cv"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--class-weight", "z=2"], "argument --class-weight: no row of tiny has the label z"),
        (["--class-weight", "a"], "argument --class-weight: must be balanced, or LABEL=W"),
        (["--class-weight", "a=-1"], "argument --class-weight: must be balanced, or LABEL=W"),
        (
            ["--class-weight", "balanced", "--class-weight", "a=1"],
            "argument --class-weight: balanced cannot be combined",
        ),
        (
            ["--class-weight", "a=2", "--class-weight", "a=1"],
            "argument --class-weight: a is given twice",
        ),
        (["--bias", "2", "--no-intercept"], "argument --bias: does not go with --no-intercept"),
        (["--bias", "nan"], "argument --bias: must be a finite number"),
    ],
)
def test_refusals(run, tiny, command, options, message):
    given = ["train", "tiny", "m"] if command == "train" else ["cv", "tiny", "--folds", "2"]
    assert run.fails(*given, *options).startswith(message)


def test_standard_input(run, tiny):
    command = [sys.executable, "-m", "manyclass", "train", "-", "m", "--quiet"]
    with (tiny / "tiny").open("rb") as file:
        subprocess.run(command, stdin=file, check=True)
    run.works("train", "tiny", "same", "--quiet")
    np.testing.assert_array_equal(trained("m"), trained("same"))
