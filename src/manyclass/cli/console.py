"""Console of a command: types of arguments, messages, warnings, SIGINT and SIGTERM.

Does not import NumPy, so that ``manyclass --help`` is fast.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import math
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn, TypeVar

from manyclass.io.atomic import AtomicFile, is_special, naming, resolved
from manyclass.utils.suggestions import meant

FAILED = 2
INTERRUPTED, BROKEN_PIPE, TERMINATED = 130, 141, 143  # exit codes of signals, as in shells
T = TypeVar("T")
Say = Callable[[str], None]  # logs a line
CHOICES = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")
# Options of LIBLINEAR's programs, and the options that replace them.
OF_LIBLINEAR = {
    "-s": "--formulation (4: crammer_singer; 1, 2, 3: one_vs_rest; 0, 7: logistic)",
    "-c": "-C",
    "-e": "--tol (a relative duality gap; with --stopping kkt LIBLINEAR's)",
    "-B": "--bias",
    "-v": "manyclass cv --folds N",
    "-w": "--class-weight LABEL=W",
    "-q": "--quiet",
    "-R": "none (see --bias)",
    "-n": "--jobs",
    "-m": "--jobs",
    "-b": "manyclass predict --probabilities",
    "-p": "none (regression is not supported)",
}


class UsageError(ValueError):
    """Invalid command line."""


class CommandParser(argparse.ArgumentParser):
    """Parser that raises UsageError; ``main`` reports errors in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing and exiting."""
        found = CHOICES.search(message)
        hint = meant(found[1], re.findall(r"'([^']*)'", found[2])) if found else ""
        raise UsageError(f"{message}{hint}; see {self.prog} --help")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Raise an error for unrecognized arguments, with advice."""
        known = [option for action in self._actions for option in action.option_strings]
        flags = [word for word in words if word.startswith("-")]
        habits = [f"{word} is {here}" for word in flags if (here := _of_liblinear(word))]
        names = [word.partition("=")[0] for word in flags]
        hint = next(filter(None, (meant(name, known) for name in names)), "")
        if habits:
            hint = f"; LIBLINEAR's options: {', '.join(habits)}"
        self.error(f"unrecognized arguments: {' '.join(flags or words)}{hint}")


def _of_liblinear(flag: str) -> str | None:
    """Return the replacement of an option of LIBLINEAR, which may end with a label, or None."""
    return OF_LIBLINEAR.get(flag[:2] if flag[2:].lstrip("-").isdecimal() else flag)


def number(text: str, convert: Callable[[str], T], wanted: str, ok: Callable[[T], bool]) -> T:
    """Convert an argument to a number; errors describe the ``wanted`` values."""
    try:
        value = convert(text)
    except ValueError:
        value = None
    if value is None or not ok(value):
        raise argparse.ArgumentTypeError(f"must be {wanted}, not {text!r}")
    return value


positive = partial(number, convert=float, wanted="a positive number", ok=lambda v: 0 < v < math.inf)
not_negative = partial(
    number, convert=float, wanted="a number of at least 0", ok=lambda v: 0 <= v < math.inf
)
finite = partial(number, convert=float, wanted="a finite number", ok=math.isfinite)
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


def check_target(name: str, inputs: Sequence[str], *, special: bool) -> None:
    """Check, before any work, that a file can be written, or a device or pipe if ``special``."""
    path = Path(name)
    if any(path.exists() and Path(other).exists() and path.samefile(other) for other in inputs):
        raise UsageError(f"{name}: is an input too and would be overwritten; choose another name")
    if special and is_special(path):  # the file exists
        return
    with naming(f"cannot write {name}"):
        target, _ = resolved(name)
        AtomicFile(target).close()


@contextlib.contextmanager
def plain_warnings(words: Callable[[str], str]) -> Iterator[None]:
    """Show each warning for users as one line on stderr, with ``words`` applied."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print_error(f"manyclass: warning: {words(str(message))}")

    with warnings.catch_warnings():
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = show
        yield


def count(n: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def proven(relative_gap: float) -> str:
    """Return a proven relative gap in words."""
    return f"within {100 * relative_gap:.2g} % of the optimum"


def shows_progress(args: argparse.Namespace) -> int:
    """Return 1 if a command shows the progress of reading a file, as a value of ``verbose``."""
    return 0 if getattr(args, "quiet", False) or getattr(args, "json", False) else 1


def silent(text: str) -> None:
    """Print nothing."""


def say(text: str) -> None:
    """Write one line to stdout."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "is closed", "standard output")
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    with naming("standard output"):
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def print_error(text: str) -> None:
    """Write a message of any content to stderr, as one line."""
    with contextlib.suppress(OSError):
        print(printable(text), file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """Return a text of any content as one line."""
    line = " ".join(text.splitlines())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def failed(text: str, code: int = FAILED) -> int:
    """Print an error, and return the exit code."""
    print_error(text)
    try:
        flush()
    except OSError:
        discard_stdout()
    return code


def flush() -> None:
    """Flush stdout, so that its errors are raised here."""
    if sys.stdout is not None:
        sys.stdout.flush()


def discard_stdout() -> None:
    """Redirect stdout to the null device, so that Python's flush at exit succeeds."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


class Terminated(KeyboardInterrupt):
    """Interrupt by SIGTERM."""


@contextlib.contextmanager
def termination_handled() -> Iterator[None]:
    """Turn SIGTERM into a KeyboardInterrupt; the block raises it as Terminated."""
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
    """Report the interruption and the state of the output; return the exit code."""
    terminated = isinstance(error, Terminated)
    left = "; ".join(getattr(error, "__notes__", ["nothing was written"]))
    what = "terminated" if terminated else "interrupted"
    return failed(f"manyclass: {what}; {left}", TERMINATED if terminated else INTERRUPTED)


def exit_by_signal() -> None:
    """End this process by a signal, so that mpiexec ends the other ranks, which may be waiting.

    The signal is SIGTERM. MPICH's mpiexec kills the other ranks (9) and reports the bitwise OR of
    all signal numbers; with SIGINT (2) it would report a segmentation fault (11).
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


@contextlib.contextmanager
def interrupt_held_back() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block, as imports may swallow it."""
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
