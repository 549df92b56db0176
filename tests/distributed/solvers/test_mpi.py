"""Several processes by mpiexec: the same optimum, one voice, and no rank that waits for ever."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from manyclass import MulticlassSVC, load_model, load_svmlight
from manyclass.cli import commands
from manyclass.problem.formulations import SHORT_NAMES
from tests.helpers.catalog import text_problem
from tests.helpers.model_files import without_seconds
from tests.helpers.mpiexec import MPIEXEC, needs_mpi

pytestmark = needs_mpi
SECONDS = 180  # until a run that takes two or three is said to hang
FIT = """
import sys
from mpi4py import MPI
from sklearn.base import clone
from manyclass import MulticlassSVC, load_svmlight
X, y = load_svmlight(sys.argv[1])
model = MulticlassSVC(formulation=sys.argv[2], tol=1e-6, communicator=MPI.COMM_WORLD)
model = clone(model)
"""


def mpiexec(size, *command, **variables):
    """Run Python on so many ranks; the launcher ends them all if they take too long."""
    return subprocess.run(
        [MPIEXEC, "-n", str(size), sys.executable, *command],
        env={**os.environ, "MPIEXEC_TIMEOUT": str(SECONDS), **variables},
        capture_output=True,
        text=True,
        timeout=SECONDS + 10,
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


def train(size, data, model, *options, **variables):
    arguments = ("-m", "manyclass", "train", str(data), str(model), "--tol", "1e-4", *options)
    return mpiexec(size, *arguments, **variables)


@pytest.mark.parametrize(("formulation", "size"), [("cs", 3), ("ww", 3), ("ovr", 2), ("llw", 2)])
def test_the_command_line_trains_as_one_process_does(data, tmp_path, formulation, size):
    done = train(size, data, tmp_path / "model", "--formulation", formulation)
    assert (done.returncode, done.stderr) == (0, "")
    words = [line.split()[0] for line in done.stdout.splitlines()]
    assert [words.count(word) for word in ("read", "trained", "saved")] == [1, 1, 1]
    certificate = load_model(tmp_path / "model").certificate_
    assert certificate.relative_gap <= 1e-4
    one = MulticlassSVC(formulation=SHORT_NAMES[formulation], tol=1e-4).fit(*load_svmlight(data))
    here = one.certificate_.primal_objective
    assert certificate.primal_objective == pytest.approx(here, rel=2e-4)


@pytest.mark.parametrize("split", [None, "rows"])
def test_costs_and_offsets_on_the_command_line(data, tmp_path, split):
    X, y = load_svmlight(data)
    labels = np.unique(y)
    costs = 1 + np.abs(np.subtract.outer(np.arange(len(labels)), np.arange(len(labels)))) / 4
    np.fill_diagonal(costs, 0)
    header = ["", *(f"{label:g}" for label in labels)]
    lines = [[f"{a:g}", *map(str, row)] for a, row in zip(labels, costs.tolist(), strict=True)]
    (tmp_path / "costs.csv").write_text("\n".join(",".join(line) for line in [header, *lines]))
    options = ["--costs", str(tmp_path / "costs.csv"), "--class-offset", f"{labels[0]:g}=0.5"]
    options += ["--split", split] if split else []
    done = train(2, data, tmp_path / "model", *options)
    assert (done.returncode, done.stderr) == (0, "")
    model = load_model(tmp_path / "model")
    np.testing.assert_array_equal(model.costs, costs)
    settings = {"costs": costs, "class_offset": {labels[0]: 0.5}, "tol": 1e-4}
    one = MulticlassSVC(**settings).fit(X, y).certificate_.primal_objective
    assert model.certificate_.primal_objective == pytest.approx(one, rel=2e-4)


def test_every_rank_has_the_model(data, tmp_path):
    script = (
        FIT
        + """
model.fit(X, y)
with open(f"{sys.argv[3]}/{MPI.COMM_WORLD.rank}", "w") as file:
    print(model.certificate_, model.coef_.sum(), file=file)
"""
    )
    done = mpiexec(2, "-c", script, str(data), "weston_watkins", str(tmp_path))
    assert done.returncode == 0, done.stderr
    first, second = (path.read_text() for path in tmp_path.iterdir())
    assert first == second


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--formulation", "adm"], "cannot be trained with classes partitioned"),
        (["--solver", "stochastic"], "stochastic trains in one process, and mpiexec started 2"),
    ],
)
def test_what_ranks_cannot_train_is_told_once(data, tmp_path, options, message):
    done = train(2, data, tmp_path / "model", *options)
    assert done.returncode != 0
    assert [message in line for line in told(done)] == [True]
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(("source", "target"), [("nothing", "model"), ("data", "no/model")])
def test_missing_data_and_folders_are_told_once(data, tmp_path, source, target):
    done = train(2, data.parent / source, tmp_path / target, "--formulation", "ww")
    assert done.returncode != 0
    assert ["no such file or directory" in line for line in told(done)] == [True]


def test_ranks_read_a_part_of_the_file_each(data, tmp_path):
    script = """
