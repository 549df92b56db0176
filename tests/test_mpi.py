"""Several processes by mpiexec: the same optimum, one voice, and no rank that waits for ever."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from manyclass import load_model
from tests.catalog import text_problem

MPIEXEC = Path(sys.executable).parent / "mpiexec"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("mpi4py") is None or not MPIEXEC.exists(),
        reason="needs mpi4py and mpich: pip install 'manyclass[mpi]' mpich",
    ),
]
FIT = """
import sys
from mpi4py import MPI
from sklearn.base import clone
from manyclass import MulticlassSVC, load_svmlight
X, y = load_svmlight(sys.argv[1])
model = MulticlassSVC(formulation=sys.argv[2], tol=1e-6, communicator=MPI.COMM_WORLD)
model = clone(model)
"""


def mpiexec(size, *command, timeout=60):
    return subprocess.run(
        [MPIEXEC, "-n", str(size), sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    dataset = text_problem(n=100, d=80, k=9).dataset
    lines = []
    for i, label in enumerate(dataset.labels):
        row = slice(*dataset.indptr[i : i + 2])
        pairs = sorted(zip(dataset.indices[row], dataset.values[row], strict=True))
        lines.append(" ".join([str(label), *(f"{j + 1}:{v}" for j, v in pairs)]) + "\n")
    path = tmp_path_factory.mktemp("mpi") / "data"
    path.write_text("".join(lines))
    return path


def train(size, data, model, *options):
    arguments = ("-m", "manyclass", "train", str(data), str(model), "--tol", "1e-4", *options)
    return mpiexec(size, *arguments)


@pytest.mark.parametrize(
    ("formulation", "sizes"), [("ww", [1, 2, 3, 4]), ("ovr", [1, 3]), ("llw", [1, 2])]
)
def test_the_command_line_trains_the_same_on_any_number(data, tmp_path, formulation, sizes):
    objectives = []
    for size in sizes:
        path = tmp_path / f"model{size}"
        done = train(size, data, path, "--formulation", formulation)
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        assert [sum(line.startswith(word) for line in lines) for word in ("read", "saved")] == [
            1,
            1,
        ]
        certificate = load_model(path).certificate_
        assert certificate.relative_gap <= 1e-4
        objectives.append(certificate.primal_objective)
    assert objectives == pytest.approx([objectives[0]] * len(sizes), rel=2e-4)


def test_every_rank_has_the_model(data, tmp_path):
    script = (
        FIT
        + """
model.fit(X, y)
with open(f"{sys.argv[3]}/{MPI.COMM_WORLD.rank}", "w") as file:
    print(model.certificate_, model.coef_.sum(), file=file)
"""
    )
    done = mpiexec(3, "-c", script, str(data), "weston_watkins", str(tmp_path))
    assert done.returncode == 0, done.stderr
    first, *others = (path.read_text() for path in tmp_path.iterdir())
    assert others == [first, first]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--formulation", "cs"], "trained by one process"),
        (["--C", "1"], "unrecognized arguments"),
    ],
)
def test_a_common_error_is_told_once(data, tmp_path, options, message):
    done = train(2, data, tmp_path / "model", *options)
    assert done.returncode != 0
    assert message in done.stderr
    assert not (tmp_path / "model").exists()


def test_missing_data_and_folders_are_told_once(data, tmp_path):
    for arguments in [
        (tmp_path / "nothing", tmp_path / "model"),
        (data, tmp_path / "no" / "model"),
    ]:
        done = train(3, *arguments, "--formulation", "ww")
        assert done.returncode != 0
        assert done.stderr.count("no such file or directory") == 1


def ending(rank, action):
    """A script in which one rank does something in its second epoch."""
    return f"""{FIT}
import os, signal
from manyclass.solvers.bundles import GoingRound
run, epochs = GoingRound.run, []
def fail(self, meet):
    epochs.append(1)
    if MPI.COMM_WORLD.rank == {rank} and len(epochs) == 2:
        {action}
    run(self, meet)
GoingRound.run = fail
model.fit(X, y)
print("trained")
"""


@pytest.mark.parametrize("rank", [0, 1])
def test_an_error_on_one_rank_ends_all_with_its_line(data, rank):
    action = "raise ValueError('it went\\nwrong')"
    done = mpiexec(2, "-c", ending(rank, action), str(data), "weston_watkins", timeout=30)
    assert done.returncode != 0
    line = f"manyclass: rank {rank} of 2: error: ValueError: it went wrong; all ranks end"
    assert done.stderr.count("it went") == done.stderr.count(line) == 1
    assert "trained" not in done.stdout


def test_a_killed_rank_ends_all(data):
    action = "os.kill(os.getpid(), signal.SIGKILL)"
    done = mpiexec(2, "-c", ending(1, action), str(data), "weston_watkins", timeout=30)
    assert done.returncode != 0
    assert "trained" not in done.stdout


def test_an_interrupted_rank_ends_all(data):
    action = "os.kill(os.getpid(), signal.SIGINT)"
    done = mpiexec(2, "-c", ending(1, action), str(data), "weston_watkins", timeout=30)
    assert done.returncode != 0
    assert "rank 1 of 2: interrupted" in done.stderr
