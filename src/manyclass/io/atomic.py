"""Atomic writes: a file appears under its name when it is complete.

Needs no NumPy, so that ``manyclass --help`` answers at once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from manyclass.io.temporary_files import Unfinished

STDOUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
ADVICE = {
    errno.ENOENT: "check the name",
    errno.ENOTDIR: "check the name",
    errno.ELOOP: "check the links",
    errno.EISDIR: "give the name of a file",
    errno.EBADF: "redirect it to a file",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.EROFS: "choose another folder",
    errno.ENOSPC: "make room or choose another folder",
    errno.EDQUOT: "make room or choose another folder",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def check_folder(folder: Path) -> None:
    """Check, before any work, that a folder can be written to, or created where there is none."""
    with naming(f"cannot write to {folder}"):
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(errno.EEXIST, "is no folder")
        Unfinished(folder / "file" if folder.is_dir() else folder.resolve()).close()


def is_special(path: Path) -> bool:
    """Whether a path is a device, a pipe or the like: to be written to, not replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def is_stdout(name: str) -> bool:
    """Whether a name means standard output, whatever that leads to."""
    return name == "-" or str(Path(name).absolute()) in STDOUT


@contextlib.contextmanager
def replacement(name: str) -> Iterator[IO[bytes]]:
    """Give a file to write; once complete and on disk, it takes the place of ``name``.

    Links are followed, and an existing file's permissions are kept. After an error all is as it
    was, and after a kill -9 as well, once another file is written to the folder. An OSError tells
    ``name``.
    """
    with naming(name):
        target, mode = _resolved(name)
        # Not yet for more readers than in the end; the owner must be able to write.
        new = Unfinished(target, 0o666 if mode is None else mode | 0o600)
        with contextlib.closing(new):
            yield new.file
            new.take_place(mode)


def reserve(handle: int, size: int) -> None:
    """Take the room that an open file needs, so that a full disk is found before work is done."""
    try:
        os.posix_fallocate(handle, 0, max(size, 1))
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # the file system cannot
            raise
        os.ftruncate(handle, size)


@contextlib.contextmanager
def output(name: str) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name when it is complete; or stdout, or a device."""
    if is_stdout(name):
        with naming("standard output"):
            if sys.stdout is None:
                raise OSError(errno.EBADF, "is closed")
            yield sys.stdout.buffer
    elif is_special(Path(name)):
        with naming(name), Path(name).open("wb") as file:
            yield file
    else:
        with replacement(name) as file:
            yield file


@contextlib.contextmanager
def naming(name: str) -> Iterator[None]:
    """Make errors of the system tell the file as the user knows it."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = name, None
        raise


def _resolved(name: str) -> tuple[Path, int | None]:
    """Return where a file's links lead to, and its permissions if there is a file already."""
    target = Path(os.path.realpath(name))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target, None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a directory", name)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "is not a regular file; choose another name", name)
    return target, mode & 0o777


def explain(error: OSError) -> str:
    """Say in words what failed, where, and what to do."""
    where = os.fsdecode(error.filename) if error.filename else ""
    what = error.strerror or str(error) or type(error).__name__
    advice = ADVICE.get(error.errno or 0)
    text = f"{where}: {what[0].lower()}{what[1:]}" if where else what
    return f"{text}; {advice}" if advice else text
