"""Processes killed at any moment: nothing hangs, no half of a file, and training goes on."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from manyclass import load_model
from manyclass.datasets.synthetic import make_text_corpus
from manyclass.training.checkpoint_file import read_checkpoint
from manyclass.training.checkpoints import found_in
from tests.helpers.mpiexec import MPIEXEC, needs_mpi

pytestmark = needs_mpi

SECONDS = 600  # until a run that takes two or three is said to hang
TOL = 1e-3
ENDLESS = ("--tol", "1e-300", "--max-iter", "1000000", "--checkpoint-minutes", "1e-9")
# Training without an end, in steps of some hundredths of a second.
SLOW = """
import sys, time
from manyclass import cli
from manyclass.training import epoch_loop
epoch_loop.has_stalled = lambda *_: time.sleep(0.02)
sys.exit(cli.main())
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("faults") / "data"
    X, y = make_text_corpus(600, 500, 12, label_noise=0.3, random_state=0)
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


def command(program, size, data, model, *options):
    launcher = [] if size == 1 else [str(MPIEXEC), "-n", str(size)]
    train = ["train", str(data), str(model), "--dtype", "float64", "--no-intercept"]
    return [*launcher, sys.executable, *program, *train, *map(str, options)]


def begin(*arguments):
    """A training without an end that has begun."""
    process = subprocess.Popen(
        command(("-c", SLOW), *arguments, *ENDLESS),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "MPIEXEC_TIMEOUT": str(SECONDS)},
    )
    for line in process.stdout:
        if line.startswith("epoch"):
            return process
    raise AssertionError(process.communicate(timeout=SECONDS)[1])


def trainers(process):
    """The processes that train: this one, or those that a launcher started."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
            parents[int(entry.name)] = int(stat[1]), arguments[0] == sys.executable.encode()
    found = [process.pid]
    for pid in found:
        found.extend(child for child, (parent, _) in parents.items() if parent == pid)
    return [pid for pid in found if parents.get(pid, (0, False))[1]]


def outcome(process):
    """Exit code and stderr of a process that must end soon."""
    try:
        _, told = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("a run hangs after one of its processes was killed") from None
    return process.returncode, told


def check_folder(folder):
    """Two checkpoints that can be read, and perhaps one that was being written."""
    found = found_in(folder)
    assert 1 <= len(found) <= 3  # three: killed before the oldest was removed
    for path in found:
        read_checkpoint(path)
    others = {path.name for path in folder.iterdir()} - {path.name for path in found}
    assert not others


def finish(size, data, model, *options):
    done = subprocess.run(
        command(("-m", "manyclass"), size, data, model, "--tol", TOL, "--quiet", *options),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env={**os.environ, "MPIEXEC_TIMEOUT": str(SECONDS)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    proof = load_model(model).certificate_
    assert proof.relative_gap <= TOL
    return proof.primal_objective


@pytest.mark.parametrize(
    ("formulation", "kills", "sizes"),
    [("cs", 3, (1, 3, 2)), ("ww", 3, (2, 1, 3)), ("ovr", 3, (3, 2, 1)), ("llw", 2, (2, 3, 1))],
)
def test_killed_again_and_again(formulation, kills, sizes, data, tmp_path):
    """SIGKILL to one or several processes at any moment, then on with another number of them."""
    rng = np.random.default_rng(sum(map(ord, formulation)))
    folder, model = tmp_path / "checkpoints", tmp_path / "model"
    model.write_text("before")
    begun = ["--formulation", formulation, "--force"]
    turns = itertools.cycle(sizes)
    for kill in range(kills):
        place = "--resume" if kill else "--checkpoint"
        process = begin(next(turns), data, model, *begun, place, folder)
        time.sleep(rng.uniform(0, 0.25))
        ranks = rng.permutation(trainers(process)).tolist()
        for rank in ranks[: rng.integers(1, len(ranks) + 1)]:
            os.kill(rank, signal.SIGKILL)
        code, _ = outcome(process)
        assert code != 0
        assert model.read_text() == "before"
        assert {path.name for path in tmp_path.iterdir()} == {"checkpoints", "model"}
        check_folder(folder)
    options = ("--resume", folder)
    reached = finish(next(turns), data, model, *begun, *options)
    alone = finish(1, data, tmp_path / "other", *begun)
    assert reached == pytest.approx(alone, rel=2 * TOL)


def test_a_killed_launcher(data, tmp_path):
    """Its ranks end, too, and let go of the folder."""
    folder, model = tmp_path / "checkpoints", tmp_path / "model"
    options = ("--formulation", "ww")
    process = begin(2, data, model, *options, "--checkpoint", folder)
    ranks = trainers(process)
    assert len(ranks) == 2
    process.kill()
    outcome(process)
    for _ in range(10 * SECONDS):
        if not any(Path(f"/proc/{pid}").exists() for pid in ranks):
            break
        time.sleep(0.1)
    else:
        pytest.fail("ranks go on without their launcher")
    check_folder(folder)
    finish(3, data, model, *options, "--resume", folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_write_a_last_checkpoint(number, data, tmp_path):
    folder, model = tmp_path / "checkpoints", tmp_path / "model"
    process = begin(1, data, model, "--checkpoint", folder)
    process.send_signal(number)
    code, told = outcome(process)
    assert code == 128 + number
    word = "terminated" if number == signal.SIGTERM else "interrupted"
    assert told == f"manyclass: {word}; to continue: --resume {folder}\n"
    assert not model.exists()
    check_folder(folder)
    finish(1, data, model, "--resume", folder)


def alive(pid):
    """Whether a process runs; one that only waits for init to read its exit code does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("rank", [0, 1])
def test_an_interrupted_rank_ends_all(rank, data, tmp_path):
    """What came after the last checkpoint is lost; a second Ctrl-C changes nothing."""
    folder, model = tmp_path / "checkpoints", tmp_path / "model"
    options = ("--formulation", "ww")
    process = begin(2, data, model, *options, "--checkpoint", folder)
    ranks = trainers(process)
    os.kill(ranks[rank], signal.SIGINT)
    assert "interrupted; no model was written; all ranks end" in process.stderr.readline()
    os.kill(ranks[rank], signal.SIGINT)
    code, told = outcome(process)
    assert code != 0
    assert "Traceback" not in told
    assert "manyclass: interrupted" not in told
    for _ in range(100):
        if not any(map(alive, ranks)):
            break
        time.sleep(0.01)
    else:
        pytest.fail("a rank runs longer than mpiexec")
    assert not model.exists()
    check_folder(folder)
    finish(1, data, model, *options, "--resume", folder)
