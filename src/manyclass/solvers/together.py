"""What the solvers of several ranks share: sums over ranks, z gathered, errors that end all."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.parallel.communicator import Communicator, Serial
from manyclass.solution import Weights
from manyclass.solvers.entries import Entries

# Numbers of W that are told at a time.
PART = 1 << 20

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(slots=True)
class Findings:
    """What loops found, summed up; of the violation and the number of loops the largest."""

    gap: float = 0.0
    loss: float = 0.0
    dual_gain: float = 0.0
    evaluations: float = 0.0
    n_active: float = 0.0
    n_duals: float = 0.0
    n_visited: float = 0.0
    max_violation: float = 0.0
    loops: float = 0.0

    def add(self, other: Findings | _core.SweepResult) -> None:
        """Add what another loop found."""
        self.gap += other.gap
        self.loss += other.loss
        self.dual_gain += other.dual_gain
        self.evaluations += other.evaluations
        self.n_active += other.n_active
        self.max_violation = max(self.max_violation, other.max_violation)
        if isinstance(other, Findings):
            self.n_duals += other.n_duals
            self.n_visited += other.n_visited
            self.loops = max(self.loops, other.loops)

    def over(self, communicator: Communicator) -> Findings:
        """Return the findings of all ranks, to the last digit the same on each."""
        total = Findings()
        for values in communicator.all_gather(np.array(astuple(self), np.float64)):
            total.add(Findings(*values.tolist()))
        return total


class OfRanks:
    """What every solver of several ranks begins with.

    Parameters
    ----------
    rng : numpy.random.Generator
        In the same state on every rank.
    communicator : Communicator, default=None
        One process alone when None.

    Attributes
    ----------
    communicator : Communicator
    common, rng : numpy.random.Generator
        The same on every rank; another on each.
    """

    def __init__(self, rng: np.random.Generator, communicator: Communicator | None = None) -> None:
        self.communicator = Serial() if communicator is None else communicator
        seed = int(rng.integers(2**63))
        self.common = np.random.default_rng(seed)
        self.rng = np.random.default_rng([seed, self.communicator.rank])


def ending_all(method: F) -> F:
    """Let an error in a solver's method end all ranks, which would wait for this one for ever."""

    @wraps(method)
    def call(self: OfRanks, *args: Any, **kwargs: Any) -> Any:
        try:
            # Interrupted between two methods: the other ranks are elsewhere and will not answer.
            if isinstance(sys.exception(), KeyboardInterrupt) and self.communicator.size > 1:
                raise KeyboardInterrupt
            return method(self, *args, **kwargs)
        except FloatingPointError:  # the same on every rank
            raise
        except BaseException as error:
            self.communicator.abort(error)
            raise

    return call  # type: ignore[return-value]  # the same signature


def gather_entries(communicator: Communicator, mine: Entries) -> Entries:
    """Put together the z of all ranks, on every rank."""
    return Entries(*(np.concatenate(communicator.all_gather(part)) for part in mine))


class Block(NamedTuple):
    """W of some classes, which one rank has."""

    root: int
    classes: NDArray[Any]
    weights: Weights | None  # shape (d + 1, number of classes); None on the other ranks


def gather_weights(
    communicator: Communicator,
    blocks: list[Block],
    rows: int,
    dtype: np.dtype[Any],
    *,
    sparse: bool,
) -> Weights:
    """Return W, shape (rows, k), on every rank: an ndarray or a CSR array.

    `blocks` have every class once and are the same on all ranks, but for the weights.
    """
    order = np.concatenate([block.classes for block in blocks])
    W = np.empty((0 if sparse else rows, len(order)), dtype)
    columns = []
    for block in blocks:
        chunks = []
        size = max(1, PART // len(block.classes))
        for begin in range(0, rows, size):
            part = slice(begin, min(begin + size, rows))
            shape = part.stop - begin, len(block.classes)
            rows_of_block = None if block.weights is None else block.weights[part]
            if sparse:
                chunks.append(_told(communicator, rows_of_block, block.root, shape, dtype))
                continue
            values = np.empty(shape, dtype)
            if rows_of_block is not None:
                values[:] = rows_of_block
            communicator.broadcast(values, block.root)
            W[part, block.classes] = values
        if sparse:
            columns.append(sp.vstack(chunks, format="csr"))
    if not sparse:
        return W
    return sp.csr_array(sp.csr_array(sp.hstack(columns, format="csr"))[:, np.argsort(order)])


def _told(
    communicator: Communicator, rows: Weights | None, root: int, shape: tuple[int, int], dtype: Any
) -> sp.csr_array[Any]:
    """Tell all ranks some rows of W, as a CSR array."""
    mine = None if rows is None else sp.csr_array(rows)
    size = np.array([0 if mine is None else mine.nnz], np.int64)
    communicator.broadcast(size, root)
    kinds = (dtype, np.int32, np.int64)
    lengths = (int(size[0]), int(size[0]), shape[0] + 1)
    arrays = [np.empty(length, kind) for length, kind in zip(lengths, kinds, strict=True)]
    if mine is not None:
        arrays[0][:], arrays[1][:], arrays[2][:] = mine.data, mine.indices, mine.indptr
    for array in arrays:
        communicator.broadcast(array, root)
    return sp.csr_array(tuple(arrays), shape=shape)


def shares(n_classes: int, n_ranks: int) -> list[slice]:
    """Return the classes of each rank: neighbours, as many on each, up to one."""
    ends = np.linspace(0, n_classes, n_ranks + 1).round().astype(int).tolist()
    return [slice(first, last) for first, last in itertools.pairwise(ends)]
