"""The command line on converted data files."""

import bz2
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from manyclass import load_data, load_model, load_svmlight
from manyclass.cli import commands
from manyclass.cli.input import blocks
from manyclass.distributed.mpiexec import RANKS, SIZES
from tests.helpers.command_line import names
from tests.helpers.full_disk import file_size_limit


@pytest.fixture(name="data")
def data_fixture(run, corpus, here):
    """train.txt and test.txt of the corpus, converted."""
    for name in ("train", "test"):
        run.works("convert", corpus / f"{name}.txt", name, "--quiet")
    return here


def test_convert_tells_what_it_read_and_saved(run, corpus, here):
    lines = run.works("convert", corpus / "train.txt", "data")
    assert lines[0].startswith("looked through ")
    assert "400 rows, 400 features, 20 classes, " in lines[0]
    assert lines[1].startswith("saved data in ")
    assert lines[1].endswith(" MB")
    assert names(here) == ["data"]


def test_convert_options(run, here):
    Path("text").write_bytes(bz2.compress(b"a 0:1 2:3\nb 1:2\n"))
    run.works(
        *("convert", "text", "data", "--zero-based", "--n-features", "7", "--dtype", "float64"),
        *("--jobs", "2", "--quiet"),
    )
    X, y = load_data("data")
    expected, labels = load_svmlight("text", 7, np.float64, zero_based=True)
    assert X.dtype == np.float64
    np.testing.assert_array_equal(X.toarray(), expected.toarray())
    np.testing.assert_array_equal(y, labels)


@pytest.mark.parametrize(
    "options",
    [
        ["--formulation", "ww"],
        ["--n-features", "500", "--dtype", "float64", "--class-weight", "balanced"],
        ["--solver", "stochastic", "--tol", "0.1"],
    ],
)
def test_models_are_those_of_the_text(run, corpus, data, options):
    lines = run.works("train", corpus / "train.txt", "m", *options)
    others = run.works("train", "train", "n", *options)
    assert lines[0].split(" s: ")[1] == others[0].split(" s: ")[1]
    one, two = load_model("m"), load_model("n")
    assert one.get_params() == two.get_params()
    # As float64, the values that were converted are those of float32.
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-6 if "float64" in options else 0)
    for command, more in (("predict", "-"), ("evaluate", "--json")):
        expected = run.works(command, corpus / "test.txt", "m", more)
        assert run.works(command, "test", "m", more) == expected


def test_out_of_core(run, data, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_VALUES", 500)
    options = ["--solver", "stochastic", "--tol", "0.1", "--class-weight", "balanced"]
    lines = run.works("train", "train", "m", *options, "--out-of-core")
    assert lines[0].startswith("looked through train in ")
    assert "400 rows, 400 features, 20 classes" in lines[0]
    scores = json.loads(run.works("evaluate", "test", "m", "--json")[0])
    assert scores["accuracy"] > 0.3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("convert train other", "train: is not text; converted files need no second conversion"),
        ("convert train train", "is an input too and would be overwritten"),
        ("convert nothing other", "nothing: no such file or directory; check the name"),
        ("convert train no/other", "no/other: no such file or directory"),
        ("train train m --zero-based", "argument --zero-based: train is converted, so"),
        ("train train m --n-features 3", "train: has 400 features, more than the 3"),
        ("evaluate train train", "train: cannot be read as a manyclass model: it holds data"),
        ("predict model model out", "model: holds a model, not data; give an svmlight file"),
        ("train . m", ".: is a directory; give the name of a file"),
    ],
)
def test_errors(run, corpus, data, arguments, message):
    Path("model").write_bytes((corpus / "model").read_bytes())
    before = names(data)
    assert message in run.fails(*arguments.split())
    assert names(data) == before


def test_malformed_text_and_full_disks_leave_nothing(run, corpus, here):
    Path("text").write_text("a 1:1\nb 2:x\n")
    assert run.fails("convert", "text", "data").startswith("text:2: a feature's value is not a n")
    with file_size_limit(2000):
        message = run.fails("convert", corpus / "train.txt", "data")
    assert message.startswith("data: file too large;")
    assert names(here) == ["text"]


def test_pipes_and_standard_input_cannot_be_converted(run, here):
    os.mkfifo("pipe")
    assert "a pipe or device can't be read twice" in run.fails("convert", "pipe", "data")
    message = run.fails("convert", "-", "data")
    assert message.startswith("argument DATA: convert reads DATA twice, so it must be a file")
    assert names(here) == ["pipe"]


@pytest.mark.parametrize("command", ["evaluate {} abc", "train {} m", "predict {} abc out"])
def test_converted_data_do_not_come_through_a_pipe(run, tiny, command):
    run.works("convert", "tiny", "data")
    os.mkfifo("pipe")
    with ThreadPoolExecutor(1) as other:
        written = other.submit(Path("pipe").write_bytes, Path("data").read_bytes())
        message = run.fails(*command.format("pipe").split())
        written.exception()
    assert message == "pipe:1: converted data cannot be read from a pipe; give the name of the file"
    with pytest.raises(ValueError, match="is converted data or a model, not text; use load_data"):
        load_svmlight("data")


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("predict tiny abc out", "manyclass predict runs in one process, and mpiexec started 3"),
        ("convert tiny out", "manyclass convert runs in one process, and mpiexec started 3"),
        ("info abc", "manyclass info runs in one process"),
        ("train tiny", "the following arguments are required: MODEL"),
        ("train tiny out --formulation x", "argument --formulation: must be one of"),
    ],
)
def test_one_of_several_processes_tells_an_error(
    run, tiny, capsys, monkeypatch, rank, arguments, message
):
    monkeypatch.setenv(SIZES[0], "3")
    monkeypatch.setenv(RANKS[0], str(rank))
    if rank == 0:
        assert message in run.fails(*arguments.split())
    else:
        with pytest.raises(SystemExit) as ended:
            commands.main(arguments.split())
        assert ended.value.code == 2
        assert capsys.readouterr() == ("", "")
    assert names(tiny) == ["abc", "tiny"]
