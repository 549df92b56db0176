"""Call a function in a process of its own: its memory can be measured, and its time limited."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


class FailedError(Exception):
    """A call ran out of time or memory, or was refused."""


def in_fresh_process(
    function: Callable[..., Any], *arguments: Any, limit: float | None = None
) -> Any:
    """Call a function of a module in a new process, for at most ``limit`` seconds.

    Raises
    ------
    FailedError
        If time ran out, the call raised ValueError or MemoryError, or the process ended before it
        answered.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, function, arguments))
    process.start()
    sender.close()
    try:
        if not receiver.poll(limit):
            raise FailedError(f"more than {limit:g} s")
        answer = receiver.recv()
        if isinstance(answer, FailedError):
            raise answer
        return answer
    except EOFError:
        process.join()
        raise FailedError(f"ended with exit code {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
        receiver.close()


def _answer(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        answer = function(*arguments)
    except (ValueError, MemoryError) as error:
        answer = FailedError(f"{type(error).__name__}: {error}")
    sender.send(answer)
