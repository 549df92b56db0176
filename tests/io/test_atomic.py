"""Files that are written: whole or not there, and nothing left behind by a kill."""

import errno
import fcntl
import os
import subprocess
import sys

import pytest

from manyclass.cli import console
from manyclass.io import atomic
from manyclass.io.atomic import clear, replacement

STALE = ".manyclass-0123456789abcdef"


@pytest.fixture(params=["unnamed", "named", "never named"])
def kind(request, monkeypatch):
    """How the system lets files be written."""
    if request.param == "named":
        monkeypatch.setattr(atomic, "_unnamed", lambda *_: None)
    elif request.param == "never named":

        def refuse(*_, **__):
            raise OSError(95, "not supported")

        monkeypatch.setattr(os, "link", refuse)
    return request.param


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file(tmp_path, kind):
    umask = os.umask(0o027)
    try:
        with replacement(str(tmp_path / "new")) as file:
            file.write(b"content")
            assert names(tmp_path) == [] or kind == "named"
    finally:
        os.umask(umask)
    assert names(tmp_path) == ["new"]
    assert (tmp_path / "new").read_bytes() == b"content"
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o444, 0o666])
def test_an_old_file(tmp_path, kind, mode):
    old = tmp_path / "old"
    old.write_text("before")
    old.chmod(mode)
    (tmp_path / "link").symlink_to("old")
    with replacement(str(tmp_path / "link")) as file:
        file.write(b"after")
        assert old.read_text() == "before"
    assert old.read_text() == "after"
    assert old.stat().st_mode & 0o777 == mode
    assert names(tmp_path) == ["link", "old"]


def test_an_error_leaves_all_as_it_was(tmp_path, kind):
    (tmp_path / "old").write_text("before")

    def write(error):
        with replacement(str(tmp_path / "old")) as file:
            file.write(b"half")
            raise error

    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            write(error)
    assert (tmp_path / "old").read_text() == "before"
    assert names(tmp_path) == ["old"]


def test_what_nobody_writes_goes(tmp_path, kind):
    (tmp_path / STALE).write_bytes(b"half of it")
    (tmp_path / f"{STALE}0").write_bytes(b"of another name")
    (tmp_path / "link").mkdir()
    (tmp_path / STALE.replace("0", "f")).symlink_to("link")
    with replacement(str(tmp_path / "new")) as file:
        file.write(b"content")
    assert names(tmp_path) == sorted([f"{STALE}0", STALE.replace("0", "f"), "link", "new"])


def test_what_somebody_writes_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_unnamed", lambda *_: None)
    with replacement(str(tmp_path / "one")) as one:
        one.write(b"1")
        with replacement(str(tmp_path / "two")) as two:
            two.write(b"2")
        clear(tmp_path)
        console.check_target(str(tmp_path / "three"), [], special=False)
        atomic.check_folder(tmp_path)
    assert names(tmp_path) == ["one", "two"]
    assert (tmp_path / "one").read_bytes() == b"1"


def test_cleared_between_its_creation_and_its_lock(tmp_path, monkeypatch):
    """The writer begins another one."""
    monkeypatch.setattr(atomic, "_unnamed", lambda *_: None)
    lock, others = fcntl.flock, []

    def late(handle, operation):
        if not others:
            others.append(handle)
            clear(tmp_path)
        lock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with replacement(str(tmp_path / "new")) as file:
        file.write(b"content")
    assert (tmp_path / "new").read_bytes() == b"content"
    assert names(tmp_path) == ["new"]


WRITER = """
import os, sys
from manyclass.io import atomic
from manyclass.io.atomic import replacement
if sys.argv[2] == "named":
    atomic._unnamed = lambda *_: None
with replacement(sys.argv[1]) as file:
    file.write(b"half of it")
    file.flush()
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("how", ["unnamed", "named"])
def test_a_killed_writer(tmp_path, how):
    (tmp_path / "old").write_text("before")
    killed = subprocess.run([sys.executable, "-c", WRITER, tmp_path / "old", how], check=False)
    assert killed.returncode == -9
    assert len(names(tmp_path)) == (1 if how == "unnamed" else 2)
    assert (tmp_path / "old").read_text() == "before"
    with replacement(str(tmp_path / "old")) as file:
        file.write(b"after")
    assert names(tmp_path) == ["old"]


def test_a_folder_that_is_no_more(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OSError, match="No such file") as caught, replacement(str(folder / "new")):
        folder.rmdir()
    assert caught.value.filename == str(folder / "new")


def test_a_file_larger_than_the_address_space_is_told_with_the_limit():
    error = OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), "a.data")
    assert atomic.explain(error) == (
        "a.data: cannot allocate memory; free memory, or raise ulimit -v, which includes "
        "memory-mapped files"
    )
