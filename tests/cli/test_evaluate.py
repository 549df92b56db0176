"""The command line: evaluation, how labels are compared, info and help."""

import json
from pathlib import Path

import pytest
from sklearn.metrics import accuracy_score, f1_score

from manyclass import MulticlassSVC, load_model, load_svmlight, save_model
from manyclass.cli import commands
from manyclass.version import __version__

NO_CLASS = "data: {} with a label that is not a class of the model; counted as errors"


def test_evaluate_agrees_with_scikit_learn(run, corpus, here):
    scores = json.loads(run.works("evaluate", corpus / "test.txt", corpus / "model", "--json")[0])
    X, y = load_svmlight(corpus / "test.txt", 400)
    predicted = load_model(corpus / "model").predict(X)
    assert scores["n"] == len(y)
    assert scores["accuracy"] == pytest.approx(accuracy_score(y, predicted))
    assert scores["f1_micro"] == pytest.approx(f1_score(y, predicted, average="micro"))
    assert scores["f1_macro"] == pytest.approx(f1_score(y, predicted, average="macro"))


def test_evaluate_in_words_and_classes_of_python_strings(run, tiny):
    lines = run.works("evaluate", "tiny", "abc")
    assert "6 rows, 3 features, 3 classes" in lines[0]
    assert [line.split()[:3] for line in lines[1:]] == [
        ["accuracy", "100.00", "%"],
        ["macro", "F1", "100.00"],
    ]
    X, y = load_svmlight("tiny", 3)
    save_model("objects", MulticlassSVC(C=10).fit(X, y.astype(object)))
    assert json.loads(run.works("evaluate", "tiny", "objects", "--json")[0])["accuracy"] == 1


def test_labels_unseen_in_training_are_errors(run, tiny):
    Path("data").write_text("a 1:1\nb 2:1\nd 3:1\ne 1:1\n")
    code, out, err = run("evaluate", "data", "abc", "--json")
    assert code == 0
    (warning,) = err
    assert warning == f"manyclass: warning: {NO_CLASS.format('2 rows')}"
    y, predicted = list("abde"), list("abca")
    scores = json.loads(out[0])
    assert scores["accuracy"] == 0.5
    expected = f1_score(y, predicted, average="macro", zero_division=0)
    assert scores["f1_macro"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("train", "test", "right"),
    [
        ("1 2", "1 2", 2),
        ("1 2", "2 2", 1),
        ("1 2", "+1 2.0", 2),  # int and float
        ("1.0 2e0", "1 2", 2),
        ("-1 +1", "-1 1", 2),
        ("cat dog", "cat dog", 2),
        ("1 dog", "1 1", 1),  # the model's 1 is text, the file's a number
        ("1.50 dog", "1.5 1.5", 1),
        ("1 2", "1 dog", 1),  # the model's 1 is a number, the file's text
        ("1 2", "1.0 dog", 1),
        ("1 x", "01 dog", 0),  # both text: as they are
        ("1_0 x", "10 10", 0),
        ("007 x", "7 7", 0),  # a number with leading zeros is text
        ("True False", "1 0", 2),  # booleans are 0 and 1 to numbers
        ("False True", "False maybe", 1),
        ("cat dog", "1 2", 0),
        ("9223372036854775807 x", "9223372036854775807 y", 1),
    ],
)
def test_labels_of_different_kinds(run, here, train, test, right):
    def write(name, labels):
        first, second = labels.split()
        Path(name).write_text(f"{first} 1:1\n{second} 2:1\n")

    write("train", train)
    write("test", test)
    run.works("train", "train", "m", "--quiet", "-C", "10")
    code, out, _ = run("evaluate", "test", "m", "--json")
    assert code == 0
    assert json.loads(out[0])["accuracy"] * 2 == right


def test_classes_of_the_same_number_count_as_one_when_the_file_has_numbers(run, here):
    Path("train").write_text("1 1:1\n1.0 2:1\nx 3:1\n")
    Path("test").write_text("1 1:1\n1 2:1\n")
    run.works("train", "train", "m", "--quiet", "-C", "10")
    scores = json.loads(run.works("evaluate", "test", "m", "--json")[0])
    assert scores == {"accuracy": 1, "f1_micro": 1, "f1_macro": 1, "n": 2}


def test_info(run, corpus, here):
    about = json.loads(run.works("info", corpus / "model", "--json")[0])
    assert about["formulation"] == "crammer_singer"
    assert (about["C"], about["n_classes"], about["n_features"]) == (1.0, 20, 400)
    assert 0 < about["density"] <= 1
    assert about["certificate"] == load_model(corpus / "model").certificate_.as_dict()
    lines = run.works("info", corpus / "model")
    assert "classes      20" in lines
    assert any(line.startswith("certificate  within ") for line in lines)


def test_demo_is_run(run, monkeypatch):
    monkeypatch.setattr("manyclass.cli.demo.run_demo", lambda write: write("shown"))
    assert run.works("demo") == ["shown"]


def test_version_and_help(capsys):
    for arguments, text in (
        (["--version"], f"manyclass {__version__}"),
        (["--help"], "evaluate"),
        (["train", "--help"], "(ovr)"),
        (["evaluate", "--help"], "Comparison of labels"),
    ):
        with pytest.raises(SystemExit) as end:
            commands.main(arguments)
        assert end.value.code == 0
        assert text in capsys.readouterr().out


def test_calibrated_models(run, corpus, here):
    model, held = f"{corpus}/model", f"{corpus}/test.txt"
    assert run.works("calibrate", held, model, "soft")[-1].startswith("saved soft: temperature ")
    assert any(line.startswith("temperature  ") for line in run.works("info", "soft"))
    assert run.works("calibrate", held, model, "quiet", "--quiet", "--jobs", "2") == []
    assert load_model("quiet").get_params() == load_model(model).get_params()
    (first, *_) = run.works("predict", held, "soft", "-", "--probabilities")
    assert 0 < float(first.split("\t")[1]) < 1
    assert run.works("predict", held, "soft", "-") == run.works("predict", held, model, "-")
    assert any("log loss" in line for line in run.works("evaluate", held, "soft", "--report"))
    (here / "other").write_text("nothing 1:1\n")
    assert "1 row with a label that is not a class" in run.fails("calibrate", "other", model, "x")
    run.works("train", held, "log", "--formulation", "logistic", "--quiet")
    message = run.fails("calibrate", held, "log", "x")
    assert "is a MultinomialLogisticRegression, and only a" in message


def test_predict_rejects_rows(run, tiny):
    run.works("predict", "tiny", "abc", "out", "--reject", "1e9")
    assert Path("out").read_text() == "\n" * 6
    run.works("predict", "tiny", "abc", "all", "--reject", "0", "--reject-label", "none")
    expected = load_model("abc").predict(load_svmlight("tiny")[0]).tolist()
    assert Path("all").read_text().split() == expected
    run.works("predict", "tiny", "abc", "none", "--reject", "1e9", "--reject-label", "none")
    assert Path("none").read_text() == "none\n" * 6
    run.works("train", "tiny", "log", "--formulation", "logistic", "--quiet")
    message = run.fails("predict", "tiny", "log", "above", "--reject", "2")
    assert "argument --reject: must be from 0 to 1, as it is compared with probabilities" in message
