"""Read, map and write safetensors files, with checksums and a format name in the header."""

from __future__ import annotations

import json
import math
import os
import re
import struct
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from manyclass.io.atomic import replacement, reserve
from manyclass.io.file_signatures import LONGEST, kind_of
from manyclass.utils.fingerprints import crc32
from manyclass.utils.types import Array, DType, Settings
from manyclass.version import __version__

LENGTH = struct.Struct("<Q")
MAX_HEADER = 100_000_000  # of safetensors
METADATA = "__metadata__"
# Quotes within a JSON string are escaped, so that no name or parameter can look like this entry.
OWN_CHECKSUM = re.compile(rb'"header_checksum":"[0-9a-f]{8}"')
MAPPED = {"I64": np.int64, "I32": np.int32, "F64": np.float64, "F32": np.float32}
DTYPES = {
    **{f"{kind}{8 * size}": f"{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"f{size}" for size in (2, 4, 8)},
    "BOOL": "?",
}
PART = 1 << 26  # bytes between two checks for Ctrl-C
# Errors of an invalid header.
ODDITIES = (
    ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, struct.error
)  # fmt: skip
Tensors = dict[str, Array]
# Content of the files of this package, by the header entry ``format``.
OF_FORMATS = {
    "manyclass": "a model",
    "manyclass-data": "data",
    "manyclass checkpoint": "a checkpoint",
    "manyclass state": "a model with its state, for load_state or manyclass train --start",
}
KINDS = {"i": "I", "u": "U", "f": "F", "b": "BOOL"}
Shapes = Mapping[str, tuple[DType, tuple[int, ...]]]


class Header(NamedTuple):
    """Header of a file, as it was read."""

    tensors: Settings  # of each, by name: dtype, shape and data_offsets
    metadata: dict[str, str]
    content: bytes  # length and JSON text, as in the file

    @property
    def intact(self) -> bool:
        """Whether the header has a correct checksum of its bytes."""
        found = OWN_CHECKSUM.search(self.content)
        return found is not None and with_checksum(self.content) == self.content


def read_header(file: IO[bytes]) -> Header:
    """Return the header of a safetensors file, open for reading; ValueError if it has none."""
    try:
        return _header(file)
    except ODDITIES as error:
        raise ValueError(one_line(error)) from None


def _header(file: IO[bytes]) -> Header:
    file.seek(0)
    prefix = file.read(LENGTH.size)
    (length,) = LENGTH.unpack(prefix)
    if length > min(MAX_HEADER, os.fstat(file.fileno()).st_size):
        raise ValueError("the header is not within the file")
    text = file.read(length)
    tensors = json.loads(text)
    if not isinstance(tensors, dict):
        raise ValueError("the header is not a JSON object")
    metadata = tensors.pop(METADATA, {})
    if not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("the metadata hold values that are not text")
    return Header(tensors, metadata, prefix + text)


def header_bytes(tensors: Settings, metadata: dict[str, str]) -> bytes:
    """Return the bytes of a new header, with its checksum."""
    about = {METADATA: {**metadata, "header_checksum": f"{0:08x}"}, **tensors}
    text = json.dumps(about, separators=(",", ":")).encode()
    text += b" " * (-len(text) % LENGTH.size)
    return with_checksum(LENGTH.pack(len(text)) + text)


def with_checksum(content: bytes) -> bytes:
    """Return the bytes of a header with their CRC-32, computed with eight zeros in its place."""
    blank = OWN_CHECKSUM.sub(_entry(0), content)
    return OWN_CHECKSUM.sub(_entry(zlib.crc32(blank)), blank)


def _entry(crc: int) -> bytes:
    return f'"header_checksum":"{crc:08x}"'.encode()


def read_tensors(file: IO[bytes], names: Collection[str], mapped: Collection[str] = ()) -> Tensors:
    """Read and map the tensors of a safetensors file with given names.

    Those that are mapped are vectors, read-only. The file may be closed, but must not be changed in
    place while they are in use (replacing it by another file of its name is harmless).
    """
    try:
        header = _header(file)
        about, first = header.tensors, len(header.content)
        size = os.fstat(file.fileno()).st_size
        last = max((one["data_offsets"][1] for one in about.values()), default=0)
        if first + last != size:
            raise ValueError("the length of the file does not match its header")
        places = {
            name: _place(name, about[name], first, size) for name in sorted(about.keys() & {*names})
        }
        return {
            name: (_map if name in mapped else _read)(file, name, place)
            for name, place in places.items()
        }
    except ODDITIES as error:
        raise ValueError(one_line(error)) from None


class _Place(NamedTuple):
    """Offsets of a tensor in a file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def _place(name: str, about: Settings, first: int, size: int) -> _Place:
    dtype, shape, (begin, end) = about["dtype"], about["shape"], about["data_offsets"]
    whole = {type(v) for v in (*shape, begin, end)} == {int} and min(shape, default=0) >= 0
    if dtype not in DTYPES or not whole:
        raise ValueError(f"{name} is not a tensor of numbers")
    inside = 0 <= begin <= end and first + end <= size
    if not inside or end - begin != math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize:
        raise ValueError(f"the offsets of {name} in the header are invalid")
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
        raise ValueError(f"{name} is not a vector of numbers")
    kind = np.dtype(MAPPED[place.dtype])
    if place.begin % kind.itemsize:
        raise ValueError(f"the offsets of {name} in the header are invalid")
    if place.begin == place.end:
        return np.empty(0, kind)
    return np.asarray(np.memmap(file, kind, "r", place.begin, place.shape))


def checksum(tensors: Tensors) -> str:
    """Return the CRC-32 of every tensor, in the order of their names."""
    return checksum_of({name: crc32(tensor) for name, tensor in tensors.items()})


def write_tensors(path: str | os.PathLike[str], tensors: Tensors, metadata: dict[str, str]) -> None:
    """Write a file with tensors atomically, with checksums."""
    with replacement(os.fspath(path)) as new:
        fill_tensors(new, tensors, metadata)


def fill_tensors(file: IO[bytes], tensors: Tensors, metadata: dict[str, str]) -> None:
    """Write tensors to an empty file of the operating system, with checksums."""
    shapes = {name: (tensor.dtype, tensor.shape) for name, tensor in tensors.items()}
    writer = TensorWriter(file, shapes, metadata)
    for name, tensor in tensors.items():
        writer.append(name, tensor)
    writer.finish()


def one_line(what: object, longest: int = 300) -> str:
    """Return a text, which may come from a hostile file, shortened and printable."""
    text = " ".join(str(what)[: 3 * longest].split())
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= longest else f"{text[:longest]}..."


class TensorWriter:
    """Writer of a file: values are appended to its tensors, in any order; ``finish`` ends it.

    It is empty at first, and room for all of it is reserved at once. Until it is finished it has no
    header, so that no reader takes it for complete. The checksums of the tensors and of the header
    are added to the metadata.
    """

    def __init__(self, file: IO[bytes], shapes: Shapes, metadata: Mapping[str, str]) -> None:
        self._shapes, self._metadata, self._crcs = shapes, metadata, dict.fromkeys(shapes, 0)
        self._ranges: dict[str, tuple[int, int]] = {}
        end = 0
        # Wide types first, so that each tensor begins at a multiple of its item size.
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
        """Append numbers to a tensor, in C order."""
        dtype = self._shapes[name][0]
        content = np.ascontiguousarray(values, dtype).reshape(-1).view(np.uint8).data
        self._file.seek(self._places[name])
        for begin in range(0, len(content), PART):
            part = content[begin : begin + PART]
            self._crcs[name] = zlib.crc32(part, self._crcs[name])
            self._file.write(part)
        self._places[name] += len(content)

    def finish(self) -> None:
        """Write the header, once every tensor is complete."""
        ends = {name: self._first + end for name, (_, end) in self._ranges.items()}
        if ends != self._places:
            raise ValueError("the length of a tensor does not match its shape")
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


class FormatError(ValueError):
    """File of a different format or version, which may be undamaged."""


@dataclass(frozen=True, slots=True)
class TensorFormat:
    """A file format: safetensors with certain header entries, and its messages.

    Messages are appended to the path: ``damaged_message`` for a damaged file, with the reason
    ``{why}``; ``other_message`` for a file of a different format, with its content ``{what}``.
    """

    name: str  # header entry "format"
    version: int  # the newest "format_version" that can be read
    kind: str  # what users call such a file
    damaged_message: str
    other_message: str
    error: type[ValueError] = ValueError

    def metadata(self, **entries: str) -> dict[str, str]:
        """Return the metadata of a new file, without checksums."""
        return {
            "format": self.name,
            "format_version": str(self.version),
            "version": __version__,
            **entries,
        }

    def check(self, path: str | os.PathLike[str], header: Header) -> None:
        """Refuse the header of another format, a newer version or a damaged file."""
        metadata = header.metadata
        if metadata.get("format") != self.name:
            what = OF_FORMATS.get(metadata.get("format", ""), "something else")
            raise self.error(f"{os.fspath(path)}: {self.other_message.format(what=what)}")
        version = metadata.get("format_version", "")
        if not re.fullmatch(r"[1-9][0-9]{0,8}", version):
            raise self.damaged(path, "its format version is damaged")
        if int(version) > self.version:
            writer = one_line(metadata.get("version", "?"))
            raise FormatError(
                f"{os.fspath(path)}: {self.kind} of format {version}, written by manyclass "
                f"{writer}; this version reads up to {self.version}: upgrade"
            )
        if not header.intact:
            raise self.damaged(path, "the checksum of its header differs")

    def damaged(self, path: str | os.PathLike[str], why: object) -> ValueError:
        """Return the error for a file that is damaged, or of a different program."""
        try:
            with Path(path).open("rb") as file:
                kind = kind_of(file.read(LONGEST))
        except OSError:
            kind = None
        text = self.damaged_message.format(why=one_line(why))
        return self.error(f"{os.fspath(path)}: {f'is {kind}, not a {self.kind}' if kind else text}")
