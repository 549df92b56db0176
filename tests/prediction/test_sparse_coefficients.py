"""Sparse coefficients: made from arrays of every kind, thresholds, memory, refusals."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MulticlassSVC
from manyclass.prediction import sparse_coefficients
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from tests.helpers.cases import each
from tests.helpers.memory import peak_of

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


def matrix(k=7, d=11, dtype=np.float32, *, seed=0):
    """Coefficients (k, d), most of them zero; a feature and a class without any."""
    rng = np.random.default_rng(seed)
    coef = rng.normal(size=(k, d)) * (rng.random((k, d)) < 0.4)
    coef[:, 3] = coef[2] = 0
    return np.asarray(coef, dtype)


@pytest.fixture(params=[1, 5, 1 << 20], autouse=True)
def parts(request, monkeypatch):
    monkeypatch.setattr(sparse_coefficients, "ENTRIES_AT_A_TIME", request.param)


@each("dtype", [np.float32, np.float64])
@each("order", ["C", "F"])
@each("threshold", [0.0, 0.5, 100.0])
def test_thresholds(dtype, order, threshold):
    coef = np.array(matrix(dtype=dtype), order=order)
    expected = np.where(np.abs(coef) > threshold, coef, 0)
    for sparse in (
        SparseCoefficients.from_dense(coef, threshold),
        SparseCoefficients.from_dense(coef).thresholded(threshold),
    ):
        assert sparse.dtype == dtype
        assert sparse.shape == coef.shape
        assert sparse.nnz == np.count_nonzero(expected)
        np.testing.assert_array_equal(sparse.toarray(), expected)
        np.testing.assert_array_equal(sparse.by_class().toarray(), expected)
        assert sparse.toarray().flags.f_contiguous


def test_what_is_no_number_is_kept():
    coef = np.array([[0.0, np.nan, -np.inf]])
    sparse = SparseCoefficients.from_dense(coef, 1.0)
    np.testing.assert_array_equal(sparse.toarray(), coef)
    np.testing.assert_array_equal(sparse.thresholded(2.0).toarray(), coef)


@each("kind", FORMATS)
@each("dtype", [np.float32, np.float64, np.int8, bool, np.longdouble])
def test_assigned_sparse_matrices_of_every_kind(kind, dtype):
    model = MulticlassSVC()
    coef = matrix().astype(dtype)
    for array in (sp.coo_array(coef).asformat(kind), sp.coo_matrix(coef).asformat(kind)):
        model.coef_ = array
        assert model.coef_.dtype == (np.float32 if dtype == np.float32 else np.float64)
        assert isinstance(model.coef_, sp.csr_array)
        np.testing.assert_array_equal(model.coef_.toarray(), coef)


def test_assigned_arrays_are_copied_and_duplicates_added():
    values = np.array([1.0, 2.0, 4.0])
    csc = sp.csc_array((values, np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    model = MulticlassSVC()
    model.coef_ = csc
    csc.indices[:] = 1 << 30
    values[:] = 0
    np.testing.assert_array_equal(model.coef_.toarray(), [[0, 4], [3, 0]])
    model.coef_ = np.eye(2)
    np.testing.assert_array_equal(model.coef_, np.eye(2))


def test_the_array_by_class_is_made_once_and_read_only_and_absent_before_the_fit():
    model = MulticlassSVC()
    model.coef_ = sp.csr_array(matrix())
    assert model.coef_ is model.coef_
    assert model.coef_.indices.dtype == model.coef_.indptr.dtype == np.int32
    with pytest.raises(ValueError, match="read-only"):
        model.coef_.data[0] = 1
    with pytest.raises(AttributeError, match="'MulticlassSVC' object has no attribute 'coef_'"):
        MulticlassSVC().coef_  # noqa: B018


def test_rows_of_a_solver_are_not_copied():
    weights = sp.csr_array(matrix().T)
    sparse = SparseCoefficients.from_rows(weights, 10)
    assert sparse.shape == (7, 10)
    assert np.shares_memory(sparse.values, weights.data)
    assert np.shares_memory(sparse.classes, weights.indices)
    assert np.shares_memory(sparse.by_feature().indices, weights.indices)
    np.testing.assert_array_equal(sparse.toarray(), matrix()[:, :10])


def test_copies_and_pickles_hold_the_arrays_once():
    sparse = SparseCoefficients.from_dense(matrix(50, 400))
    plain = len(pickle.dumps(sparse))
    sparse.by_class()
    assert len(pickle.dumps(sparse)) == plain < 1.2 * 8 * sparse.nnz + 8 * 401 + 1000
    for twin in (pickle.loads(pickle.dumps(sparse)), copy.deepcopy(sparse)):
        np.testing.assert_array_equal(twin.toarray(), sparse.toarray())


@pytest.mark.parametrize("parts", [1 << 12], indirect=True)
def test_thresholding_holds_no_second_copy():
    dense = np.asfortranarray(np.random.default_rng(0).normal(size=(100, 20_000)), np.float32)
    sparse = SparseCoefficients.from_dense(dense)
    for make in (partial(SparseCoefficients.from_dense, dense), sparse.thresholded):
        result, peak = peak_of(lambda make=make: make(0.5))
        assert peak < 1.2 * (8 * result.nnz + 8 * 20_001)


def test_dense_coefficients_that_do_not_fit(monkeypatch):
    monkeypatch.setattr(sparse_coefficients, "available_memory", lambda: 100)
    model = MulticlassSVC().fit(np.eye(4, 9), np.arange(4)).sparsify()
    with pytest.raises(MemoryError, match=r"4 classes and 9 features need .* GB, there are"):
        model.densify()
    assert sp.issparse(model.coef_)


@each(
    ("indptr", "classes", "message"),
    [
        ([0, 2, 1, 3], [0, 1, 2], "indptr"),
        ([0, 2, 9, 3], [0, 1, 2], "indptr"),
        ([0, -5, 2, 3], [0, 1, 2], "indptr"),
        ([1, 2, 3, 3], [0, 1, 2], "indptr"),
        ([0, 1, 2, 4], [0, 1, 2], "indptr"),
        ([0, 1, 2, 2], [0, 1, 2], "indptr"),
        ([0, 0, 0, 2**62], [0, 1, 2], "indptr"),
        ([0, 3, 3, 3], [0, 1, 5], "out of range"),
        ([0, 3, 3, 3], [-1, 1, 2], "out of range"),
        ([0, 3, 3, 3], [0, 2, 1], "not ascending"),
        ([0, 3, 3, 3], [0, 1, 1], "not ascending"),
        ([0, 2, 2, 2], [0, 1], "shapes disagree"),
        ([], [0, 1, 2], "shapes disagree"),
    ],
)
def test_broken_arrays_are_refused(indptr, classes, message):
    arrays = np.array(indptr, np.int64), np.array(classes, np.int32), np.ones(3, np.float32)
    with pytest.raises(ValueError, match=f"no valid CSR matrix.*{message}"):
        SparseCoefficients(*arrays, 5)


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="types int32, int32, float64"):
        SparseCoefficients(np.zeros(2, np.int32), np.zeros(0, np.int32), np.zeros(0), 5)


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_broken_sparse_matrices_are_not_taken(kind):
    model = MulticlassSVC()
    model.coef_ = matrix()
    broken = sp.coo_array(matrix()).asformat(kind)
    broken.indices[1] = 1 << 20
    with pytest.raises(ValueError, match="an index is not from 0 to"):
        model.coef_ = broken
    with pytest.raises(ValueError, match="real numbers"):
        model.coef_ = sp.csr_array(1j * matrix())
    np.testing.assert_array_equal(model.coef_, matrix())
