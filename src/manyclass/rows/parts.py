"""Rows in one part or several: each is asked, and the answers are added in the same order.

No row moves: W goes to the parts, and sums come back as arrays, float32 for products with float32
rows and float64 for certificates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeAlias

import numpy as np

from manyclass.problem.problem import Problem
from manyclass.utils.types import Array

# A method of an interface of questions.py, and what it is given before the arrays to add to.
Question: TypeAlias = Callable[..., None]
Arguments: TypeAlias = "Sequence[Array | float]"
ALIGNMENT = 64  # bytes, of W and its sums in the kernels


class PartOfRows(Protocol):
    """Some rows of a problem, which answer an interface of questions.py."""

    problem: Problem
    first: int


class Parts(Protocol):
    """All rows of a problem, in one part or several."""

    @property
    def n_parts(self) -> int:
        """Number of parts."""

    def add(self, question: Question, given: Arguments, into: Sequence[Array]) -> None:
        """Add the answers of all parts to arrays, always in the same order."""

    def broadcast(self, values: Array) -> None:
        """Give every process the numbers of the first: rounding may differ between machines."""


def answer(rows: object, question: Question, given: Arguments, into: Sequence[Array]) -> None:
    """Let rows answer a question by their own method of its name."""
    getattr(rows, question.__name__)(*given, *into)


class OnePart:
    """All rows in one part.

    Parameters
    ----------
    rows : object
        Whose methods are asked.
    """

    n_parts = 1

    def __init__(self, rows: object) -> None:
        self.rows = rows

    def add(self, question: Question, given: Arguments, into: Sequence[Array]) -> None:
        """Add its answer."""
        answer(self.rows, question, given, into)

    def broadcast(self, values: Array) -> None:
        """Leave the numbers as they are."""


class LocalParts:
    """Parts in this process.

    One after the other they add to the same sums: parts that are mapped from disk are then read
    in sequential passes. Threads need sums of their own.

    Parameters
    ----------
    parts : sequence of rows
        In their order; each has a problem, and ``first``, the number of its first row.
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
        """Leave the numbers as they are."""


def zeros_like(array: Array) -> Array:
    """Return zeros of its shape, aligned as the kernels want them."""
    memory = np.zeros(array.nbytes + ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % ALIGNMENT
    zeros = memory[begin : begin + array.nbytes].view(array.dtype)
    return np.asarray(zeros.reshape(array.shape))
