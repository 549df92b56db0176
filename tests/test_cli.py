"""The command line: what it does, what it prints, and that errors are one line and lose nothing."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import accuracy_score, f1_score

from manyclass import MulticlassSVC, cli, load_model, load_svmlight, save_model, svmlight
from manyclass.synthetic import make_text_corpus
from manyclass.version import __version__

TINY = "a 1:1\nb 2:1\nc 3:1\na 1:2\nb 2:2\nc 3:2\n"
ROOT = os.geteuid() == 0


class Cli:
    """Runs commands in this process."""

    def __init__(self, capsys):
        self.capsys = capsys

    def __call__(self, *arguments):
        """Exit code, lines of stdout, lines of stderr."""
        self.capsys.readouterr()
        code = cli.main([str(a) for a in arguments])
        out, err = self.capsys.readouterr()
        return code, out.splitlines(), err.splitlines()

    def works(self, *arguments):
        """Lines of stdout of a command that must end well, without a word on stderr."""
        code, out, err = self(*arguments)
        assert (code, err) == (0, [])
        return out

    def fails(self, *arguments):
        """The one line on stderr of a command that must fail."""
        code, _, err = self(*arguments)
        assert code == 2
        assert len(err) == 1, err
        assert err[0].startswith("manyclass: error: ")
        return err[0].removeprefix("manyclass: error: ")


@pytest.fixture
def run(capsys):
    return Cli(capsys)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Folder with train.txt and test.txt: 20 classes, 400 features."""
    folder = tmp_path_factory.mktemp("corpus")
    X, y = make_text_corpus(500, 400, 20, random_state=0)
    dump_svmlight_file(X[:400], y[:400], str(folder / "train.txt"), zero_based=False)
    dump_svmlight_file(X[400:], y[400:], str(folder / "test.txt"), zero_based=False)
    assert cli.main(["train", f"{folder}/train.txt", f"{folder}/model", "--quiet"]) == 0
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tiny(here):
    """A folder to work in, with data `tiny` of classes a, b, c and a model `abc` of it."""
    Path("tiny").write_text(TINY)
    assert cli.main(["train", "tiny", "abc", "--quiet", "-C", "10"]) == 0
    return here


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


# train


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
    expected = MulticlassSVC(
        C=0.5,
        tol=0.1,
        stopping="kkt",
        random_state=3,
        fit_intercept=False,
        class_weight="balanced",
        max_iter=77,
        n_jobs=2,
    ).fit(X, y)
    model = load_model("m")
    assert model.get_params() == expected.get_params()
    np.testing.assert_array_equal(model.coef_, expected.coef_)


def test_train_defaults_are_the_estimator_s(tiny):
    expected = MulticlassSVC(C=10, random_state=0, n_jobs=1).get_params()
    assert load_model("abc").get_params() == expected
    assert load_model("abc").coef_.dtype == np.float32


def test_quiet_train_prints_nothing(run, tiny):
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


def test_an_existing_model_is_replaced(run, tiny):
    run.works("train", "tiny", "abc", "--quiet", "-C", "0.125")
    assert load_model("abc").C == 0.125
    assert names(tiny) == ["abc", "tiny"]


def test_a_link_is_followed(run, tiny):
    Path("folder").mkdir()
    Path("link").symlink_to("folder/model")
    Path("out_link").symlink_to("folder/out")
    run.works("train", "tiny", "link", "--quiet")
    run.works("predict", "tiny", "link", "out_link")
    assert Path("link").is_symlink()
    assert Path("out_link").is_symlink()
    assert names("folder") == ["model", "out"]


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


def test_predict_to_stdout(run, tiny):
    assert run.works("predict", "tiny", "abc", "-") == list("abcabc")


def test_predict_top_k(run, corpus, here, monkeypatch):
    monkeypatch.setattr(cli, "LINES_AT_A_TIME", 7)
    lines = run.works("predict", corpus / "test.txt", corpus / "model", "-", "--top-k", "3")
    X, _ = load_svmlight(corpus / "test.txt", 400)
    expected = load_model(corpus / "model").predict_top_k(X, 3)
    assert lines == ["\t".join(map(str, row)) for row in expected]


def test_predict_in_several_threads(run, tiny):
    assert run.works("predict", "tiny", "abc", "-", "--jobs", "-1") == list("abcabc")


def test_dummy_labels_do_not_matter(run, tiny):
    Path("data").write_text("0 1:1\n0.5 2:1\n")
    assert run.works("predict", "data", "abc", "-") == ["a", "b"]


