"""Safetensors files that are written piece by piece."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from typing import IO

import numpy as np

from manyclass.io.atomic import reserve
from manyclass.io.tensors.header import MAX_HEADER, header_bytes
from manyclass.utils.types import Array, DType, Settings

PART = 1 << 26  # bytes between which Ctrl-C is heard
KINDS = {"i": "I", "u": "U", "f": "F", "b": "BOOL"}

Shapes = Mapping[str, tuple[DType, tuple[int, ...]]]


class TensorWriter:
    """A file that is filled by appending to its tensors, in any order, and then finished.

    Until then it has no header, so that nobody takes it for complete.

    Parameters
    ----------
    file : binary file
        Empty, for writing; room for all of it is reserved at once.
    shapes : mapping of name to (dtype, shape)
        The tensors, of numbers or bool.
    metadata : mapping of str to str
        The checksums of the tensors and of the header are added.

    Raises
    ------
    ValueError
        If the header would be longer than readers take.
    OSError
        If there is no room.
    """

    def __init__(self, file: IO[bytes], shapes: Shapes, metadata: Mapping[str, str]) -> None:
        self._shapes, self._metadata, self._crcs = shapes, metadata, dict.fromkeys(shapes, 0)
        self._ranges: dict[str, tuple[int, int]] = {}
        end = 0
        # Wide numbers first, so that each begins at a multiple of its size.
        for name in sorted(shapes, key=lambda name: (-shapes[name][0].itemsize, name)):
            dtype, shape = shapes[name]
            begin, end = end, end + dtype.itemsize * math.prod(shape)
            self._ranges[name] = begin, end
        self._first = len(self._header())
        if self._first > MAX_HEADER:
            raise ValueError("the names take more than 100 MB; shorten them")
        self._places = {name: self._first + begin for name, (begin, _) in self._ranges.items()}
        self._file = file
        reserve(file.fileno(), self._first + end)

    def append(self, name: str, values: Array) -> None:
        """Write numbers behind those that a tensor has so far, in C order."""
        dtype = self._shapes[name][0]
        content = np.ascontiguousarray(values, dtype).reshape(-1).view(np.uint8).data
        self._file.seek(self._places[name])
        for begin in range(0, len(content), PART):
            part = content[begin : begin + PART]
            self._crcs[name] = zlib.crc32(part, self._crcs[name])
            self._file.write(part)
        self._places[name] += len(content)

    def finish(self) -> None:
        """Write the header, once every tensor is complete.

        Raises
        ------
        ValueError
            If one is not.
        """
        ends = {name: self._first + end for name, (_, end) in self._ranges.items()}
        if ends != self._places:
            raise ValueError("a tensor is not as long as its shape says")
        self._file.seek(0)
        self._file.write(self._header())
        self._file.flush()

    def _header(self) -> bytes:
        about: Settings = {}
        for name, (begin, end) in self._ranges.items():
            dtype, shape = self._shapes[name]
            about[name] = {
                "dtype": _name_of(dtype),
                "shape": list(shape),
                "data_offsets": [begin, end],
            }
        return header_bytes(about, {**self._metadata, "checksum": checksum_of(self._crcs)})


def checksum_of(crcs: Mapping[str, int]) -> str:
    """Return the checksum of tensors: the CRC-32 of each, in the order of their names."""
    return "".join(f"{crcs[name]:08x}" for name in sorted(crcs))


def _name_of(dtype: DType) -> str:
    if dtype.kind not in KINDS or dtype.itemsize > 8 or not dtype.isnative:
        raise ValueError(f"numbers of type {dtype} cannot be stored")
    return "BOOL" if dtype.kind == "b" else f"{KINDS[dtype.kind]}{8 * dtype.itemsize}"
