"""Ranks on two hosts that share no network: what one process finds, and all through the cable."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest
from sklearn.datasets import dump_svmlight_file

from manyclass import MulticlassSVC, load_model, load_svmlight
from manyclass.datasets.synthetic import make_text_corpus
from manyclass.problem.formulations import SHORT_NAMES
from measuring import hosts

SECONDS = 50
TOL = 1e-7
REASON = (
    "needs mpi4py and mpich: pip install mpi4py mpich"
    if importlib.util.find_spec("mpi4py") is None or not hosts.MPIEXEC.exists()
    else hosts.unusable()
)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(REASON), reason=REASON)]


@pytest.fixture(scope="module")
def pair():
    with hosts.hosts("100mbit") as pair:
        yield pair
    assert not set(pair.names) & set(hosts.names())


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("hosts") / "data"
    X, y = make_text_corpus(40, 40, 8, words_per_example=8, random_state=0)
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


@pytest.mark.parametrize("formulation", ["ww", "cs", "ovr", "llw"])
def test_four_ranks_on_two_hosts_find_what_one_process_finds(pair, data, tmp_path, formulation):
    options = ("--formulation", formulation, "--tol", str(TOL), "--dtype", "float64")
    before = pair.bytes_sent()
    done = subprocess.run(
        [
            *(*pair.mpiexec(4), sys.executable, "-m", "manyclass", "train"),
            *(str(data), str(tmp_path / "model"), "--no-intercept", "--quiet", *options),
        ],
        env=pair.environment() | {"MPIEXEC_TIMEOUT": str(SECONDS)},
        capture_output=True,
        text=True,
        timeout=SECONDS + 10,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert pair.bytes_sent() - before > data.stat().st_size
    proof = load_model(tmp_path / "model").certificate_
    assert proof.relative_gap <= TOL
    X, y = load_svmlight(data, dtype="float64")
    one = MulticlassSVC(formulation=SHORT_NAMES[formulation], tol=TOL, fit_intercept=False).fit(
        X, y
    )
    here = one.certificate_.primal_objective
    assert proof.primal_objective == pytest.approx(here, rel=1e-6)


WAITING = """
from measuring.hosts import hosts
with hosts() as pair:
    print(pair.names[0], flush=True)
    input()
"""


def test_hosts_of_a_killed_run_are_taken_down():
    child = subprocess.Popen(
        [sys.executable, "-c", WAITING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    name = child.stdout.readline().strip()
    assert name in hosts.names()
    child.kill()
    child.communicate()
    assert name in hosts.names()
    hosts.take_down_orphans()
    assert name not in hosts.names()
