"""Arrays that change places, and the communicator of one process."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass.distributed.communicator import (
    Serial,
    as_communicator,
    broadcast_arrays,
    exchange_lists,
)
from tests.helpers.ranks import AbortedError, on_ranks


def test_one_process_alone():
    alone = as_communicator(None)
    values = np.arange(3.0)
    np.testing.assert_array_equal(alone.all_sum(values), values)
    np.testing.assert_array_equal(alone.all_max(values), values)
    np.testing.assert_array_equal(alone.all_gather(values)[0], values)
    with pytest.raises(ValueError, match="at least two ranks"):
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


def test_lists_of_unknown_lengths_travel_along_a_chain():
    kinds = [np.dtype(np.int32), np.dtype(np.float64)]
    lists = [np.arange(5, dtype=np.int32), np.linspace(0, 1, 3)]

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
