"""Progress of training, as a bar in a terminal or as lines, and of reading a file."""

from __future__ import annotations

import contextlib
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
# Called after each epoch: its line, the relative gap if known, and the next computation.
Show = Callable[[object, "float | None", str], None]
Clock = Callable[[], float]
LINES = 2  # value of verbose: lines in a terminal, too
# Bytes or rows read so far, and their share of the file if known.
Seen = Callable[[int, "float | None"], None]
QUICK, REFRESH = 1.0, 0.2  # seconds before the first line, and between two lines
# Columns: of a wide terminal, of the bar, and of the rest: the time, blanks, and space for the ^C
# of the terminal, which must not wrap to a new line.
WIDE, WIDE_BAR, NARROW_BAR, BESIDE_BAR = 60, 24, 10, 13


class GapScale:
    """Fraction of the way from the first gap to `tol`, on a log scale.

    Parameters
    ----------
    tol : float or None
        None if training does not stop by the gap.

    Examples
    --------
    >>> scale = GapScale(1e-4)
    >>> scale.done(1.0), scale.done(1e-2), scale.done(1e-4)
    (0.0, 0.5, 1.0)
    """

    def __init__(self, tol: float | None) -> None:
        self.tol = tol
        self.first: float | None = None

    def done(self, gap: float | None) -> float | None:
        """Return the fraction that is done; None if unknown."""
        if self.tol is None or gap is None or not math.isfinite(gap):
            return None
        if gap <= self.tol:
            return 1.0
        self.first = max(gap, self.first or 0.0)
        way = math.log(self.first / self.tol)
        return min(1.0, math.log(self.first / gap) / way)


@contextlib.contextmanager
def progress(
    verbose: int, tol: float | None = None, clock: Clock = time.monotonic
) -> Iterator[Show]:
    """Return a function that shows each epoch.

    Parameters
    ----------
    verbose : int
        0: nothing. 1: a bar if standard output is a terminal, else lines.
        2: lines.
    tol : float, default=None
        The relative gap at which training ends.
    clock : callable, default=time.monotonic
        Returns a time in seconds.
    """
    if not verbose:
        yield _be_quiet
    elif verbose >= LINES or sys.stdout is None or not sys.stdout.isatty():
        yield _print
    else:
        with _bar(GapScale(tol), clock) as show:
            yield show


def _be_quiet(_line: object, _gap: float | None, _then: str) -> None:
    """Show nothing."""


def _print(line: object, _gap: float | None, _then: str) -> None:
    print(line, flush=True)


@contextlib.contextmanager
def _bar(scale: GapScale, clock: Clock) -> Iterator[Show]:
    """Draw a bar; end with the line of the last epoch."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    console = Console(file=sys.stdout, highlight=False)
    bar_width = WIDE_BAR if console.width >= WIDE else NARROW_BAR
    words = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True))
    columns = BarColumn(bar_width), TimeElapsedColumn(), words
    n_epochs, last = 0, None
    with Progress(*columns, console=console, get_time=clock, transient=True) as drawn:
        task = drawn.add_task("", total=None)

        def show(line: object, gap: float | None, then: str) -> None:
            nonlocal n_epochs, last
            n_epochs, last = n_epochs + 1, line
            room = max(0, console.width - bar_width - BESIDE_BAR)
            done = scale.done(gap)
            if done is None:
                drawn.update(task, description=" ".join(str(line).split())[:room])
                return
            left = _left(drawn.tasks[0].elapsed or 0.0, done)
            known = ", ".join(filter(None, [f"gap {gap:.1e}", then]))
            words = _words(n_epochs, known, scale.tol, left, room)
            drawn.update(task, total=1.0, completed=done, description=words)

        yield show
    if n_epochs:
        print(last, flush=True)


def _words(epoch: int, gap: str, tol: float | None, left: str, room: int) -> str:
    """Return the longest text that fits."""
    whole = ", ".join(filter(None, [f"epoch {epoch}, {gap}, to go to {tol:g}", left]))
    texts = whole, ", ".join(filter(None, [gap, left.removeprefix("about ")])), left or gap
    return next((text for text in texts if len(text) <= room), "")


def _left(seconds: float, done: float | None) -> str:
    """Return an estimate of the remaining time, once enough of the way is done."""
    if not done or done < 0.1 or done >= 1.0:
        return ""
    return f"about {seconds * (1 - done) / done:.0f} s left"


@contextlib.contextmanager
def reading(
    verbose: int, name: str, unit: str = "bytes", clock: Clock = time.monotonic
) -> Iterator[Seen]:
    """Return a function that shows the progress of reading a file, on one line.

    The line is shown on standard error, if that is a terminal, after a second, and cleared at the
    end.

    Parameters
    ----------
    verbose : int
        0: nothing.
    name : str
        Name of the file.
    unit : {"bytes", "rows"}, default="bytes"
        Unit of the progress.
    clock : callable, default=time.monotonic
        Returns a time in seconds.
    """
    if not verbose or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _amount, _share: None
        return
    began = shown = clock()
    width = shutil.get_terminal_size().columns - 1

    def write(text: str) -> None:
        sys.stderr.write(f"\r{text[:width]:{width}}\r")
        sys.stderr.flush()

    def see(amount: int, share: float | None) -> None:
        nonlocal shown
        now = clock()
        if now - began >= QUICK and now - shown >= REFRESH:
            shown = now
            count = f"{amount / 1e6:,.0f} MB" if unit == "bytes" else f"{amount:,} rows"
            known = [] if share is None else [f"{100 * share:.0f} %", _left(now - began, share)]
            write(", ".join(filter(None, [f"reading {Path(name).name}: {count}", *known])))

    try:
        yield see
    finally:
        if shown > began:
            write("")


def counted(
    items: Iterable[T], see: Seen, count: Callable[[T], int], total: int = 0
) -> Iterator[T]:
    """Yield items, and report their total size so far, and the share of a total if known."""
    amount = 0
    for item in items:
        amount += count(item)
        see(amount, amount / total if total else None)
        yield item
