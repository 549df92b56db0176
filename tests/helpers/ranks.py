"""Ranks within one process: a thread for each, queues between them."""

import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

PATIENCE = 600.0  # seconds until a test gives up waiting


class AbortedError(RuntimeError):
    """Another rank failed."""


class World:
    """What the ranks share."""

    def __init__(self, size):
        self.size = size
        self.queues = {(a, b): queue.Queue() for a in range(size) for b in range(size)}
        self.barrier = threading.Barrier(size)
        self.slots = [None] * size
        self.aborted = threading.Event()
        self.first_on_machine = [0] * size  # all on one


class ThreadRank:
    """The communicator of one of them."""

    def __init__(self, world, rank):
        self.world, self.rank, self.size = world, rank, world.size

    def send_receive(self, outgoing, destination, incoming, source):
        if destination is not None:
            assert outgoing.flags.c_contiguous
            self.world.queues[self.rank, destination].put(outgoing.copy())
        if source is not None:
            values = self._get(self.world.queues[source, self.rank])
            assert incoming.flags.c_contiguous
            assert incoming.shape == values.shape
            assert incoming.dtype == values.dtype
            incoming[...] = values

    def _get(self, messages):
        for _ in range(int(PATIENCE / 0.01)):
            if self.world.aborted.is_set():
                break
            try:
                return messages.get(timeout=0.01)
            except queue.Empty:
                continue
        raise AbortedError("another rank failed, or sent nothing")

    def _exchanged(self, values):
        try:
            self.world.slots[self.rank] = values
            self.world.barrier.wait(PATIENCE)
            found = list(self.world.slots)
            self.world.barrier.wait(PATIENCE)
        except threading.BrokenBarrierError:
            raise AbortedError("another rank failed") from None
        return found

    def all_sum(self, values):
        return np.sum(self._exchanged(values.copy()), axis=0)

    def all_max(self, values):
        return np.max(self._exchanged(values.copy()), axis=0)

    def all_gather(self, values):
        return self._exchanged(values.copy())

    def broadcast(self, values, root):
        values[...] = self._exchanged(values.copy())[root]

    def first_on_machine(self):
        return list(self.world.first_on_machine)

    def abort(self, error):
        self.world.aborted.set()
        self.world.barrier.abort()


def on_ranks(size, call, machines=None):
    """Run call(communicator) on so many ranks at once; the results in the order of the ranks.

    `machines`: the first rank on the machine of each.
    """
    world = World(size)
    world.first_on_machine = machines or world.first_on_machine
    with ThreadPoolExecutor(size) as threads:
        futures = [threads.submit(call, ThreadRank(world, rank)) for rank in range(size)]
        errors = [future.exception() for future in futures]
    first = next((e for e in errors if e and not isinstance(e, AbortedError)), None)
    if first or any(errors):
        raise first or next(e for e in errors if e)
    return [future.result() for future in futures]


def caught(call):
    """A call whose error is its result."""

    def wrapped(rank):
        try:
            return call(rank)
        except Exception as error:
            return error

    return wrapped
