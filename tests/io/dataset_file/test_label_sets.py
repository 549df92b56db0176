"""Converted data files whose rows have label sets."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import load_data, load_svmlight, save_data
from manyclass.io.stored_rows import StoredLabelSets, canonical_label_sets
from manyclass.io.svmlight_stream import SvmlightBlocks
from tests.helpers.mapped_files import converted, mapped
from tests.io.dataset_file.test_hostile_files import check_hostile

TEXT = "7,3 1:1 4:2.5\n3 2:1\n 3:1\n12,+3,3 1:2\n 2:2 3:1e-3 5:7\n7,3 3:2\n"
SETS = [{3, 7}, {3}, set(), {3, 12}, set(), {3, 7}]


@pytest.mark.parametrize("block_bytes", [1, 20, 1000])
def test_a_converted_file_is_the_text(path, block_bytes):
    source = converted(path, TEXT, block_bytes, multilabel=True)
    X, y = load_data(path, multilabel=True)
    expected, sets = load_svmlight(source, multilabel=True)
    assert y == sets == SETS
    np.testing.assert_array_equal(X.toarray(), expected.toarray())
    assert X.dtype == expected.dtype
    assert mapped(X.data)


def test_blocks_count_labels(tmp_path):
    (tmp_path / "text").write_text(TEXT)
    blocks = SvmlightBlocks(tmp_path / "text", multilabel=True, block_bytes=30)
    assert blocks.classes.tolist() == [3, 7, 12]
    assert blocks.class_counts.tolist() == [4, 2, 1]
    with pytest.raises(ValueError, match="text: rows have label sets"):
        blocks.labelled()


@pytest.mark.parametrize(
    "sets",
    [[{"b", "a"}, set(), {"c"}], [{2, 1}, {1}, set()], [{0.5}, {1}, {2.5}], [set()] * 3],
    ids=["text", "integers", "numbers", "none"],
)
@pytest.mark.parametrize("given", [np.asarray, sp.csr_array])
def test_sets_of_arrays(path, sets, given):
    save_data(path, given(np.eye(3)), sets)
    X, y = load_data(path, multilabel=True)
    np.testing.assert_array_equal(X.toarray() if sp.issparse(X) else X, np.eye(3))
    assert y == sets


def test_rows_with_one_class_have_sets_of_one(path):
    save_data(path, np.eye(3), ["b", "a", "b"])
    assert load_data(path, multilabel=True)[1] == [{"b"}, {"a"}, {"b"}]


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([{1}, {"a"}], "labels must be all numbers, all text"),
        ([{(1, 2)}, {(3, 4)}], r"must be numbers or text, not \(1, 2\)"),
        ([{None}, {1}], "row 0 of y has a label that is missing"),
        ([{2**63 + 1}, {-1}], "label that is 9223372036854775809, which does not fit in 64 bits"),
        ([{1}, 2], "y holds label sets, but 2 in row 1"),
        ([{1}], "X has 2 rows, y the shape"),
    ],
)
def test_what_cannot_be_saved(path, sets, message):
    with pytest.raises(ValueError, match=message):
        save_data(path, np.eye(2), sets)
    assert not path.exists()


def test_sets_are_no_single_classes(path):
    save_data(path, np.eye(2), [{1}, {2, 1}])
    with pytest.raises(ValueError, match="data: rows have label sets, not one class each"):
        load_data(path)


INT32, INT64 = np.int32, np.int64
HOSTILE = {
    "a label too large": {"labels": np.array([0, 1, 0, 0, 3, 0, 1], INT32)},
    "a label below zero": {"labels": np.array([-1, 1, 0, 0, 2, 0, 1], INT32)},
    "a label twice": {"labels": np.array([0, 1, 0, 0, 0, 0, 1], INT32)},
    "labels that fall": {"labels": np.array([1, 0, 0, 0, 2, 0, 1], INT32)},
    "rows that end before they begin": {"label_indptr": np.array([0, 3, 2, 3, 5, 5, 7])},
    "rows that end farther": {"label_indptr": np.array([0, 2, 3, 3, 5, 5, 8])},
    "too few rows": {"label_indptr": np.array([0, 2, 7])},
    "nothing": {"label_indptr": np.empty(0, INT64)},
    "no row": {"label_indptr": np.zeros(1, INT64), "labels": np.empty(0, INT32)},
    "ends of another type": {"label_indptr": np.array([0, 2, 3, 3, 5, 5, 7], INT32)},
}


@pytest.mark.parametrize("tensors", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_refused(path, monkeypatch, tensors):
    check_hostile(path, monkeypatch, tensors, TEXT, multilabel=True)


def test_parts_of_sets():
    sets = canonical_label_sets(np.array([0, 3, 3, 4, 5]), np.array([2, 0, 2, 1, 3], INT32), 4)
    names = np.array(["a", "b", "c", "d"])
    assert sets[1:3].named(names) == [set(), {"b"}]
    assert sets[1:3].indptr.tolist() == [0, 0, 1]
    taken = sets.take(np.array([3, 0, 1, 0], INT32))
    assert taken.named(names) == [{"d"}, {"a", "c"}, set(), {"a", "c"}]
    assert sets.take(np.empty(0, INT32)).named(names) == []
    assert isinstance(taken, StoredLabelSets)
