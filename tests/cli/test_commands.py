"""The command line: training and prediction, what they do and print."""

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from manyclass import (
    MulticlassSVC,
    MultinomialLogisticRegression,
    load_model,
    load_svmlight,
    save_model,
)
from manyclass.cli import predict
from manyclass.cli.commands import EXAMPLES, build_parser
from manyclass.cli.console import UsageError, proven
from manyclass.problem.formulations import SHORT_NAMES
from tests.helpers.catalog import PAIRS
from tests.helpers.command_line import TINY, names

LOGISTIC = ["--formulation", "logistic"]
# train


def test_how_a_proven_gap_is_printed():
    assert proven(0.0) == "within 0 % of the optimum"
    assert proven(-1e-4) == "within -0.01 % of the optimum"  # a wrong one would be seen
    assert proven(1.5e-4) == "within 0.015 % of the optimum"


def test_train_tells_what_it_read_did_and_saved(run, corpus, here):
    lines = run.works("train", corpus / "train.txt", "m")
    assert "400 rows, 400 features, 20 classes, " in lines[0]
    epochs = [line for line in lines if line.startswith("epoch ")]
    assert len(lines) == len(epochs) + 3
    assert lines[-2].startswith(f"trained {len(epochs)} epochs in ")
    assert "proven within 0.0" in lines[-2]
    assert lines[-1] == "saved m"
    assert load_model("m").certificate_.relative_gap <= 1e-3
    assert names(here) == ["m"]


def test_train_is_the_estimator(corpus, run, here):
    run.works(
        *("train", corpus / "train.txt", "m", "-C", "0.5", "--tol", "0.1", "--stopping", "kkt"),
        *("--seed", "3", "--no-intercept", "--class-weight", "balanced", "--max-iter", "77"),
        *("--dtype", "float64", "--n-features", "500", "--jobs", "2", "--formulation"),
        *("crammer_singer", "--loss", "hinge", "--quiet"),
    )
    X, y = load_svmlight(corpus / "train.txt", 500, np.float64)
    params = {"C": 0.5, "tol": 0.1, "stopping": "kkt", "random_state": 3, "n_jobs": 2}
    params |= {"fit_intercept": False, "class_weight": "balanced", "max_iter": 77}
    expected = MulticlassSVC(**params).fit(X, y)
    model = load_model("m")
    assert model.get_params() == expected.set_params(n_jobs=None).get_params()
    np.testing.assert_array_equal(model.coef_, expected.coef_)


def test_train_defaults_are_the_estimator_s(run, tiny):
    expected = MulticlassSVC(C=10, random_state=0).get_params()
    assert load_model("abc").get_params() == expected
    assert load_model("abc").coef_.dtype == np.float32
    assert run.works("train", "tiny", "m", "--quiet") == []


def test_zero_based(run, here):
    Path("data").write_text(TINY.replace("3:", "0:"))
    assert "line" not in run.fails("train", "data", "m")
    assert "3 features" in run.works("train", "data", "m", "--zero-based")[0]
    run.works("predict", "data", "m", "out", "--zero-based")
    assert Path("out").read_text() == "a\nb\nc\na\nb\nc\n"


def test_not_converged_is_a_warning(run, corpus, here):
    code, _, err = run("train", corpus / "train.txt", "m", "--max-iter", "1", "--quiet")
    assert code == 0
    assert len(err) == 1
    assert err[0].startswith("manyclass: warning: training stopped after 1 ")
    assert "max_iter" in err[0]
    assert load_model("m").n_iter_ == 1


def test_existing_files_are_replaced_and_keep_their_permissions(run, tiny):
    run.works("train", "tiny", "abc", "--quiet", "-C", "0.125")
    assert load_model("abc").C == 0.125
    assert names(tiny) == ["abc", "tiny"]
    for name in ("abc", "out"):
        Path(name).touch()
        Path(name).chmod(0o640)
    run.works("train", "tiny", "abc", "--quiet")
    run.works("predict", "tiny", "abc", "out")
    assert [Path(name).stat().st_mode & 0o777 for name in ("abc", "out")] == [0o640] * 2


def test_a_link_is_followed(run, tiny):
    Path("folder").mkdir()
    Path("link").symlink_to("folder/model")
    Path("out_link").symlink_to("folder/out")
    run.works("train", "tiny", "link", "--quiet")
    run.works("predict", "tiny", "link", "out_link")
    assert Path("link").is_symlink()
    assert Path("out_link").is_symlink()
    assert names("folder") == ["model", "out"]


