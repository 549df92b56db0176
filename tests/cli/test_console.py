"""The command line and its surroundings: full disks, pipes, signals."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import dump_svmlight_file

from manyclass import save_data
from manyclass.cli import console
from manyclass.datasets.synthetic import make_text_corpus
from tests.helpers.command_line import names
from tests.helpers.full_disk import file_size_limit


def test_a_full_disk_leaves_no_part_of_a_file(run, corpus, here):
    data, model = corpus / "train.txt", corpus / "model"
    Path("m").write_text("before")
    with file_size_limit(200):
        errors = [
            run.fails("train", data, "m", "--quiet", "--force"),
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
    out, err = train.communicate(timeout=600)
    assert (train.returncode, err) == (0, "")
    assert out.endswith("saved m\n")
    broken = process("train", "nix", "m")
    out, err = broken.communicate(timeout=600)
    assert (broken.returncode, out) == (2, "")
    assert err == "manyclass: error: nix: no such file or directory; check the name\n"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [("predict", "tiny", "abc", "-"), ("info", "abc", "--json")])
def test_stdout_on_a_full_disk(tiny, command):
    with Path("/dev/full").open("w") as full:
        child = process(*command, stdout=full)
        _, err = child.communicate(timeout=600)
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
    _, err = child.communicate(timeout=600)
    assert child.returncode == 141
    lost = "manyclass: standard output was closed: training ended, and no model is written; "
    assert err.startswith(lost) if command[0] == "train" else not err
    assert names(tiny) == ["abc", "tiny"]


@pytest.mark.slow
def test_ctrl_c_while_waiting_for_data(tiny):
    os.mkfifo("pipe")
    child = process("train", "pipe", "m")
    with Path("pipe").open("w") as pipe:  # returns when the child has opened it, too
        pipe.write("a 1:1\n")
        pipe.flush()
        child.send_signal(signal.SIGINT)
        try:
            out, err = child.communicate(timeout=60)
        except subprocess.TimeoutExpired:  # it came just before the interpreter began to read
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=600)
    assert (child.returncode, out) == (130, "")
    assert err == "manyclass: interrupted; nothing was written\n"
    assert names(tiny) == ["abc", "pipe", "tiny"]


INTERRUPTED_IMPORT = """
import signal, sys
from manyclass.cli import main

class Interruption:
    def find_spec(self, name, *_):
        if name == "sklearn":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interruption())
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["train tiny m", "info abc", "demo"])
def test_ctrl_c_while_modules_load(tiny, command):
    child = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, *command.split()],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (child.returncode, child.stdout) == (130, "")
    assert child.stderr == "manyclass: interrupted; nothing was written\n"
    assert names(tiny) == ["abc", "tiny"]


def test_ctrl_c_is_held_back_to_the_end_of_the_imports():
    reached = []

    def imports():
        with console.interrupt_held_back():
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        imports()
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture
def training(here):
    """A process that is in the middle of a long training; a model was there before."""
    X, y = make_text_corpus(4000, 4000, 100, label_noise=0.5, random_state=0)
    dump_svmlight_file(X, y, "long", zero_based=False)
    Path("m").write_text("before")
    child = process(
        *("train", "long", "m", "-C", "1e5", "--tol", "1e-13", "--max-iter", "100000"),
        *("--dtype", "float64", "--force"),
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
    _, err = training.communicate(timeout=600)
    assert training.returncode == 130
    assert err == "manyclass: interrupted; nothing was written\n"
    assert names(here) == ["long", "m"]
    assert Path("m").read_text() == "before"


@pytest.mark.slow
def test_a_killed_training_leaves_the_old_model(training, here):
    training.kill()
    training.communicate(timeout=600)
    assert training.returncode == -signal.SIGKILL
    assert names(here) == ["long", "m"]
    assert Path("m").read_text() == "before"


@pytest.mark.slow
def test_converted_data_that_is_overwritten_while_it_is_in_use(here):
    """As ``cp`` does it; where the file becomes shorter, a mapped page is there no more."""
    X, y = make_text_corpus(4000, 4000, 100, label_noise=0.5, random_state=0)
    save_data("long", X, y)
    child = process(
        *("train", "long", "m", "-C", "1e5", "--tol", "1e-13", "--max-iter", "100000"),
        *("--dtype", "float64"),
    )
    assert child.stdout.readline().startswith("read long")
    assert child.stdout.readline().startswith("epoch    1 ")
    Path("long").write_bytes(b"")
    _, err = child.communicate(timeout=600)
    assert child.returncode == 2
    assert err == (
        "manyclass: error: long: was overwritten while it was in use, or cannot be read; "
        "replace it by a new file (mv), do not copy into it (cp)\n"
    )
    assert names(here) == ["long"]
