"""Times of calls that take turns."""

from __future__ import annotations

import time
from collections.abc import Callable

Calls = dict[str, Callable[[], object]]


def seconds_of(call: Callable[[], object]) -> float:
    """Return the seconds of a call; its result is freed after the clock has stopped."""
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    del result
    return seconds


def in_turn(calls: Calls, n_times: int) -> dict[str, list[float]]:
    """Return each call's times; they take turns, after one round that does not count."""
    rounds = [[seconds_of(call) for call in calls.values()] for _ in range(n_times + 1)]
    return dict(zip(calls, map(list, zip(*rounds[1:], strict=True)), strict=True))
