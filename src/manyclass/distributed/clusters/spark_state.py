"""Files of z and U of support vector machines on Spark, in the folder of the rows of each part.

A task may run in any process of the executor that has the rows, and more than once. So z and U of
a part are stored in a file for each round, and the first file of a round counts:

    round, move_duals   read the file of the previous round, or begin with z = U = 0 without one;
                        write the file of this round; a task that finds this file uses it
    other methods       read the file of the last round

A process caches z and U of one part, and uses them if the file is still the same. If files are
lost, z and U of their part restart at 0; the certificate stays correct (admm.py).
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

KEPT = 2  # number of rounds whose files are kept
MOVES = {SvmRows.round.__name__, SvmRows.move_duals.__name__}  # methods that change z


class CachedPart:
    """The part whose z and U this process holds."""

    def __init__(self) -> None:
        self.rows: SvmRows | None = None
        self.file: tuple[int, int] | None = None  # identity of the file that says the same

    def take(self, rows: SvmRows) -> None:
        """Cache a part instead of the previous one."""
        if self.rows is not rows:
            self.release()
            self.rows = rows
            rows.begin()

    def read(self, file: Path) -> bool:
        """Read a file; return whether it exists."""
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
        """Write a complete file; return False if it exists by now."""
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
        """Clear the cache, as z and U are in their file."""
        if self.rows is not None:
            self.rows.begin()
        self.rows, self.file = None, None

    def begin(self) -> None:
        """Set z = U = 0."""
        assert self.rows is not None
        self.rows.begin()
        self.file = None


CACHED = CachedPart()


def answer_of(
    part: Part, file: str, question: str, like: Sequence[ArraySpec], plan: Plan, *given: object
) -> list[Array]:
    """Return the result of a part whose rows are in a file."""
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
    """Return the files of all rounds for the part of a file, the last round first."""
    found = [path for path in file.parent.glob(f"{file.name}.round-*") if _number(path) >= 0]
    return sorted(found, key=_number, reverse=True)


def of_round(file: Path, number: int) -> Path:
    """Return the file of a round."""
    return file.with_name(f"{file.name}.round-{number}")


def _number(file: Path) -> int:
    """Return the number of the round; -1 if the file is incomplete."""
    with contextlib.suppress(ValueError):
        return int(file.name.rpartition("-")[2])
    return -1


def _resume(cached: CachedPart, files: list[Path]) -> None:
    """Read the first of some files that exists."""
    if not any(map(cached.read, files)):
        cached.begin()
