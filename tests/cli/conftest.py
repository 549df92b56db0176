"""Data, models and folders for the tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from sklearn.datasets import dump_svmlight_file

from manyclass.cli import commands
from manyclass.datasets.synthetic import make_text_corpus
from tests.helpers.command_line import TINY


@pytest.fixture(name="corpus", scope="session")
def corpus_fixture(tmp_path_factory):
    """Folder with train.txt and test.txt: 20 classes, 400 features."""
    folder = tmp_path_factory.mktemp("corpus")
    X, y = make_text_corpus(500, 400, 20, random_state=0)
    dump_svmlight_file(X[:400], y[:400], str(folder / "train.txt"), zero_based=False)
    dump_svmlight_file(X[400:], y[400:], str(folder / "test.txt"), zero_based=False)
    assert commands.main(["train", f"{folder}/train.txt", f"{folder}/model", "--quiet"]) == 0
    return folder


@pytest.fixture(name="here")
def here_fixture(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(name="tiny")
def tiny_fixture(here):
    """A folder to work in, with data `tiny` of classes a, b, c and a model `abc` of it."""
    Path("tiny").write_text(TINY)
    assert commands.main(["train", "tiny", "abc", "--quiet", "-C", "10"]) == 0
    return here
