"""Files of tensors: safetensors, with checksums and what else belongs to them in the header."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import IO

from manyclass.io.atomic import replacement
from manyclass.io.tensors.header import Header, read_header
from manyclass.io.tensors.mapped import ODDITIES, map_vectors, read_arrays
from manyclass.io.tensors.writer import TensorWriter, checksum_of
from manyclass.utils.fingerprints import crc32
from manyclass.utils.types import Array

Tensors = dict[str, Array]


def checksum(tensors: Tensors) -> str:
    """Return the CRC-32 of every tensor, in the order of their names."""
    return checksum_of({name: crc32(tensor) for name, tensor in tensors.items()})


def write_tensors(path: str | os.PathLike[str], tensors: Tensors, metadata: dict[str, str]) -> None:
    """Write a file that appears whole, on disk, or not at all.

    Parameters
    ----------
    path : str or path-like
    tensors : dict of ndarray
    metadata : dict of str
        The checksums are added.

    Raises
    ------
    OSError
    """
    shapes = {name: (tensor.dtype, tensor.shape) for name, tensor in tensors.items()}
    with replacement(os.fspath(path)) as new:
        file = TensorWriter(new, shapes, metadata)
        for name, tensor in tensors.items():
            file.append(name, tensor)
        file.finish()


def read_about(file: IO[bytes]) -> Header:
    """Return the header of a file that is open for reading.

    Raises
    ------
    ValueError
        If it is no such file.
    """
    try:
        return read_header(file)
    except ODDITIES as error:
        raise ValueError(one_line(error)) from None


def read_tensors(file: IO[bytes], names: Collection[str], mapped: Collection[str] = ()) -> Tensors:
    """Read tensors of a file that is open for reading; those that are ``mapped`` stay in it.

    Raises
    ------
    ValueError
        If the file does not hold them.
    """
    try:
        return {**read_arrays(file, set(names).difference(mapped)), **map_vectors(file, mapped)}
    except ODDITIES as error:
        raise ValueError(one_line(error)) from None


def one_line(what: object, longest: int = 300) -> str:
    """Return a text that may come from a hostile file, short and printable."""
    text = " ".join(str(what)[: 3 * longest].split())
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= longest else f"{text[:longest]}..."
