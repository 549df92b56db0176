"""Checks before training on ranks: equal arguments and data, shared errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from manyclass.distributed import mpiexec
from manyclass.distributed.communicator import Communicator, as_communicator, gather_json
from manyclass.utils.fingerprints import Facts, differences, fact
from manyclass.utils.types import Settings
from manyclass.version import __version__

E = TypeVar("E", bound=BaseException)
R = TypeVar("R")


class OtherRankError(RuntimeError):
    """A different rank failed; ``reported_by`` is the rank that reports why."""

    def __init__(self, reported_by: int) -> None:
        super().__init__(f"rank {reported_by} failed; its own error says why")
        self.reported_by = reported_by


def known_to_all(error: E, rank: int) -> E:
    """Mark an error as known to all ranks, so that only one of them reports it."""
    error.reported_by = rank  # type: ignore[attr-defined]  # any exception may have it
    return error


def agreed(communicator: Communicator, step: Callable[[], R]) -> R:
    """Run a step without communication on each rank; an error on one rank ends all.

    An error has the first rank that has one as ``reported_by``; the other ranks raise
    OtherRankError.
    """
    if communicator.size == 1:
        return step()
    result, error = None, None
    try:
        result = step()
    except Exception as caught:
        error = caught
    failed = np.flatnonzero(_all_gather(communicator, int(error is not None)))
    if error is not None:
        raise known_to_all(error, int(failed[0]))
    if len(failed):
        raise OtherRankError(int(failed[0]))
    return cast(R, result)


@contextmanager
def abort_others(communicator: Communicator) -> Iterator[None]:
    """Abort all ranks if the block raises on one.

    Errors that are raised on all ranks are left to the caller: errors with ``reported_by``, and
    FloatingPointError.
    """
    try:
        yield
    except FloatingPointError:
        raise
    except BaseException as error:
        if not hasattr(error, "reported_by"):
            communicator.abort(error)
        raise


def check_same(
    communicator: Communicator, facts: Facts, shared: str = "X, y, weights and parameters"
) -> None:
    """Refuse ranks with different problems, or with other differences in shared facts.

    Every rank raises the same error: the first rank that differs from rank 0, and in what.
    """
    first, *others = gather_json(communicator, facts)
    for rank, other in enumerate(others, 1):
        differ = differences(first, other, ("on rank 0", f"on rank {rank}"))
        if differ:
            error = ValueError(
                f"rank {rank} has different data or parameters than rank 0 ({differ}); pass the "
                f"same {shared} on every rank"
            )
            raise known_to_all(error, 0)


def facts_of_rank(problem: Facts, params: Settings) -> Facts:
    """Return the facts that must be equal on all ranks: version, parameters, problem."""
    given = {name: fact(value) for name, value in params.items()}
    return {"version of manyclass": __version__, **given, **problem}


def any_of(communicator: Communicator, here: bool) -> bool:
    """Whether a condition holds on at least one rank."""
    return bool(_all_gather(communicator, int(here)).any())


def of_first(communicator: Communicator, here: int) -> int:
    """Return the number of rank 0."""
    return int(_all_gather(communicator, here)[0])


def world() -> Communicator:
    """Return all processes that mpiexec started together with this one.

    Raises ValueError if mpi4py is missing, finds no MPI library, or one that is not mpiexec's.
    """
    if mpiexec.started() == 1:
        return as_communicator(None)
    started = f"mpiexec started {mpiexec.started()} processes"
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        what = str(error).splitlines()[0]
        raise ValueError(
            f"{started}, but mpi4py cannot be used ({what}); pip install mpi4py and an "
            "MPI library, such as mpich"
        ) from error
    if MPI.COMM_WORLD.Get_size() == 1:
        raise ValueError(
            f"{started}, but mpi4py sees one; use the mpiexec of the MPI library that mpi4py uses"
        )
    return as_communicator(MPI.COMM_WORLD)


def _all_gather(communicator: Communicator, here: int) -> NDArray[np.int64]:
    return np.concatenate(communicator.all_gather(np.array([here], np.int64)))
