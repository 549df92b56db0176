"""How W is held: by the number of classes and by the memory that there is."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MulticlassSVC
from manyclass.problem.problem import Problem
from manyclass.solvers.weights import storage_choice
from manyclass.solvers.weights.storage_choice import choose_for_ranks, choose_weights
from manyclass.utils.memory import available_memory
from tests.helpers.catalog import make_problem

GB = 10**9


def problem_of(name="crammer_singer", *, d=1000, k=100, n=50, nnz=20):
    """A problem of which only the sizes matter."""
    X = sp.csr_array(np.ones((n, nnz), np.float32))
    problem = make_problem(X, np.arange(n) % 2, n_classes=2, formulation=name)
    return Problem(replace(problem.dataset, n_features=d, n_classes=k), problem.formulation, 1.0)


def set_memory(monkeypatch, n_bytes):
    monkeypatch.setattr(storage_choice, "available_memory", lambda *_: n_bytes)


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
    assert choose_weights(problem_of(name, k=k), "auto").kind == kind


def test_few_features_have_dense_weights(monkeypatch):
    """Every class has a weight for each of them."""
    set_memory(monkeypatch, GB)
    assert choose_weights(problem_of(d=20, k=3000), "auto").kind == "dense"
    assert choose_weights(problem_of(d=300, k=3000, nnz=20), "auto").kind == "dense"


def test_dense_duals_count(monkeypatch):
    set_memory(monkeypatch, GB)
    with pytest.raises(MemoryError, match="with z"):
        choose_weights(problem_of("lee_lin_wahba", d=20, k=10**6, n=1000), "auto")


def test_tables_of_many_features_count(monkeypatch):
    set_memory(monkeypatch, GB)
    few, many = (problem_of(d=d, k=3000) for d in (10**3, 10**8))
    assert choose_weights(few, "sparse", n_jobs=2).kind == "sparse"
    with pytest.raises(MemoryError, match="sparse ones about"):
        choose_weights(many, "sparse", n_jobs=2)


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins", "one_vs_rest"])
def test_large_weights_are_sparse(monkeypatch, name):
    set_memory(monkeypatch, GB)
    large = problem_of(name, d=10**6)
    assert choose_weights(large, "auto").kind == "sparse"
    assert choose_weights(large, "dense").kind == "dense"
    set_memory(monkeypatch, 10 * GB)
    assert choose_weights(large, "auto").kind == "dense"
    assert choose_weights(large, "sparse").kind == "sparse"


@pytest.mark.parametrize("name", ["weston_watkins", "one_vs_rest", "lee_lin_wahba"])
def test_weights_that_stay_with_the_ranks_need_no_room_in_one_place(monkeypatch, name):
    problem = problem_of(name, d=100_000, k=2000)  # 0.8 GB dense
    set_memory(monkeypatch, GB // 2)
    with pytest.raises(MemoryError):
        choose_for_ranks(problem, "dense", 8)
    assert choose_for_ranks(problem, "dense", 8, gathers=False).kind == "dense"
    set_memory(monkeypatch, 10 * GB)
    kinds = [choose_for_ranks(problem, "auto", 8, gathers=g).kind for g in (True, False)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize(
    ("name", "wanted", "advice"),
    [
        ("crammer_singer", "dense", "weights='sparse'"),
        ("lee_lin_wahba", "auto", "'crammer_singer'"),
    ],
)
def test_dense_weights_that_do_not_fit_are_refused(monkeypatch, name, wanted, advice):
    set_memory(monkeypatch, GB)
    huge = problem_of(name, d=10**7, k=10**6)
    with pytest.raises(MemoryError, match=r"10000000 features and 1000000 classes .* GB") as error:
        choose_weights(huge, wanted)
    assert advice in str(error.value)


def test_nothing_fits(monkeypatch):
    set_memory(monkeypatch, 10**4)
    with pytest.raises(MemoryError, match=r"dense .* need .* MB, sparse ones about .* MB"):
        choose_weights(problem_of(), "auto")


@pytest.mark.parametrize("name", ["lee_lin_wahba", "mmr", "adm", "ats"])
def test_weights_that_are_dense_by_nature_cannot_be_sparse(name):
    with pytest.raises(ValueError, match="dense by nature"):
        choose_weights(problem_of(name), "sparse")


def test_the_choice_is_shown(capsys):
    X, y = np.eye(4, dtype=np.float32), [0, 1, 2, 3]
    MulticlassSVC(weights="sparse", verbose=1).fit(X, y)
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("weights are sparse: dense")
    assert "MB, sparse about" in first


def run_limited(script, limit):
    """Run Python with so many bytes of address space beyond what its imports took."""
    begin = (
        "import resource\nimport numpy as np\nimport scipy.sparse as sp\n"
        "from manyclass import MulticlassSVC\n"
        "from manyclass.utils.memory import _address_space\n"
        f"limit = _address_space() + {limit}\n"
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
    script = "from manyclass.utils.memory import available_memory\nprint(available_memory())"
    done = run_limited(script, 10**9)
    assert 0.9e9 < int(done.stdout) <= 10**9 < available_memory()


@pytest.mark.parametrize("name", ["crammer_singer", "lee_lin_wahba"])
def test_a_limit_ends_training_before_it_begins(name):
    script = f"""
