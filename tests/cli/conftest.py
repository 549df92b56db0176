"""Data, models and folders for the tests of the command line."""

import shutil

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


@pytest.fixture(name="tiny_files", scope="session")
def tiny_files_fixture(tmp_path_factory):
    """The folder whose copies are `tiny`."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "tiny").write_text(TINY)
    command = ["train", f"{folder}/tiny", f"{folder}/abc", "--quiet", "-C", "10"]
    assert commands.main(command) == 0
    return folder


@pytest.fixture(name="tiny")
def tiny_fixture(here, tiny_files):
    """A folder to work in, with data `tiny` of classes a, b, c and a model `abc` of it."""
    shutil.copytree(tiny_files, here, dirs_exist_ok=True)
    return here
