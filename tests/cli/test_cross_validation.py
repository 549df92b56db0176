"""``manyclass cv`` and ``manyclass train -C auto``."""

import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris

from manyclass import MulticlassSVCCV, load_model, load_svmlight
from manyclass.cli.cross_validation import advice_at_ends


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


def test_a_choice_at_an_end_says_so(run, data):
    flags = ["--folds", "2", "--scoring", "log_loss", "--formulation", "logistic"]
    line = run.works("cv", data, *flags, "-C", "1e-6,1e-4")[-1]
    assert line.endswith("this is the largest value compared: try larger ones, too")
    assert run.works("cv", data, *flags, "-C", "1e-4")[-1].endswith(" s")
    assert run.works("cv", data, *flags, "-C", "1e-6,1e-4", "--one-standard-error")[-1].endswith(
        " s"
    )


def test_advice_at_ends():
    Cs, scores = np.array([1.0, 2.0, 4.0]), np.array([[0.5, 0.6, np.nan], [0.5, 0.5, np.nan]])
    assert "smallest" in advice_at_ends(Cs, scores, 1.0)
    assert advice_at_ends(Cs, scores, 2.0) == ""
    assert "largest" in advice_at_ends(Cs[:2], scores[:, :2], 2.0)
    assert advice_at_ends(Cs, np.full((2, 3), 0.5), 1.0) == ""


def test_json_holds_what_the_estimator_holds(run, data):
    given = "-C", "1,0.1", "--folds", "3", "--scoring", "f1_macro", "--json"
    found = json.loads(run.works("cv", data, *given)[0])
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
    assert "exists already" in run.fails("cv", data, *given, "--plot", "plot.png")


def test_train_with_a_choice(run, here):
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X[::6], y[::6], "data", zero_based=False)
    data = "data"
    lines = run.works("train", data, "model", "-C", "auto", "--formulation", "ovr")
    model = load_model(here / "model")
    assert f"chosen: C = {model.C_:g}, " in lines[-3]
    assert "proven within" in lines[-2]
    run.works("train", data, "model", "-C", "auto", "--formulation", "logistic", "--quiet")


def test_the_best_classes_are_a_score(run, data):
    given = ["-C", "1,0.1", "--folds", "3", "--scoring", "top_2_accuracy"]
    X, y = load_svmlight(data)
    model = MulticlassSVCCV(Cs=[0.1, 1], cv=3, scoring="top_2_accuracy", random_state=0)
    (line,) = run.works("cv", data, *given, "--json")
    np.testing.assert_allclose(json.loads(line)["scores"], model.fit(X, y).scores_)
    lines = run.works("cv", data, *given)
    assert lines[1].split()[1] == "top_2_accuracy"
    assert len({len(line) for line in lines[1:4]}) == 1


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
