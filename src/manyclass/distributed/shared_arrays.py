"""Arrays with one memory-mapped copy for all ranks of a machine.

The copy is an unnamed file in the temporary folder (TMPDIR). It is deleted when the processes end,
and the system may write it to disk if memory is short.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Self

import numpy as np

from manyclass.distributed.communicator import Communicator
from manyclass.distributed.consensus import agreed
from manyclass.io.atomic import naming, reserve
from manyclass.utils.types import Array, DType

# Bytes that are written or broadcast at a time.
PIECE = 1 << 22
ALIGNMENT = 64


class SharedArrays:
    """Arrays of given lengths and types, zeros at first, one copy on each machine.

    Every rank calls the same methods in the same order. Mapped arrays outlive the file object. If
    there is no room for them, the first rank of the machine raises OSError, the others
    OtherRankError.
    """

    def __init__(
        self, communicator: Communicator, lengths: Mapping[str, tuple[int, DType]]
    ) -> None:
        self._ranks = communicator
        self._machines = communicator.first_on_machine()
        self._leads = self._machines[communicator.rank] == communicator.rank
        self._lengths = lengths
        self._offsets: dict[str, int] = {}
        end = 0
        for name, (length, dtype) in lengths.items():
            self._offsets[name] = end
            end += -(-length * dtype.itemsize // ALIGNMENT) * ALIGNMENT
        self._file = self._open()
        try:
            agreed(communicator, lambda: self._reserve(end))
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def put(self, name: str, begins: list[int], mine: Array) -> None:
        """Write the parts of an array, one per rank, at the offsets `begins`."""
        dtype = self._lengths[name][1]
        failure = self._write(name, begins[self._ranks.rank], mine)
        if len(set(self._machines)) > 1:
            lengths = np.concatenate(self._ranks.all_gather(np.array([len(mine)], np.int64)))
            for root, length in enumerate(lengths.tolist()):
                elsewhere = self._machines[root] != self._machines[self._ranks.rank]
                for first, piece in self._broadcast(root, mine, length, dtype):
                    if elsewhere and self._leads:
                        failure = failure or self._write(name, begins[root] + first, piece)
        agreed(self._ranks, lambda: _raise(failure))

    def map(self) -> dict[str, Array]:
        """Return the complete arrays, read-only."""
        return {name: self._map(name, *about) for name, about in self._lengths.items()}

    def _map(self, name: str, length: int, dtype: DType) -> Array:
        if not length:  # an empty file cannot be mapped
            return np.empty(0, dtype)
        return np.asarray(np.memmap(self._file, dtype, "r", self._offsets[name], (length,)))

    def _open(self) -> IO[bytes]:
        """Open the file of this machine, which its first rank creates, and unlink it."""
        made = ""

        def make() -> None:
            nonlocal made
            made = _empty_file(tempfile.gettempdir()) if self._leads else ""

        try:
            agreed(self._ranks, make)
            names = self._ranks.all_gather(np.frombuffer(os.fsencode(made), np.uint8))
            path = Path(os.fsdecode(names[self._machines[self._ranks.rank]].tobytes()))
            return agreed(self._ranks, lambda: path.open("r+b", buffering=0))
        finally:
            if made:
                Path(made).unlink()

    def _reserve(self, size: int) -> None:
        if self._leads:
            with naming(tempfile.gettempdir()):
                reserve(self._file.fileno(), size)

    def _broadcast(
        self, root: int, mine: Array, length: int, dtype: DType
    ) -> Iterator[tuple[int, Array]]:
        """Yield slices of the array of one rank on all ranks, with their offsets."""
        step = PIECE // dtype.itemsize
        for first in range(0, length, step):
            piece = np.empty(min(step, length - first), dtype)
            if root == self._ranks.rank:
                piece[:] = mine[first : first + step]
            self._ranks.broadcast(piece, root)
            yield first, piece

    def _write(self, name: str, begin: int, values: Array) -> OSError | None:
        """Write values at an offset of an array; return an error, as other ranks are waiting."""
        dtype = self._lengths[name][1]
        step = PIECE // dtype.itemsize
        try:
            for first in range(0, len(values), step):
                piece = np.ascontiguousarray(values[first : first + step], dtype)
                place = self._offsets[name] + (begin + first) * dtype.itemsize
                _write_all(self._file.fileno(), piece.data.cast("B"), place)
        except OSError as error:
            error.filename = tempfile.gettempdir()
            return error
        return None


def _empty_file(folder: str) -> str:
    with naming(folder):
        handle, path = tempfile.mkstemp(prefix="manyclass-")
    os.close(handle)
    return path


def _write_all(handle: int, content: memoryview, place: int) -> None:
    while content:
        written = os.pwrite(handle, content, place)
        content, place = content[written:], place + written


def _raise(error: Exception | None) -> None:
    if error is not None:
        raise error
