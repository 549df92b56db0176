"""Tensors of a safetensors file: read, or mapped where they lie in it."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Collection
from typing import IO, NamedTuple

import numpy as np

from manyclass.io.tensors.header import read_header
from manyclass.utils.types import Array, Settings

MAPPED = {"I64": np.int64, "I32": np.int32, "F64": np.float64, "F32": np.float32}
DTYPES = {
    **{f"{kind}{8 * size}": f"{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"f{size}" for size in (2, 4, 8)},
    "BOOL": "?",
}
PART = 1 << 26  # bytes between which Ctrl-C is heard
# What comes of a header that is odd.
ODDITIES = (
    ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, struct.error
)  # fmt: skip


class _Place(NamedTuple):
    """Where a tensor lies in a file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def read_arrays(file: IO[bytes], names: Collection[str]) -> dict[str, Array]:
    """Read the tensors of these names that a safetensors file holds.

    Parameters
    ----------
    file : binary file
        Open for reading.
    names : collection of str

    Returns
    -------
    dict of ndarray
        In memory: what becomes of the file does not matter any more.

    Raises
    ------
    ODDITIES
        If the header does not describe them, or the file ends before they do.
    """
    return {name: _read(file, name, place) for name, place in _places(file, names).items()}


def map_vectors(file: IO[bytes], names: Collection[str]) -> dict[str, Array]:
    """Map the vectors of these names that a safetensors file holds.

    Parameters
    ----------
    file : binary file
        Open for reading; may be closed afterwards.
    names : collection of str

    Returns
    -------
    dict of ndarray of shape (n,)
        Read-only; what is looked at is read from the file, which must not be changed in its place
        (replacing it by another of its name does no harm).

    Raises
    ------
    ODDITIES
        If the header does not describe such vectors, or the file ends before they do.
    """
    return {name: _map(file, name, place) for name, place in _places(file, names).items()}


def _places(file: IO[bytes], names: Collection[str]) -> dict[str, _Place]:
    if not names:
        return {}
    header = read_header(file)
    about, first = header.tensors, len(header.content)
    size = os.fstat(file.fileno()).st_size
    if first + max(end for _, end in (one["data_offsets"] for one in about.values())) != size:
        raise ValueError("the file is longer or shorter than its header says")
    return {
        name: _place(name, about[name], first, size) for name in sorted(about.keys() & set(names))
    }


def _place(name: str, about: Settings, first: int, size: int) -> _Place:
    dtype, shape, (begin, end) = about["dtype"], about["shape"], about["data_offsets"]
    whole = {type(v) for v in (*shape, begin, end)} == {int} and min(shape, default=0) >= 0
    if dtype not in DTYPES or not whole:
        raise ValueError(f"{name} is no tensor of numbers")
    inside = 0 <= begin <= end and first + end <= size
    if not inside or end - begin != math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize:
        raise ValueError(f"{name} does not lie in the file as its header says")
    return _Place(dtype, tuple(shape), first + begin, first + end)


def _read(file: IO[bytes], name: str, place: _Place) -> Array:
    array = np.empty(place.shape, DTYPES[place.dtype])
    content = array.reshape(-1).view(np.uint8).data
    file.seek(place.begin)
    for begin in range(0, len(content), PART):
        part = content[begin : begin + PART]
        if file.readinto(part) != len(part):  # type: ignore[attr-defined]  # IO declares no readinto
            raise ValueError(f"the file ends within {name}")
    return array


def _map(file: IO[bytes], name: str, place: _Place) -> Array:
    if place.dtype not in MAPPED or len(place.shape) != 1:
        raise ValueError(f"{name} is no vector of numbers")
    kind = np.dtype(MAPPED[place.dtype])
    if place.begin % kind.itemsize:
        raise ValueError(f"{name} does not lie in the file as its header says")
    if place.begin == place.end:
        return np.empty(0, kind)
    return np.asarray(np.memmap(file, kind, "r", place.begin, place.shape))