import sys
from mpi4py import MPI
from manyclass import cli
from manyclass.io.svmlight_parser import Parser
parse = Parser.__call__
n_bytes = []
def counted(self, piece):
    n_bytes.append(len(piece.text))
    return parse(self, piece)
Parser.__call__ = counted
assert cli.main(sys.argv[1:]) == 0
print(f"parsed {sum(n_bytes)}.", flush=True)
"""
    folder = tmp_path / "temporary"
    folder.mkdir()
    options = ("--formulation", "ww", "--quiet")
    arguments = ("train", str(data), str(tmp_path / "model"), *options)
    done = mpiexec(3, "-c", script, *arguments, TMPDIR=str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    # The launcher may put two lines into one.
    shares = [int(found) for found in re.findall(r"parsed (\d+)\.", done.stdout)]
    assert len(shares) == 3
    assert sum(shares) == data.stat().st_size
    assert max(shares) < 0.4 * sum(shares)
    assert not any(folder.iterdir())
    converted = tmp_path / "converted"
    assert commands.main(["convert", str(data), str(converted), "--quiet"]) == 0
    apart = {"MPIR_CVAR_NOLOCAL": "1"}  # MPICH: as if each rank were on a machine of its own
    models = []
    for source, variables in [(data, {}), (converted, {}), (data, apart), (converted, apart)]:
        done = train(2, source, tmp_path / "model", *options, **variables)
        assert (done.returncode, done.stderr) == (0, "")
        models.append(without_seconds(tmp_path / "model"))
    assert len(set(models)) == 1


def test_a_malformed_line_is_told_once_with_its_number(data, tmp_path):
    lines = data.read_text().splitlines(keepends=True)
    bad = tmp_path / "bad"
    bad.write_text("".join([*lines[:80], "1 3:x\n", *lines[81:], "1 4:y\n"]))
    done = train(3, bad, tmp_path / "model", "--formulation", "ww")
    assert done.returncode != 0
    where = f"manyclass: error: {bad}:81: a feature's value is not a number"
    assert [where in line for line in told(done)] == [True]
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("arguments", ["info model", "predict a b c", "train data", "nonsense"])
def test_other_commands_and_wrong_arguments_are_told_once(tmp_path, arguments):
    done = mpiexec(3, "-m", "manyclass", *arguments.split())
    assert done.returncode != 0
    assert len(told(done)) == 1


@pytest.mark.parametrize("weights", ["dense", "sparse"])
def test_rows_that_overflow_are_an_error_on_ranks_without_classes_too(tmp_path, weights):
    data = tmp_path / "data"
    data.write_text("".join(f"{i % 3} 1:1e200 {i + 2}:1e200\n" for i in range(6)))
    options = ["--formulation", "ovr", "--weights", weights, "--dtype", "float64"]
    done = mpiexec(4, "-m", "manyclass", "train", str(data), str(tmp_path / "model"), *options)
    assert done.returncode != 0
    assert ["scale the features" in line for line in told(done)] == [True]


def test_a_communicator_of_one_process_leaves_errors_to_the_caller(data):
    script = f"""{FIT.replace("COMM_WORLD", "COMM_SELF")}
if MPI.COMM_WORLD.rank == 1:
    try:
        clone(model).set_params(C=-1.0).fit(X, y)
    except ValueError:
        print("refused")
print(f"{{model.fit(X, y).score(X, y):.2f}}")
"""
    done = mpiexec(2, "-c", script, str(data), "weston_watkins")
    assert done.returncode == 0
    assert sorted(done.stdout.split())[2:] == ["refused"]


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("sys.argv += ['--no-such-option']", "unrecognized arguments: --no-such-option"),
        ("sys.argv[1:] = ['info', 'x']", "info runs in one process"),
        ("commands.build_parser = interrupt", "interrupted"),
        ("commands.build_parser = fail", "a fault"),
    ],
)
def test_a_rank_that_ends_before_mpi_begins_ends_all(data, tmp_path, rank, action, words):
    script = f"""
import os, sys
from manyclass import cli
from manyclass.cli import commands
def interrupt(command):
    raise KeyboardInterrupt
def fail(command):
    raise TypeError("a fault")
