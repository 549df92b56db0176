"""Divide a plain or compressed text file into pieces of whole lines."""

from __future__ import annotations

import bz2
import gzip
import lzma
import mmap
import os
import stat
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import IO, NamedTuple, TypeAlias

from manyclass.io.file_signatures import LONGEST, kind_of
from manyclass.utils.progress import Seen

# Small enough for a core's cache, large enough that the work per chunk in Python is negligible.
_CHUNK_BYTES = 1 << 20
_MAPPED_BYTES = 1 << 24
# A small compressed file may hold a line larger than the memory.
_MAX_LINE_BYTES = 1 << 28
_OF_CONVERTED = b"\0\0\0\0{"  # bytes after the first four bytes of a safetensors file
_BOM = b"\xef\xbb\xbf"
Stream: TypeAlias = "IO[bytes] | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile"
_OPENERS: dict[bytes, Callable[[IO[bytes]], Stream]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}


class Piece(NamedTuple):
    """Whole lines of a file, and the share of the file up to their end (1 if unknown)."""

    text: bytes | memoryview
    share: float


class CorruptInputError(Exception):
    """Truncated or corrupt input after the last piece, with advice."""

    def __init__(self, problem: str, advice: str = "get the file again") -> None:
        super().__init__(problem)
        self.advice = advice


def pieces(
    file: IO[bytes], n_bytes: int = sys.maxsize, *, may_map: bool = True
) -> Generator[Piece]:
    """Divide an open file into pieces of whole lines, decompressed, small or of `n_bytes` each.

    Mapping a file is faster than reading it, but the file must not be truncated meanwhile.
    """
    n_bytes = min(n_bytes, _CHUNK_BYTES)
    start = file.peek(LONGEST)[:LONGEST]  # type: ignore[attr-defined]  # buffered readers have it
    size = _regular_size(file)
    if start[4:9] == _OF_CONVERTED:
        if size:
            advice = "use load_data, or load_model for a model"
            raise CorruptInputError("the file is converted data or a model, not text", advice)
        raise CorruptInputError(
            "converted data cannot be read from a pipe", "give the name of the file"
        )
    for magic, opener in _OPENERS.items():
        if start.startswith(magic):
            with opener(file) as stream:
                _refuse_foreign(_start_of(stream))
                share = partial(_share, file, size) if size else _unknown_share
                yield from _stream_pieces(stream, n_bytes, share)
            return
    _refuse_foreign(start)
    begin = len(_BOM) if start.startswith(_BOM) else 0
    if not size:  # a pipe, a device
        yield from _stream_pieces(file, n_bytes, _unknown_share)
    elif may_map:
        text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        yield from _mapped_pieces(text, n_bytes, begin, len(text))
    else:
        file.seek(begin)
        yield from _file_pieces(file, n_bytes, partial(_share, file, size))


def _refuse_foreign(start: bytes) -> None:
    """Refuse text, plain or decompressed, that begins like a file of a different program."""
    kind = kind_of(start)
    if kind:
        raise CorruptInputError(f"the file is {kind}", "give a file in svmlight format, as text")


def seen(parts: Generator[Piece], see: Seen) -> Generator[Piece]:
    """Yield pieces, and report their number of bytes and share of the file."""
    with closing(parts):
        n_bytes = 0
        for piece in parts:
            n_bytes += len(piece.text)
            see(n_bytes, piece.share)
            yield piece


def can_be_cut(file: IO[bytes]) -> bool:
    """Whether an open file is plain text of a known size, so that it can be read at any offset."""
    start = file.peek(8)[:8]  # type: ignore[attr-defined]  # buffered readers have it
    return bool(_regular_size(file)) and not start.startswith(tuple(_OPENERS))


def pieces_of_part(file: IO[bytes], part: int, n_parts: int) -> Generator[Piece]:
    """Divide the lines that begin in one of `n_parts` parts of such a file into small pieces."""
    text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    begin, end = (_line_from(text, len(text) * q // n_parts) for q in (part, part + 1))
    yield from _mapped_pieces(text, _CHUNK_BYTES, begin, end)


def _line_from(text: mmap.mmap, place: int) -> int:
    """Return the offset of the first line that begins at or after an offset."""
    if place == 0:
        return len(_BOM) if text[: len(_BOM)] == _BOM else 0
    newline = text.find(b"\n", place - 1)
    return len(text) if newline < 0 else newline + 1


def _share(file: IO[bytes], size: int) -> float:
    return min(file.tell() / size, 1.0)  # the file may have grown


def _unknown_share() -> float:
    return 1.0


def _regular_size(file: IO[bytes]) -> int:
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _mapped_pieces(text: mmap.mmap, n_bytes: int, begin: int, last: int) -> Iterator[Piece]:
    view = memoryview(text)
    first = dropped = begin
    while begin < last:
        if begin - dropped > _MAPPED_BYTES and hasattr(mmap, "MADV_DONTNEED"):
            # The process need not keep pages that it has read; a page still in use is mapped again.
            text.madvise(mmap.MADV_DONTNEED, 0, begin // mmap.PAGESIZE * mmap.PAGESIZE)
            dropped = begin
        newline = text.find(b"\n", min(begin + n_bytes, last) - 1)
        end = last if newline < 0 else newline + 1
        yield Piece(view[begin:end], (end - first) / (last - first))
        begin = end


def _file_pieces(file: IO[bytes], n_bytes: int, share: Callable[[], float]) -> Iterator[Piece]:
    while block := file.read(n_bytes):
        end = block.rfind(b"\n") + 1
        if not end:
            block += file.readline()
            end = len(block)
        file.seek(end - len(block), os.SEEK_CUR)
        yield Piece(memoryview(block)[:end], share())


def _stream_pieces(stream: Stream, n_bytes: int, share: Callable[[], float]) -> Iterator[Piece]:
    rest: list[bytes] = []  # an incomplete line
    n_rest = 0  # its number of bytes
    is_first = True
    while block := _read(stream, max(n_bytes, len(_BOM))):
        if is_first:
            block, is_first = block.removeprefix(_BOM), False
        end = block.rfind(b"\n") + 1
        if end:
            yield Piece(b"".join([*rest, memoryview(block)[:end]]), share())
            rest, n_rest = [], 0
        rest.append(block[end:])
        n_rest += len(rest[-1])
        if n_rest > _MAX_LINE_BYTES:
            raise CorruptInputError("the line is too long", "is this an svmlight file?")
    if text := b"".join(rest):
        yield Piece(text, 1.0)


@contextmanager
def _damage_named() -> Iterator[None]:
    """Turn errors of damaged compressed data into CorruptInputError."""
    try:
        yield
    except EOFError:
        raise CorruptInputError("the compressed data are truncated after this line") from None
    except (zlib.error, lzma.LZMAError) as error:
        raise CorruptInputError(f"the compressed data are damaged: {error}") from None
    except OSError as error:
        if error.errno is not None:  # an error of the disk
            raise
        raise CorruptInputError(f"the compressed data are damaged: {error}") from None


def _start_of(stream: Stream) -> bytes:
    """Return the first bytes of decompressed data."""
    with _damage_named():
        start: bytes = stream.peek(LONGEST)[:LONGEST]  # type: ignore[union-attr]  # they have it
    return start


def _read(stream: Stream, n_bytes: int) -> bytes:
    with _damage_named():
        return stream.read(n_bytes)
