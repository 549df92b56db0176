"""Ranks within one process: a thread for each, of which one runs at a time.

A rank runs until it waits for a message or an exchange; then the next rank runs.
"""

import itertools
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np


class AbortedError(RuntimeError):
    """Another rank failed."""


class World:
    """Messages and exchanges of the ranks, and which rank runs."""

    def __init__(self, size):
        self.size = size
        pairs = itertools.product(range(size), repeat=2)
        self.messages = {pair: deque() for pair in pairs}
        self.given = [None] * size  # to the current exchange
        self.n_given = self.n_exchanges = 0
        self.exchanged = []  # values of all ranks in the last exchange
        self.aborted = False
        self.first_on_machine = [0] * size  # all on one
        self._turns = [threading.Lock() for _ in range(size)]
        self._running = set(range(size))
        self._n_waiting = 0  # ranks in a row that still wait
        for turn in self._turns[1:]:
            turn.acquire()

    def run(self, rank, call):
        """Call a function as a rank, when it is its turn."""
        self._turns[rank].acquire()
        try:
            return call(ThreadRank(self, rank))
        finally:
            self._running.discard(rank)
            self._n_waiting = 0
            self._pass_on(rank)

    def wait(self, rank, is_there):
        """Run other ranks until ``is_there`` returns true."""
        while not self.aborted and not is_there():
            if self._n_waiting > len(self._running):  # all wait
                self.aborted = True
                break
            self._n_waiting += 1
            self._pass_on(rank)
            self._turns[rank].acquire()
        if self.aborted:
            raise AbortedError("another rank failed, or sent nothing")
        self._n_waiting = 0

    def give(self, rank, values):
        """Add the values of a rank to the current exchange."""
        self.given[rank] = values
        self.n_given += 1
        if self.n_given == self.size:
            self.exchanged, self.given = self.given, [None] * self.size
            self.n_given = 0
            self.n_exchanges += 1

    def _pass_on(self, rank):
        others = ((rank + step) % self.size for step in range(1, self.size + 1))
        following = next((other for other in others if other in self._running), None)
        if following is not None:
            self._turns[following].release()


class ThreadRank:
    """The communicator of one of them."""

    def __init__(self, world, rank):
        self.world, self.rank, self.size = world, rank, world.size
        self._n_exchanges = 0

    def send_receive(self, outgoing, destination, incoming, source):
        if destination is not None:
            assert outgoing.flags.c_contiguous
            self.world.messages[self.rank, destination].append(outgoing.copy())
        if source is not None:
            messages = self.world.messages[source, self.rank]
            self.world.wait(self.rank, lambda: messages)
            values = messages.popleft()
            assert incoming.flags.c_contiguous
            assert incoming.shape == values.shape
            assert incoming.dtype == values.dtype
            incoming[...] = values

    def _exchanged(self, values):
        world, seen = self.world, self._n_exchanges
        world.give(self.rank, values)
        world.wait(self.rank, lambda: world.n_exchanges > seen)
        self._n_exchanges += 1
        return list(world.exchanged)

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
        self.world.aborted = True


def on_ranks(size, call, machines=None):
    """Run call(communicator) on each rank; return the results in the order of the ranks.

    `machines`: the first rank on the machine of each.
    """
    world = World(size)
    world.first_on_machine = machines or world.first_on_machine
    with ThreadPoolExecutor(size) as threads:
        futures = [threads.submit(world.run, rank, call) for rank in range(size)]
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
