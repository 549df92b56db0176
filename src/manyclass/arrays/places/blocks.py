"""Blocks of rows of X on a device: rows stored on the device, or streamed to it.

Streamed rows are copied one block ahead: a thread copies block i + 1 during the computations with
block i. On an NVIDIA GPU, the copies use two page-locked buffers and a separate stream.
"""

from __future__ import annotations

import contextlib
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, Protocol

import numpy as np

from manyclass.arrays.namespace import Place, spans, to_numpy
from manyclass.arrays.places.host_rows import HostRows
from manyclass.utils.types import Array, DeviceArray

N_BUFFERS = 2


class Blocks(Protocol):
    """X, with some rows on the device."""

    def block(self, part: slice) -> DeviceArray:
        """Return a range of rows; ascending order is fastest."""

    def take(self, numbers: DeviceArray) -> DeviceArray:
        """Return some rows by their numbers."""


class RowsThere(Blocks):
    """Rows that lie on the device."""

    def __init__(self, X: DeviceArray, place: Place) -> None:
        self.X, self.place = X, place

    def block(self, part: slice) -> DeviceArray:
        """Return a range of rows as a view."""
        return self.X[part, :]

    def take(self, numbers: DeviceArray) -> DeviceArray:
        """Return some rows by their numbers."""
        return self.place.xp.take(self.X, numbers, axis=0)


class RowsElsewhere(Blocks):
    """Rows of other blocks, copied to a place in the memory of the CPU."""

    def __init__(self, rows: Blocks, place: Place) -> None:
        self.rows, self.place = rows, place

    def block(self, part: slice) -> DeviceArray:
        """Return some rows."""
        return self.place.taken(self.rows.block(part))

    def take(self, numbers: DeviceArray) -> DeviceArray:
        """Return some rows by their numbers."""
        return self.place.taken(self.rows.take(numbers))


class StreamedRows(Blocks):
    """Rows in host memory that are copied to the device when they are asked for."""

    def __init__(self, rows: HostRows, rows_of_block: int) -> None:
        self.rows, self._copier = rows, copier_of(rows, rows_of_block)
        self._thread = ThreadPoolExecutor(1)
        self._ahead: tuple[slice, Future[Sent]] | None = None
        self._last: tuple[slice, DeviceArray] | None = None

    def block(self, part: slice) -> DeviceArray:
        """Return a range of rows; start copying the next rows, or the first ones at the end.

        The last requested rows are cached.
        """
        if self._last is not None and self._last[0] == part:
            return self._last[1]
        self._last = None  # its memory is released before the next block
        ahead, self._ahead = self._ahead, None
        is_there = ahead is not None and ahead[0] == part
        sent = ahead[1] if ahead is not None and is_there else self._send(part)
        x = self._copier.received(sent.result())
        n, size = len(self.rows), part.stop - part.start
        begin = part.stop if part.stop < n else 0
        following = slice(begin, min(n, begin + max(size, self._copier.size)))
        self._ahead = following, self._send(following)
        self._last = part, x
        return x

    def take(self, numbers: DeviceArray) -> DeviceArray:
        """Return some rows by their numbers."""
        return self.rows.place.asarray(self.rows.read(to_numpy(numbers)))

    def _send(self, part: slice) -> Future[Sent]:
        return self._thread.submit(self._copier.send, part)


class Sent(NamedTuple):
    """A block on its way to the device."""

    x: DeviceArray
    event: DeviceArray = None  # recorded when it is there


class Copier:
    """Copies blocks of `size` rows at most."""

    def __init__(self, rows: HostRows, size: int) -> None:
        self.rows, self.size = rows, min(size, len(rows))

    def send(self, part: slice) -> Sent:
        """Copy a block."""
        return Sent(self.rows.place.asarray(self.rows.read(part)))

    def received(self, sent: Sent) -> DeviceArray:
        """Return a block that was sent."""
        return sent.x


