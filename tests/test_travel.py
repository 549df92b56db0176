"""Arrays that change places, and the communicator of one process."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyclass.parallel.communicator import Serial, as_communicator
from manyclass.parallel.travel import broadcast_arrays, exchange, exchange_lists, position_type
from tests.ranks import AbortedError, on_ranks


@given(st.lists(st.sampled_from([0.0, -0.0, 1.5, -2.0, np.inf]), min_size=1, max_size=40))
def test_what_arrives_is_what_was_sent_in_no_more_bytes(values):
    sent = np.array(values, np.float32)

    def call(rank):
        target = np.full(len(sent), 7, np.float32)
        other = 1 - rank.rank
        n_bytes = exchange(rank, sent + rank.rank * 0, other, target, other)
        return target, n_bytes

    for target, n_bytes in on_ranks(2, call):
        np.testing.assert_array_equal(target, sent)
        assert n_bytes <= sent.nbytes + 8


def test_a_sparse_array_travels_sparse_beside_a_dense_one():
    arrays = [np.arange(1000.0), np.zeros(500)]
    arrays[1][[3, 499]] = 1, 2

    def call(rank):
        target = np.full(len(arrays[1 - rank.rank]), 9.0)
        other = 1 - rank.rank
        return target, exchange(rank, arrays[rank.rank], other, target, other)

    (first, from_0), (second, from_1) = on_ranks(2, call)
    np.testing.assert_array_equal(first, arrays[1])
    np.testing.assert_array_equal(second, arrays[0])
    assert (from_0, from_1) == (8 + 8000, 8 + 2 * 12)


def test_nothing_travels_where_nobody_is_named():
    assert exchange(Serial(), None, None, None, None) == 0


def test_large_arrays_have_long_positions():
    shared = np.broadcast_to(np.float32(0), (2**32,))
    assert position_type(shared) == np.int64
    assert position_type(shared[: 2**31]) == np.uint32


def test_one_process_alone():
    alone = as_communicator(None)
    values = np.arange(3.0)
    np.testing.assert_array_equal(alone.all_sum(values), values)
    np.testing.assert_array_equal(alone.all_gather(values)[0], values)
    with pytest.raises(ValueError, match="nobody to send to"):
        alone.send_receive(values, 0, None, None)


def test_an_error_of_one_rank_ends_the_others():
    def call(rank):
        if rank.rank == 1:
            rank.abort(ValueError("broken"))
            raise ValueError("broken")
        rank.all_sum(np.zeros(1))

    with pytest.raises(ValueError, match="broken"):
        on_ranks(3, call)
    with pytest.raises(AbortedError):
        on_ranks(2, lambda rank: rank.abort(ValueError()) or rank.all_gather(np.zeros(1)))


def test_lists_of_unknown_length_travel_along_a_chain():
    kinds = [np.dtype(np.int32), np.dtype(np.float64)]
    lists = [np.arange(5, dtype=np.int32), np.linspace(0, 1, 5)]

    def call(rank):
        if rank.rank == 0:
            return exchange_lists(rank, lists, 1, kinds, None)
        return exchange_lists(rank, [], None, kinds, 0)

    nothing, came = on_ranks(2, call)
    assert [len(part) for part in nothing] == [0, 0]
    for sent, part in zip(lists, came, strict=True):
        np.testing.assert_array_equal(part, sent)
        assert part.dtype == sent.dtype


def test_arrays_of_rank_0_by_name():
    given = {
        "a": np.arange(6, dtype=np.int32).reshape(2, 3).T,
        "none": np.empty((0, 4), np.float32),
        "z": np.arange(3.0),
    }
    assert broadcast_arrays(Serial(), given) == given
    for came in on_ranks(3, lambda rank: broadcast_arrays(rank, {} if rank.rank else given)):
        assert list(came) == list(given)
        for name, array in given.items():
            assert came[name].dtype == array.dtype
            np.testing.assert_array_equal(came[name], array)
