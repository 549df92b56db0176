"""Dense rows: used where they lie, visited in batches, whatever their layout."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MulticlassSVC, load_data, save_data
from manyclass.problem import objective
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem
from manyclass.solvers.weights.storage import in_batches
from tests.helpers.cases import each
from tests.helpers.catalog import PAIRS

N, D, K = 240, 12, 70  # more classes than lanes have


def clusters(dtype=np.float32, n=N, d=D, k=K):
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    X = rng.normal(size=(k, d))[y] + 0.3 * rng.normal(size=(n, d))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype), y


X, Y = clusters()


def fit(X, y=Y, **options):
    options = {"random_state": 0, "tol": 1e-4, **options}
    return MulticlassSVC(**options).fit(X, y)


def problem_of(model, X, y):
    bias = 1.0 if model.fit_intercept else 0.0
    dataset = Dataset.from_matrix(X, y, n_classes=len(model.classes_), bias=bias)
    return Problem(dataset, FORMULATIONS[model.formulation], model.C, model.loss)


@each("rows", [X, sp.csr_array(X)])
def test_an_array_and_csr_whose_rows_are_full_are_used_where_they_lie(rows):
    dataset = Dataset.from_matrix(rows, Y, n_classes=K)
    assert dataset.is_dense
    given = rows.data if sp.issparse(rows) else rows
    assert np.shares_memory(dataset.values, given)
    assert np.shares_memory(dataset.matrix(), given)
    assert len(dataset.indices) == D


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_an_array_of_zeros_becomes_csr(share):
    rng = np.random.default_rng(0)
    some = np.where(rng.random(X.shape) < share, X, 0)
    dataset = Dataset.from_matrix(some, Y, n_classes=K)
    assert dataset.is_dense == (share > 0.5)
    np.testing.assert_array_equal(sp.csr_array(dataset.matrix()).toarray(), some)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@each("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_certificate_equals_numpy(name, loss, dtype):
    rows, y = clusters(dtype, n=140)
    model = fit(rows, y, formulation=name, loss=loss, tol=0.1, max_iter=5)
    W = np.vstack([model.coef_.T, model.intercept_]).astype(np.float64)
    if FORMULATIONS[name].centred:  # less what rounding leaves of the mean
        W -= W.mean(axis=1, keepdims=True)
    expected = objective.primal(problem_of(model, rows, y), W)
    assert model.certificate_.primal_objective == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins", "reinforced"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_same_optimum_as_sparse_rows_and_few_lanes(name, fit_intercept):
    options = {"formulation": name, "fit_intercept": fit_intercept, "tol": 1e-5}
    rows, y = clusters(np.float64)
    dense = fit(rows, y, **options)
    assert in_batches(problem_of(dense, rows, y))
    holed = sp.csr_array(np.hstack([rows, np.zeros((N, 60))]))
    sparse = fit(holed, y, **options)
    assert not in_batches(problem_of(sparse, holed, y))
    first, second = dense.certificate_, sparse.certificate_
    # P is 1-strongly convex: ||W - W*||^2 / 2 is at most the gap.
    apart = np.linalg.norm(dense.coef_ - sparse.coef_[:, :D])
    assert apart <= np.sqrt(2 * first.gap) + np.sqrt(2 * second.gap)
    assert first.dual_objective <= second.primal_objective * (1 + 1e-9)
    assert second.dual_objective <= first.primal_objective * (1 + 1e-9)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_change_the_result(n_jobs):
    one, several = fit(X), fit(X, n_jobs=n_jobs)
    np.testing.assert_array_equal(one.coef_, several.coef_)
    assert one.n_iter_ == several.n_iter_


def read_only(A):
    given = A.copy()
    given.flags.writeable = False
    return given


LAYOUTS = {
    "read-only": read_only,
    "F-order": np.asfortranarray,
    "strided": lambda A: np.repeat(A, 2, axis=1)[:, ::2],
    "reversed": lambda A: A[::-1][::-1],
    "unaligned": lambda A: (
        np.frombuffer(b"\0" + A.tobytes(), np.uint8)[1:].view(A.dtype).reshape(A.shape)
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_layouts_give_the_same(layout):
    np.testing.assert_array_equal(fit(LAYOUTS[layout](X)).coef_, fit(X).coef_)


def test_mapped_rows_are_not_copied(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    save_data(tmp_path / "data", X, Y)
    for rows in (np.load(tmp_path / "rows.npy", mmap_mode="r"), load_data(tmp_path / "data")[0]):
        dataset = Dataset.from_matrix(rows, Y, n_classes=K)
        assert dataset.is_dense
        assert np.shares_memory(dataset.values, rows)
        np.testing.assert_array_equal(fit(rows).coef_, fit(X).coef_)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(value):
    given = X.copy()
    given[5, 3] = value
    model = fit(X)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.fit(given, Y)
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_values_are_refused(dtype):
    given = X.astype(dtype)
    given[5, 3] = np.finfo(dtype).max / 2
    with pytest.raises(FloatingPointError, match="scale the features"):
        fit(given)


def test_rows_of_zeros_and_equal_rows():
    given = X.copy()
    given[[3, 8, 100]] = 0
    given[20:30] = given[40]
    model = fit(given, formulation="weston_watkins")
    assert model.certificate_.relative_gap <= 1e-4
    with_intercept = fit(given, fit_intercept=False)
    assert with_intercept.certificate_.relative_gap <= 1e-4


def test_weights_of_rows_and_classes():
    weights = np.random.default_rng(1).integers(0, 3, N).astype(float)
    weights[:K] += 1
    twice = np.repeat(np.arange(N), weights.astype(int))
    one = MulticlassSVC(tol=1e-6, random_state=0).fit(X.astype(np.float64), Y, weights)
    other = MulticlassSVC(tol=1e-6, random_state=0).fit(X[twice].astype(np.float64), Y[twice])
    np.testing.assert_allclose(one.coef_, other.coef_, atol=5e-3)


def test_warm_starts_and_checkpoints_of_sparse_rows_go_on(tmp_path):
    model = fit(X, warm_start=True, tol=0.1)
    before = model.certificate_.dual_objective
    model.set_params(tol=1e-5).fit(X, Y)
    assert model.certificate_.relative_gap <= 1e-5
    assert model.certificate_.dual_objective >= before
    folder = tmp_path / "checkpoints"
    holed = np.where(np.abs(X) < 0.05, 0, X)
    options = {"checkpoint": folder, "tol": 1e-2}
    fit(sp.csr_array(holed), **options)
    model = fit(holed, **{**options, "tol": 1e-4}, resume=True)
    assert model.certificate_.relative_gap <= 1e-4
