"""Files of any name for pyarrow; text is decompressed, and its quotes are counted."""

from __future__ import annotations

import io
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from manyclass.io.file_signatures import COMPRESSED

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from pyarrow import NativeFile


def source(arrow: ModuleType, name: str, *, mapped: bool = False) -> NativeFile:
    """Open a file for pyarrow, which takes names in UTF-8 alone; `mapped` if its name allows."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return arrow.PythonFile(Path(name).open("rb"), mode="r")
    return arrow.memory_map(name) if mapped else arrow.OSFile(name)


class CsvStream(io.RawIOBase):
    """A file of text, decompressed."""

    def __init__(self, arrow: ModuleType, name: str) -> None:
        self.most: int | None = None  # bytes after which it ends
        self._n_bytes = 0
        self._file = source(arrow, name)
        packing = COMPRESSED.get(Path(name).suffix.lower())
        self._text = arrow.CompressedInputStream(self._file, packing) if packing else self._file
        self.n_quotes = 0  # that were read

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read into a buffer; return the number of bytes."""
        part = memoryview(buffer)
        if self.most is not None:
            part = part[: max(0, self.most - self._n_bytes)]
        text = self._text.read(len(part))
        self._n_bytes += len(text)
        part[: len(text)] = text
        self.n_quotes += text.count(b'"')
        return len(text)

    def close(self) -> None:
        """Close the file."""
        self._text.close()
        self._file.close()
        super().close()
