"""Parts with arrays that are memory-mapped from a file.

When memory is short, the system may drop pages of the file, and read them again; nothing is
written.
"""

from __future__ import annotations

import mmap
import pickle
import tempfile
from typing import BinaryIO

import numpy as np

from manyclass.distributed.clusters.part import Part
from manyclass.rows.parts import ALIGNMENT


def dump(part: Part, file: BinaryIO) -> None:
    """Write a part: the offsets of its arrays and its other content, then the arrays."""
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(part, protocol=5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    ends = np.cumsum([0] + [-(-one.nbytes // ALIGNMENT) * ALIGNMENT for one in raw]).tolist()
    head = pickle.dumps((rest, [(end, one.nbytes) for end, one in zip(ends, raw, strict=False)]))
    begin = -(-(8 + len(head)) // ALIGNMENT) * ALIGNMENT
    file.write(begin.to_bytes(8, "little") + head)
    for end, one in zip(ends, raw, strict=False):
        file.seek(begin + end)
        file.write(one)
    file.truncate(begin + ends[-1] + 1)
    file.flush()


def load(file: BinaryIO, *, drops: bool = False) -> Part:
    """Read a file of ``dump``; with `drops`, pages are dropped after each call."""
    pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    mapped = memoryview(pages)
    begin = int.from_bytes(mapped[:8], "little")
    rest, places = pickle.loads(mapped[8:begin])
    buffers = [mapped[begin + at : begin + at + size] for at, size in places]
    part: Part = pickle.loads(rest, buffers=buffers)
    part.pages = pages if drops else None
    return part


def on_disk(part: Part, folder: str) -> Part:
    """Return a part with its arrays in an unnamed file, which is deleted with it."""
    with tempfile.TemporaryFile(dir=folder) as file:
        dump(part, file)
        return load(file, drops=True)
