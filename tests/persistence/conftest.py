"""The file that tests write models to."""

import pytest


@pytest.fixture(name="path")
def path_fixture(tmp_path):
    return tmp_path / "model"
