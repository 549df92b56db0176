"""Fingerprints of rows: what they depend on, and which rows they match."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import _core
from manyclass.problem.dataset import Dataset
from manyclass.training.row_matching import row_prints


def prints_of(X, n_jobs=1):
    return row_prints(Dataset.from_matrix(X, np.zeros(X.shape[0], int), n_classes=1), n_jobs)


def rows(n=50, d=7, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, (n, d)) * 0.5


def test_storage_type_and_columns_of_zeros_do_not_matter():
    X = rows()
    expected = prints_of(X)
    held = sp.csr_array(X)
    explicit = sp.csr_array((X.ravel(), np.tile(np.arange(7), 50), 7 * np.arange(51)), (50, 7))
    for same in (
        held,
        held.astype(np.float32),
        X.astype(np.float32),
        explicit,
        -1.0 * -X,
        np.hstack([X, np.zeros((50, 3))]),
        sp.csr_array((held.data, held.indices, held.indptr), shape=(50, 1000)),
    ):
        np.testing.assert_array_equal(prints_of(same), expected)


def test_threads_and_order_do_not_matter():
    X = rows(n=5000)
    expected = prints_of(X)
    np.testing.assert_array_equal(prints_of(X, n_jobs=4), expected)
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(prints_of(X[order]), expected[order])


def test_rows_that_differ_have_other_prints():
    X = np.vstack([np.eye(30) * scale for scale in (1, -1, 2, np.nextafter(1, 2), 1e-300)])
    X = np.vstack([X, np.zeros((1, 30)), np.eye(30) + np.roll(np.eye(30), 1, axis=1)])
    for half in prints_of(sp.csr_array(X)).T:
        assert len(np.unique(half)) == len(X)


def test_random_rows_agree_only_where_they_are_equal():
    X = rows(n=3000, d=4, seed=3)
    _, numbers = np.unique(X, axis=0, return_inverse=True)
    _, found = np.unique(prints_of(X), axis=0, return_inverse=True)
    pairs = np.unique(np.stack([numbers.ravel(), found.ravel()]), axis=1)
    assert pairs.shape[1] == numbers.max() + 1 == found.max() + 1


def test_matches_are_those_of_a_search():
    rng = np.random.default_rng(0)
    for n_before, n_after, kinds in [(0, 5, 3), (5, 0, 3), (40, 30, 4), (30, 60, 25), (9, 9, 1)]:
        table = rng.integers(2**64, size=(kinds, 2), dtype=np.uint64)
        before, after = rng.integers(0, kinds, n_before), rng.integers(0, kinds, n_after)
        found = _core.match_prints(table[before].ravel(), table[after].ravel())
        left = {kind: np.flatnonzero(before == kind).tolist() for kind in range(kinds)}
        expected = [left[kind].pop(0) if left[kind] else -1 for kind in after.tolist()]
        assert found.tolist() == expected


def test_prints_that_share_a_slot_are_told_apart():
    slots = np.arange(40, dtype=np.uint64)
    before = np.stack([slots, slots * 0 + np.uint64(5)], axis=1)
    after = before[::-1].copy()
    assert _core.match_prints(before.ravel(), after.ravel()).tolist() == list(range(39, -1, -1))


def test_odd_arguments_are_refused():
    three = np.zeros(3, np.uint64)
    with pytest.raises(ValueError, match="two numbers"):
        _core.match_prints(three, three)
    X = np.array([0, 1]), np.array([5], np.int32), np.array([1.0])
    with pytest.raises(ValueError, match="out of range"):
        _core.row_prints(*X, 3, 1)
    with pytest.raises(ValueError, match="n_threads"):
        _core.row_prints(X[0], np.array([0], np.int32), X[2], 3, 0)
    with pytest.raises(ValueError, match="dense"):
        _core.row_prints(np.array([0, 2]), np.array([0, 1, 2], np.int32), np.ones(2), 3, 1)
