"""``manyclass cv`` and ``manyclass train -C auto``."""

import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris

from manyclass import MulticlassSVCCV, load_model, load_svmlight


@pytest.fixture(name="data")
def data_fixture(corpus):
    return corpus / "train.txt"


def test_prints_a_table_and_the_choice(run, data):
    lines = run.works("cv", data, "-C", "0.1,1,10", "--folds", "3")
    assert lines[1].split() == ["C", "accuracy", "deviation", "seconds", "gap"]
    assert [line.split()[0] for line in lines[2:5]] == ["0.1", "1", "10"]
    X, y = load_svmlight(data)
    model = MulticlassSVCCV(Cs=[0.1, 1, 10], cv=3, random_state=0).fit(X, y)
    assert lines[-1].startswith(f"chosen: C = {model.C_:g}, mean score {model.best_score_:.4f}")


def test_json_holds_what_the_estimator_holds(run, data):
    (line,) = run.works(
        "cv", data, "-C", "1,0.1", "--folds", "3", "--scoring", "f1_macro", "--json"
    )
    found = json.loads(line)
    X, y = load_svmlight(data)
    model = MulticlassSVCCV(Cs=[0.1, 1], cv=3, scoring="f1_macro", random_state=0).fit(X, y)
    assert found["Cs"] == [0.1, 1]
    np.testing.assert_allclose(found["scores"], model.scores_)
    assert (found["C"], found["score"]) == (model.C_, pytest.approx(model.best_score_))


def test_log_loss_is_positive(run, data):
    given = ["--formulation", "logistic", "--scoring", "log_loss", "-C", "1", "--json"]
    (line,) = run.works("cv", data, *given)
    assert json.loads(line)["score"] > 0


def test_path_and_plot(run, data, here):
    pytest.importorskip("matplotlib")
    given = ["--path", "--C-range", "0.1", "1", "--epsilon", "0.1", "--folds", "2"]
    lines = run.works("cv", data, *given, "--plot", "plot.png")
    assert lines[-1] == "saved plot.png"
    assert (here / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert "is there already" in run.fails("cv", data, *given, "--plot", "plot.png")


def test_train_with_a_choice(run, here):
    dump_svmlight_file(*load_iris(return_X_y=True), "data", zero_based=False)
    data = "data"
    lines = run.works("train", data, "model", "-C", "auto", "--formulation", "ovr")
    model = load_model(here / "model")
    assert f"chosen: C = {model.C_:g}, " in lines[-3]
    assert "proven within" in lines[-2]
    run.works("train", data, "model", "-C", "auto", "--formulation", "logistic", "--quiet")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-C", "1,x"], "argument -C/-c: must be a positive number, not 'x'"),
        (["-C", "1", "--path"], "argument --path: takes the place of -C"),
        (["--C-range", "1", "2"], "argument --C-range: goes with --path"),
        (["--epsilon", "1"], "argument --epsilon: goes with --path"),
        (["--path", "--C-range", "2", "1"], "argument --C-range: MIN must be less than MAX"),
        (["--folds", "1"], "argument --folds: must be at least 2"),
        (["--scoring", "log_loss"], "argument --scoring: log_loss goes with"),
        (["--formulation", "logistic", "--loss", "hinge"], "argument --loss: hinge does not go"),
        (["--formulation", "logistic", "--weights", "sparse"], "argument --weights: logistic"),
        (["--loss", "squared_hinge"], "argument --loss: crammer_singer takes"),
        (["--regularize-intercept"], "argument --regularize-intercept: goes with"),
        (["--plot", "plot.txt"], "argument --plot: plot.txt must end with"),
        (["--plot", "nowhere/plot.png"], "cannot write nowhere/plot.png"),
        (["--folds", "1000"], "argument --folds: must be at most"),
    ],
)
def test_refusals(run, data, here, options, message):
    assert message in run.fails("cv", data, *options)
    assert not list(here.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stopping", "kkt"], "argument --stopping: does not go with -C auto"),
        (["--checkpoint", "points"], "argument --checkpoint: does not go with -C auto"),
        (["--solver", "stochastic"], "argument -C: goes with --solver dual"),
    ],
)
def test_what_does_not_go_with_auto(run, data, here, options, message):
    assert run.fails("train", data, "model", "-C", "auto", *options).startswith(message)
    assert not list(here.iterdir())


def test_other_words_for_c_are_refused(run, data, here):
    told = run.fails("train", data, "model", "-C", "best")
    assert told.startswith("argument -C/-c: must be a positive number or auto, not 'best'")


def test_the_best_classes_are_a_score(run, data):
    given = ["-C", "1,0.1", "--folds", "3", "--scoring", "top_2_accuracy"]
    X, y = load_svmlight(data)
    model = MulticlassSVCCV(Cs=[0.1, 1], cv=3, scoring="top_2_accuracy", random_state=0)
    (line,) = run.works("cv", data, *given, "--json")
    np.testing.assert_allclose(json.loads(line)["scores"], model.fit(X, y).scores_)
    lines = run.works("cv", data, *given)
    assert lines[1].split()[1] == "top_2_accuracy"
    assert len({len(line) for line in lines[1:4]}) == 1
    message = run.fails("cv", data, "--scoring", "top_accuracy")
    assert "must be accuracy, f1_micro, f1_macro, log_loss, cost or top_3_accuracy" in message


def test_a_class_of_one_row(run, here):
    X, y = load_iris(return_X_y=True)
    y[0] = 9
    dump_svmlight_file(X, y, "data", zero_based=False)
    given = ["--formulation", "logistic", "--scoring", "log_loss", "-C", "1", "--json"]
    code, (line,), warnings = run("cv", "data", *given)
    assert code == 0
    assert np.isfinite(json.loads(line)["scores"]).all()
    assert "lack class 9: " in warnings[-1]
    assert warnings[-1].endswith("or --regularize-intercept")