X = sp.random_array((5000, 2_000_000), density=1e-4, format="csr", dtype=np.float32, rng=0)
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
from manyclass.solvers.weights import storage_choice
storage_choice.CLASSES_PER_ENTRY = 0
rng = np.random.default_rng(0)
X = sp.random_array((4000, 200_000), density=1e-3, format="csr", dtype=np.float32, rng=rng)
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
    assert all(line.startswith("training needs more memory than there is") for line in lines)


@pytest.mark.parametrize(
    ("name", "k", "kind"),
    [("weston_watkins", 100, "dense"), ("weston_watkins", 2001, "sparse"), ("ats", 2001, "dense")],
)
def test_ranks_have_sparse_weights_for_many_classes(monkeypatch, name, k, kind):
    set_memory(monkeypatch, GB)
    chosen = choose_for_ranks(problem_of(name, k=k), "auto", 2)
    assert chosen.kind == kind


def test_duals_that_are_not_returned_need_no_memory(monkeypatch):
    set_memory(monkeypatch, 3 * GB)
    problem = problem_of("lee_lin_wahba", d=20, k=10**4, n=10**4)
    some, none = (choose_weights(problem, "auto", keeps_duals=k).needed for k in (True, False))
    assert some - none == 10**8 * 8
    some, none = (choose_for_ranks(problem, "auto", 4, keeps_duals=k).needed for k in (True, False))
    assert some - none == 10**8 * (8 + 12 + 28 // 4)  # every rank is told all


@pytest.mark.parametrize("wanted", ["dense", "sparse"])
def test_more_ranks_need_less_each(monkeypatch, wanted):
    set_memory(monkeypatch, GB)
    problem = problem_of("weston_watkins", d=10**4, k=3000, n=1000)
    two, eight = (choose_for_ranks(problem, wanted, ranks).needed for ranks in (2, 8))
    whole = 10**4 * 3000 * 4
    saved = (1 / 2 - 1 / 8) * whole
    assert two - eight == pytest.approx(saved, rel=0.01) if wanted == "dense" else two > eight
    set_memory(monkeypatch, two - 1)
    with pytest.raises(MemoryError, match="with z"):
        choose_for_ranks(problem, wanted, 2)


def test_ranks_of_a_machine_share_its_memory(monkeypatch):
    assert available_memory(4) <= available_memory()
    monkeypatch.setattr(storage_choice, "available_memory", lambda sharing=1: GB // sharing)
    problem = problem_of("weston_watkins", d=10**5, k=4000)  # 1.6 GB
    assert choose_for_ranks(problem, "dense", 4, gathers=False).kind == "dense"
    with pytest.raises(MemoryError, match="with z"):
        choose_for_ranks(problem, "dense", 4, gathers=False, sharing=4)
