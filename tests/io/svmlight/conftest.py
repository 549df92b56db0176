"""Files of the tests of the svmlight reader."""

import pytest

from manyclass.io import svmlight_pieces
from manyclass.io.svmlight import load_svmlight
from manyclass.io.svmlight_stream import SvmlightBlocks
from tests.helpers.svmlight_files import CHUNKS


@pytest.fixture(name="load")
def load_fixture(tmp_path):
    """Write the text to a file and load it."""

    def load(text, **options):
        path = tmp_path / "data.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return load_svmlight(path, **options)

    return load


@pytest.fixture(name="chunked", params=CHUNKS, ids=str)
def chunked_fixture(request, monkeypatch):
    """Set several chunk sizes; return the number of threads to use with them."""
    monkeypatch.setattr(svmlight_pieces, "_CHUNK_BYTES", request.param[0])
    return request.param[1]


@pytest.fixture(name="blocks_of")
def blocks_fixture(tmp_path):
    """Write the text to a file and make its blocks."""

    def make(text, **options):
        path = tmp_path / "data.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return SvmlightBlocks(path, **options)

    return make
