"""Which class blocks meet when and where: every pair once, no class block twice, balanced, little
travel."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyclass.distributed.solvers.round_robin import (
    Move,
    Schedule,
    balanced_blocks,
    one_factorization,
    work_of_classes,
)

numbers = st.integers(1, 25)


@given(numbers)
def test_every_pair_meets_once_and_no_block_is_in_two_places(n_blocks):
    rounds = one_factorization(n_blocks)
    met = []
    for pairs in rounds:
        present = [block for pair in pairs for block in pair]
        assert sorted(present) == list(range(n_blocks))
        met += [tuple(sorted(pair)) for pair in pairs if len(pair) == 2]
    assert sorted(met) == list(itertools.combinations(range(n_blocks), 2))
    assert len(rounds) == max(1, n_blocks - 1 + n_blocks % 2)


@given(numbers, st.integers(0, 3))
def test_each_rank_keeps_a_block_between_rounds(n_blocks, idle):
    n_ranks = (n_blocks + 1) // 2 + idle
    schedule = Schedule.from_counts(n_blocks, n_ranks)
    for at, pairs in enumerate(one_factorization(n_blocks)):
        assert sorted(p for p in schedule.rounds[at] if p) == sorted(pairs)
        assert len(schedule.rounds[at]) == n_ranks
    for before in range(len(schedule.rounds) - 1):
        check_moves(schedule, before)


def check_moves(schedule, before):
    held = [set(blocks) for blocks in schedule.rounds[before]]
    moves = [schedule.move(before, rank) for rank in range(len(held))]
    for rank, move in enumerate(moves):
        held[rank].discard(move.outgoing)
        if move.outgoing is not None:
            assert moves[move.destination].incoming == move.outgoing
            assert moves[move.destination].source == rank
        if move.incoming is not None:
            held[rank].add(move.incoming)
    assert held == [set(blocks) for blocks in schedule.rounds[before + 1]]
    assert sum(m.outgoing is not None for m in moves) == sum(m.incoming is not None for m in moves)


def test_too_few_ranks_are_refused():
    with pytest.raises(ValueError, match="5 class blocks are too many for 2 ranks"):
        Schedule.from_counts(5, 2)


def test_an_idle_rank_has_nothing_to_move():
    assert Schedule.from_counts(4, 3).move(0, 2) == Move()


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=60).map(np.array),
    st.integers(1, 20),
    st.integers(0, 100),
)
def test_class_blocks_are_balanced_by_classes_and_by_work(work, n_blocks, seed):
    n_blocks = min(n_blocks, len(work))
    blocks = balanced_blocks(work, n_blocks, np.random.default_rng(seed))
    assert sorted(np.concatenate(blocks).tolist()) == list(range(len(work)))
    sizes = [len(block) for block in blocks]
    assert max(sizes) - min(sizes) <= 1
    loads = [work[block].sum() for block in blocks]
    assert max(loads) - min(loads) <= work.max() * (1 + 1e-9)
    assert all((np.diff(block) > 0).all() for block in blocks)


def test_class_blocks_are_new_every_time():
    rng = np.random.default_rng(0)
    first, second = (balanced_blocks(np.ones(50), 4, rng) for _ in range(2))
    assert any(not np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_work_is_the_non_zeros_of_the_rows_of_a_class():
    work = work_of_classes(np.array([2, 0, 2], np.int32), np.array([5, 1, 2]), 4)
    assert work.tolist() == [2, 0, 9, 0]


@given(st.integers(1, 20))
def test_ranks_share_the_ordered_pairs(n_blocks):
    schedule = Schedule.from_counts(n_blocks, n_blocks)
    pairs = [pair for rank in range(n_blocks) for pair in schedule.pairs_of(rank)]
    assert sorted(pairs) == list(itertools.permutations(range(n_blocks), 2))
    assert schedule.n_pairs == len(pairs) // 2 + (n_blocks % 2) * len(schedule.rounds)
