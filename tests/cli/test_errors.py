"""The command line: errors are one line and lose nothing."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from manyclass import MulticlassSVC, load_data
from manyclass.cli import commands
from manyclass.cli.parameter_options import in_flags
from manyclass.io import svmlight
from tests.helpers.command_line import names

ROOT = os.geteuid() == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 1:1\n2 1:x\n", "data:2: a feature's value is not a number (found '1:x')"),
        ("1 1:1\n2 2:1 1:1\n", "data:2: "),
        ("1 1:1\n2 1:nan\n", "data:2: "),
        ("1 1:1\nnan 1:1\n", "data:2: the label is 'nan', which is not a class; "),
        ("", "data:1: no examples"),
        ("1 1:1\n1 2:1\n", "data: every row has the label 1; training needs at least two classes"),
        ("a 1:1\n", "data: every row has the label a;"),
        ("0.5 1:1\n1 2:1\n", "data: the label 0.5 is not a whole number"),
        ("\x00\x01\x02", "data:1: "),
    ],
)
def test_one_line_for_malformed_data(run, here, content, message):
    Path("data").write_text(content)
    assert run.fails("train", "data", "m").startswith(message)
    assert names(here) == ["data"]


@pytest.mark.parametrize("size", [0, 5, 100, -1])
def test_one_line_for_a_damaged_model(run, tiny, size):
    whole = Path("abc").read_bytes()
    Path("cut").write_bytes(whole[:size])
    for command in ("predict tiny cut out", "evaluate tiny cut", "info cut"):
        assert run.fails(*command.split()).startswith("cut: cannot be read as a manyclass model: ")


def test_a_name_with_a_line_break_stays_in_its_line(run, here):
    assert "two lines: no such file" in run.fails("info", "two\nlines")
    assert "\\x1b[31m" in run.fails("info", "\x1b[31m")


@pytest.mark.skipif(ROOT, reason="root may write anywhere")
def test_an_unwritable_folder_is_found_before_training(run, tiny):
    Path("locked").mkdir(mode=0o500)
    expected = "cannot write locked/m: permission denied; check its permissions"
    assert run.fails("train", "nix", "locked/m") == expected
    assert run.fails("predict", "nix", "abc", "locked/m") == expected


@pytest.mark.skipif(ROOT, reason="root may read anything")
def test_unreadable_data(run, tiny):
    Path("tiny").chmod(0)
    assert run.fails("train", "tiny", "m") == "tiny: permission denied; check its permissions"


def test_a_build_for_different_processors(run, tiny, monkeypatch):
    monkeypatch.setattr("manyclass._core.instruction_sets", list)
    expected = "manyclass was compiled for a different processor; install it again on this machine"
    assert run.fails("train", "tiny", "m") == expected
    assert run.fails("predict", "tiny", "abc", "out") == expected
    assert {"m", "out"}.isdisjoint(names("."))


def test_the_target_is_checked_before_the_data_are_read(run, tiny, monkeypatch):
    monkeypatch.setattr(svmlight, "load_svmlight", lambda *_, **__: pytest.fail("was read"))
    run.fails("train", "tiny", "nix/m")
    run.fails("predict", "tiny", "abc", "nix/out")
    run.fails("predict", "tiny", "abc", "out", "--top-k", "4")
    run.fails("train", "tiny", "m", "--loss", "x")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "out of memory: not enough memory; use --dtype float32"),
        (MemoryError("30 GiB"), "out of memory: 30 GiB; use --dtype float32"),
        (MemoryError("30 GiB; hash"), "out of memory: 30 GiB; hash"),
        (FloatingPointError("the weights overflow"), "tiny: the weights overflow"),
        (ValueError("first\nsecond"), "tiny: first second"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
        (OSError("strange"), "strange"),
    ],
)
def test_errors_while_training(run, tiny, monkeypatch, error, message):
    def fail(*_):
        raise error

    monkeypatch.setattr(MulticlassSVC, "fit", fail)
    assert run.fails("train", "tiny", "m").startswith(message)
    assert names(tiny) == ["abc", "tiny"]


def test_ctrl_c(run, tiny, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(MulticlassSVC, "fit", interrupt)
    monkeypatch.setattr(MulticlassSVC, "predict", interrupt)
    for command in (["train", "tiny", "m"], ["predict", "tiny", "abc", "out"]):
        code, _, err = run(*command)
        assert (code, err) == (130, ["manyclass: interrupted; nothing was written"])
    assert names(tiny) == ["abc", "tiny"]


def test_warnings_of_every_kind_are_one_line(run, tiny, monkeypatch):
    def noisy(self, *_):
        np.float32(1e38) * np.float32(1e38)
        return fit(self, *_)

    fit = MulticlassSVC.fit
    monkeypatch.setattr(MulticlassSVC, "fit", noisy)
    code, _, err = run("train", "tiny", "m", "--quiet")
    assert code == 0
    assert err == ["manyclass: warning: overflow encountered in scalar multiply"]


ODD = {"sort": "a 2:1 1:2", "sum-duplicates": "a 1:1 1:2", "zero-based": "a 0:1 1:2"}
READERS = [
    "train odd m",
    "train odd m --solver stochastic --out-of-core",
    "convert odd out",
    "predict odd abc out",
    "evaluate odd abc",
]


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("flag", ODD)
def test_errors_of_text_advise_flags_that_exist(run, tiny, here, command, flag):
    run.works("train", "tiny", "abc", "--quiet")
    (here / "odd").write_text(ODD[flag] + "\nb 1:1\n")
    message = run.fails(*command.split())
    assert message.startswith("odd:1: ")
    assert f"; pass --{flag}" in message
    assert "=True" not in message
    run.works(*command.split(), f"--{flag}")


def test_flags_read_what_the_parameters_read(run, here):
    (here / "odd").write_text("a 3:1 1:2 3:4\nb 2:1\n")
    run.works("convert", "odd", "out", "--sort", "--sum-duplicates")
    X, y = load_data(here / "out")
    wanted, labels = svmlight.load_svmlight("odd", sort=True, sum_duplicates=True)
    assert (X.toarray() == wanted.toarray()).all()
    assert y.tolist() == labels.tolist()


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("tol: 3 epochs; raise max_iter or tol", "tol: 3 epochs; raise --max-iter or --tol"),
        ("x: y; lower C or use float64", "x: y; lower -C or use --dtype float64"),
        ("x; use weights='sparse'", "x; use --weights sparse"),
        ("sort=True: line 1; pass sort=True", "sort=True: line 1; pass --sort"),
        ("x; use early_stopping=False", "x; leave out --early-stopping"),
        ("x; use merge_columns=False", "x; use --no-merge-columns"),
        ("x; there are 'class_weight', 'seed'", "x; there are 'class_weight', 'seed'"),
        ("x; go on with resume=True", "x; go on with --resume ck"),
        ("f; is alpha.txt, ./tol or sort right?", "f; is alpha.txt, ./tol or sort right?"),
    ],
)
def test_advice_names_flags_and_nothing_else_changes(message, told):
    args = commands.build_parser().parse_args(["train", "data", "model", "--checkpoint", "ck"])
    assert in_flags(message, args) == told


def test_too_large_values_advise_another_type_where_there_is_one(run, tiny, here):
    run.works("train", "tiny", "abc", "--quiet")
    (here / "odd").write_text("a 1:1e39\nb 1:1\n")
    assert run.fails("train", "odd", "m").endswith("or use --dtype float64")
    assert run.fails("predict", "odd", "abc", "out").endswith("or train with --dtype float64")
    (here / "odd").write_text("a 1:1e999\nb 1:1\n")
    assert run.fails("train", "odd", "m", "--dtype", "float64").endswith("rescale the feature")


@pytest.mark.parametrize("size", ["1e17", "1e30"])
def test_features_too_large_for_float32_are_one_error(run, here, size):
    (here / "odd").write_text(f"a 1:{size} 2:2\nb 2:{size}\n")
    message = run.fails("train", "odd", "m")
    assert message.startswith(f"odd: X holds a value of size {float(size):.1e}, whose square")
    assert message.endswith("float32; scale the features to about one")


def test_a_damaged_checkpoint_is_named_as_it_is(run, tiny, here):
    run.works("train", "tiny", "m", "--checkpoint", "./ck/", "--quiet")
    for path in (here / "ck").iterdir():
        path.write_bytes(b"nothing")
    message = run.fails("train", "tiny", "m", "--resume", "./ck/")
    assert message.startswith("ck/checkpoint-00000")
    message = run.fails("train", "tiny", "m", "--checkpoint", "./ck/")
    assert message.endswith("continue it with --resume ./ck/, or choose another folder")


@pytest.mark.parametrize(
    "command", ["info abc", "evaluate tiny abc", "predict tiny abc -", "report abc -o -"]
)
def test_a_closed_stdout_is_an_error(run, tiny, here, monkeypatch, command):
    run.works("train", "tiny", "abc", "--quiet")
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", None)
        code = commands.main(command.split())
    assert code == 2
    told = run.capsys.readouterr().err
    assert told.endswith("error: standard output: is closed; redirect it to a file\n")
