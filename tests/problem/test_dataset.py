"""What a data set takes and refuses."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem

DENSE = np.array([[1.0, 0, 2], [0, 0, 0], [0, 3, 0]])
LABELS = np.array([0, 1, 2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "make", [np.asarray, sp.csr_matrix, sp.csr_array, sp.csc_array, sp.coo_matrix, sp.lil_array]
)
def test_every_kind_of_matrix(make, dtype):
    data = Dataset.from_matrix(make(DENSE.astype(dtype)), LABELS, n_classes=3)
    assert data.dtype == dtype
    assert (data.indptr.dtype, data.indices.dtype) == (np.int64, np.int32)
    np.testing.assert_array_equal(data.matrix().toarray(), DENSE)


def test_csr_is_not_copied_and_wide_indices_are_narrowed():
    X = sp.csr_array(DENSE)
    data = Dataset.from_matrix(X, LABELS, n_classes=3)
    assert np.shares_memory(data.values, X.data)
    assert np.shares_memory(data.indices, X.indices)
    wide = sp.csr_array(
        (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
    )
    data = Dataset.from_matrix(wide, LABELS, n_classes=3)
    np.testing.assert_array_equal(data.matrix().toarray(), DENSE)


def test_duplicates_are_summed_without_touching_the_callers_matrix():
    X = sp.csr_array((np.array([1.0, 2, 4]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    data = Dataset.from_matrix(X, np.array([0]), n_classes=2)
    assert data.values.tolist() == [2, 5]
    assert X.nnz == 3


def broken(indptr=(0, 1, 2), indices=(0, 1), values=(1.0, 1.0)):
    X = sp.csr_array(np.eye(2))
    X.indptr, X.indices, X.data = np.array(indptr), np.array(indices), np.array(values)
    X.has_canonical_format = True
    return X


@pytest.mark.parametrize(
    "X",
    [
        broken(indices=(0, 7)),
        broken(indices=(0, -1)),
        broken(indptr=(0, 2, 1)),
        broken(indptr=(1, 1, 2)),
        broken(indptr=(0, 1, 9)),
        broken(values=(1.0,)),
    ],
)
def test_a_broken_matrix_never_reaches_the_core(X):
    with pytest.raises(ValueError, match="not a valid CSR matrix"):
        Dataset.from_matrix(X, np.array([0, 1]), n_classes=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": [0, 1]}, "X has 3 rows, y 2"),
        ({"labels": [0, 1, 3]}, "labels must lie between 0 and 2"),
        ({"labels": [0, 1, -1]}, "labels"),
        ({"weights": [1.0, 1.0]}, "weights 2"),
        ({"weights": [1.0, 0.0, 1.0]}, "positive"),
        ({"weights": [1.0, np.nan, 1.0]}, "positive and finite"),
        ({"weights": [1.0, np.inf, 1.0]}, "positive and finite"),
    ],
)
def test_refusals(arguments, message):
    given = {"labels": LABELS, "n_classes": 3} | arguments
    with pytest.raises(ValueError, match=message):
        Dataset.from_matrix(DENSE, **given)


@pytest.mark.parametrize("C", [0.0, -1.0, np.nan, np.inf, 1e308])
def test_costs_must_be_positive_and_finite(C):
    data = Dataset.from_matrix(DENSE, LABELS, n_classes=3, weights=[1, 1, 1e10])
    with pytest.raises(ValueError, match="C "):
        Problem(data, FORMULATIONS["crammer_singer"], C)


def test_the_features_that_rows_have():
    X = sp.csr_array(np.array([[0.0, 2.0, 0.0], [0.0, 1.0, 0.0]]))
    for rows, bias, used in ((X, 1.0, [0, 1, 0, 1]), (X, 0.0, [0, 1, 0, 0]), (X[:0], 1.0, [0] * 4)):
        data = Dataset.from_matrix(rows, np.zeros(rows.shape[0], int), n_classes=2, bias=bias)
        assert data.used_features().tolist() == used


@pytest.mark.parametrize("X", [DENSE, sp.csr_array(DENSE)])
def test_blank_rows_follow_the_others(X):
    weights = np.array([1.0, 2.0, 3.0])
    data = Dataset.from_matrix(X, LABELS, n_classes=3, weights=weights, bias=0.5)
    more = data.with_blank_rows(np.array([1, 2], np.int32), np.array([0.5, 4.0]))
    assert more.is_dense == data.is_dense
    rows = more.matrix()
    rows = rows.toarray() if sp.issparse(rows) else rows
    np.testing.assert_array_equal(rows, np.vstack([DENSE, np.zeros((2, DENSE.shape[1]))]))
    assert more.labels.tolist() == [*LABELS, 1, 2]
    assert more.weights.tolist() == [1.0, 2.0, 3.0, 0.5, 4.0]
    assert more.bias == 0.5