def test_every_formulation_with_every_loss_that_it_takes_and_short_names(run, tiny):
    named = [(name, name, loss) for name, loss in PAIRS]
    named += [(short, name, "hinge") for short, name in SHORT_NAMES.items()]
    for short, name, loss in named:
        run.works("train", "tiny", "m", "--quiet", "--formulation", short, "--loss", loss)
        about = json.loads(run.works("info", "m", "--json")[0])
        assert (about["formulation"], about["loss"]) == (name, loss)


def test_names_as_long_as_the_system_allows(run, tiny):
    model, out = "m" * 255, "o" * 255
    run.works("train", "tiny", model, "--quiet")
    run.works("predict", "tiny", model, out)
    assert names(tiny) == ["abc", model, out, "tiny"]


# Weights of classes, the bias, the alias of C and standard input.


def check_coef(path, data, **params):
    """A model file has the weights of the estimator."""
    X, y = load_svmlight(data)
    same = MulticlassSVC(random_state=0, **params).fit(X, y)
    np.testing.assert_array_equal(load_model(path).coef_, same.coef_)
    np.testing.assert_array_equal(load_model(path).intercept_, same.intercept_)


def test_weights_of_labels(run, corpus, here):
    data = corpus / "train.txt"
    run.works("train", data, "m", "--class-weight", "3=2", "--class-weight", "5.0=0.5", "-c", "2")
    check_coef("m", data, C=2, class_weight={3: 2.0, 5: 0.5})
    weights = ["--class-weight", "3=2", "--class-weight", "3.0=3"]
    message = run.fails("train", data, "n", *weights)
    assert message == "argument --class-weight: the label 3 is given twice"


def test_weights_of_words(run, tiny):
    for solver in ("dual", "stochastic"):
        run.works("train", "tiny", solver, "--class-weight", "a=2", "--solver", solver)
    check_coef("dual", "tiny", class_weight={"a": 2.0})


@pytest.mark.parametrize(("bias", "intercept"), [("2", True), ("-1", False), ("0", False)])
def test_bias(run, tiny, bias, intercept):
    run.works("train", "tiny", "m", "--bias", bias)
    check_coef("m", "tiny", fit_intercept=intercept, intercept_scaling=2.0)