class PinnedCopier(Copier):
    """Copies blocks through page-locked buffers on a separate stream; parameters as above."""

    def __init__(self, rows: HostRows, size: int) -> None:
        super().__init__(rows, size)
        self._torch, self._device = sys.modules["torch"], rows.place.device
        shape = self.size, rows.shape[1]
        dtype = getattr(self._torch, rows.dtype.name)
        self._buffers = [
            self._torch.empty(shape, dtype=dtype, pin_memory=True) for _ in range(N_BUFFERS)
        ]
        self._events: list[DeviceArray] = [None] * N_BUFFERS
        self._stream = self._torch.cuda.Stream(self._device)
        self._turn = 0

    def send(self, part: slice) -> Sent:
        """Copy a block to the next buffer, and start copying the buffer to the device."""
        turn, self._turn = self._turn, (self._turn + 1) % N_BUFFERS
        if self._events[turn] is not None:
            self._events[turn].synchronize()
        buffer = self._buffers[turn][: part.stop - part.start]
        self.rows.read(part, buffer.numpy())
        cuda = self._torch.cuda
        with cuda.device(self._device), cuda.stream(self._stream):
            x = buffer.to(self._device, non_blocking=True)
            event = cuda.Event()
            event.record(self._stream)
        self._events[turn] = event
        return Sent(x, event)

    def received(self, sent: Sent) -> DeviceArray:
        """Return a block; computations with it wait for the copy."""
        current = self._torch.cuda.current_stream(self._device)
        current.wait_event(sent.event)
        sent.x.record_stream(current)
        return sent.x


def copier_of(rows: HostRows, size: int) -> Copier:
    """Return the copier of blocks to the device of rows."""
    return (PinnedCopier if rows.place.is_gpu else Copier)(rows, size)


def moved_whole(rows: HostRows, rows_of_block: int) -> DeviceArray:
    """Return a copy of all rows on their device, copied by blocks."""
    place, copier = rows.place, copier_of(rows, rows_of_block)
    X = place.zeros(rows.shape, getattr(place.xp, rows.dtype.name))
    for part in spans(len(rows), copier.size):
        X[part, :] = copier.received(copier.send(part))
    return X


class RowNumbers(Protocol):
    """A number for each row and class, 0 at first."""

    is_there: bool

    def of(self, part: slice) -> DeviceArray:
        """Return the numbers of some rows, on the device."""

    def put(self, part: slice, block: DeviceArray) -> None:
        """Store the numbers of some rows from ``of``, which may have been changed."""


class NumbersThere(RowNumbers):
    """Numbers on the device."""

    is_there = True

    def __init__(self, place: Place, shape: tuple[int, int], dtype: object) -> None:
        self.array = place.zeros(shape, dtype)

    def of(self, part: slice) -> DeviceArray:
        """Return the numbers of some rows as a view."""
        return self.array[part, :]

    def put(self, part: slice, block: DeviceArray) -> None:
        """Store the numbers of some rows."""
        self.array[part, :] = block


class NumbersOnHost(RowNumbers):
    """Numbers in host memory; parameters as in ``NumbersThere``, with a NumPy dtype."""

    is_there = False

    def __init__(self, place: Place, shape: tuple[int, int], dtype: np.dtype[np.floating]) -> None:
        self.place = place
        self.array: Array = np.zeros(shape, dtype)

    def of(self, part: slice) -> DeviceArray:
        """Return a copy of the numbers of some rows."""
        return self.place.asarray(self.array[part].copy())

    def put(self, part: slice, block: DeviceArray) -> None:
        """Store the numbers of some rows."""
        self.array[part] = to_numpy(block)


class PinnedNumbers(RowNumbers):
    """Numbers in page-locked host memory; parameters as in ``NumbersOnHost``.

    Copies are asynchronous, in the order of the computations on the device.
    """

    is_there = False

    def __init__(self, place: Place, shape: tuple[int, int], dtype: np.dtype[np.floating]) -> None:
        torch, self._device = sys.modules["torch"], place.device
        self._numbers = torch.zeros(shape, dtype=getattr(torch, dtype.name), pin_memory=True)

    def of(self, part: slice) -> DeviceArray:
        """Return a copy of the numbers of some rows."""
        return self._numbers[part].to(self._device, non_blocking=True)

    def put(self, part: slice, block: DeviceArray) -> None:
        """Store the numbers of some rows."""
        self._numbers[part].copy_(block, non_blocking=True)


def numbers_on_host(
    place: Place, shape: tuple[int, int], dtype: np.dtype[np.floating]
) -> RowNumbers:
    """Return numbers in host memory, page-locked if this is faster for the device."""
    if place.is_gpu:
        with contextlib.suppress(RuntimeError):  # the system does not lock more pages
            return PinnedNumbers(place, shape, dtype)
    return NumbersOnHost(place, shape, dtype)
