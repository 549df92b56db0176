"""Parts of the rows of a problem (solvers/logistic/row_sums.py, svm_rows.py), where they are.

No row moves: W goes to the parts, and sums come back as arrays, float32 for products with float32
rows and float64 for certificates. Sums of parts are added in the same order every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np

from manyclass.distributed.communicator import Communicator
from manyclass.distributed.rows.svm_rows import SvmRows
from manyclass.solvers.logistic.row_sums import Arguments, LogisticRows, Question
from manyclass.utils.types import Array

PartOfRows: TypeAlias = LogisticRows | SvmRows
ALIGNMENT = 64  # bytes, of W and its sums in the kernels


class LocalParts:
    """Parts in this process.

    One after the other they add to the same sums: parts that are mapped from disk are then read
    in sequential passes. Threads need sums of their own.

    Parameters
    ----------
    parts : sequence of LogisticRows or of SvmRows
        In the order of the rows.
    n_jobs : int, default=1
        Threads that ask the parts.
    """

    def __init__(self, parts: Sequence[PartOfRows], n_jobs: int = 1) -> None:
        if not parts:
            raise ValueError("there must be a part at least")
        self.parts, self.n_jobs = parts, n_jobs
        first = 0
        for part in parts:
            part.first = first
            first += part.problem.dataset.n_examples

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.parts)

    def add(self, question: Question, given: Arguments, into: Sequence[Array]) -> None:
        """Add the answers of all parts to arrays, in the order of the parts."""
        if self.n_jobs == 1:
            for part in self.parts:
                question(part, *given, *into)
            return

        def answer(part: PartOfRows) -> list[Array]:
            own = [zeros_like(array) for array in into]
            question(part, *given, *own)
            return own

        with ThreadPoolExecutor(self.n_jobs) as threads:
            for own in threads.map(answer, self.parts):
                for total, one in zip(into, own, strict=True):
                    total += one

    def broadcast(self, values: Array) -> None:
        """Leave the numbers as they are."""


class RanksParts:
    """A part on each rank; every rank asks the same questions, and has the same sums.

    Parameters
    ----------
    communicator : Communicator
    rows : LogisticRows or SvmRows
        Of this rank.
    """

    def __init__(self, communicator: Communicator, rows: PartOfRows) -> None:
        self.communicator, self.rows = communicator, rows
        counts = communicator.all_gather(np.array([rows.problem.dataset.n_examples], np.int64))
        rows.first = sum(int(count[0]) for count in counts[: communicator.rank])

    @property
    def n_parts(self) -> int:
        """Number of ranks."""
        return self.communicator.size

    def add(self, question: Question, given: Arguments, into: Sequence[Array]) -> None:
        """Add the answers of all ranks to arrays."""
        own = [zeros_like(array) for array in into]
        question(self.rows, *given, *own)
        for total, one in zip(into, own, strict=True):
            if one.size:
                total += self.communicator.all_sum(one)

    def broadcast(self, values: Array) -> None:
        """Give every rank the numbers of rank 0."""
        self.communicator.broadcast(values, 0)


def zeros_like(array: Array) -> Array:
    """Return zeros of its shape, aligned as the kernels want them."""
    memory = np.zeros(array.nbytes + ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % ALIGNMENT
    zeros = memory[begin : begin + array.nbytes].view(array.dtype)
    return np.asarray(zeros.reshape(array.shape))
