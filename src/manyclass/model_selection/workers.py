"""Tasks in threads, with their results in the order of the tasks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TypeVar

T = TypeVar("T")


def in_order(
    tasks: Sequence[Callable[[Event], T]], n_threads: int, stop: Event | None = None
) -> Generator[T]:
    """Run tasks, the first ones first, and give their results in the order of the tasks.

    Close the iterator to leave out the rest. After an error or Ctrl-C, pending tasks are cancelled,
    running ones are signalled and joined.

    Parameters
    ----------
    tasks : sequence of callables
        Each takes an event that is set when its result is no longer wanted.
    n_threads : int
        1 runs each task in the caller's thread when its result is asked for.
    stop : Event, default=None
        Shared cancellation event.
    """
    stop = stop or Event()
    if n_threads == 1:
        for task in tasks:
            yield task(stop)
        return
    with ThreadPoolExecutor(n_threads) as executor:
        results = [executor.submit(task, stop) for task in tasks]
        try:
            for result in results:
                yield result.result()
        finally:
            stop.set()
            executor.shutdown(wait=True, cancel_futures=True)
