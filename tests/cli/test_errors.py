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
from tests.helpers.command_line import TINY, names

ROOT = os.geteuid() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "the following arguments are required: COMMAND; see manyclass --help"),
        ("nonsense", "invalid choice: 'nonsense'"),
        ("train", "the following arguments are required: DATA, MODEL; see manyclass train --help"),
        ("train tiny m --nonsense", "unrecognized arguments: --nonsense"),
        ("trian tiny m", "did you mean 'train'?; see manyclass --help"),
        ("train tiny m --formulaton cs", "did you mean '--formulation'?; see manyclass train"),
        ("train tiny m --formulation crammer-singr", "; did you mean 'crammer_singer'?"),
        ("cv tiny --scoring f1macro", "did you mean 'f1_macro'?"),
        ("train tiny m -s 4", "-s; of LIBLINEAR's options -s is --formulation (4: crammer"),
        ("train tiny m -q -B 1 -w-2 3", "-q is --quiet, -B is --bias, -w-2 is --class-weight"),
        ("train tiny m -v 5", "-v is manyclass cv --folds N; see manyclass train --help"),
        ("train tiny m --max 3", "unrecognized arguments: --max"),
        ("train tiny m -C 0", "argument -C/-c: must be a positive number or auto, not '0'"),
        ("train tiny m -C -1", "argument -C/-c: must be a positive number or auto, not '-1'"),
        ("train tiny m -C nan", "argument -C/-c: must be a positive number or auto, not 'nan'"),
        ("train tiny m -C inf", "argument -C/-c: must be a positive number or auto, not 'inf'"),
        ("train tiny m -C x", "argument -C/-c: must be a positive number or auto, not 'x'"),
        ("train tiny m --tol 0", "argument --tol: must be a positive number"),
        ("train tiny m --tol -1e-3", "argument --tol: "),
        ("train tiny m --max-iter 0", "argument --max-iter: must be a positive integer, not '0'"),
        ("train tiny m --max-iter 1.5", "argument --max-iter: must be a positive integer"),
        ("train tiny m --n-features 0", "argument --n-features: must be a positive integer"),
        ("train tiny m --jobs 0", "argument --jobs: must be a number of threads"),
        ("train tiny m --jobs 9999999", "argument --jobs: must be a number of threads"),
        ("train tiny m --seed -1", "argument --seed: must be an integer from 0"),
        ("train tiny m --seed 4294967296", "argument --seed: must be an integer from 0"),
        ("train tiny m --stopping x", "argument --stopping: invalid choice: 'x'"),
        ("train tiny m --dtype int8", "argument --dtype: invalid choice: 'int8'"),
        ("train tiny m --class-weight x", "argument --class-weight: must be balanced, or LABEL=W"),
        ("train tiny m --formulation x", "one of crammer_singer (cs), weston_watkins (ww), "),
        ("train tiny m --loss x", "argument --loss: invalid choice: 'x' (choose from "),
        ("train tiny m --loss squared_hinge", "crammer_singer takes the largest loss"),
        ("train tiny m --formulation adm --loss squared_hinge", "argument --loss: adm takes"),
        ("train tiny m --loss squared_hinge --formulation atm", "goes with weston_watkins, "),
        ("predict tiny abc out --top-k 0", "argument --top-k: must be a positive integer"),
        ("predict tiny abc out --top-k 4", "argument --top-k: must be from 1 to 3"),
        ("evaluate tiny abc --jobs x", "argument --jobs: must be"),
        ("train nix m", "nix: no such file or directory; check the name"),
        ("train . m", ".: is a directory; give the name of a file"),
        ("train tiny .", ".: is a directory; give the name of a file"),
        ("train tiny nix/m", "cannot write nix/m: no such file or directory; check the name"),
        ("train tiny tiny/m", "cannot write tiny/m: not a directory; check the name"),
        ("train tiny tiny", "tiny: is an input too and would be overwritten"),
        ("train tiny ./tiny", "./tiny: is an input too and would be overwritten"),
        ("train tiny /dev/null", "/dev/null: is not a regular file; choose another name"),
        ("train tiny " + "m" * 256, "file name too long; choose a shorter name"),
        ("train tiny m --n-features 2", "tiny:3: a feature's index is beyond n_features"),
        ("train tiny m --checkpoint nix/c", "cannot write to nix/c: no such file or directory"),
        ("train tiny m --checkpoint tiny", "cannot write to tiny: is no folder"),
        ("train tiny m --resume nix", "nix: no such file or directory; check the name"),
        ("train tiny m --resume .", ".: holds no checkpoint to resume from"),
        ("train tiny m --resume a --checkpoint b", "argument --resume: writes to its own folder"),
        ("train tiny m --checkpoint-minutes 5", "argument --checkpoint-minutes: goes with --check"),
        (
            "train tiny m --checkpoint-minutes 0",
            "argument --checkpoint-minutes: must be a positive",
        ),
        (
            "train tiny m --solver stochastic --checkpoint c",
            "--checkpoint: goes with --solver dual",
        ),
        (
            "train tiny m --solver stochastic --resume c",
            "argument --resume: goes with --solver dual",
        ),
        ("predict nix abc out", "nix: no such file or directory; check the name"),
        ("predict tiny nix out", "nix: no such file or directory; check the name"),
        ("predict tiny tiny out", "tiny: cannot be read as a manyclass model"),
        ("predict tiny abc nix/out", "cannot write nix/out: no such file"),
        ("predict tiny abc abc", "abc: is an input too"),
        ("predict tiny abc tiny", "tiny: is an input too"),
        ("evaluate tiny .", ".: is a directory"),
        ("evaluate tiny tiny --json", "tiny: cannot be read as a manyclass model"),
        ("info nix", "nix: no such file or directory; check the name"),
        ("info tiny", "tiny: cannot be read as a manyclass model"),
    ],
)
def test_one_line_for_what_cannot_be(run, tiny, arguments, message):
    assert message in run.fails(*arguments.split())
    assert names(tiny) == ["abc", "tiny"]
    assert Path("tiny").read_text() == TINY


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 1:1\n2 1:x\n", "data:2: a feature's value is not a number (found '1:x')"),
        ("1 1:1\n2 2:1 1:1\n", "data:2: "),
        ("1 1:1\n2 1:nan\n", "data:2: "),
        ("1 1:1\nnan 1:1\n", "data:2: the label is 'nan', which is no class; "),
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
    for command in (
        ["predict", "tiny", "cut", "out"],
        ["evaluate", "tiny", "cut"],
        ["info", "cut"],
    ):
        assert run.fails(*command).startswith("cut: cannot be read as a manyclass model: ")


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


def test_the_target_is_checked_before_the_data_are_read(run, tiny, monkeypatch):
    monkeypatch.setattr(svmlight, "load_svmlight", lambda *_, **__: pytest.fail("was read"))
    run.fails("train", "tiny", "nix/m")
    run.fails("predict", "tiny", "abc", "nix/out")
    run.fails("predict", "tiny", "abc", "out", "--top-k", "4")
    run.fails("train", "tiny", "m", "--loss", "x")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "out of memory: the memory does not suffice; use --dtype float32"),
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
    assert run.capsys.readouterr().err.endswith(
        "error: standard output: is closed; redirect it to a file\n"
    )
