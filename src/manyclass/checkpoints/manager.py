"""Checkpoints of a training in a folder: schedule, writing and cleaning.

Files ``checkpoint-000001``, ``checkpoint-000002``, ...: the newest two are kept, the older one for
the case that the newest is damaged. Where there are ranks, rank 0 alone writes and reads.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from manyclass.checkpoints.format import (
    DamagedError,
    read_checkpoint,
    save_checkpoint,
    seed_of_tensors,
    start_of_tensors,
)
from manyclass.io.atomic import check_folder, explain
from manyclass.io.tensors import Tensors, one_line
from manyclass.parallel.communicator import Communicator
from manyclass.parallel.consensus import agreed, of_first
from manyclass.parallel.exchange import broadcast_arrays
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress, Start
from manyclass.utils.fingerprints import Facts, differences

NAME = re.compile(r"checkpoint-([0-9]{6,12})")
LONGEST = 1000  # characters about what differs


def found_in(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, the newest first.

    Raises
    ------
    OSError
        If there is no such folder.
    """
    named = [path for path in folder.iterdir() if NAME.fullmatch(path.name)]
    return sorted(named, key=_number, reverse=True)


def check(folder: Path, *, resume: bool) -> None:
    """Refuse, before any work, a folder that checkpoints cannot be written to.

    Raises
    ------
    ValueError
        If there are checkpoints in it already, or with ``resume`` none.
    OSError
        If it cannot be written to.
    """
    check_folder(folder)
    found = found_in(folder) if resume or folder.exists() else []
    if found and not resume:
        raise ValueError(
            f"{folder}: holds a checkpoint of an earlier training; continue it with resume=True, "
            "or choose another folder"
        )
    if resume and not found:
        raise ValueError(f"{folder}: holds no checkpoint to resume from; begin with resume=False")


class Checkpoints:
    """The checkpoints of one training; see ``opened``.

    Parameters
    ----------
    folder : Path or None
        None: nothing is ever written.
    minutes : float
        Between two checkpoints, at least.
    facts : dict of str
        Of the problem.
    ranks : Communicator
    seed : int
        From which the random orders are drawn.
    """

    def __init__(
        self, folder: Path | None, minutes: float, facts: Facts, ranks: Communicator, seed: int
    ) -> None:
        self.folder = folder
        self.minutes = minutes
        self.facts = facts
        self.ranks = ranks
        self.seed = seed
        self.start: Start | None = None  # where training resumes
        self.newest: Path | None = None
        self._last = time.monotonic()
        self._warned = False

    def on_epoch(self, progress: Progress) -> None:
        """Write a checkpoint if it is time, by the clock of rank 0; every rank takes part."""
        if self.folder is None:
            return
        due = time.monotonic() - self._last >= 60 * self.minutes
        if of_first(self.ranks, int(due)):
            self.write(progress.start())

    def write(self, start: Start) -> None:
        """Write a checkpoint; on failure warn once, and continue training."""
        if self.folder is None or self.ranks.rank != 0:
            return
        try:
            self.add(start)
        except OSError as error:
            if not self._warned:
                warnings.warn(
                    f"a checkpoint could not be written: {explain(error)}; training continues",
                    stacklevel=2,
                )
            self._warned = True
        self._last = time.monotonic()

    def add(self, start: Start) -> None:
        """Write a checkpoint, then remove all but it and the one before.

        Raises
        ------
        OSError
        """
        assert self.folder is not None
        number = max(map(_number, found_in(self.folder)), default=0) + 1
        path = self.folder / f"checkpoint-{number:06d}"
        save_checkpoint(path, start, self.seed, self.facts)
        kept = [path, self.newest]
        self.newest = path
        for other in found_in(self.folder):
            if other not in kept:
                with contextlib.suppress(OSError):
                    other.unlink()

    def read(self, problem: Problem) -> Tensors:
        """Return the newest checkpoint that is whole.

        Raises
        ------
        ValueError
            If it is of another problem, or none is whole.
        OSError
        """
        assert self.folder is not None
        damaged: list[str] = []
        for path in found_in(self.folder):
            try:
                tensors, facts = read_checkpoint(path)
                self._check_same(path, facts)
                start_of_tensors(path, tensors, problem)
                seed_of_tensors(path, tensors)
            except DamagedError as error:
                damaged.append(str(error))
                continue
            if damaged:
                warnings.warn(f"{damaged[0]}; resuming from an older one, {path}", stacklevel=2)
            self.newest = path
            return tensors
        raise ValueError("; ".join(damaged) + "; start again in another folder")

    def _check_same(self, path: Path, facts: Facts) -> None:
        differ = one_line(differences(facts, self.facts, ("there", "here")), LONGEST)
        if differ:
            raise ValueError(f"{path}: is a checkpoint of another problem ({differ})")


@contextlib.contextmanager
def opened(
    folder: str | os.PathLike[str] | None,
    minutes: float,
    problem: Problem,
    facts: Facts,
    ranks: Communicator,
    seed: int,
    *,
    resume: bool,
    same_seed: bool,
) -> Iterator[Checkpoints]:
    """Keep the checkpoints of a training, whose ``start`` is that of an earlier one or None.

    With ``same_seed`` its ``seed`` is then that of the earlier one, too.

    Raises
    ------
    ValueError
        If the folder holds checkpoints already, with ``resume`` none or those of another problem;
        or another training writes to it.
    OSError
        If it cannot be written to.
    """
    if folder is None:
        if resume:
            raise ValueError("resume=True needs a folder of checkpoints, checkpoint=...")
        yield Checkpoints(None, minutes, facts, ranks, seed)
        return
    if not os.fspath(folder):
        raise ValueError("checkpoint must name a folder, not ''")
    checkpoints = Checkpoints(Path(folder), minutes, facts, ranks, seed)
    with contextlib.ExitStack() as stack:
        tensors = agreed(ranks, lambda: _open(stack, checkpoints, problem, resume=resume))
        if resume:
            told = broadcast_arrays(ranks, tensors)
            start = start_of_tensors(Path(folder), told, problem)
            if same_seed:
                checkpoints.seed = seed_of_tensors(Path(folder), told)
            # An empty checkpoint means a cold start.
            checkpoints.start = start if start.history or start.duals.nnz else None
        yield checkpoints


def _open(
    stack: contextlib.ExitStack, checkpoints: Checkpoints, problem: Problem, *, resume: bool
) -> Tensors:
    """On rank 0, lock the folder, and read its newest checkpoint or write the first."""
    if checkpoints.ranks.rank != 0:
        return {}
    folder = checkpoints.folder
    assert folder is not None
    check(folder, resume=resume)
    folder.mkdir(exist_ok=True)
    stack.enter_context(_held(folder))
    check(folder, resume=resume)  # another process may have written one
    if resume:
        return checkpoints.read(problem)
    data = problem.dataset
    checkpoints.add(Start.at_zero(data.n_examples, data.n_classes, data.dtype))
    return {}


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Lock a folder against other trainings; the lock is released on exit."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{folder}: another training writes its checkpoints there; wait for its end, or "
                "choose another folder"
            ) from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(descriptor)


def _number(path: Path) -> int:
    return int(path.name.rpartition("-")[2])
