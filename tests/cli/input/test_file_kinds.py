"""Outputs of commands replace files of their own kind only, unless they are forced to."""

import contextlib
import os
import pickle
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from manyclass import load_data, load_model, load_svmlight
from manyclass.cli import commands
from manyclass.cli.input.file_kinds import labels_of
from tests.helpers.cases import each
from tests.helpers.command_line import TINY, names

COMMANDS = {
    "model": "train tiny OUT --quiet",
    "stochastic": "train tiny OUT --quiet --solver stochastic",
    "data": "convert tiny OUT --quiet",
    "labels": "predict tiny abc OUT",
    "probabilities": "predict tiny soft OUT --probabilities --top-k 3",
}


@pytest.fixture(scope="module")
def all_kinds(tiny_files, tmp_path_factory):
    """A file of every kind, beside `tiny` and `abc`."""
    folder = tmp_path_factory.mktemp("kinds")
    shutil.copytree(tiny_files, folder, dirs_exist_ok=True)
    with contextlib.chdir(folder):
        Path("svmlight").write_text(TINY)
        Path("text").write_text("a line of text\n")
        Path("numbers").write_text("1.5\t2.5\n")
        Path("empty.npy").write_bytes(b"")
        np.save("array.npy", np.eye(3))
        log_loss = ("--solver", "stochastic", "--loss", "log_loss", "--quiet")
        assert commands.main(["train", "tiny", "soft", *log_loss]) == 0
        for name, command in COMMANDS.items():
            assert commands.main(command.replace("OUT", name).split()) == 0
    return folder


@pytest.fixture
def files(here, all_kinds):
    """A copy of these files to work in."""
    shutil.copytree(all_kinds, here, dirs_exist_ok=True)
    return here


FOREIGN = {
    "model": {"data", "labels", "svmlight", "text", "array.npy"},
    "stochastic": {"data", "labels", "svmlight", "text", "array.npy"},
    "data": {"model", "labels", "svmlight", "text", "array.npy"},
    "labels": {"model", "data", "svmlight", "text", "numbers", "array.npy"},
    "probabilities": {"stochastic", "data", "svmlight", "text", "numbers", "array.npy"},
}


@pytest.mark.parametrize("command", COMMANDS)
def test_another_kind_stays(run, files, command):
    for name in FOREIGN[command]:
        before = Path(name).read_bytes()
        message = run.fails(*COMMANDS[command].replace("OUT", name).split())
        assert message.startswith(f"{name}: is not a ")
        assert message.endswith("and would be overwritten; choose another name, or give --force")
        assert Path(name).read_bytes() == before
        assert not [left for left in names(".") if left.startswith(".")]


