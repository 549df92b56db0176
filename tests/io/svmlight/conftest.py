"""Files of the tests of the svmlight reader."""

import pytest

from manyclass.io import svmlight_pieces
from manyclass.io.svmlight import load_svmlight
from manyclass.io.svmlight_stream import SvmlightBlocks
from tests.helpers.svmlight_files import CHUNKS


def of_text(read, tmp_path):
    """A reader of text, which is written to a file first."""

    def made(text, **options):
        path = tmp_path / "data.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read(path, **options)

    return made


@pytest.fixture
def load(tmp_path):
    return of_text(load_svmlight, tmp_path)


@pytest.fixture
def blocks_of(tmp_path):
    return of_text(SvmlightBlocks, tmp_path)


@pytest.fixture(name="chunked", params=CHUNKS, ids=str)
def chunked_fixture(request, monkeypatch):
    """Set several chunk sizes; return the number of threads to use with them."""
    monkeypatch.setattr(svmlight_pieces, "_CHUNK_BYTES", request.param[0])
    return request.param[1]
