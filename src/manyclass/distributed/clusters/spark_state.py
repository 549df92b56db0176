"""Files of z and U of support vector machines on Spark, one beside the rows of each part.

A task may run in any process of the executor that has the rows, and more than once. So z and U of
a part are what a file says, of the number of the round, and of a round the first file counts:

    round, move_duals   from the file of the last round before, or z = U = 0 where there is none, to
                        that of this one; a task that finds this one answers from it
    any other           from the file of the last round

A process keeps z and U of one part, and takes them for the file's while this is the same file.
Files that are lost cost their part its z and U: the certificate stays true (admm.py).
"""

from __future__ import annotations

import contextlib
import os
import pickle
import uuid
from collections.abc import Sequence
from pathlib import Path

from manyclass.distributed.clusters.part import ArraySpec, Part, Plan, answer
from manyclass.distributed.rows.svm_rows import SvmRows
from manyclass.utils.types import Array

KEPT = 2  # files of the last rounds
MOVES = {SvmRows.round.__name__, SvmRows.move_duals.__name__}  # questions that change z


class CachedPart:
    """The part whose z and U this process holds."""

    def __init__(self) -> None:
        self.rows: SvmRows | None = None
        self.file: tuple[int, int] | None = None  # identity of the file that says the same

    def take(self, rows: SvmRows) -> None:
        """Hold a part, and no other one."""
        if self.rows is not rows:
            self.release()
            self.rows = rows
            rows.begin()

    def read(self, file: Path) -> bool:
        """Take over a file; return whether there is one."""
        try:
            with file.open("rb") as opened:
                status = os.fstat(opened.fileno())
                found = status.st_ino, status.st_mtime_ns
                if self.file != found:
                    assert self.rows is not None
                    self.rows.resume(pickle.load(opened))
        except FileNotFoundError:
            return False
        self.file = found
        return True

    def write(self, file: Path) -> bool:
        """Write a file, whole; return False where there is one by now."""
        assert self.rows is not None
        part = file.with_name(f"{file.name}.{uuid.uuid4().hex}")
        with part.open("wb") as opened:
            pickle.dump(self.rows.state(), opened, protocol=5)
        try:
            os.link(part, file)
        except FileExistsError:
            return False
        finally:
            part.unlink()
        status = file.stat()
        self.file = status.st_ino, status.st_mtime_ns
        return True

    def release(self) -> None:
        """Hold nothing: what was held is in its file."""
        if self.rows is not None:
            self.rows.begin()
        self.rows, self.file = None, None

    def begin(self) -> None:
        """Leave z = U = 0."""
        assert self.rows is not None
        self.rows.begin()
        self.file = None


CACHED = CachedPart()


def answer_of(
    part: Part, file: str, question: str, like: Sequence[ArraySpec], plan: Plan, *given: object
) -> list[Array]:
    """Return what a part answers whose rows are in a file."""
    rows = part.planned(plan)
    if not isinstance(rows, SvmRows):
        return answer([part], question, like, plan, *given)
    cached, rows_file = CACHED, Path(file)
    cached.take(rows)
    known = states(rows_file)
    if question not in MOVES:
        _resume(cached, known)
        return answer([part], question, like, plan, *given)
    assert isinstance(given[0], int)
    number = given[0]
    after = of_round(rows_file, number)
    if cached.read(after):
        return answer([part], question, like, plan, *given)
    before = [state for state in known if _number(state) < number]
    _resume(cached, before)
    found = answer([part], question, like, plan, *given)
    if not cached.write(after) and cached.read(after):
        found = answer([part], question, like, plan, *given)
    for old in before[KEPT - 1 :]:
        old.unlink(missing_ok=True)
    return found


def states(file: Path) -> list[Path]:
    """Return the files of all rounds of the part of a file, the last round first."""
    found = [path for path in file.parent.glob(f"{file.name}.round-*") if _number(path) >= 0]
    return sorted(found, key=_number, reverse=True)


def of_round(file: Path, number: int) -> Path:
    """Return the file of a round."""
    return file.with_name(f"{file.name}.round-{number}")


def _number(file: Path) -> int:
    """Return the number of the round; -1 where the file is not whole."""
    with contextlib.suppress(ValueError):
        return int(file.name.rpartition("-")[2])
    return -1


def _resume(cached: CachedPart, files: list[Path]) -> None:
    """Take over the first of some files that is there."""
    if not any(map(cached.read, files)):
        cached.begin()
