"""Rows in one or several parts, whose sums are added in a fixed order.

Rows are not moved: W is passed to the parts, and sums are returned as arrays, float32 for products
with float32 rows and float64 for certificates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeAlias

import numpy as np

from manyclass.problem.problem import Problem
from manyclass.utils.types import Array

# Arguments of a method in questions.py before the arrays to add to.
Question: TypeAlias = Callable[..., None]
Arguments: TypeAlias = "Sequence[Array | float]"
ALIGNMENT = 64  # alignment in bytes, of W and its sums in the kernels


class PartOfRows(Protocol):
    """Some rows of a problem, with an interface of questions.py."""

    problem: Problem
    first: int


class Parts(Protocol):
    """All rows of a problem, in one or several parts."""

    @property
    def n_parts(self) -> int:
        """Number of parts."""

    def add(self, question: Question, given: Arguments, into: Sequence[Array]) -> None:
        """Add the results of all parts to arrays, always in the same order."""

    def broadcast(self, values: Array) -> None:
        """Overwrite the numbers with those of the first process, as rounding may differ."""


def answer(rows: object, question: Question, given: Arguments, into: Sequence[Array]) -> None:
    """Call the method of the rows with the given name."""
    getattr(rows, question.__name__)(*given, *into)


class OnePart:
    """All rows in one part.

    Parameters
    ----------
    rows : object
        The rows whose methods are called.
    """

    n_parts = 1

    def __init__(self, rows: object) -> None:
        self.rows = rows

    def add(self, question: Question, given: Arguments, into: Sequence[Array]) -> None:
        """Add the results of the part to arrays."""
        answer(self.rows, question, given, into)

    def broadcast(self, values: Array) -> None:
        """Do nothing, as one process has the numbers."""


class LocalParts:
    """Parts in this process.

    Without threads, parts add to the same sums one after the other, so that parts mapped from disk
    are read sequentially. Threads have separate sums.

    Parameters
    ----------
    parts : sequence of rows
        Parts in order; each has a problem, and ``first``, the number of its first row.
    n_jobs : int, default=1
        Threads that call the parts.
    """

    def __init__(self, parts: Sequence[PartOfRows], n_jobs: int = 1) -> None:
        if not parts:
            raise ValueError("there must be at least one part")
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
        """Add the results of all parts to arrays, in the order of the parts."""
        if self.n_jobs == 1:
            for part in self.parts:
                answer(part, question, given, into)
            return

        def answer_alone(part: PartOfRows) -> list[Array]:
            own = [zeros_like(array) for array in into]
            answer(part, question, given, own)
            return own

        with ThreadPoolExecutor(self.n_jobs) as threads:
            for own in threads.map(answer_alone, self.parts):
                for total, one in zip(into, own, strict=True):
                    total += one

    def broadcast(self, values: Array) -> None:
        """Do nothing, as one process has the numbers."""


def zeros_like(array: Array) -> Array:
    """Return zeros of the same shape, aligned for the kernels."""
    memory = np.zeros(array.nbytes + ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % ALIGNMENT
    zeros = memory[begin : begin + array.nbytes].view(array.dtype)
    return np.asarray(zeros.reshape(array.shape))
