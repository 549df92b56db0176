"""Checkpoints of training in a folder: schedule, writing and cleaning.

Of the files ``checkpoint-000001``, ``checkpoint-000002``, ..., the newest two are kept, in case the
newest is damaged.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from manyclass.io.atomic import check_folder, explain
from manyclass.io.tensors import Tensors, one_line
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress, Start
from manyclass.training.checkpoint_file import (
    DamagedError,
    read_checkpoint,
    save_checkpoint,
    seed_of_tensors,
    start_of_tensors,
)
from manyclass.utils.fingerprints import Facts, differences
from manyclass.utils.types import DType
from manyclass.utils.user_warning import warn_user

NAME = re.compile(r"checkpoint-([0-9]{6,12})")
LONGEST = 1000  # characters of the differences in a message


def found_in(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, the newest first.

    Raises
    ------
    OSError
        If the folder does not exist.
    """
    named = [path for path in folder.iterdir() if NAME.fullmatch(path.name)]
    return sorted(named, key=_number, reverse=True)


def check(folder: Path, *, resume: bool) -> None:
    """Refuse a folder that checkpoints cannot be written to.

    Raises
    ------
    ValueError
        If the folder holds checkpoints, or with ``resume`` none.
    OSError
        If the folder is not writable.
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
    """Hook that writes the checkpoints of one training.

    Parameters
    ----------
    folder : str or path-like, or None
        None: no checkpoints.
    minutes : float
        Minimum number of minutes between two checkpoints.
    facts : dict of str
        Facts that identify the problem.
    seed : int
        Seed of the random orders.

    Attributes
    ----------
    start : Start or None
        The state that training resumes from.
    newest : Path or None
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None, minutes: float, facts: Facts, seed: int
    ) -> None:
        if folder is not None and not os.fspath(folder):
            raise ValueError("checkpoint must name a folder, not ''")
        self.folder = None if folder is None else Path(folder)
        self.minutes = minutes
        self.facts = facts
        self.seed = seed
        self.start: Start | None = None
        self.newest: Path | None = None
        self._dtype: DType | None = None  # dtype of X
        self._last = time.monotonic()
        self._warned = False

    @contextlib.contextmanager
    def opened(self, problem: Problem, *, resume: bool, same_seed: bool) -> Iterator[Self]:
        """Lock the folder; with ``resume``, read the state of the earlier training.

        With ``same_seed``, also use the seed of the earlier training.

        Raises
        ------
        ValueError
            If the folder holds checkpoints already; with ``resume``, if it holds none or those of a
            different problem; or if a different training writes to it.
        OSError
            If the folder is not writable.
        """
        if self.folder is None:
            if resume:
                raise ValueError("resume=True needs a folder of checkpoints, checkpoint=...")
            yield self
            return
        self._dtype = problem.dataset.dtype
        with contextlib.ExitStack() as stack:
            tensors = self.open(stack, problem, resume=resume)
            if resume:
                start = start_of_tensors(self.folder, tensors, problem)
                if same_seed:
                    self.seed = seed_of_tensors(self.folder, tensors)
                # An empty checkpoint means a cold start.
                self.start = start if start.history or start.duals.nnz else None
            yield self

    def epoch(self, progress: Progress) -> bool:
        """Write a checkpoint if it is time."""
        if self.folder is not None and self.is_due():
            self.write(progress.start())
        return False

    def end(self, start: Start) -> None:
        """Write a checkpoint."""
        if self._dtype is not None:
            self.write(start.astype(self._dtype))

    def is_due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return time.monotonic() - self._last >= 60 * self.minutes

    def write(self, start: Start) -> None:
        """Write a checkpoint; on failure warn once, and continue training."""
        try:
            self.add(start)
        except OSError as error:
            if not self._warned:
                warn_user(
                    f"a checkpoint could not be written: {explain(error)}; training continues",
                )
            self._warned = True
        self._last = time.monotonic()

    def add(self, start: Start) -> None:
        """Write a checkpoint, then remove all but the newest two.

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

    def open(self, stack: contextlib.ExitStack, problem: Problem, *, resume: bool) -> Tensors:
        """Lock the folder, and read its newest checkpoint or write the first."""
        folder = self.folder
        assert folder is not None
        check(folder, resume=resume)
        folder.mkdir(exist_ok=True)
        stack.enter_context(_held(folder))
        check(folder, resume=resume)  # a different process may have written one
        if resume:
            return self._read(problem)
        data = problem.dataset
        self.add(Start.at_zero(data.n_examples, data.n_classes, data.dtype))
        return {}

    def _read(self, problem: Problem) -> Tensors:
        """Return the newest undamaged checkpoint.

        Raises
        ------
        ValueError
            If it belongs to a different problem, or all are damaged.
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
                warn_user(f"{damaged[0]}; resuming from an older one, {path}")
            self.newest = path
            return tensors
        raise ValueError("; ".join(damaged) + "; start again in a different folder")

    def _check_same(self, path: Path, facts: Facts) -> None:
        differ = one_line(differences(facts, self.facts, ("there", "here")), LONGEST)
        if differ:
            raise ValueError(f"{path}: is a checkpoint of a different problem ({differ})")


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
