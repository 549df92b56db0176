"""Bundles of classes: which classes and columns are theirs, and how they go round the ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyclass.dataset import Dataset
from manyclass.parallel.communicator import Communicator
from manyclass.parallel.schedule import Move, Schedule, balanced_bundles
from manyclass.parallel.travel import exchange, exchange_lists
from manyclass.solution import Weights
from manyclass.solvers.entries import Entries
from manyclass.solvers.together import Block, gather_weights
from manyclass.solvers.weights import BLOCK_BYTES, allocate_weights

# Numbers of W that travel at a time.
PART = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Bundles:
    """The classes of each bundle, and where each class belongs.

    Attributes
    ----------
    classes : list of ndarray, int32
        Of each bundle, ascending.
    bundle_of, place_of : ndarray of shape (k,), int32
        Of each class, its bundle and its place there.
    """

    classes: list[NDArray[np.int32]]
    bundle_of: NDArray[np.int32]
    place_of: NDArray[np.int32]

    @classmethod
    def of(cls, work: NDArray[np.float64], n_bundles: int, rng: np.random.Generator) -> Bundles:
        """Cut the classes into bundles at random, even by number and by work."""
        classes = balanced_bundles(work, n_bundles, rng)
        bundle_of = np.empty(len(work), np.int32)
        place_of = np.empty(len(work), np.int32)
        for bundle, some in enumerate(classes):
            bundle_of[some] = bundle
            place_of[some] = np.arange(len(some), dtype=np.int32)
        return cls(classes, bundle_of, place_of)


class GoingRound:
    """W of the bundles that this rank holds, with their own z, as they go from rank to rank.

    A rank has room for two bundles: slots side by side in one array, so that the kernels see one W.

    Parameters
    ----------
    communicator : Communicator
    schedule : Schedule
    data : Dataset
    """

    def __init__(self, communicator: Communicator, schedule: Schedule, data: Dataset) -> None:
        self._communicator = communicator
        self._schedule = schedule
        self._dtype = data.dtype
        self._at = 0
        per_block = BLOCK_BYTES // data.dtype.itemsize
        largest = -(-data.n_classes // schedule.n_bundles)
        self.width = -(-largest // per_block) * per_block
        _, self.weights = allocate_weights(data.n_features + 1, 2 * self.width, data.dtype)
        self.slots: dict[int, int] = {}
        self.own_duals: dict[int, Entries] = {}
        self.bytes_sent = 0

    def begin(self, bundles: Bundles) -> None:
        """Hold the bundles of the first round, W = 0."""
        self.bundles = bundles
        self._at = 0
        self.weights.fill(0)
        self.slots = {bundle: slot for slot, bundle in enumerate(self.held)}
        self.own_duals = {}

    @property
    def held(self) -> tuple[int, ...]:
        """The bundles that this rank holds."""
        return self._schedule.rounds[self._at][self._communicator.rank]

    @property
    def is_first(self) -> bool:
        """Whether this is the first round of an epoch."""
        return self._at == 0

    def columns_of(self) -> NDArray[np.int32]:
        """Column of every class, -1 where it is not held, shape (k,)."""
        columns = np.full(len(self.bundles.bundle_of), -1, np.int32)
        for bundle, slot in self.slots.items():
            classes = self.bundles.classes[bundle]
            columns[classes] = slot * self.width + np.arange(len(classes), dtype=np.int32)
        return columns

    def classes_of(self) -> NDArray[np.int32]:
        """Class of every column, -1 where it has none, shape (2 width,)."""
        classes = np.full(2 * self.width, -1, np.int32)
        columns = self.columns_of()
        held = np.flatnonzero(columns >= 0)
        classes[columns[held]] = held
        return classes

    def run(self, meet: Callable[[], None]) -> None:
        """Let all pairs meet, one after the other on each rank."""
        for at in range(len(self._schedule.rounds)):
            if at:
                self._go(self._schedule.move(at - 1, self._communicator.rank))
                self._at = at
            meet()

    def gather(self, *, sparse: bool) -> Weights:
        """Return W, shape (d + 1, k), on every rank: an ndarray or a CSR array."""
        blocks = []
        for root, held in enumerate(self._schedule.rounds[self._at]):
            for bundle in held:
                classes = self.bundles.classes[bundle]
                first = self.slots.get(bundle, 0) * self.width
                W = self.weights[:, first : first + len(classes)]
                blocks.append(Block(root, classes, W if bundle in self.slots else None))
        return gather_weights(
            self._communicator, blocks, len(self.weights), self._dtype, sparse=sparse
        )

    def _parts(self) -> Iterator[slice]:
        rows, size = len(self.weights), max(1, PART // self.width)
        return (slice(begin, min(begin + size, rows)) for begin in range(0, rows, size))

    def _go(self, move: Move) -> None:
        """Send the bundle that the next round wants elsewhere, receive the one it wants here."""
        slot = 0
        if move.outgoing is not None:
            slot = self.slots.pop(move.outgoing)
        elif self.slots:
            slot = 1 - next(iter(self.slots.values()))
        self._exchange_weights(move, self.weights[:, slot * self.width : (slot + 1) * self.width])
        kinds = [np.dtype(np.int32), np.dtype(np.int32), self._dtype]
        leaving = [] if move.outgoing is None else list(self.own_duals.pop(move.outgoing))
        came = exchange_lists(self._communicator, leaving, move.destination, kinds, move.source)
        if move.incoming is not None:
            self.slots[move.incoming] = slot
            self.own_duals[move.incoming] = Entries(*came)

    def _exchange_weights(self, move: Move, room: NDArray[Any]) -> None:
        """Send the columns of a slot and fill them with what comes, some rows at a time."""
        for part in self._parts():
            outgoing = None if move.destination is None else room[part].reshape(-1)
            incoming = None if move.source is None else np.empty(room[part].size, self._dtype)
            self.bytes_sent += exchange(
                self._communicator, outgoing, move.destination, incoming, move.source
            )
            room[part] = 0 if incoming is None else incoming.reshape(room[part].shape)
