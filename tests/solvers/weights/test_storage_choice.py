"""How W is held: by the number of classes and by the memory that there is."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from manyclass import MulticlassSVC
from manyclass.solvers.weights import storage
from manyclass.solvers.weights.storage import choose_weights
from manyclass.utils.machine import available_memory
from tests.helpers.catalog import GB, problem_of_size


def set_memory(monkeypatch, n_bytes):
    monkeypatch.setattr(storage, "available_memory", lambda *_: n_bytes)


@pytest.mark.parametrize(
    ("name", "k", "kind"),
    [
        ("crammer_singer", 100, "dense"),
        ("crammer_singer", 2001, "sparse"),
        ("weston_watkins", 2001, "sparse"),
        ("one_vs_rest", 2001, "dense"),
        ("lee_lin_wahba", 2001, "dense"),
    ],
)
def test_many_classes_have_sparse_weights(monkeypatch, name, k, kind):
    set_memory(monkeypatch, GB)
    assert choose_weights(problem_of_size(name, k=k), "auto").kind == kind


def test_few_features_have_dense_weights(monkeypatch):
    """Every class has a weight for each of them."""
    set_memory(monkeypatch, GB)
    assert choose_weights(problem_of_size(d=20, k=3000), "auto").kind == "dense"
    assert choose_weights(problem_of_size(d=300, k=3000, nnz=20), "auto").kind == "dense"


def test_dense_duals_count(monkeypatch):
    set_memory(monkeypatch, GB)
    with pytest.raises(MemoryError, match="with z"):
        choose_weights(problem_of_size("lee_lin_wahba", d=20, k=10**6, n=1000), "auto")


def test_tables_of_many_features_count(monkeypatch):
    set_memory(monkeypatch, GB)
    few, many = (problem_of_size(d=d, k=3000) for d in (10**3, 10**8))
    assert choose_weights(few, "sparse", n_jobs=2).kind == "sparse"
    with pytest.raises(MemoryError, match="sparse ones about"):
        choose_weights(many, "sparse", n_jobs=2)


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins", "one_vs_rest"])
def test_large_weights_are_sparse(monkeypatch, name):
    set_memory(monkeypatch, GB)
    large = problem_of_size(name, d=10**6)
    assert choose_weights(large, "auto").kind == "sparse"
    assert choose_weights(large, "dense").kind == "dense"
    set_memory(monkeypatch, 10 * GB)
    assert choose_weights(large, "auto").kind == "dense"
    assert choose_weights(large, "sparse").kind == "sparse"


@pytest.mark.parametrize(
    ("name", "wanted", "advice"),
    [
        ("crammer_singer", "dense", "weights='sparse'"),
        ("lee_lin_wahba", "auto", "'crammer_singer'"),
    ],
)
def test_dense_weights_that_do_not_fit_are_refused(monkeypatch, name, wanted, advice):
    set_memory(monkeypatch, GB)
    huge = problem_of_size(name, d=10**7, k=10**6)
    with pytest.raises(MemoryError, match=r"10000000 features and 1000000 classes .* GB") as error:
        choose_weights(huge, wanted)
    assert advice in str(error.value)


def test_nothing_fits(monkeypatch):
    set_memory(monkeypatch, 10**4)
    with pytest.raises(MemoryError, match=r"dense .* need .* MB, sparse ones about .* MB"):
        choose_weights(problem_of_size(), "auto")


@pytest.mark.parametrize("name", ["lee_lin_wahba", "mmr", "adm", "ats"])
def test_weights_that_are_dense_by_nature_cannot_be_sparse(name):
    with pytest.raises(ValueError, match="are always dense"):
        choose_weights(problem_of_size(name), "sparse")


def test_the_choice_is_shown(capsys):
    X, y = np.eye(4, dtype=np.float32), [0, 1, 2, 3]
    MulticlassSVC(weights="sparse", verbose=1).fit(X, y)
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("weights are sparse: dense")
    assert "MB, sparse about" in first


def run_limited(script, limit):
    """Run Python with so many bytes of address space beyond what its imports took."""
    begin = (
        "import resource\nimport numpy as np\nimport psutil\nimport scipy.sparse as sp\n"
        "from manyclass import MulticlassSVC\n"
        f"limit = psutil.Process().memory_info().vms + {limit}\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
    )
    return subprocess.run(
        [sys.executable, "-c", begin + script],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_a_limit_on_the_process_is_known():
    script = "from manyclass.utils.machine import available_memory\nprint(available_memory())"
    done = run_limited(script, 10**9)
    assert 0.9e9 < int(done.stdout) <= 10**9 < available_memory()


@pytest.mark.parametrize("name", ["crammer_singer", "lee_lin_wahba"])
def test_a_limit_ends_training_before_it_begins(name):
    script = f"""
rng = np.random.default_rng(0)
X = sp.random_array((5000, 2_000_000), density=1e-4, format="csr", dtype="f", random_state=rng)
y = np.arange(5000) % 2500
MulticlassSVC(formulation={name!r}).fit(X, y)
"""
    done = run_limited(script, 300 * 10**6)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("MemoryError: dense weights for 2000000 features and 2500 classes need")


def test_a_limit_reached_in_training_says_so():
    """The estimate was too low: here, of nothing at all."""
    script = """
from manyclass.solvers.weights import storage
storage.CLASSES_PER_ENTRY = 0
rng = np.random.default_rng(0)
X = sp.random_array((4000, 200_000), density=1e-3, format="csr", dtype=np.float32, random_state=rng)
for n_jobs in (1, 2):
    try:
        MulticlassSVC(formulation="weston_watkins", n_jobs=n_jobs, tol=1e-5).fit(X, range(4000))
    except MemoryError as error:
        print(error)
"""
    done = run_limited(script, 250 * 10**6)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("training needs more memory than is available") for line in lines)


def test_duals_that_are_not_returned_need_no_memory(monkeypatch):
    set_memory(monkeypatch, 3 * GB)
    problem = problem_of_size("lee_lin_wahba", d=20, k=10**4, n=10**4)
    some, none = (choose_weights(problem, "auto", keeps_duals=k).needed for k in (True, False))
    assert some - none == 10**8 * 8
