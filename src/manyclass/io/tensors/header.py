"""Headers of safetensors files, with a checksum of their own bytes."""

from __future__ import annotations

import json
import os
import re
import struct
import zlib
from typing import IO, NamedTuple

from manyclass.utils.types import Settings

LENGTH = struct.Struct("<Q")
MAX_HEADER = 100_000_000  # of safetensors
METADATA = "__metadata__"
# Quotes within a JSON string are escaped, so that no name or parameter can look like this entry.
OWN_CHECKSUM = re.compile(rb'"header_checksum":"[0-9a-f]{8}"')


class Header(NamedTuple):
    """Header of a file, as it was read.

    Attributes
    ----------
    tensors : dict
        Of each tensor, by name: dtype, shape and data_offsets.
    metadata : dict of str
    content : bytes
        Length and JSON text, as in the file.
    """

    tensors: Settings
    metadata: dict[str, str]
    content: bytes

    @property
    def intact(self) -> bool:
        """Whether the header has a checksum of its bytes, which is right."""
        found = OWN_CHECKSUM.search(self.content)
        return found is not None and with_checksum(self.content) == self.content


def read_header(file: IO[bytes]) -> Header:
    """Return the header of a safetensors file that is open for reading.

    Raises
    ------
    ValueError, TypeError, AttributeError, struct.error, RecursionError
        If there is none.
    """
    file.seek(0)
    prefix = file.read(LENGTH.size)
    (length,) = LENGTH.unpack(prefix)
    if length > min(MAX_HEADER, os.fstat(file.fileno()).st_size):
        raise ValueError("the header does not lie in the file")
    text = file.read(length)
    tensors = json.loads(text)
    if not isinstance(tensors, dict):
        raise ValueError("the header is no table")
    metadata = tensors.pop(METADATA, {})
    if not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("the header holds more than text")
    return Header(tensors, metadata, prefix + text)


def header_bytes(tensors: Settings, metadata: dict[str, str]) -> bytes:
    """Return the bytes of a new header, with its checksum."""
    about = {METADATA: {**metadata, "header_checksum": f"{0:08x}"}, **tensors}
    text = json.dumps(about, separators=(",", ":")).encode()
    text += b" " * (-len(text) % LENGTH.size)
    return with_checksum(LENGTH.pack(len(text)) + text)


def with_checksum(content: bytes) -> bytes:
    """Return the bytes of a header with the CRC-32 of themselves, of eight zeros in its place."""
    blank = OWN_CHECKSUM.sub(_entry(0), content)
    return OWN_CHECKSUM.sub(_entry(zlib.crc32(blank)), blank)


def _entry(crc: int) -> bytes:
    return f'"header_checksum":"{crc:08x}"'.encode()
