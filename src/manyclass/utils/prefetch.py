"""Make the next item while the last one is in use."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TypeVar

T = TypeVar("T")


def made_ahead(make: Callable[[Event], Generator[T]], thread_name: str) -> Generator[T]:
    """Yield what a generator does; a thread makes the next one meanwhile, until stopped."""
    stopped = Event()
    source = make(stopped)
    executor = ThreadPoolExecutor(1, thread_name_prefix=thread_name)
    try:
        future = executor.submit(next, source, None)
        while (item := future.result()) is not None:
            future = executor.submit(next, source, None)
            yield item
            del item
    finally:
        stopped.set()
        executor.shutdown(cancel_futures=True)
        source.close()
