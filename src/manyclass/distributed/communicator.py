"""Communicators for one process or MPI: exchange of arrays between ranks.

Messages are buffers of arrays, not pickles.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from manyclass.utils.types import Array, DType

if TYPE_CHECKING:
    from mpi4py import MPI

FAILED, INTERRUPTED = 2, 130
T = TypeVar("T")
LINE_SECONDS = 0.5  # the launcher drops what it has not read when it ends all


class Communicator(Protocol):
    """Collective operations; every rank must call the same methods in the same order."""

    @property
    def rank(self) -> int:
        """Number of this process, from 0."""

    @property
    def size(self) -> int:
        """Number of processes."""

    def send_receive(
        self,
        outgoing: Array | None,
        destination: int | None,
        incoming: Array | None,
        source: int | None,
        /,
    ) -> None:
        """Send one contiguous array and fill a second one, of the size that the source sends."""

    def all_sum(self, values: Array) -> Array:
        """Add arrays of one shape over all ranks."""

    def all_max(self, values: Array) -> Array:
        """Return the elementwise maximum over all ranks of arrays of one shape."""

    def all_gather(self, values: Array) -> list[Array]:
        """Return the 1-D array of every rank, of one dtype and any length."""

    def broadcast(self, values: Array, root: int) -> None:
        """Fill a contiguous array with the array of a rank."""

    def first_on_machine(self) -> list[int]:
        """Return, for every rank, the first rank on its machine."""

    def abort(self, error: BaseException) -> None:
        """End all ranks, with the error of this one."""


class Serial:
    """A single process."""

    rank = 0
    size = 1

    def send_receive(
        self,
        _outgoing: Array | None,
        destination: int | None,
        _incoming: Array | None,
        source: int | None,
        /,
    ) -> None:
        """Raise an error, as there is no other rank."""
        if destination is not None or source is not None:
            raise ValueError("send_receive needs at least two ranks")

    def all_sum(self, values: Array) -> Array:
        """Return a copy."""
        return values.copy()

    def all_max(self, values: Array) -> Array:
        """Return a copy."""
        return values.copy()

    def all_gather(self, values: Array) -> list[Array]:
        """Return the array of this process."""
        return [values]

    def broadcast(self, values: Array, root: int) -> None:
        """Do nothing."""

    def first_on_machine(self) -> list[int]:
        """Return this rank."""
        return [0]

    def abort(self, error: BaseException) -> None:
        """Do nothing: the caller raises."""


class MPICommunicator:
    """A communicator of mpi4py."""

    def __init__(self, comm: MPI.Comm) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._comm = comm
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()

    def send_receive(
        self,
        outgoing: Array | None,
        destination: int | None,
        incoming: Array | None,
        source: int | None,
        /,
    ) -> None:
        """Send one array and fill a second one; None skips one of them."""
        nobody = self._mpi.PROC_NULL
        self._comm.Sendrecv(
            outgoing if destination is not None else None,
            dest=nobody if destination is None else destination,
            recvbuf=incoming if source is not None else None,
            source=nobody if source is None else source,
        )

    def all_sum(self, values: Array) -> Array:
        """Add arrays over all ranks."""
        total = np.empty_like(values)
        self._comm.Allreduce(values, total)
        return total

    def all_max(self, values: Array) -> Array:
        """Return the elementwise maximum over all ranks."""
        largest = np.empty_like(values)
        self._comm.Allreduce(values, largest, self._mpi.MAX)
        return largest

    def all_gather(self, values: Array) -> list[Array]:
        """Return the 1-D array of every rank."""
        lengths = np.empty(self.size, np.int64)
        self._comm.Allgather(np.array([len(values)], np.int64), lengths)
        ends = np.cumsum(lengths)
        everything = np.empty(int(ends[-1]), values.dtype)
        self._comm.Allgatherv(np.ascontiguousarray(values), (everything, lengths.tolist()))
        return np.split(everything, ends[:-1].tolist())

    def broadcast(self, values: Array, root: int) -> None:
        """Fill an array with the array of a rank."""
        self._comm.Bcast(values, root)

    def first_on_machine(self) -> list[int]:
        """Return, for every rank, the first rank that shares its memory."""
        here = self._comm.Split_type(self._mpi.COMM_TYPE_SHARED)
        first = np.empty(1, np.int64)
        here.Allreduce(np.array([self.rank], np.int64), first, op=self._mpi.MIN)
        here.Free()
        return [int(rank) for rank in np.concatenate(self.all_gather(first))]

    def abort(self, error: BaseException) -> None:
        """Report the error in one line, and end all processes."""
        with contextlib.suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would end only this rank
        interrupted = isinstance(error, KeyboardInterrupt)
        what = "interrupted; no model was written" if interrupted else f"error: {_line(error)}"
        where = f"rank {self.rank} of {self.size}"
        print(f"manyclass: {where}: {what}; all ranks end", file=sys.stderr, flush=True)
        code = INTERRUPTED if interrupted else FAILED
        time.sleep(LINE_SECONDS)
        self._comm.Abort(code)
        os._exit(code)  # Abort may return before this process is ended


def as_communicator(communicator: Any) -> Communicator:
    """Return a communicator of mpi4py as one of this module; None: one process alone."""
    if communicator is None:
        return Serial()
    if hasattr(communicator, "Get_rank"):
        # A single process has no others to abort.
        return MPICommunicator(communicator) if communicator.Get_size() > 1 else Serial()
    chosen: Communicator = communicator
    return chosen


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def exchange_lists(
    communicator: Communicator,
    outgoing: Sequence[Array],
    destination: int | None,
    kinds: Sequence[DType],
    source: int | None,
) -> list[Array]:
    """Send 1-D arrays of any lengths, one for each of `kinds`, and return those that came.

    Nothing is sent without a destination, and nothing comes without a source.
    """
    sent, received = np.zeros(len(kinds), np.int64), np.zeros(len(kinds), np.int64)
    if destination is not None:
        sent[:] = [len(array) for array in outgoing]
    communicator.send_receive(sent, destination, received, source)
    came = [np.empty(size, kind) for size, kind in zip(received.tolist(), kinds, strict=True)]
    for at, array in enumerate(came):
        mine = outgoing[at] if destination is not None else None
        communicator.send_receive(mine, destination, array, source)
    return came


def gather_json(communicator: Communicator, value: T) -> list[T]:
    """Return the JSON values of all ranks."""
    text = np.frombuffer(json.dumps(value).encode(), np.uint8)
    return [json.loads(one.tobytes()) for one in communicator.all_gather(text)]


def broadcast_arrays(communicator: Communicator, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays of rank 0, by name; arrays of the other ranks are ignored."""
    if communicator.size == 1:
        return dict(arrays)
    about = [(name, str(array.dtype), array.shape) for name, array in arrays.items()]
    came = {}
    for name, dtype, shape in gather_json(communicator, about)[0]:
        mine = arrays.get(name) if communicator.rank == 0 else None
        array = np.empty(shape, dtype) if mine is None else np.ascontiguousarray(mine)
        communicator.broadcast(array, 0)
        came[name] = array
    return came
