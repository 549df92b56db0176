"""Rank and number of processes from the environment of mpiexec, without MPI or NumPy."""

from __future__ import annotations

import os

# Variables of MPICH and of Open MPI.
RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK")
SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")


def started() -> int:
    """Return the number of processes that were started together; 1 without mpiexec."""
    return max([1, *_numbers(SIZES)])


def is_first() -> bool:
    """Whether this process is rank 0."""
    return not any(_numbers(RANKS))


def _numbers(names: tuple[str, ...]) -> list[int]:
    return [int(os.environ[name]) for name in names if name in os.environ]
