"""Tensors of a safetensors file where they lie in it: mapped, not read."""

from __future__ import annotations

import json
import os
import struct
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

DTYPES = {"I64": np.int64, "I32": np.int32, "F64": np.float64, "F32": np.float32}
HEADER_LENGTH = struct.Struct("<Q")
MAX_HEADER = 100_000_000  # of safetensors


def read_header(file: BinaryIO) -> tuple[dict[str, Any], int]:
    """Return the header of a safetensors file, open at its beginning, and where its tensors begin.

    Raises
    ------
    ValueError, struct.error, RecursionError
        If there is none.
    """
    (length,) = HEADER_LENGTH.unpack(file.read(HEADER_LENGTH.size))
    if length > min(MAX_HEADER, os.fstat(file.fileno()).st_size):
        raise ValueError("the header does not lie in the file")
    header = json.loads(file.read(length))
    if not isinstance(header, dict):
        raise ValueError("the header is no table")
    return header, HEADER_LENGTH.size + length


def map_vectors(file: BinaryIO, names: set[str]) -> dict[str, NDArray[Any]]:
    """Map the vectors of these names that a safetensors file holds.

    Parameters
    ----------
    file : binary file
        Open for reading, at its beginning; may be closed afterwards.
    names : set of str

    Returns
    -------
    dict of ndarray of shape (n,)
        Read-only; what is looked at is read from the file, which must not be changed in its place
        (replacing it by another of its name does no harm).

    Raises
    ------
    ValueError
        If the header does not describe such vectors, or the file ends before they do.
    """
    if not names:
        return {}
    header, first = read_header(file)
    size = os.fstat(file.fileno()).st_size
    return {
        name: _map_vector(file, name, header[name], first, size)
        for name in sorted(names & header.keys())
    }


def _map_vector(file: BinaryIO, name: str, about: Any, first: int, size: int) -> NDArray[Any]:
    dtype, shape, (begin, end) = about["dtype"], about["shape"], about["data_offsets"]
    if dtype not in DTYPES or len(shape) != 1 or {type(v) for v in (*shape, begin, end)} != {int}:
        raise ValueError(f"{name} is no vector of numbers")
    kind, offset = np.dtype(DTYPES[dtype]), first + begin
    inside = 0 <= begin <= end and first + end <= size
    if not inside or end - begin != shape[0] * kind.itemsize or offset % kind.itemsize:
        raise ValueError(f"{name} does not lie in the file as its header says")
    if shape[0] == 0:
        return np.empty(0, kind)
    return np.asarray(np.memmap(file, kind, "r", offset, (shape[0],)))