if os.environ["PMI_RANK"] == "{rank}":
    {action}
sys.exit(cli.main(sys.argv[1:]))
"""
    done = mpiexec(3, "-c", script, "train", str(data), str(tmp_path / "model"))
    assert done.returncode != 0
    assert [words in line for line in told(done)] == [True]
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(
    "action", ["os.kill(os.getpid(), signal.SIGKILL)", "raise OSError(5, 'x')"]
)
def test_what_ends_while_the_model_is_written_leaves_no_part_of_it(data, tmp_path, rank, action):
    script = f"""
import os, sys
from mpi4py import MPI
from manyclass import cli
from manyclass.distributed import model as sharded_model
from manyclass.distributed import sharded_weights as sharded
sharded.MESSAGE_ELEMENTS = 50
parts = sharded_model._parts
def breaking(*arguments):
    for at, part in enumerate(parts(*arguments)):
        if at == 5 and MPI.COMM_WORLD.rank == {rank}:
            {action}
        yield part
sharded_model._parts = breaking
sys.exit(cli.main(sys.argv[1:]))
"""
    model = tmp_path / "model"
    model.write_text("before")
    arguments = ["train", str(data), str(model), "--formulation", "ww", "--force"]
    done = mpiexec(2, "-c", script, *arguments)
    assert done.returncode != 0
    assert model.read_text() == "before"
    if "OSError" in action:
        assert len(told(done)) == 1
        assert sum(1 for _ in tmp_path.iterdir()) == 1  # no unfinished file


def test_a_full_disk_is_told_once(data, tmp_path):
    script = """
import resource, sys
from manyclass import cli
from manyclass.distributed import model as sharded_model
save = sharded_model.ShardedTraining.save
def limited(*arguments):
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
    save(*arguments)
sharded_model.ShardedTraining.save = limited
sys.exit(cli.main(sys.argv[1:]))
"""
    options = ("--formulation", "ww", "--quiet")
    done = mpiexec(2, "-c", script, "train", str(data), str(tmp_path / "model"), *options)
    assert done.returncode != 0
    assert ["model: file too large" in line for line in told(done)] == [True]
    assert not any(tmp_path.iterdir())


def told(done):
    """The lines of manyclass about errors, and faults, without the launcher's own lines."""
    starts = "manyclass:", "TypeError:"
    return [line for line in done.stderr.splitlines() if line.startswith(starts)]


def ending(rank, action):
    """A script in which one rank does something in its second epoch."""
    return f"""{FIT}
import os, signal
from manyclass.distributed.solvers.class_blocks import ClassBlockStore
run, epochs = ClassBlockStore.run, []
def fail(self, visit_pair):
    epochs.append(1)
    if MPI.COMM_WORLD.rank == {rank} and len(epochs) == 2:
        {action}
    run(self, visit_pair)
ClassBlockStore.run = fail
model.fit(X, y)
print("trained")
"""


def test_an_error_on_one_rank_ends_all_with_its_line(data):
    action = "raise ValueError('it went\\nwrong')"
    done = mpiexec(2, "-c", ending(1, action), str(data), "weston_watkins")
    assert done.returncode != 0
    assert told(done) == ["manyclass: rank 1 of 2: error: ValueError: it went wrong; all ranks end"]
    assert "trained" not in done.stdout


def test_a_killed_rank_ends_all(data):
    action = "os.kill(os.getpid(), signal.SIGKILL)"
    done = mpiexec(2, "-c", ending(1, action), str(data), "weston_watkins")
    assert done.returncode != 0
    assert "trained" not in done.stdout


def test_an_interrupted_rank_ends_all(data):
    action = "os.kill(os.getpid(), signal.SIGINT)"
    done = mpiexec(2, "-c", ending(1, action), str(data), "weston_watkins")
    assert done.returncode != 0
    assert "rank 1 of 2: interrupted" in done.stderr


@pytest.mark.parametrize("rank", [0, 1])
def test_an_interrupt_before_mpi_begins_is_no_segmentation_fault(data, tmp_path, rank):
    script = f"""
import os, signal, sys
from manyclass import cli
from manyclass.cli import commands
if os.environ["PMI_RANK"] == "{rank}":
    def interrupt(*_):
        os.kill(os.getpid(), signal.SIGINT)
    commands._parsed = interrupt
sys.exit(cli.main(sys.argv[1:]))
"""
    done = mpiexec(2, "-c", script, "train", str(data), str(tmp_path / "model"))
    assert done.returncode == 15
    assert "Segmentation" not in done.stdout + done.stderr
    assert told(done) == ["manyclass: interrupted; nothing was written"]
