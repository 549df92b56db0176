"""Files of tensors: safetensors, with a checksum and what else belongs to them in the header."""

from __future__ import annotations

import errno
import os
import re
import zlib
from pathlib import Path
from typing import Any

import safetensors
from numpy.typing import NDArray
from safetensors.numpy import save_file

from manyclass.console import replacement
from manyclass.fingerprints import crc32

Tensors = dict[str, NDArray[Any]]


def checksum(tensors: Tensors, text: str = "") -> str:
    """Return the CRC-32 of a text and of tensors in the order of their names."""
    total = zlib.crc32(text.encode())
    for name in sorted(tensors):
        total = crc32(tensors[name], total)
    return f"{total:08x}"


def write_tensors(
    path: str | os.PathLike[str],
    tensors: Tensors,
    header: dict[str, str],
    temporary: str | None = None,
) -> None:
    """Write a file that appears whole, on disk, or not at all.

    Parameters
    ----------
    path : str or path-like
    tensors : dict of ndarray
    header : dict of str
    temporary : str, default=None
        Its name in the same folder until it is whole; a random one when None.

    Raises
    ------
    OSError
    """
    with replacement(os.fspath(path), temporary) as unfinished:
        try:
            save_file(tensors, unfinished, header)
        except safetensors.SafetensorError as error:
            raise _system_error(error) from None


def read_tensors(path: Path) -> tuple[Tensors, dict[str, str]]:
    """Read all tensors of a file and its header.

    Raises
    ------
    ValueError
        If it is no such file.
    OSError
    """
    with path.open("rb"):  # a lack of permission: OSError with the name
        try:
            with safetensors.safe_open(path, framework="np") as file:
                return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118 (not a dict)
        except (safetensors.SafetensorError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(one_line(error)) from None


def one_line(what: object, longest: int = 300) -> str:
    """Return a text that may come from a hostile file, short and printable."""
    text = " ".join(str(what)[: 3 * longest].split())
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= longest else f"{text[:longest]}..."


def _system_error(error: safetensors.SafetensorError) -> OSError:
    """Return what the system said to safetensors, which keeps it in its message."""
    code = re.search(r"\(os error (\d+)\)", str(error))
    number = int(code[1]) if code else errno.EIO
    return OSError(number, os.strerror(number))
