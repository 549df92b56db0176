"""Rows on several devices: each has a block of the rows; sums are added on the first device."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from manyclass.arrays.dataset import DeviceDataset
from manyclass.arrays.places.host_rows import HostRows
from manyclass.arrays.smooth.sums import SmoothRows
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.problem import Problem
from manyclass.rows.parts import Arguments, Question, answer
from manyclass.utils.types import Array


class DeviceParts:
    """Parts on devices, in the order of their rows; threads ask them at the same time.

    What is given, and the sums, lie on the device of the first.
    """

    def __init__(self, parts: Sequence[SmoothRows]) -> None:
        self.parts, first = parts, 0
        for number, part in enumerate(parts):
            part.first, part.number = first, number
            first += part.n
        self._threads = ThreadPoolExecutor(len(parts))

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.parts)

    def add(self, question: Question, given: Arguments, into: Sequence[Array]) -> None:
        """Add the results of all parts to arrays, in the order of the parts."""

        def ask(part: SmoothRows) -> list[Array]:
            sums = [_zeros_like(part, total) for total in into]
            answer(part, question, [_given_to(part, one) for one in given], sums)
            return sums

        place = self.parts[0].place
        for sums in self._threads.map(ask, self.parts):
            for total, one in zip(into, sums, strict=True):
                total += one if isinstance(total, np.ndarray) else place.taken(one)

    def broadcast(self, values: Array) -> None:
        """Do nothing, as one process has the numbers."""


def _zeros_like(part: SmoothRows, total: Array) -> Array:
    if isinstance(total, np.ndarray):
        return np.zeros_like(total)
    zeros: Array = part.place.zeros(tuple(total.shape), total.dtype)
    return zeros


def _given_to(part: SmoothRows, one: Array | float) -> Array | float:
    """Copy an array from the first device to the device of a part; keep ndarrays and numbers."""
    is_there = isinstance(one, np.ndarray) or not hasattr(one, "shape")
    return one if is_there else part.place.taken(one)


def problems_of_devices(problem: Problem) -> list[Problem]:
    """Return the problem of the rows of each device."""
    data, base = problem.dataset, problem.base
    assert isinstance(data, DeviceDataset)
    if not isinstance(data.X, HostRows) or len(data.X.places) == 1:
        return [problem]
    found = []
    for some, rows in data.X.split():
        own = base
        if isinstance(base, BaseScores):
            own = replace(base, rows=base.rows[some])
            if len(base.table) == data.n_examples:  # scores of the rows
                numbers = np.arange(len(rows), dtype=np.int32)
                own = replace(base, table=base.table[base.rows[some]], rows=numbers)
        found.append(replace(problem, dataset=data.part(some, rows), base=own))
    return found
