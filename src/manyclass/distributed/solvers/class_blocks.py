"""Class blocks: their classes and columns, and their exchange between ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.distributed.communicator import Communicator, exchange_lists
from manyclass.distributed.sharded_weights import Block, ShardedWeights
from manyclass.distributed.solvers.coo_duals import CooDuals
from manyclass.distributed.solvers.round_robin import Move, Schedule, balanced_blocks
from manyclass.problem.dataset import Dataset
from manyclass.problem.solution import Weights
from manyclass.solvers.weights.storage import BLOCK_BYTES, allocate_weights
from manyclass.utils.machine import core_class
from manyclass.utils.types import Array

# Elements of dense W per message; least number of rows of tables per message.
MESSAGE_ELEMENTS = 1 << 20
SPARSE_ROWS = 1 << 12


@dataclass(frozen=True, slots=True, eq=False)
class ClassBlocks:
    """The classes of each class block, and the class block of each class.

    Classes of a block are in random order: if W is in tables, these fill evenly.
    """

    classes: list[NDArray[np.int32]]
    block_of: NDArray[np.int32]  # of each class
    place_of: NDArray[np.int32]  # of each class in its block

    @classmethod
    def from_work(
        cls, work: NDArray[np.float64], n_blocks: int, rng: np.random.Generator
    ) -> ClassBlocks:
        """Partition the classes into random class blocks, balanced by number and by work."""
        classes = [rng.permutation(some) for some in balanced_blocks(work, n_blocks, rng)]
        block_of = np.empty(len(work), np.int32)
        place_of = np.empty(len(work), np.int32)
        for block, some in enumerate(classes):
            block_of[some] = block
            place_of[some] = np.arange(len(some), dtype=np.int32)
        return cls(classes, block_of, place_of)


class ClassBlockStore:
    """W of the class blocks that this rank holds, with their own z; exchanged between ranks.

    A rank has room for two class blocks: slots side by side in one array of shape (d + 1, 2 width),
    so that the kernels see one W. With `dense_from`, W is held in tables, where a plain row
    replaces one with a slot for so many classes.
    """

    def __init__(
        self,
        communicator: Communicator,
        schedule: Schedule,
        data: Dataset,
        dense_from: int | None = None,
    ) -> None:
        self._communicator = communicator
        self._schedule = schedule
        self._dtype = data.dtype
        self._at = 0
        per_block = BLOCK_BYTES // data.dtype.itemsize
        largest = -(-data.n_classes // schedule.n_blocks)
        self.width = -(-largest // per_block) * per_block
        self._n_rows = data.n_features + 1
        self.weights: Array | _core.PairTables64
        if dense_from is None:
            _, self.weights = allocate_weights(self._n_rows, 2 * self.width, data.dtype)
        else:
            tables_of = core_class("PairTables", data.dtype)
            self.weights = tables_of(self._n_rows, self.width, dense_from)
        self.slots: dict[int, int] = {}
        self.own_duals: dict[int, CooDuals] = {}
        self.bytes_sent = 0

    def begin(self, blocks: ClassBlocks) -> None:
        """Initialize the class blocks of the first round with W = 0."""
        self.blocks = blocks
        self._at = 0
        if isinstance(self.weights, np.ndarray):
            self.weights.fill(0)
        else:
            self.weights.clear()
        self.slots = {block: slot for slot, block in enumerate(self.held)}
        self.own_duals = {}

    @property
    def held(self) -> tuple[int, ...]:
        """The class blocks that this rank holds."""
        return self._schedule.rounds[self._at][self._communicator.rank]

    @property
    def is_first(self) -> bool:
        """Whether this is the first round of an epoch."""
        return self._at == 0

    def columns_of(self) -> NDArray[np.int32]:
        """Column of every class, -1 if it is not on this rank, shape (k,)."""
        columns = np.full(len(self.blocks.block_of), -1, np.int32)
        for block, slot in self.slots.items():
            classes = self.blocks.classes[block]
            columns[classes] = slot * self.width + np.arange(len(classes), dtype=np.int32)
        return columns

    def classes_of(self) -> NDArray[np.int32]:
        """Class of every column, -1 if it has none, shape (2 width,)."""
        classes = np.full(2 * self.width, -1, np.int32)
        columns = self.columns_of()
        held = np.flatnonzero(columns >= 0)
        classes[columns[held]] = held
        return classes

    def run(self, visit_pair: Callable[[], None]) -> None:
        """Visit all pairs, one after the other on each rank."""
        for at in range(len(self._schedule.rounds)):
            if at:
                self._go(self._schedule.move(at - 1, self._communicator.rank))
                self._at = at
            visit_pair()

    def squared_norm(self) -> float:
        """Return ||W||^2 of the class blocks that this rank holds."""
        if isinstance(self.weights, np.ndarray):
            return _core.sum_of_squares(self.weights)
        return float(self.weights.squared_norm())

    def intercepts(self) -> Array:
        """Return the last row of W, perhaps without zeros."""
        if isinstance(self.weights, np.ndarray):
            return np.asarray(self.weights[-1])
        return np.asarray(self.weights.intercepts())

    def sharded(self, *, sparse: bool) -> ShardedWeights:
        """Return W, shape (d + 1, k), in its sharded form."""
        blocks = []
        for root, held in enumerate(self._schedule.rounds[self._at]):
            for block in held:
                W = self._columns(block) if block in self.slots else None
                blocks.append(Block(root, self.blocks.classes[block], W))
        return ShardedWeights(self._communicator, blocks, self._n_rows, self._dtype, sparse=sparse)

    def _columns(self, block: int) -> Weights:
        """Return W of a class block on this rank, a view or, from tables, a CSR array."""
        slot, size = self.slots[block], len(self.blocks.classes[block])
        if isinstance(self.weights, np.ndarray):
            first = slot * self.width
            return self.weights[:, first : first + size]
        counts, columns, values = _core.read_rows(self.weights, slot, 0, self._n_rows, drop=False)
        indptr = np.append(0, np.cumsum(counts, dtype=np.int64))
        # A dense row is sent without column numbers.
        is_whole = np.repeat(counts == self.width, counts)
        places = np.empty(len(values), np.int32)
        places[~is_whole] = columns
        places[is_whole] = np.arange(np.count_nonzero(is_whole)) % self.width
        W = sp.csr_array((values, places, indptr), shape=(self._n_rows, self.width))
        W.eliminate_zeros()
        return sp.csr_array(W[:, :size])

    def _parts(self) -> Iterator[tuple[int, int]]:
        rows, size = self._n_rows, max(1, MESSAGE_ELEMENTS // self.width)
        if not isinstance(self.weights, np.ndarray):
            size = max(SPARSE_ROWS, size)
        return ((begin, min(begin + size, rows)) for begin in range(0, rows, size))

    def _go(self, move: Move) -> None:
        """Send and receive the class blocks that the next round needs."""
        slot = 0
        if move.outgoing is not None:
            slot = self.slots.pop(move.outgoing)
        elif self.slots:
            slot = 1 - next(iter(self.slots.values()))
        self._exchange_weights(move, slot)
        kinds = [np.dtype(np.int32), np.dtype(np.int32), self._dtype]
        leaving = [] if move.outgoing is None else list(self.own_duals.pop(move.outgoing))
        came = exchange_lists(self._communicator, leaving, move.destination, kinds, move.source)
        if move.incoming is not None:
            self.slots[move.incoming] = slot
            self.own_duals[move.incoming] = CooDuals(*came)

    def _exchange_weights(self, move: Move, slot: int) -> None:
        """Send the content of a slot and fill it with the received one, some rows at a time.

        A slot without a class block holds zeros.
        """
        if move.destination is None and move.source is None:
            return
        kinds = [np.dtype(np.int32), np.dtype(np.int32), self._dtype]
        for begin, end in self._parts():
            leaving: list[Array] = []
            if move.destination is not None:
                leaving = list(_core.read_rows(self.weights, slot, begin, end, drop=True))
            came = exchange_lists(self._communicator, leaving, move.destination, kinds, move.source)
            if move.source is not None:
                _core.put_rows(self.weights, slot, begin, *came)
            self.bytes_sent += sum(array.nbytes for array in leaving)
