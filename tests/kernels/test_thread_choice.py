"""How many threads are used: the rule that falls back where other processes use the cores."""

from __future__ import annotations

import pytest

from manyclass import _core


def shares(choice, pace_of, pieces=1000):
    """Run pieces of work, each with the seconds that `pace_of` gives for the number of threads."""
    counts = {}
    for _ in range(pieces):
        size = choice.size
        counts[size] = counts.get(size, 0) + 1
        choice.record(1.0, pace_of(size))
    return {size: n / pieces for size, n in counts.items()}


def seconds(found, pace_of):
    return sum(share * pace_of(size) for size, share in found.items())


def test_all_threads_on_an_idle_machine():
    found = shares(_core.ThreadChoice(2), lambda n: 1 / n)
    assert found[2] > 0.97


# What was measured where barriers waited for threads that were not scheduled.
@pytest.mark.parametrize("slow", [1.2, 3.4, 8.0])
def test_falls_back_to_one_thread_beside_busy_processes(slow):
    pace_of = {1: 1.0, 2: slow}.__getitem__
    choice = _core.ThreadChoice(2)
    found = shares(choice, pace_of)
    assert found[1] > 0.95
    assert seconds(found, pace_of) < 1.1
    assert choice.reduced == round(1000 * found[1])


def test_comes_back_when_the_others_have_ended():
    choice = _core.ThreadChoice(2)
    shares(choice, {1: 1.0, 2: 3.0}.__getitem__, 300)
    assert choice.size == 1
    shares(choice, {1: 1.0, 2: 0.55}.__getitem__, 300)
    assert choice.size == 2


def test_finds_the_number_between():
    pace_of = {8: 2.0, 4: 0.5, 2: 0.7, 1: 1.0}.__getitem__
    found = shares(_core.ThreadChoice(8), pace_of)
    assert found[4] > 0.9


def test_one_thread_needs_no_choice():
    choice = _core.ThreadChoice(1)
    assert shares(choice, lambda _: 1.0, 10) == {1: 1.0}
    assert choice.reduced == 0
