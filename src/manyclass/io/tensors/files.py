"""Files of tensors: safetensors, with a checksum and what else belongs to them in the header."""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection
from typing import IO

from manyclass.io.atomic import replacement
from manyclass.io.tensors.mapped import ODDITIES, map_vectors, read_arrays, read_header
from manyclass.io.tensors.writer import TensorWriter
from manyclass.utils.fingerprints import crc32
from manyclass.utils.types import Array

Tensors = dict[str, Array]


def checksum(tensors: Tensors, text: str = "") -> str:
    """Return the CRC-32 of a text and of tensors in the order of their names."""
    total = zlib.crc32(text.encode())
    for name in sorted(tensors):
        total = crc32(tensors[name], total)
    return f"{total:08x}"


def write_tensors(
    path: str | os.PathLike[str], tensors: Tensors, header: dict[str, str], checksum: str
) -> None:
    """Write a file that appears whole, on disk, or not at all.

    Parameters
    ----------
    path : str or path-like
    tensors : dict of ndarray
    header : dict of str
        But for the checksum.
    checksum : str
        8 characters.

    Raises
    ------
    OSError
    """
    shapes = {name: (tensor.dtype, tensor.shape) for name, tensor in tensors.items()}
    with replacement(os.fspath(path)) as new:
        file = TensorWriter(new, shapes, header, 1)
        for name, tensor in tensors.items():
            file.append(name, tensor)
        file.finish(checksum)


def read_about(file: IO[bytes]) -> tuple[set[str], dict[str, str]]:
    """Return the names of the tensors of a file that is open for reading, and its header.

    Raises
    ------
    ValueError
        If it is no such file.
    """
    try:
        file.seek(0)
        header, _ = read_header(file)
        about = header.pop("__metadata__", {})
        if not all(isinstance(value, str) for value in about.values()):
            raise ValueError("the header holds more than text")
    except ODDITIES as error:
        raise ValueError(one_line(error)) from None
    return set(header), about


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
