"""Converted data files, and arrays that lie in them."""

import numpy as np

from manyclass.io.dataset_writer import save_blocks
from manyclass.io.svmlight_stream import SvmlightBlocks


def mapped(array):
    """Whether an array lies in a file."""
    return array is not None and (isinstance(array, np.memmap) or mapped(array.base))


TEXT = "a 1:1 4:2.5\nb 2:1\nc\na 1:2\nb 2:2 3:1e-3 5:7\nc 3:2\n"


def converted(path, text=TEXT, block_bytes=20, **options):
    source = path.with_name("text")
    source.write_text(text)
    save_blocks(path, SvmlightBlocks(source, block_bytes=block_bytes, **options))
    return source
