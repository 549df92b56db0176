"""Where model files are: links, folders, devices, a full disk."""

import errno
import os

import numpy as np
import pytest

from manyclass import MulticlassSVC, load_model, save_model
from tests.helpers.full_disk import file_size_limit
from tests.helpers.model_files import fitted


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)
    with pytest.raises(FileNotFoundError) as caught:
        save_model(tmp_path / "no" / "folder", fitted())
    assert caught.value.filename == str(tmp_path / "no" / "folder")
    assert caught.value.filename2 is None


def test_links_are_followed_and_permissions_kept(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "model").touch(mode=0o600)
    (tmp_path / "link").symlink_to("folder/model")
    (tmp_path / "dangling").symlink_to("folder/new")
    save_model(tmp_path / "link", fitted())
    save_model(tmp_path / "dangling", fitted())
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "dangling").is_symlink()
    assert (folder / "model").stat().st_mode & 0o777 == 0o600
    assert sorted(p.name for p in folder.iterdir()) == ["model", "new"]
    assert load_model(tmp_path / "link").n_iter_ > 0
    (folder / "model").chmod(0o444)
    save_model(tmp_path / "link", fitted())
    assert (folder / "model").stat().st_mode & 0o777 == 0o444


def test_links_in_a_circle(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links") as caught:
        save_model(tmp_path / "a", fitted())
    assert caught.value.filename == str(tmp_path / "a")


def test_folders_pipes_and_devices_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="not a regular file") as caught:
            save_model(tmp_path / name, fitted())
        assert caught.value.filename == str(tmp_path / name)
        with pytest.raises(OSError, match="not a regular file"):
            load_model(tmp_path / name)
    with pytest.raises(IsADirectoryError) as caught:
        save_model(tmp_path, fitted())
    assert caught.value.filename == str(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "pipe"]


def test_a_long_name(tmp_path):
    path = tmp_path / ("m" * 255)
    save_model(path, fitted())
    assert load_model(path).n_iter_ > 0


def test_a_full_disk_leaves_the_old_file(path):
    save_model(path, fitted())
    before = path.read_bytes()
    wide = MulticlassSVC(random_state=0, max_iter=5, tol=0.5).fit(np.eye(6, 40_000), [0, 1, 2] * 2)
    with file_size_limit(len(before)), pytest.raises(OSError, match="too large") as caught:
        save_model(path, wide)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]  # noqa: PTH208 (names are all that matters)


def test_the_file_has_the_usual_permissions(path):
    save_model(path, fitted())
    plain = path.parent / "plain"
    plain.write_bytes(b"")
    assert path.stat().st_mode == plain.stat().st_mode
