"""Memory plans of training: bytes on a device and in host memory, and rows per block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from manyclass.arrays.namespace import NUMBERS_AT_A_TIME, Place
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.problem import Problem

LEAST_ROWS = 256  # least number of rows in a block
COPIES_OF_W = 8
BLOCKS = 6  # float64 numbers per row of a block and class, in certificates
BLOCKS_OF_X = 3  # blocks on the device while rows are streamed
MOST_FACTORIZED = 4096  # largest number of features for a factorized curvature


@dataclass(frozen=True, slots=True)
class Plan:
    """Memory in bytes, and the place of X and of the numbers per row and class."""

    device: str
    free: int | None  # bytes on the device, if known
    rows: int  # bytes of X; 0 if X is on the device already
    numbers: int  # n x k
    fixed: int  # W, its copies and what is factorized
    per_row: int  # of a block
    rows_of_block: int
    streams: bool = False  # X is in host memory
    numbers_on_host: bool = False

    @property
    def needed(self) -> int:
        """Bytes on the device, without an X of the user."""
        held = self.rows * (not self.streams) + self.numbers * (not self.numbers_on_host)
        return self.fixed + held + self.per_row * self.rows_of_block

    def __str__(self) -> str:
        lines = []
        if self.rows:
            where = "in host memory, streamed block by block" if self.streams else "copied once"
            lines.append(f"X {self.rows:,} bytes, {where}")
        if self.numbers:
            where = "in host memory, by blocks" if self.numbers_on_host else "there"
            lines.append(f"a number for each row and class {self.numbers:,} bytes, {where}")
        lines.append(f"weights {self.fixed:,} bytes")
        block = self.per_row * self.rows_of_block
        lines.append(f"blocks of {self.rows_of_block:,} rows {block:,} bytes")
        free = "" if self.free is None else f"; {self.free:,} bytes are free"
        return f"device {self.device}: {'; '.join(lines)}{free}"


def plan_of(
    problem: Problem, place: Place, *, n_rows: int, bytes_of_rows: int, per_row_of_x: int
) -> Plan:
    """Return the first plan that fits: all on the device, X streamed, numbers on the host, both.

    `bytes_of_rows` are those of X in host memory; 0 if it lies on the device.
    """
    data, free = problem.dataset, place.free_memory()
    d, k = data.n_features, data.n_classes
    is_admm = problem.loss == "hinge" and problem.formulation.is_separable
    square = (d + 1 if is_admm else min(d + 1, MOST_FACTORIZED)) ** 2 + min(k, MOST_FACTORIZED) ** 2
    fixed = data.dtype.itemsize * COPIES_OF_W * (d + 1) * k + 3 * 8 * square
    if isinstance(problem.base, BaseScores):
        fixed += 2 * problem.base.table.nbytes
    whole = Plan(
        device=str(place.device),
        free=free,
        rows=bytes_of_rows,
        numbers=n_rows * k * bytes_of_number(problem),
        fixed=fixed,
        per_row=8 * BLOCKS * max(k, d),
        rows_of_block=min(n_rows, max(LEAST_ROWS, NUMBERS_AT_A_TIME // max(k, d))),
    )
    plans = list(_plans(whole, BLOCKS_OF_X * per_row_of_x))
    for plan in plans:
        if free is None or plan.needed <= free:
            return plan
    least = min(plan.needed for plan in plans)
    raise MemoryError(
        f"training needs {least:,} bytes on the device {whole.device}, and {free:,} are "
        f"free: W of {d + 1:,} x {k:,} numbers and its copies take {fixed:,}; use fewer "
        "features or classes, or train on the CPU"
    )


def _plans(whole: Plan, block_of_x: int) -> Iterator[Plan]:
    """Yield plans, the best first: blocks are halved before more is left in host memory."""
    for streams, on_host in ((False, False), (True, False), (False, True), (True, True)):
        if (streams and not whole.rows) or (on_host and not whole.numbers):
            continue
        per_row, size = whole.per_row + block_of_x * streams, whole.rows_of_block
        plan = replace(whole, per_row=per_row, streams=streams, numbers_on_host=on_host)
        yield plan
        while size > LEAST_ROWS:
            size = max(LEAST_ROWS, size // 2)
            yield replace(plan, rows_of_block=size)


def bytes_of_number(problem: Problem) -> int:
    """Return the bytes per row and class."""
    sets = 1 if getattr(problem.dataset, "indicator", None) is not None else 0
    return sets + (problem.dataset.dtype.itemsize if problem.loss == "hinge" else 0)
