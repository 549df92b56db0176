"""Files of the tests of the svmlight reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyclass.io import svmlight_pieces
from manyclass.io.svmlight import load_svmlight
from manyclass.io.svmlight_stream import SvmlightBlocks
from tests.helpers.svmlight_files import CHUNKS


@pytest.fixture(name="load")
def load_fixture(tmp_path: Path) -> Callable[..., tuple[Any, Any]]:
    """Write the text to a file and load it."""

    def load(text: bytes | str, **options: Any) -> tuple[Any, Any]:
        path = tmp_path / "data.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return load_svmlight(path, **options)

    return load


@pytest.fixture(name="chunked", params=CHUNKS, ids=str)
def chunked_fixture(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Set several chunk sizes; return the number of threads to use with them."""
    monkeypatch.setattr(svmlight_pieces, "_CHUNK_BYTES", request.param[0])
    return request.param[1]


@pytest.fixture(name="blocks_of")
def blocks_fixture(tmp_path: Path) -> Callable[..., SvmlightBlocks]:
    """Write the text to a file and make its blocks."""

    def make(text: bytes | str, **options: Any) -> SvmlightBlocks:
        path = tmp_path / "data.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return SvmlightBlocks(path, **options)

    return make
