"""Rows and classes of one problem in another one."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from manyclass.training.row_matching import (
    Match,
    class_numbers,
    matched_rows,
    with_label_sets,
    with_labels,
)


def test_classes_are_known_by_name():
    before = np.array(["b", "d", "e"])
    after = np.array(["a", "b", "c", "eh", "e"])
    assert class_numbers(before, after).tolist() == [1, -1, 4]
    assert class_numbers(np.array([1, 2]), np.array([1.0, 1.5, 2.0])).tolist() == [0, 2]
    assert class_numbers(np.array([1, 2]), np.array(["1", "2"])).tolist() == [-1, -1]


def test_rows_with_another_label_are_other_rows():
    prints = np.zeros((3, 2), np.uint64)
    before = with_labels(prints, np.array([0, 1, -1]), 2)
    after = with_labels(prints, np.array([1, 1, 0]), 2)
    assert matched_rows(before, after).tolist() == [1, -1, 0]


def test_sets_of_labels_do_not_depend_on_their_order():
    prints = np.zeros((3, 2), np.uint64)
    Y = sp.csr_array(np.array([[1, 1, 0], [0, 0, 0], [0, 1, 1]], np.int8))
    turned = sp.csr_array(
        (np.ones(4, np.int8), [2, 1, 1, 0], [0, 2, 2, 4]), shape=(3, 3)
    )  # rows in the other order
    assert matched_rows(with_label_sets(prints, Y), with_label_sets(prints, turned)).tolist() == [
        2,
        1,
        0,
    ]


def test_duals_follow_rows_and_classes():
    z = np.array([[1.0, 2, 0], [0, 3, 4], [5, 0, 6]])
    match = Match(np.array([2, -1, 0, -1], np.int32), 3, np.array([1, -1, 3], np.int32), 4)
    found = match.duals(sp.csr_array(z))
    np.testing.assert_array_equal(
        found.toarray(), [[0, 5, 0, 6], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    )
    assert found.nnz == 3
    assert str(match) == "warm start: 2 rows kept, 2 new, 1 gone"
    assert not match.has_same_classes
