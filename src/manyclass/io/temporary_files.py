"""Files that are being written: without a name where the system has such, else with a passing one.

The writer of such a file holds a lock on it. So a file of a passing name that nobody has locked is
what a killed process left behind, and goes when the next one writes to the same folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
from pathlib import Path
from typing import IO

PASSING = re.compile(r"\.manyclass-[0-9a-f]{16}")
COPIED = 1 << 24  # bytes at a time


class Unfinished:
    """A file beside another, whose place it takes in the end.

    Parameters
    ----------
    target : Path
        The place; what is there stays until then.
    mode : int
        Permissions until then; the umask counts.

    Attributes
    ----------
    file : binary file
        Empty, for writing and reading.

    Raises
    ------
    OSError
        If it cannot be created.
    """

    def __init__(self, target: Path, mode: int = 0o666) -> None:
        clear(target.parent)
        self._target, self._mode = target, mode
        self._name: Path | None = None
        handle = _unnamed(target.parent, mode)
        if handle is None:
            handle, self._name = _named(target.parent, mode)
        self.file: IO[bytes] = os.fdopen(handle, "w+b")

    def take_place(self, mode: int | None) -> None:
        """Let the file, once it is on disk, take its place; ``mode``: other permissions then."""
        self._sync()
        if self._name is None:
            self._name = _passing_name(self._target.parent)
            # An absolute path: the handle that goes with it only makes Python follow the link.
            try:
                handle = self.file.fileno()
                os.link(_path_of(handle), self._name, src_dir_fd=handle, follow_symlinks=True)
            except OSError:  # a file system that never names it
                self._copy()
        if mode is not None:
            os.fchmod(self.file.fileno(), mode)
        self._name.replace(self._target)
        self._name = None

    def close(self) -> None:
        """Let go of the file; if it has not taken its place, nothing is left of it."""
        with contextlib.suppress(OSError):  # what counts was flushed
            self.file.close()
        if self._name is not None:
            with contextlib.suppress(OSError):
                self._name.unlink()

    def _sync(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())

    def _copy(self) -> None:
        with self.file as original:
            handle, self._name = _named(self._target.parent, self._mode)
            self.file = os.fdopen(handle, "w+b")
            original.seek(0)
            shutil.copyfileobj(original, self.file, COPIED)
        self._sync()


def clear(folder: Path) -> None:
    """Remove the files of passing names in a folder that no living process writes."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if PASSING.fullmatch(entry.name):
                _remove_unlocked(folder / entry.name)


def _remove_unlocked(path: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
        finally:
            os.close(handle)


def _unnamed(folder: Path, mode: int) -> int | None:
    """Open a file without a name, locked; None where it could not be had, or not be named."""
    kind = getattr(os, "O_TMPFILE", None)
    if kind is None:
        return None
    try:
        handle = os.open(folder, kind | os.O_RDWR | os.O_CLOEXEC, mode)
    except OSError:  # with a name it works, or the error is plainer
        return None
    if not Path(_path_of(handle)).exists():  # no /proc
        os.close(handle)
        return None
    _lock(handle)
    return handle


def _named(folder: Path, mode: int) -> tuple[int, Path]:
    """Open a file of a passing name, locked."""
    while True:
        path = _passing_name(folder)
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, mode)
        _lock(handle)
        if os.fstat(handle).st_nlink:
            return handle, path
        os.close(handle)  # cleared away before it was locked


def _lock(handle: int) -> None:
    with contextlib.suppress(OSError):  # a file system without locks: nothing is cleared there
        fcntl.flock(handle, fcntl.LOCK_EX)


def _passing_name(folder: Path) -> Path:
    return folder / f".manyclass-{secrets.token_hex(8)}"


def _path_of(handle: int) -> str:
    return f"/proc/self/fd/{handle}"