SAME = {
    "model": ("model", "stochastic", "abc", "empty.npy"),
    "stochastic": ("stochastic", "model", "empty.npy"),
    "data": ("data", "empty.npy"),
    "labels": ("labels", "probabilities", "empty.npy"),
    "probabilities": ("probabilities", "labels", "empty.npy"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_same_kind_is_replaced(run, files, command):
    Path("links").symlink_to(SAME[command][0])
    for name in (*SAME[command], "links"):
        if name != "abc":
            run.works(*COMMANDS[command].replace("OUT", name).split())
    assert Path("links").is_symlink()


@pytest.mark.parametrize("command", COMMANDS)
def test_force(run, files, command):
    for name in ("svmlight", "array.npy"):
        run.works(*COMMANDS[command].replace("OUT", name).split(), "--force")
        assert Path(name).read_bytes() != TINY.encode()
    assert "is an input too" in run.fails(
        *COMMANDS[command].replace("OUT", "tiny").split(), "--force"
    )


def test_a_test_set_in_the_place_of_the_model(run, files):
    """What made this check: a slip of the user's memory."""
    assert "svmlight: is not a manyclass model" in run.fails("train", "tiny", "svmlight")
    load_model("abc")
    load_data("data")
    assert Path("svmlight").read_text() == TINY


LABELS = b"cat\ndog\n", b"new york\ncat", b"cat\tdog\tnew york\n", b"cat\t0.5\tdog\t1e-05\n"
NONE = b"cat\nmouse\n", b"cat 1:1\n", b"7 1:1\n", b"7\n7 1:1\n", b"1.5\n", b"1\t2\n", b"\0" * 1000
NONE += b"cat\n\ndog\n", b"\n", b"cat\r\n", b"cat\t0.5\tmouse\t0.5\n"


@each("content", [*LABELS, b"7\n-1\n", b"cat\n7\n", *NONE])
def test_what_looks_like_labels(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert labels_of(["cat", "dog", "new york"]).matches(path) is (content not in NONE)


def test_special_outputs(run, files):
    expected = Path("labels").read_text()
    for out in ("-", "/dev/stdout"):
        assert run.works("predict", "tiny", "abc", out) == expected.splitlines()
    run.works("predict", "tiny", "abc", "/dev/null")
    os.mkfifo("pipe")
    with ThreadPoolExecutor(1) as other:
        told = other.submit(Path("pipe").read_text)
        run.works("predict", "tiny", "abc", "pipe")
        assert told.result() == expected


@pytest.mark.slow
def test_standard_output_that_is_a_file(files):
    command = [sys.executable, "-m", "manyclass", "predict", "tiny", "abc", "/dev/stdout"]
    with Path("text").open("ab") as file:  # >> text
        subprocess.run(command, stdout=file, check=True)
    assert Path("text").read_text() == "a line of text\n" + Path("labels").read_text()


PROGRAMS = {
    "pickle": (pickle.dumps([1]), "is a pickle"),
    "npy": (b"\x93NUMPY\x01\x00v\x00{", "is a NumPy array (.npy)"),
    "npz": (b"PK\x03\x04\x14\x00\x00\x00", "is a zip archive, such as .npz"),
    "parquet": (b"PAR1\x15\x04\x15\xb0", "is a Parquet file"),
    "feather": (b"ARROW1\x00\x00\xff\xff", "is an Arrow (Feather) file"),
    "page": (b"<!DOCTYPE html>\n", "is an HTML page"),
    "liblinear": (b"solver_type MCSVM_CS\n", "is a model of LIBLINEAR (manyclass import"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_files_of_other_programs_are_named(run, tiny, here, name):
    content, message = PROGRAMS[name]
    (here / name).write_bytes(content)
    for command in (f"info {name}", f"predict tiny {name} out"):
        assert message in run.fails(*command.split())
    is_table = name in ("npy", "parquet", "feather")
    assert ("is a table" if is_table else message) in run.fails("train", name, "m")
    for load in (load_model, load_data, load_svmlight):
        with pytest.raises(ValueError, match=re.escape(message)):
            load(here / name)


@pytest.mark.parametrize("start", [b"\x1f\x8b\x08", b"BZh", b"PK\x03\x04"])
def test_a_damaged_model_is_no_file_of_another_program(tmp_path, start):
    """The length of its header may begin as such a file does."""
    path = tmp_path / "model"
    path.write_bytes(start.ljust(8, b"\0") + b'{"weights"')
    with pytest.raises(ValueError, match="damaged, truncated or not a model file"):
        load_model(path)


@pytest.mark.parametrize("command", ["evaluate {} {}", "report {} {} -o page", "predict {} {} out"])
def test_data_and_model_may_come_in_either_order(run, tiny, here, command):
    run.works("train", "tiny", "m", "--quiet")
    written = []
    for order in (("tiny", "m"), ("m", "tiny")):
        printed = run.works(*command.format(*order).split())
        files = [path for path in map(Path, ("page", "out")) if path.exists()]
        written.append((printed[-1:], [path.read_bytes() for path in files]))
    assert written[0] == written[1]
