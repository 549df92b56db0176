"""How W of a class block travels: what is put is what was read, whatever W is held in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyclass import _core
from manyclass.solvers.weights.storage import allocate_weights

TABLES = {np.float32: _core.PairTables32, np.float64: _core.PairTables64}
N_ROWS = 5


def empty(kind, dtype, width, dense_from=2):
    """Two slots of zeros."""
    if kind == "dense":
        return allocate_weights(N_ROWS, 2 * width, np.dtype(dtype))[1]
    return TABLES[dtype](N_ROWS, width, dense_from)


def matrix_of(weights, slot, width):
    """The rows of a slot, left as they are."""
    counts, classes, values = _core.read_rows(weights, slot, 0, N_ROWS, drop=False)
    W = np.zeros((N_ROWS, width), values.dtype)
    at = e = 0
    for row, count in zip(W, counts.tolist(), strict=True):
        if count == width:
            row[:] = values[at : at + width]
        else:
            row[classes[e : e + count]] = values[at : at + count]
            e += count
        at += count
    assert (at, e) == (len(values), len(classes))
    return W


def message_of(W):
    """The rows of a matrix as they travel, none of them whole."""
    rows, classes = np.nonzero(W)
    counts = np.bincount(rows, minlength=len(W)).astype(np.int32)
    return counts, classes.astype(np.int32), W[rows, classes]


@given(
    seed=st.integers(0, 2**32 - 1),
    density=st.sampled_from([0.0, 0.05, 0.4, 0.95]),
    dtype=st.sampled_from([np.float32, np.float64]),
    width=st.sampled_from([16, 64, 208]),
    kinds=st.tuples(*[st.sampled_from(["dense", "tables"])] * 2),
    dense_from=st.sampled_from([1, 2, 8]),
)
def test_rows_change_places(seed, density, dtype, width, kinds, dense_from):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(N_ROWS, width)).astype(dtype)
    W[rng.random(W.shape) >= density] = 0
    W[:, -1] = 0  # a slot is wider than its class block
    here, there = (empty(kind, dtype, width, dense_from) for kind in kinds)
    _core.put_rows(here, 1, 0, *message_of(W))
    np.testing.assert_array_equal(matrix_of(here, 1, width), W)
    for part in (slice(0, 2), slice(2, N_ROWS)):
        rows = _core.read_rows(here, 1, part.start, part.stop, drop=True)
        assert sum(array.nbytes for array in rows) <= W[part].nbytes + 4 * (part.stop - part.start)
        _core.put_rows(there, 0, part.start, *rows)
    np.testing.assert_array_equal(matrix_of(there, 0, width), W)
    for weights, slot in ((here, 0), (here, 1), (there, 1)):
        assert not matrix_of(weights, slot, width).any()
    # What was left is zeros that can be filled again.
    _core.put_rows(here, 1, 0, *message_of(W))
    np.testing.assert_array_equal(matrix_of(here, 1, width), W)


def test_tables_take_their_memory_again():
    width = 64
    tables = TABLES[np.float32](N_ROWS, width, 2)
    W = np.ones((N_ROWS, width), np.float32)
    W[:, 5:] = 0
    _core.put_rows(tables, 0, 0, *message_of(W))
    held = tables.n_bytes
    assert tables.squared_norm() == N_ROWS * 5
    for _ in range(20):
        rows = _core.read_rows(tables, 0, 0, N_ROWS, drop=True)
        assert tables.n_slots == 0
        _core.put_rows(tables, 0, 0, *rows)
    assert tables.n_bytes == held
    assert N_ROWS * 5 <= tables.n_slots <= 2 * N_ROWS * 5
    tables.clear()
    assert tables.squared_norm() == 0


@pytest.mark.parametrize("kind", ["dense", "tables"])
def test_what_is_refused(kind):
    W = empty(kind, np.float32, 16)
    none, one = np.empty(0, np.int32), np.ones(1, np.int32)
    value = np.ones(1, np.float32)
    for arguments, message in [
        ((2, 0, one, one, value), "slot must be 0 or 1"),
        ((0, N_ROWS, one, one, value), "rows out of range"),
        ((0, 0, -one, none, value[:0]), "more weights than classes"),
        ((0, 0, 17 * one, none, value), "more weights than classes"),
        ((0, 0, one, none, value), "as many weights as they say"),
        ((0, 0, one, one, value[:0]), "as many weights as they say"),
        ((0, 0, 16 * one, none, value), "as many weights as they say"),
        ((0, 0, one, 16 * one, value), "out of range"),
        ((0, 0, one, -one, value), "out of range"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.put_rows(W, *arguments)
    for slot, begin, end in [(-1, 0, 1), (0, 0, N_ROWS + 1), (0, 2, 1), (0, -1, 1)]:
        with pytest.raises(ValueError, match=r"slot must be|rows out of range"):
            _core.read_rows(W, slot, begin, end, drop=False)


def test_tables_need_whole_blocks():
    for rows, width, dense_from, message in [
        (0, 16, 2, "must be a feature"),
        (1, 0, 2, "whole blocks"),
        (1, 20, 2, "whole blocks"),
        (1, 16, 0, "dense_from"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.PairTables32(rows, width, dense_from)
    with pytest.raises(ValueError, match="two slots"):
        _core.read_rows(np.zeros((2, 3), np.float32), 0, 0, 1, drop=False)


def test_lists_from_entries():
    lists = _core.Duals64(3, 4)
    columns = np.array([2, -1, 0], np.int32)  # of three classes; the second is left out
    rows, labels = np.array([2, 0, 2, 0], np.int32), np.array([0, 1, 2, 2], np.int32)
    values = np.array([1.0, 2, 3, 4])
    lists.add_entries(rows, labels, values, columns)
    indptr, found, numbers = lists.to_csr()
    assert (indptr.tolist(), found.tolist(), numbers.tolist()) == (
        [0, 1, 1, 3],
        [0, 2, 0],
        [4, 1, 3],
    )
    for place, bad, message in [
        (0, rows[:3], "one length"),
        (0, rows + 1, "row out of range"),
        (0, rows - 1, "row out of range"),
        (1, labels + 1, "class out of range"),
        (1, labels - 1, "class out of range"),
        (3, columns + 2, "column out of range"),
    ]:
        arguments = [rows, labels, values, columns]
        arguments[place] = bad
        with pytest.raises(ValueError, match=message):
            _core.Duals64(3, 4).add_entries(*arguments)
    twice = np.zeros(5, np.int32)
    with pytest.raises(ValueError, match="twice"):
        _core.Duals64(3, 4).add_entries(twice, twice, np.ones(5), columns)
