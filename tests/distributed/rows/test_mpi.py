"""Rows on the processes of mpiexec: the optimum of one process, and no rank that waits for ever."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sklearn.datasets import load_digits

from manyclass import MulticlassSVC, MultinomialLogisticRegression, load_model, save_data
from tests.helpers.mpiexec import MPIEXEC, needs_mpi

pytestmark = needs_mpi
SECONDS = 300
FIT = """
import sys
from mpi4py import MPI
from sklearn.base import clone
from sklearn.datasets import load_digits
from manyclass import MultinomialLogisticRegression, load_model, save_data
X, y = load_digits(return_X_y=True)
ranks = MPI.COMM_WORLD
X, y = X[ranks.rank :: ranks.size] / 16, y[ranks.rank :: ranks.size]
model = clone(MultinomialLogisticRegression(communicator=ranks, split="rows", tol=1e-6))
"""


SHOW = """
model.fit(X, y)
proofs = ranks.allgather((model.certificate_, model.coef_.tobytes()))
assert proofs.count(proofs[0]) == ranks.size
if not ranks.rank:
    print(*model.certificate_.as_dict().values())
"""


def run(size, script, timeout=SECONDS):
    command = [MPIEXEC, "-n", str(size), sys.executable, "-c", FIT + script]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


@pytest.mark.parametrize("size", [2, 3])
def test_ranks_reach_the_optimum_of_one_process(size):
    done = run(size, SHOW)
    assert (done.returncode, done.stderr) == (0, "")
    P, D, _, relative, *_ = map(float, done.stdout.split())
    X, y = load_digits(return_X_y=True)
    one = MultinomialLogisticRegression(tol=1e-7).fit(X / 16, y).certificate_
    assert relative <= 1e-6
    assert one.primal_objective >= D
    assert one.primal_objective == pytest.approx(P, rel=2e-6)


def test_an_error_of_one_rank_ends_all():
    done = run(2, "model.fit(X if ranks.rank else X[:, 1:], y)")
    assert done.returncode != 0
    assert "X of part 1 has 64 features, but X of part 0 has 63" in done.stderr
    kill = "import os, signal\nif ranks.rank: os.kill(os.getpid(), signal.SIGKILL)\nmodel.fit(X, y)"
    assert run(2, kill).returncode != 0


def test_the_command_line_reads_and_trains_shares(tmp_path):
    X, y = load_digits(return_X_y=True)
    save_data(tmp_path / "converted", (X / 16).astype("float32"), y)
    lines = (
        f"{c} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v) + "\n"
        for row, c in zip(X / 16, y, strict=True)
    )
    (tmp_path / "text").write_text("".join(lines))
    found = []
    for name in ("converted", "text"):
        options = "--split", "rows", "--formulation", "logistic", "--tol", "1e-5"
        command = [sys.executable, "-m", "manyclass", "train", *options]
        paths = [str(tmp_path / name), str(tmp_path / f"{name}.model")]
        done = subprocess.run(
            [MPIEXEC, "-n", "3", *command, *paths],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        words = [line.split()[0] for line in done.stdout.splitlines()]
        assert [words.count(word) for word in ("read", "trained", "saved")] == [1, 1, 1]
        assert "1797 rows on 3 ranks, 64 features, 10 classes" in done.stdout
        found.append(load_model(paths[1]).certificate_)
    one = MultinomialLogisticRegression(tol=1e-7).fit(X / 16, y).certificate_.primal_objective
    for certificate in found:
        assert certificate.relative_gap <= 1e-5
        assert certificate.primal_objective == pytest.approx(one, rel=2e-5)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_the_command_line_trains_an_svm_on_shares(tmp_path, tol):
    X, y = load_digits(return_X_y=True)
    save_data(tmp_path / "data", X / 16, y)
    options = "--split", "rows", "-C", "0.01", "--tol", str(tol), "--quiet", "--dtype", "float64"
    command = [sys.executable, "-m", "manyclass", "train", *options]
    paths = [str(tmp_path / "data"), str(tmp_path / "model")]
    done = subprocess.run(
        [MPIEXEC, "-n", "3", *command, *paths],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    model = load_model(tmp_path / "model")
    one = MulticlassSVC(C=0.01, tol=1e-7).fit(X / 16, y).certificate_
    assert model.certificate_.relative_gap <= tol
    assert model.certificate_.dual_objective <= one.primal_objective
    assert model.certificate_.primal_objective == pytest.approx(one.primal_objective, rel=1.1 * tol)
