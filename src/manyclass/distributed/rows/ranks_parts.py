"""A part of the rows on each rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manyclass.distributed.communicator import Communicator
from manyclass.rows.parts import Arguments, PartOfRows, Question, answer, zeros_like
from manyclass.utils.types import Array


class RanksParts:
    """A part on each rank; every rank asks the same questions, and has the same sums."""

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
        answer(self.rows, question, given, own)
        for total, one in zip(into, own, strict=True):
            if one.size:
                total += self.communicator.all_sum(one)

    def broadcast(self, values: Array) -> None:
        """Give every rank the numbers of rank 0."""
        self.communicator.broadcast(values, 0)