def test_fewer_and_more_features_than_the_model(run, tiny):
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
    assert run.works("predict", "data", "m", "-", "--top-k", "2") == [
        "New York\tRome",
        "Rome\tNew York",
    ]


@pytest.mark.parametrize("name", ["two\nlines", "a\ttab", "car\rriage"])
def test_class_names_that_no_line_can_hold(run, tiny, name):
    save_model("m", MulticlassSVC().fit([[0.0], [1.0]], [name, "Rome"]))
    assert run.fails("predict", "tiny", "m", "out").startswith("m: class names with a tab")
    assert "out" not in names(tiny)


# evaluate, info


def test_evaluate_agrees_with_scikit_learn(run, corpus, here):
    scores = json.loads(run.works("evaluate", corpus / "test.txt", corpus / "model", "--json")[0])
    X, y = load_svmlight(corpus / "test.txt", 400)
    predicted = load_model(corpus / "model").predict(X)
    assert scores["n"] == len(y)
    assert scores["accuracy"] == pytest.approx(accuracy_score(y, predicted))
    assert scores["micro_f1"] == pytest.approx(f1_score(y, predicted, average="micro"))
    assert scores["macro_f1"] == pytest.approx(f1_score(y, predicted, average="macro"))


def test_evaluate_in_words(run, tiny):
    lines = run.works("evaluate", "tiny", "abc")
    assert "6 rows, 3 features, 3 classes" in lines[0]
    assert [line.split()[:3] for line in lines[1:]] == [
        ["accuracy", "100.00", "%"],
        ["macro", "F1", "100.00"],
    ]


def test_labels_unseen_in_training_are_errors(run, tiny):
    Path("data").write_text("a 1:1\nb 2:1\nd 3:1\ne 1:1\n")
    code, out, err = run("evaluate", "data", "abc", "--json")
    assert code == 0
    assert err == [
        "manyclass: warning: data: 2 rows with a label that is no class of the model; "
        "counted as errors"
    ]
    y, predicted = list("abde"), list("abca")
    scores = json.loads(out[0])
    assert scores["accuracy"] == 0.5
    assert scores["macro_f1"] == pytest.approx(
        f1_score(y, predicted, average="macro", zero_division=0)
    )


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
    Path("train").write_text("1 1:1\n01 2:1\nx 3:1\n")
    Path("test").write_text("1 1:1\n1 2:1\n")
    run.works("train", "train", "m", "--quiet", "-C", "10")
    scores = json.loads(run.works("evaluate", "test", "m", "--json")[0])
    assert scores == {"accuracy": 1, "micro_f1": 1, "macro_f1": 1, "n": 2}


def test_a_model_with_classes_of_python_strings(run, tiny):
    X, y = load_svmlight("tiny", 3)
    save_model("objects", MulticlassSVC(C=10).fit(X, y.astype(object)))
    assert json.loads(run.works("evaluate", "tiny", "objects", "--json")[0])["accuracy"] == 1


def test_info(run, corpus, here):
    about = json.loads(run.works("info", corpus / "model", "--json")[0])
    assert about["formulation"] == "crammer_singer"
    assert (about["C"], about["n_classes"], about["n_features"]) == (1.0, 20, 400)
    assert 0 < about["density"] <= 1
    assert set(about["certificate"]) == {
        "primal_objective",
        "dual_objective",
        "gap",
        "relative_gap",
        "max_violation",
    }
    lines = run.works("info", corpus / "model")
    assert "classes      20" in lines
    assert any(line.startswith("certificate  within ") for line in lines)


def test_demo_is_run(run, monkeypatch):
    monkeypatch.setattr("manyclass.demo.run_demo", lambda write: write("shown"))
    assert run.works("demo") == ["shown"]


def test_version_and_help(capsys):
    for arguments, text in (
        (["--version"], f"manyclass {__version__}"),
        (["--help"], "evaluate"),
        (["train", "--help"], "--formulation"),
        (["evaluate", "--help"], "How labels are compared"),
    ):
        with pytest.raises(SystemExit) as end:
            cli.main(arguments)
        assert end.value.code == 0
        assert text in capsys.readouterr().out


# errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "the following arguments are required: COMMAND; see manyclass --help"),
        ("nonsense", "invalid choice: 'nonsense'"),
        ("train", "the following arguments are required: DATA, MODEL; see manyclass train --help"),
        ("train tiny m --nonsense", "unrecognized arguments: --nonsense"),
        ("train tiny m --max 3", "unrecognized arguments: --max"),
        ("train tiny m -C 0", "argument -C: must be a positive number, not '0'"),
        ("train tiny m -C -1", "argument -C: must be a positive number, not '-1'"),
        ("train tiny m -C nan", "argument -C: must be a positive number, not 'nan'"),
        ("train tiny m -C inf", "argument -C: must be a positive number, not 'inf'"),
        ("train tiny m -C x", "argument -C: must be a positive number, not 'x'"),
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
        ("train tiny m --class-weight x", "argument --class-weight: invalid choice: 'x'"),
        ("train tiny m --formulation x", "argument --formulation: must be"),
        ("train tiny m --loss x", "argument --loss: must be"),
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
        ("train tiny /dev/null", "/dev/null: not a regular file"),
        ("train tiny " + "m" * 250, "file name too long; choose a shorter name"),
        ("train tiny m --n-features 2", "tiny:3: a feature's index is beyond n_features"),
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
        ("1 1:1\nnan 1:1\n", "data:2: the label is not finite"),
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


# full disks, pipes, signals


@contextlib.contextmanager
def file_size_limit(size):
    """A disk that is full after so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_no_part_of_a_file(run, corpus, here):
    data, model = corpus / "train.txt", corpus / "model"
    Path("m").write_text("before")
    with file_size_limit(200):
        errors = [
            run.fails("train", data, "m", "--quiet"),
            run.fails("predict", data, model, "out", "--top-k", "9"),
        ]
    assert errors[0].startswith("m: file too large;")
    assert errors[1].startswith("out: file too large;")
    assert names(here) == ["m"]
    assert Path("m").read_text() == "before"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device(run, tiny):
    message = run.fails("predict", "tiny", "abc", "/dev/full")
    assert message == "/dev/full: no space left on device; make room or choose another folder"
    assert Path("/dev/full").is_char_device()


def process(*arguments, **options):
    """Start a command as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "manyclass", *map(str, arguments)],
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.slow
def test_as_a_process(tiny):
    train = process("train", "tiny", "m")
    out, err = train.communicate(timeout=60)
    assert (train.returncode, err) == (0, "")
    assert out.endswith("saved m\n")
    broken = process("train", "nix", "m")
    out, err = broken.communicate(timeout=60)
    assert (broken.returncode, out) == (2, "")
    assert err == "manyclass: error: nix: no such file or directory; check the name\n"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [("predict", "tiny", "abc", "-"), ("info", "abc", "--json")])
def test_stdout_on_a_full_disk(tiny, command):
    with Path("/dev/full").open("w") as full:
        child = process(*command, stdout=full)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 2
    assert err.startswith("manyclass: error: standard output: no space left on device; ")
    assert err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("command", [("predict", "tiny", "abc", "-"), ("train", "tiny", "m")])
def test_a_reader_that_leaves(tiny, command):
    read, write = os.pipe()
    os.close(read)
    child = process(*command, stdout=write)
    os.close(write)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (141, "")
    assert names(tiny) == ["abc", "tiny"]


@pytest.mark.slow
def test_ctrl_c_while_waiting_for_data(tiny):
    os.mkfifo("pipe")
    child = process("train", "pipe", "m")
    with Path("pipe").open("w") as pipe:  # returns when the child has opened it, too
        pipe.write("a 1:1\n")
        pipe.flush()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, "")
    assert err == "manyclass: interrupted; nothing was written\n"
    assert names(tiny) == ["abc", "pipe", "tiny"]


@pytest.fixture
def training(here):
    """A process that is in the middle of a long training; a model was there before."""
    X, y = make_text_corpus(4000, 4000, 100, label_noise=0.5, random_state=0)
    dump_svmlight_file(X, y, "long", zero_based=False)
    Path("m").write_text("before")
    child = process(
        *("train", "long", "m", "-C", "1e5", "--tol", "1e-13", "--max-iter", "100000"),
        *("--dtype", "float64"),
    )
    assert child.stdout.readline().startswith("read long")
    assert child.stdout.readline().startswith("epoch    1 ")
    yield child
    if child.poll() is None:
        child.kill()
    child.communicate()


@pytest.mark.slow
def test_ctrl_c_while_training(training, here):
    training.send_signal(signal.SIGINT)
    _, err = training.communicate(timeout=60)
    assert training.returncode == 130
    assert err == "manyclass: interrupted; nothing was written\n"
    assert names(here) == ["long", "m"]
    assert Path("m").read_text() == "before"


@pytest.mark.slow
def test_a_killed_training_leaves_the_old_model(training, here):
    training.kill()
    training.communicate(timeout=60)
    assert training.returncode == -signal.SIGKILL
    assert names(here) == ["long", "m"]
    assert Path("m").read_text() == "before"