def test_standard_input(run, tiny):
    ours = os.dup(0)
    with (tiny / "tiny").open("rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        run.works("train", "-", "m", "--quiet")
    finally:
        os.dup2(ours, 0)
        os.close(ours)
    check_coef("m", "tiny")


# Logistic regression.


def test_logistic_regression(run, tiny):
    lines = run.works("train", "tiny", "m", *LOGISTIC, "-C", "2", "--tol", "1e-6")
    assert "proven" in lines[-2]
    found = load_model("m")
    X, y = load_svmlight("tiny")
    same = MultinomialLogisticRegression(C=2, tol=1e-6, random_state=0).fit(X, y)
    np.testing.assert_allclose(found.coef_, same.coef_, rtol=1e-6)
    lines = run.works("predict", "tiny", "m", "-", "--probabilities")
    shares = [float(line.split("\t")[1]) for line in lines]
    np.testing.assert_allclose(shares, same.predict_proba(X).max(axis=1), rtol=1e-3)
    about = json.loads(run.works("info", "m", "--json")[0])
    assert (about["formulation"], about["loss"], about["C"]) == ("logistic", "log_loss", 2)
    assert run.works("info", "m")[1] == "formulation  logistic, log_loss loss, C = 2"
    run.works("train", "tiny", "m", *LOGISTIC, "--regularize-intercept")
    assert load_model("m").regularize_intercept


def test_logistic_regression_goes_on_from_a_checkpoint(run, tiny):
    train = ["train", "tiny", "m", *LOGISTIC]
    run.works(*train, "--checkpoint", "folder", "--tol", "0.5")
    told = run.fails(*train, "--checkpoint", "folder")
    assert told.endswith("continue it with --resume folder, or choose another folder")
    lines = run.works(*train, "--resume", "folder")
    assert any(line.startswith("continuing after epoch ") for line in lines)
    assert "proven" in lines[-2]


# predict


def test_predict_writes_a_label_per_row(run, corpus, here):
    assert run.works("predict", corpus / "test.txt", corpus / "model", "out") == []
    X, _ = load_svmlight(corpus / "test.txt", 400)
    expected = load_model(corpus / "model").predict(X)
    assert Path("out").read_text().split("\n")[:-1] == [str(c) for c in expected]
    assert names(here) == ["out"]
    umask = os.umask(0)
    os.umask(umask)
    assert Path("out").stat().st_mode & 0o777 == 0o666 & ~umask


def test_predict_to_stdout_in_one_and_several_threads(run, tiny):
    for jobs in ("1", "-1"):
        assert run.works("predict", "tiny", "abc", "-", "--jobs", jobs) == list("abcabc")


def test_predict_top_k(run, corpus, here, monkeypatch):
    monkeypatch.setattr(predict, "LINES_AT_A_TIME", 7)
    lines = run.works("predict", corpus / "test.txt", corpus / "model", "-", "--top-k", "3")
    X, _ = load_svmlight(corpus / "test.txt", 400)
    expected = load_model(corpus / "model").predict_top_k(X, 3)
    assert lines == ["\t".join(map(str, row)) for row in expected]


def test_labels_of_data_do_not_matter_nor_fewer_or_more_features(run, tiny):
    Path("data").write_text("0 1:1\n0.5 2:1\n")
    assert run.works("predict", "data", "abc", "-") == ["a", "b"]
    Path("fewer").write_text("b 2:1\n")
    Path("more").write_text("c 3:1 900:5\nb 2:1 4:7\na 4:1\n")
    assert run.works("predict", "fewer", "abc", "-") == ["b"]
    assert run.works("predict", "more", "abc", "-")[:2] == ["c", "b"]
    assert json.loads(run.works("evaluate", "fewer", "abc", "--json")[0])["accuracy"] == 1


def test_labels_that_are_not_ascii(run, here):
    Path("data").write_text("猫 1:1\nchien 2:1\n", encoding="utf-8")
    run.works("train", "data", "m", "--quiet")
    assert run.works("predict", "data", "m", "-") == ["猫", "chien"]


def test_class_names_with_spaces(run, tiny):
    save_model("m", MulticlassSVC().fit([[0.0], [1.0]], ["New York", "Rome"]))
    Path("data").write_text("0 1:0\n0 1:9\n")
    lines = run.works("predict", "data", "m", "-", "--top-k", "2")
    assert lines == ["New York\tRome", "Rome\tNew York"]


@pytest.mark.parametrize("name", ["two\nlines", "a\ttab", "car\rriage"])
def test_class_names_that_no_line_can_hold(run, tiny, name):
    save_model("m", MulticlassSVC().fit([[0.0], [1.0]], [name, "Rome"]))
    assert run.fails("predict", "tiny", "m", "out").startswith("m: class names with a tab")
    assert "out" not in names(tiny)


@pytest.mark.parametrize("name", ["weston_watkins", "one_vs_rest"])
def test_sparse_weights(run, corpus, tmp_path, name):
    model = tmp_path / "model"
    options = ["--weights", "sparse", "--formulation", name, "--jobs", "2"]
    out = run.works("train", corpus / "train.txt", model, *options)
    assert out[1].startswith("weights are sparse: dense")
    assert any("proven within" in line for line in out)
    info = json.loads("".join(run.works("info", model, "--json")))
    assert 0 < info["density"] < 1
    accuracy = json.loads("".join(run.works("evaluate", corpus / "test.txt", model, "--json")))
    assert accuracy["accuracy"] > 0.3


def test_training_goes_on_from_a_checkpoint(run, corpus, here):
    data = corpus / "train.txt"
    code, out, err = run("train", data, "m", "--checkpoint", "c", "--max-iter", 2)
    assert (code, len(err)) == (0, 1)
    assert names(Path("c")) == ["checkpoint-000001", "checkpoint-000002"]
    out = run.works("train", data, "m", "--resume", "c", "--checkpoint-minutes", 1, "--tol", 1e-4)
    assert out[1] == "continuing after epoch 2, from c/checkpoint-000002"
    assert out[2].startswith("epoch    3 ")
    assert load_model("m").certificate_.relative_gap <= 1e-4
    assert names(Path("c")) == ["checkpoint-000002", "checkpoint-000003"]
    message = run.fails("train", data, "m", "--resume", "c", "-C", 2)
    assert "c/checkpoint-000003: is a checkpoint of a different problem (C: 1.0 there" in message
    message = run.fails("train", data, "m", "--checkpoint", "c")
    assert message.startswith("c: holds a checkpoint of an earlier training; continue it with")


def test_every_command_has_an_example_that_its_parser_takes():
    parser = build_parser()
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices
    assert set(EXAMPLES) == set(commands)
    for name, examples in EXAMPLES.items():
        for example in examples.splitlines():
            args = parser.parse_args(example.split()[1:])
            assert args.command == name
            assert example in commands[name].format_help()


def test_help_of_train_begins_with_what_is_trained():
    parser = build_parser()
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices
    for name in ("train", "cv"):
        text = commands[name].format_help().partition("show this help message")[2]
        assert text.index("-C") < text.index("--formulation") < text.index("--tol")
        assert text.index("--tol") < text.index("--zero-based") < text.index("--quiet")


def test_completion_of_shells(capsys, monkeypatch):
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args(["--print-completion", "bash"])
    assert not ended.value.code
    assert "--formulation" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(UsageError, match="needs a package: pip install shtab"):
        build_parser().parse_args(["--print-completion", "zsh"])
