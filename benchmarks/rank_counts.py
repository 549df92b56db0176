"""A communicator that counts what goes through another one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from manyclass.parallel.communicator import Communicator
from manyclass.planning.cost_model import steps


@dataclass(slots=True)
class Counts:
    """What one rank has sent and received so far.

    Attributes
    ----------
    messages : float
        Exchanges with one neighbour, and the steps of collective calls, log2 p each.
    bytes : float
        Received; for sums and gathers those of ring algorithms.
    seconds : float
        Inside calls, waiting for slower ranks included.
    cpu : float
        Seconds of the processor inside calls.
    """

    messages: float = 0.0
    bytes: float = 0.0
    seconds: float = 0.0
    cpu: float = 0.0

    def since(self, before: Counts) -> Counts:
        """Return what came on top of earlier counts."""
        return Counts(
            self.messages - before.messages,
            self.bytes - before.bytes,
            self.seconds - before.seconds,
            self.cpu - before.cpu,
        )

    def copy(self) -> Counts:
        """Return the counts as they are now."""
        return Counts(self.messages, self.bytes, self.seconds, self.cpu)


class Counting:
    """Counts the calls that it passes on.

    Parameters
    ----------
    inner : Communicator

    Attributes
    ----------
    counts : Counts
    """

    def __init__(self, inner: Communicator) -> None:
        self._inner = inner
        self.counts = Counts()

    def __getattr__(self, name: str) -> Any:
        """Leave to the other communicator what needs no counting."""
        return getattr(self._inner, name)

    def send_receive(
        self,
        outgoing: NDArray[Any] | None,
        destination: int | None,
        incoming: NDArray[Any] | None,
        source: int | None,
    ) -> None:
        """Count one message, if there is any."""
        there = destination is not None or source is not None
        received = incoming.nbytes if incoming is not None and source is not None else 0
        with self._counted(int(there), received):
            self._inner.send_receive(outgoing, destination, incoming, source)

    def all_sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Count a sum over all ranks."""
        p = self._inner.size
        with self._counted(2 * steps(p), 2 * values.nbytes * (p - 1) / p):
            return self._inner.all_sum(values)

    def all_max(self, values: NDArray[Any]) -> NDArray[Any]:
        """Count the same for the largest of all ranks."""
        p = self._inner.size
        with self._counted(2 * steps(p), 2 * values.nbytes * (p - 1) / p):
            return self._inner.all_max(values)

    def all_gather(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Count two gathers: of lengths, and of what is that long."""
        with self._counted(2 * steps(self._inner.size), 0):
            everything = self._inner.all_gather(values)
        self.counts.bytes += sum(part.nbytes for part in everything) - values.nbytes
        return everything

    def broadcast(self, values: NDArray[Any], root: int) -> None:
        """Count what all but one receive."""
        with self._counted(steps(self._inner.size), values.nbytes):
            self._inner.broadcast(values, root)

    @contextmanager
    def _counted(self, messages: int, received: float) -> Iterator[None]:
        began, cpu = time.perf_counter(), time.process_time()
        yield
        self.counts.messages += messages
        self.counts.bytes += received
        self.counts.seconds += time.perf_counter() - began
        self.counts.cpu += time.process_time() - cpu
