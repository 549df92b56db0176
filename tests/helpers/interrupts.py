"""Ctrl-C at a given call of a function, so that a test hits the same place every time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def watched(act: Callable[[int], None]) -> Iterator[None]:
    """Call ``act`` with the number of each call of a function of manyclass, or by one."""
    n_calls = 0

    def watch(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal n_calls
        if event in ("call", "c_call") and "/manyclass/" in frame.f_code.co_filename:
            n_calls += 1
            act(n_calls)

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)


def count_calls(work: Callable[[], object]) -> int:
    """Return how many calls work makes."""
    counts = [0]
    with watched(counts.append):
        work()
    return counts[-1]


def interrupt(work: Callable[[], object], at: int) -> BaseException | None:
    """Raise KeyboardInterrupt at one call of work, and return what comes out of it."""

    def act(n_calls: int) -> None:
        if n_calls == at:
            sys.setprofile(None)
            raise KeyboardInterrupt

    with watched(act):
        try:
            work()
        except BaseException as error:
            return error
    return None
