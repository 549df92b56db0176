"""Names of data files."""

import pytest


@pytest.fixture(name="path")
def path_fixture(tmp_path):
    return tmp_path / "data"
