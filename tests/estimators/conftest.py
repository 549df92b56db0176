"""Folders for the checkpoints of estimators."""

import pytest


@pytest.fixture(name="folder")
def folder_fixture(tmp_path):
    return tmp_path / "checkpoints"
