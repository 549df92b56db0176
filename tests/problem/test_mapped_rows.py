"""Rows in mapped files that are larger than the memory."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MulticlassSVC, MultinomialLogisticRegression, load_data, save_data
from manyclass.problem import dataset as dataset_module
from manyclass.problem.dataset import Dataset, rows_in_region
from manyclass.problem.formulations import named
from manyclass.problem.problem import Problem, core_problem, problem_arguments

RNG = np.random.default_rng(0)
N, D, K = 500, 12, 5
Y = RNG.integers(0, K, N)
X = (RNG.normal(size=(N, D)) + RNG.normal(size=(K, D))[Y]).astype(np.float32)
KINDS = {"dense": X, "sparse": sp.csr_array(X * (RNG.random(X.shape) < 0.3))}


@pytest.fixture(params=KINDS)
def mapped(request, tmp_path):
    save_data(tmp_path / "rows", KINDS[request.param], Y)
    return load_data(tmp_path / "rows")


def have(monkeypatch, n_bytes):
    monkeypatch.setattr(dataset_module, "available_memory", lambda: n_bytes)


def data_of(X):
    return Dataset.from_matrix(X, Y, n_classes=K)


def test_regions_are_for_files_that_do_not_fit(mapped, monkeypatch):
    data = data_of(mapped[0])
    assert rows_in_region(data) == 0
    size = data.values.nbytes + data.indices.nbytes
    have(monkeypatch, size)
    rows = rows_in_region(data)
    assert rows == pytest.approx(N / 8, abs=1)
    assert rows_in_region(data_of(mapped[0].copy())) == 0
    have(monkeypatch, 0)
    assert rows_in_region(data) == 1


@pytest.mark.parametrize("n", [1, 7, 100, N, 10**9])
def test_a_loop_visits_region_after_region(n):
    problem = Problem(data_of(X), named("crammer_singer"), 1.0)
    arguments = problem_arguments(problem) | {"rows_in_region": n}
    core = type(core_problem(problem))(**arguments)
    rows = np.flatnonzero(RNG.random(N) < 0.7).astype(np.int32)
    order = core.order(rows, 3)
    assert sorted(order) == rows.tolist()
    regions = order // min(n, N)
    changes = np.count_nonzero(np.diff(regions)) + 1
    assert changes == len(np.unique(regions))
    if n >= N:
        assert order.tolist() == core_problem(problem).order(rows, 3).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_some_rows_are_those_of_the_matrix(kind):
    data = data_of(KINDS[kind])
    dense = data.matrix() if kind == "dense" else data.matrix().toarray()
    slices = slice(3, 90), slice(0, 0), slice(490, 600)
    for some in (*slices, np.array([5, 2, 2, 499]), np.arange(0)):
        found = data.rows(some)
        np.testing.assert_array_equal(found if kind == "dense" else found.toarray(), dense[some])
    if kind == "sparse":
        assert np.shares_memory(data.matrix().indices, data.indices)


def test_no_negative_region():
    problem = Problem(data_of(X), named("crammer_singer"), 1.0)
    with pytest.raises(ValueError, match="rows_in_region"):
        type(core_problem(problem))(**(problem_arguments(problem) | {"rows_in_region": -1}))


MODELS = [
    *[MulticlassSVC(formulation=name) for name in ("crammer_singer", "weston_watkins", "mmr")],
    *[MulticlassSVC(formulation="one_vs_rest", loss=loss) for loss in ("hinge", "squared_hinge")],
    MultinomialLogisticRegression(),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_optimum_is_the_same(mapped, monkeypatch, model):
    rows, y = mapped
    model.set_params(tol=1e-5, max_iter=5000)
    whole = model.fit(rows, y).certificate_
    have(monkeypatch, 4000)
    found = model.fit(rows, y).certificate_
    assert found.relative_gap <= 1e-5
    assert found.primal_objective == pytest.approx(whole.primal_objective, rel=2e-5)
    assert found.dual_objective <= whole.primal_objective


LIMIT = 100 * 10**6
LIMITED = """
import resource, sys
import numpy as np, psutil, scipy.linalg
from manyclass import MulticlassSVC, MultinomialLogisticRegression, load_data
I = np.eye(300)
scipy.linalg.cho_factor(I @ I)  # both BLAS take their buffers
limit = psutil.Process().memory_info().data + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
X, y = load_data(sys.argv[1])
size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
assert size > 3 * int(sys.argv[2]), size
try:
    bytearray(2 * int(sys.argv[2]))
except MemoryError:
    print("limited")
model = {"svm": MulticlassSVC, "logistic": MultinomialLogisticRegression}[sys.argv[3]]
found = model(C=0.01, tol=1e-2).fit(X, y).certificate_
print(found.primal_objective, found.relative_gap)
"""


def batches(kind):
    """Rows that make a file of 315 MB."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 250)).astype(np.float32)
    for _ in range(15):
        y = rng.integers(0, 3, 21_000)
        rows = rng.standard_normal((len(y), 250), np.float32) + centres[y]
        if kind == "sparse":
            rows *= rng.random(rows.shape, np.float32) < 0.49
            rows = sp.csr_array(rows)
        yield rows, y


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ulimit -d, as Linux has it")
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_three_times_the_limit(kind, tmp_path):
    """The proof is confirmed here, without a limit, on all rows."""
    save_data(tmp_path / "rows", batches(kind))
    rows, y = load_data(tmp_path / "rows")
    best = {"svm": MulticlassSVC, "logistic": MultinomialLogisticRegression}
    for name, model in best.items():
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, tmp_path / "rows", str(LIMIT), name],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        limited, found = done.stdout.splitlines()
        assert limited == "limited"
        P, gap = map(float, found.split())
        assert gap <= 1e-2
        proof = model(C=0.01, tol=1e-2).fit(rows, y).certificate_
        assert proof.dual_objective <= P
        assert P - gap * P <= proof.primal_objective
