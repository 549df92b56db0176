"""Columns that can be one, against a search of all pairs in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import _core
from tests.helpers.merged_columns import hostile_columns

TYPES = (np.float32, np.float64)


def arrays(X):
    return X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data


def found_in(X):
    return _core.merged_columns(*arrays(X), X.shape[1])


def direction(column):
    """The rows of a column and its exact ratios to the first number; None for zeros."""
    rows = np.flatnonzero(column)
    first = Fraction(float(column[rows[0]])) if len(rows) else None
    return tuple((int(i), Fraction(float(column[i])) / first) for i in rows) or None


@pytest.mark.parametrize("dtype", TYPES)
def test_all_proportional_columns_and_no_others(dtype):
    X = hostile_columns(dtype, n=40, d=12)
    groups, factors, first = found_in(X)
    dense = X.toarray()
    known = {}
    for j in range(X.shape[1]):
        key = direction(dense[:, j])
        if key is None:
            assert factors[j] == 0
            continue
        sizes = np.abs(dense[:, j][dense[:, j] != 0])
        if sizes.min() < 2.0**-100:  # stays by itself
            assert np.sum((groups == groups[j]) & (factors != 0)) == 1
            continue
        head = known.setdefault(key, j)
        assert groups[j] == groups[head]
        assert first[groups[j]] == head


@pytest.mark.parametrize("dtype", TYPES)
def test_it_is_a_rotation(dtype):
    X = hostile_columns(dtype, n=40, d=12)
    groups, factors, first = found_in(X)
    indptr, indices, values = _core.with_merged(*arrays(X), groups, factors, first)
    merged = sp.csr_array((values, indices, indptr), shape=(X.shape[0], len(first)))
    R = sp.csr_array((factors, (np.arange(X.shape[1]), groups)), shape=(X.shape[1], len(first)))
    assert np.allclose((R.T @ R).toarray(), np.eye(len(first)), atol=1e-14)
    eps = np.finfo(dtype).eps
    back = (merged.astype(np.float64) @ R.T).toarray()
    assert np.allclose(back, X.toarray(), rtol=4 * eps, atol=1e-30)
    wide = X.astype(np.float64)
    squares = np.asarray(wide.power(2).sum(axis=1)).ravel()
    of_merged = np.asarray(merged.astype(np.float64).power(2).sum(axis=1)).ravel()
    assert np.allclose(squares, of_merged, rtol=8 * eps)
    assert merged.dtype == dtype


@pytest.mark.parametrize("dtype", TYPES)
def test_the_sample_estimates_what_remains(dtype):
    rng = np.random.default_rng(0)
    base = sp.csc_array(sp.random_array((2000, 300), density=0.02, random_state=rng, dtype=dtype))
    X = sp.csr_array(sp.hstack([base, base[:, :150]], format="csr"))
    share = _core.merged_share(*arrays(X), X.shape[1], 128, 0.97)
    assert share == pytest.approx(base.nnz / X.nnz, abs=0.03)
    base = sp.csr_array(base)
    assert _core.merged_share(*arrays(base), 300, 128, 0.97) >= 0.97


def test_explicit_zeros_are_none():
    X = sp.csr_array(
        (np.array([1.0, 0, 1, 2, 0, 2]), np.array([0, 1, 2, 0, 1, 2]), np.array([0, 3, 6])),
        shape=(2, 3),
    )
    groups, factors, first = found_in(X)
    assert groups[0] == groups[2]
    assert factors[1] == 0
    indptr, _, values = _core.with_merged(*arrays(X), groups, factors, first)
    assert indptr.tolist() == [0, 1, 2]
    assert np.allclose(values, np.sqrt(2) * np.array([1, 2]))


def test_nothing_at_all():
    X = sp.csr_array((3, 4))
    assert _core.merged_share(*arrays(X), 4, 128, 0.97) == 1
    groups, factors, first = found_in(X)
    assert len(first) == 0
    assert (groups == 0).all()
    assert (factors == 0).all()


def test_infinity_and_nan_stay_by_themselves():
    X = sp.csr_array(np.array([[np.inf, np.inf, np.nan, np.nan, 1e200, 1e200]]))
    assert len(found_in(X)[2]) == 6


@pytest.mark.parametrize("wrong", ["indptr", "indices", "groups"])
def test_invalid_arrays_are_refused(wrong):
    X = hostile_columns(np.float64, n=40, d=12)
    indptr, indices, values = arrays(X)
    groups, factors, first = found_in(X)
    if wrong == "indptr":
        indptr = indptr + 1
    elif wrong == "indices":
        indices = indices + X.shape[1]
    else:
        groups = groups + len(first)
    with pytest.raises(ValueError, match=r"CSR|columns|every column"):
        _core.with_merged(indptr, indices, values, groups, factors, first)
