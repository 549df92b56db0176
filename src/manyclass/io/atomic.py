"""Write files atomically: a file gets its name when it is complete.

Until then, it has no name (O_TMPFILE) if the system supports this, or else a hidden temporary name.
Its writer locks it, so a temporary file without a lock belongs to a killed process; the next writer
in the same folder removes it. Does not import NumPy, so that ``manyclass --help`` is fast.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

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
    errno.ENOMEM: "free memory, or raise ulimit -v, which includes memory-mapped files",
    errno.ENAMETOOLONG: "choose a shorter name",
}
TEMPORARY_NAME = re.compile(r"\.manyclass-[0-9a-f]{16}")
COPIED = 1 << 24  # bytes at a time


def check_folder(folder: Path) -> None:
    """Check that a folder is writable, or that it can be created."""
    with naming(f"cannot write to {folder}"):
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "is not a folder")
        AtomicFile(folder / "file" if folder.is_dir() else folder.resolve()).close()


def check_path_first(path: object, call: str) -> None:
    """Refuse arguments in the wrong order.

    Parameters
    ----------
    path : object
        The first argument.
    call : str
        The right order, such as "save_model(path, model)".

    Raises
    ------
    TypeError
        If it is not a path.
    """
    if not isinstance(path, str | os.PathLike):
        shown = repr(path) if isinstance(path, int | float | None) else type(path).__name__
        name = call.partition("(")[0]
        raise TypeError(f"{name} takes a path, not {shown}; the path comes first: {call}")


def is_special(path: Path) -> bool:
    """Whether a path is a device, pipe or similar, which is written to instead of replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def open_regular(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file for reading, but no pipe or device, which may never end."""
    if is_special(Path(path)):
        raise OSError(errno.EINVAL, "is not a regular file", os.fspath(path))
    return Path(path).open("rb")


def is_stdout(name: str) -> bool:
    """Whether a name means standard output."""
    return name == "-" or str(Path(name).absolute()) in STDOUT


@contextlib.contextmanager
def replacement(name: str) -> Iterator[IO[bytes]]:
    """Yield a file to write; once complete and on disk, it replaces ``name``.

    Links are followed, and the permissions of an existing file are kept. After an error, nothing
    has changed; after a kill -9, the next writer in the folder removes the temporary file. An
    OSError names ``name``.
    """
    with naming(name):
        target, mode = resolved(name)
        # No more permissions than the final file, but the owner must be able to write.
        new = AtomicFile(target, 0o666 if mode is None else mode | 0o600)
        with contextlib.closing(new):
            yield new.file
            new.commit(mode)


def reserve(handle: int, size: int) -> None:
    """Allocate the space of an open file, so that a full disk raises an error before any work."""
    try:
        os.posix_fallocate(handle, 0, max(size, 1))
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
        # The file system does not support it.
        os.ftruncate(handle, size)


@contextlib.contextmanager
def output(name: str) -> Iterator[IO[bytes]]:
    """Open a file that gets its name when it is complete; or stdout, or a device."""
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
    """Use the name given by the user in errors of the system."""
    try:
        yield
    except OSError as error:
        error.filename = name
        del error.filename2  # None would be shown
        raise


def resolved(name: str) -> tuple[Path, int | None]:
    """Return the target of a file's links, and the permissions of an existing file."""
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
    """Return a message for an OSError: place, problem, advice."""
    where = os.fsdecode(error.filename) if error.filename else ""
    what = error.strerror or str(error) or type(error).__name__
    advice = ADVICE.get(error.errno or 0)
    text = f"{where}: {what[0].lower()}{what[1:]}" if where else what
    return f"{text}; {advice}" if advice else text


class AtomicFile:
    """A temporary file that replaces its target when it is complete.

    The target is unchanged until then. ``mode`` are the permissions until then; the umask counts.
    """

    def __init__(self, target: Path, mode: int = 0o666) -> None:
        clear(target.parent)
        self._target, self._mode = target, mode
        self._name: Path | None = None
        handle = _unnamed(target.parent, mode)
        if handle is None:
            handle, self._name = _named(target.parent, mode)
        self.file: IO[bytes] = os.fdopen(handle, "w+b")  # empty, for writing and reading

    def commit(self, mode: int | None) -> None:
        """Flush the file to disk, set its permissions to ``mode`` and rename it to its target."""
        self._sync()
        if self._name is None:
            self._name = _temporary_name(self._target.parent)
            # The path is absolute; src_dir_fd only makes Python follow the link.
            try:
                handle = self.file.fileno()
                os.link(_path_of(handle), self._name, src_dir_fd=handle, follow_symlinks=True)
            except OSError:  # a file system without such links
                self._copy()
        if mode is not None:
            os.fchmod(self.file.fileno(), mode)
        self._name.replace(self._target)
        self._name = None

    def close(self) -> None:
        """Close the file; remove it unless it has replaced its target."""
        with contextlib.suppress(OSError):  # the content was flushed
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
    """Remove the temporary files in a folder that no process has locked."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if TEMPORARY_NAME.fullmatch(entry.name):
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
    """Open a locked file without a name; return None if this is impossible."""
    kind = getattr(os, "O_TMPFILE", None)
    if kind is None:
        return None
    try:
        handle = os.open(folder, kind | os.O_RDWR | os.O_CLOEXEC, mode)
    except OSError:  # a named file works, or gives a clearer error
        return None
    if not Path(_path_of(handle)).exists():  # no /proc
        os.close(handle)
        return None
    _lock(handle)
    return handle


def _named(folder: Path, mode: int) -> tuple[int, Path]:
    """Open a locked file with a temporary name."""
    while True:
        path = _temporary_name(folder)
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, mode)
        _lock(handle)
        if os.fstat(handle).st_nlink:
            return handle, path
        os.close(handle)  # a different process removed it before it was locked


def _lock(handle: int) -> None:
    with contextlib.suppress(OSError):  # a file system without locks, where nothing is cleared
        fcntl.flock(handle, fcntl.LOCK_EX)


def _temporary_name(folder: Path) -> Path:
    return folder / f".manyclass-{secrets.token_hex(8)}"


def _path_of(handle: int) -> str:
    return f"/proc/self/fd/{handle}"
