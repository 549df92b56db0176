"""Rounds of a loop: one by one or, on an NVIDIA GPU, as CUDA graphs.

A round consists of about fifteen kernels, each of which takes less time than its launch from
Python. A graph launches all of them at once. It has a fixed number of rows: graphs are captured for
a few sizes, and a round uses the next larger size, with padding rows that have no effect.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Protocol

from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.svm.row_visits import RowVisits
from manyclass.utils.types import DeviceArray

Round = Callable[[DeviceArray], tuple[DeviceArray, DeviceArray]]  # theta and gap of some rows
LOOK_EVERY = 16  # rounds between two reads of theta, each of which waits for the device
GROWTH = 1.3  # factor between two sizes of graphs
LEAST_SIZE, MOST_SIZE, SHARE = 64, 512, 16  # sizes are at most max(MOST_SIZE, n / SHARE)


class Rounds(Protocol):
    """The rounds of a loop."""

    def begin(self, order: DeviceArray) -> None:
        """Begin a loop over rows in this order."""

    def run(self, begin: int, n: int, *, is_whole: bool) -> Sequence[float]:
        """Run a round of n rows; return the known theta of earlier complete rounds."""

    def end(self) -> float:
        """Return the sum of the gaps of the loop."""


def rounds_of(step: Round, visits: RowVisits, rows: ArrayRows) -> Rounds:
    """Return the implementation of rounds for the device of the rows."""
    n_rows: DeviceArray = getattr(visits, "n_rows", None)
    # Graphs of temporary regions would be captured again each time.
    if n_rows is not None and rows.is_whole and str(rows.place.device).startswith("cuda"):
        return CapturedRounds(step, n_rows, rows)
    return EagerRounds(step, n_rows, rows)


class EagerRounds(Rounds):
    """Rounds one by one; ``n_rows``, shape (1,), is set where visits want the number of rows."""

    def __init__(self, step: Round, n_rows: DeviceArray, rows: ArrayRows) -> None:
        self._step, self._n_rows, self._place = step, n_rows, rows.place

    def begin(self, order: DeviceArray) -> None:
        """Begin a loop."""
        self._order = order
        self._gaps: list[DeviceArray] = []
        self._before: DeviceArray = None

    def run(self, begin: int, n: int, *, is_whole: bool) -> Sequence[float]:
        """Run a round; return theta of the previous round, without waiting."""
        if self._n_rows is not None:
            self._n_rows[:] = n
        theta, gap = self._step(self._order[begin : begin + n])
        self._gaps.append(gap)
        known, self._before = self._before, theta if is_whole else None
        return [] if known is None else [float(known)]

    def end(self) -> float:
        """Return the sum of the gaps."""
        xp = self._place.xp
        return float(xp.sum(xp.stack(self._gaps))) if self._gaps else 0.0


class CapturedRounds(Rounds):
    """Rounds as CUDA graphs; parameters as in ``EagerRounds``."""

    def __init__(self, step: Round, n_rows: DeviceArray, rows: ArrayRows) -> None:
        self._torch: ModuleType = sys.modules["torch"]
        self._step, self._n_rows, self._place = step, n_rows, rows.place
        self._n = rows.n
        self._graphs: dict[int, tuple[DeviceArray, DeviceArray]] = {}  # graph, its rows
        self._pool = self._torch.cuda.graph_pool_handle()
        self._sum = rows.place.zeros((), rows.xp.float64)
        self._thetas = rows.place.zeros((LOOK_EVERY,), rows.dtype)
        self._at = rows.place.zeros((1,), rows.xp.int64)

    def begin(self, order: DeviceArray) -> None:
        """Begin a loop."""
        n_more = min(int(GROWTH * len(order)) + LEAST_SIZE, max(MOST_SIZE, self._n // SHARE))
        padding = order[:1].repeat(n_more)
        self._order = self._torch.cat([order, padding])
        self._sum.zero_()
        self._at.zero_()
        self._whole: list[bool] = []

    def run(self, begin: int, n: int, *, is_whole: bool) -> Sequence[float]:
        """Run a round; from time to time, return the thetas of the last ones."""
        graph, rows = self._graph(self._size(n))
        rows.copy_(self._order[begin : begin + rows.shape[0]])
        self._n_rows.fill_(n)
        graph.replay()
        self._whole.append(is_whole)
        return self._known() if len(self._whole) == LOOK_EVERY else []

    def end(self) -> float:
        """Return the sum of the gaps."""
        return float(self._sum)

    def _known(self) -> Sequence[float]:
        """Return the thetas of the last complete rounds."""
        thetas = self._thetas.tolist()
        self._at.zero_()
        found = [theta for theta, whole in zip(thetas, self._whole, strict=True) if whole]
        self._whole = []
        return found

    @staticmethod
    def _size(n: int) -> int:
        """Return the size of the graph for n rows."""
        size = LEAST_SIZE
        while size < n:
            size = int(GROWTH * size)
        return size

    def _graph(self, size: int) -> tuple[DeviceArray, DeviceArray]:
        """Return the graph for a number of rows; it is captured on first use."""
        if size in self._graphs:
            return self._graphs[size]
        torch, rows = self._torch, self._order[:1].repeat(size)
        self._n_rows.zero_()  # so that nothing changes while kernels are compiled
        stream = torch.cuda.Stream(rows.device)
        stream.wait_stream(torch.cuda.current_stream(rows.device))
        with torch.cuda.stream(stream):
            for _ in range(2):
                self._step(rows)
        torch.cuda.current_stream(rows.device).wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        how = {"pool": self._pool, "stream": stream, "capture_error_mode": "thread_local"}
        with torch.cuda.graph(graph, **how):
            theta, gap = self._step(rows)
            self._sum.add_(gap)
            self._thetas.index_copy_(0, self._at, theta.reshape(1))
            self._at.add_(1)
        self._graphs[size] = graph, rows
        return self._graphs[size]
