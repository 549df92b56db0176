"""What a command shares with its surroundings: arguments, messages, files, warnings, Ctrl-C.

Needs no NumPy, so that ``manyclass --help`` answers at once.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import math
import os
import signal
import stat
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn

from manyclass.unfinished import Unfinished

FAILED = 2
INTERRUPTED, BROKEN_PIPE, TERMINATED = 130, 141, 143  # as shells count signals
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


class UsageError(ValueError):
    """The command line asks for something that does not exist."""


class Parser(argparse.ArgumentParser):
    """Leaves it to ``main`` to report errors, in one line and without the usage."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing and exiting."""
        raise UsageError(f"{message}; see {self.prog} --help")


def number(text: str, convert: Callable[[str], Any], wanted: str, ok: Callable[[Any], bool]) -> Any:
    """Convert an argument, or say what was ``wanted``."""
    try:
        value = convert(text)
    except ValueError:
        value = None
    if value is None or not ok(value):
        raise argparse.ArgumentTypeError(f"must be {wanted}, not {text!r}")
    return value


positive = partial(number, convert=float, wanted="a positive number", ok=lambda v: 0 < v < math.inf)
positive_int = partial(number, convert=int, wanted="a positive integer", ok=lambda v: 0 < v < 2**63)
jobs = partial(
    number,
    convert=int,
    wanted="a number of threads up to 1024, or -1 for all cores",
    ok=lambda v: 0 < abs(v) <= 1024,
)
seed = partial(
    number, convert=int, wanted="an integer from 0 to 2^32 - 1", ok=lambda v: 0 <= v < 2**32
)


# Files


def check_target(name: str, inputs: Sequence[str], *, special: bool) -> None:
    """Check, before any work, that a file can be written; ``special``: or a device, or a pipe."""
    path = Path(name)
    if any(path.exists() and Path(other).exists() and path.samefile(other) for other in inputs):
        raise UsageError(f"{name}: is an input too and would be overwritten; choose another name")
    if special and is_special(path):  # nothing to create
        return
    with naming(f"cannot write {name}"):
        target, _ = _resolved(name)
        Unfinished(target).close()


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
        if sys.stdout is None:
            raise OSError(errno.EBADF, "is closed")
        with naming("standard output"):
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


# Messages


@contextlib.contextmanager
def plain_warnings(words: Callable[[str], str]) -> Iterator[None]:
    """Show each warning for users as one line on stderr, in these words."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        complain(f"manyclass: warning: {words(str(message))}")

    with warnings.catch_warnings():
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = show
        yield


def count(n: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def proven(relative_gap: float) -> str:
    """Return how far from the optimum at most."""
    return f"within {100 * relative_gap:.2g} % of the optimum"


def be_quiet(text: str) -> None:
    """Say nothing."""


def say(text: str) -> None:
    """Write one line to stdout."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "is closed", "standard output")
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    with naming("standard output"):
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def complain(text: str) -> None:
    """Write one line to stderr, whatever the message holds."""
    with contextlib.suppress(OSError):
        print(printable(text), file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """Return a text as one line, whatever it holds."""
    line = " ".join(text.splitlines())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def failed(text: str, code: int = FAILED) -> int:
    """Complain, and return the exit code."""
    complain(text)
    try:
        flush()
    except OSError:
        give_up_stdout()
    return code


def flush() -> None:
    """Let errors of stdout come now."""
    if sys.stdout is not None:
        sys.stdout.flush()


def give_up_stdout() -> None:
    """Let Python's own flush at exit succeed, though nobody can read stdout."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def explain(error: OSError) -> str:
    """Say in words what failed, where, and what to do."""
    where = os.fsdecode(error.filename) if error.filename else ""
    what = error.strerror or str(error) or type(error).__name__
    advice = ADVICE.get(error.errno or 0)
    text = f"{where}: {what[0].lower()}{what[1:]}" if where else what
    return f"{text}; {advice}" if advice else text


# Ctrl-C and SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM, where it is heard."""


@contextlib.contextmanager
def termination_heard() -> Iterator[None]:
    """Let SIGTERM interrupt as Ctrl-C does; at the end of the block it is a Terminated."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived = threading.Event()

    def interrupt(*_: object) -> NoReturn:
        arrived.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt as error:
        if arrived.is_set():
            raise Terminated from error
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def interrupted(error: KeyboardInterrupt) -> int:
    """Say that a signal ended the command, and what is left of its work; return the exit code."""
    terminated = isinstance(error, Terminated)
    left = "; ".join(getattr(error, "__notes__", ["nothing was written"]))
    what = "terminated" if terminated else "interrupted"
    return failed(f"manyclass: {what}; {left}", TERMINATED if terminated else INTERRUPTED)


def die_of_interrupt() -> None:
    """End this process by a signal: mpiexec ends the others then, which may wait for this one.

    By SIGTERM: MPICH's mpiexec combines the numbers of the signals that ended the ranks by OR, and
    kills the others (9); with SIGINT (2) it would tell of a segmentation fault (11).
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


@contextlib.contextmanager
def interrupt_held_back() -> Iterator[None]:
    """Let Ctrl-C wait until the end of the block, as imports may swallow or disguise it."""
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    arrived = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: arrived.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if arrived.is_set():
        raise KeyboardInterrupt
