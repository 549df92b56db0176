"""Names of data files."""

from __future__ import annotations

import pytest


@pytest.fixture(name="path")
def path_fixture(tmp_path):
    return tmp_path / "data"
