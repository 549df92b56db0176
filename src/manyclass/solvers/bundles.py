"""Bundles of classes: which examples and columns are theirs, and how they go round the ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.dataset import Dataset
from manyclass.parallel.communicator import Communicator
from manyclass.parallel.schedule import Schedule, balanced_bundles, work_of_classes
from manyclass.parallel.travel import exchange, exchange_lists
from manyclass.solution import Weights
from manyclass.solvers.weights import BLOCK_BYTES, allocate_weights

# Numbers of W that travel at a time.
PART = 1 << 20


class Entries(NamedTuple):
    """Some z that are not zero: of which examples, and of which classes of a bundle."""

    rows: NDArray[np.int32]
    places: NDArray[np.int32]  # within the bundle's classes
    values: NDArray[Any]

    @classmethod
    def none(cls, dtype: np.dtype[Any]) -> Entries:
        """No z."""
        return cls(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, dtype))


@dataclass(frozen=True, slots=True, eq=False)
class Bundles:
    """The classes of each bundle, and where classes and examples belong.

    Attributes
    ----------
    classes : list of ndarray, int32
        Of each bundle, ascending.
    bundle_of : ndarray of shape (k,), int32
    place_of : ndarray of shape (k,), int32
        Place of a class within its bundle.
    labels : ndarray of shape (n,), int32
    width : int
        Columns that the weights of a bundle fill, whole blocks of 64 bytes.
    """

    classes: list[NDArray[np.int32]]
    bundle_of: NDArray[np.int32]
    place_of: NDArray[np.int32]
    labels: NDArray[np.int32]
    width: int

    @classmethod
    def of(cls, data: Dataset, n_bundles: int) -> Bundles:
        """Cut the classes into bundles, even by number and by the non-zeros of their rows."""
        work = work_of_classes(data.labels, np.diff(data.indptr), data.n_classes)
        classes = balanced_bundles(work, n_bundles)
        bundle_of = np.empty(data.n_classes, np.int32)
        place_of = np.empty(data.n_classes, np.int32)
        for bundle, some in enumerate(classes):
            bundle_of[some] = bundle
            place_of[some] = np.arange(len(some), dtype=np.int32)
        per_block = BLOCK_BYTES // data.dtype.itemsize
        width = -(-max(len(some) for some in classes) // per_block) * per_block
        return cls(classes, bundle_of, place_of, data.labels, width)


class GoingRound:
    """W of the bundles that this rank holds, and their own z, as they go from rank to rank.

    A rank has room for two bundles: slots side by side in one array, so that the kernels see one W.

    Parameters
    ----------
    communicator : Communicator
    schedule : Schedule
    bundles : Bundles
    data : Dataset
    """

    def __init__(
        self, communicator: Communicator, schedule: Schedule, bundles: Bundles, data: Dataset
    ) -> None:
        self._communicator = communicator
        self.schedule = schedule
        self._bundles = bundles
        self._dtype = data.dtype
        self._at = 0
        self._forth = True
        self.bytes_sent = 0
        _, self.weights = allocate_weights(data.n_features + 1, 2 * bundles.width, data.dtype)
        self.slots = {bundle: slot for slot, bundle in enumerate(self.held)}
        self.own_duals = {bundle: Entries.none(data.dtype) for bundle in self.held}

    @property
    def held(self) -> tuple[int, ...]:
        """The bundles that this rank holds."""
        return self.schedule.rounds[self._at][self._communicator.rank]

    def columns(self, bundle: int) -> NDArray[Any]:
        """W of a bundle that is held, shape (d + 1, k_b)."""
        first = self.slots[bundle] * self._bundles.width
        return self.weights[:, first : first + len(self._bundles.classes[bundle])]

    def run(self, meet: Callable[[bool], None]) -> None:
        """Let all pairs meet once; `meet` is told whether it is the first time in this epoch."""
        order = range(len(self.schedule.rounds))
        for count, at in enumerate(order if self._forth else reversed(order)):
            self._go(at)
            meet(count == 0)
        self._forth = not self._forth

    def gather(self, *, sparse: bool) -> Weights:
        """Return W, shape (d + 1, k), on every rank: an ndarray or a CSR array."""
        rows, k = len(self.weights), len(self._bundles.bundle_of)
        W = np.empty((0 if sparse else rows, k), self._dtype)
        parts = []
        for bundle, classes in enumerate(self._bundles.classes):
            chunks = []
            for part in self._parts():
                values = self._broadcast(bundle, part)
                if sparse:
                    chunks.append(sp.csr_array(values))
                else:
                    W[part, classes] = values
            parts.append(sp.vstack(chunks, format="csr") if sparse else None)
        if not sparse:
            return W
        order = np.argsort(np.concatenate(self._bundles.classes))
        return sp.csr_array(sp.csr_array(sp.hstack(parts, format="csr"))[:, order])

    def _broadcast(self, bundle: int, part: slice) -> NDArray[Any]:
        """Some rows of a bundle's W, from the rank that holds it."""
        held = self.schedule.rounds[self._at]
        root = next(rank for rank, some in enumerate(held) if bundle in some)
        if bundle in self.slots:
            values = np.ascontiguousarray(self.columns(bundle)[part])
        else:
            shape = (part.stop - part.start, len(self._bundles.classes[bundle]))
            values = np.empty(shape, self._dtype)
        self._communicator.broadcast(values, root)
        return values

    def _parts(self) -> Iterator[slice]:
        rows, size = len(self.weights), max(1, PART // self._bundles.width)
        return (slice(begin, min(begin + size, rows)) for begin in range(0, rows, size))

    def _go(self, to: int) -> None:
        """Send the bundle that the next round wants elsewhere, receive the one it wants here."""
        if to == self._at:
            return
        move = self.schedule.move(self._at, to, self._communicator.rank)
        self._at = to
        slot = 0
        if move.outgoing is not None:
            slot = self.slots.pop(move.outgoing)
        elif self.slots:
            slot = 1 - next(iter(self.slots.values()))
        first = slot * self._bundles.width
        room = self.weights[:, first : first + self._bundles.width]
        for part in self._parts():
            shape = (part.stop - part.start, self._bundles.width)
            outgoing = None if move.destination is None else room[part].reshape(-1)
            incoming = None if move.source is None else np.empty(shape, self._dtype)
            self.bytes_sent += exchange(
                self._communicator,
                outgoing,
                move.destination,
                None if incoming is None else incoming.reshape(-1),
                move.source,
            )
            if incoming is not None:
                room[part] = incoming
            elif outgoing is not None:
                room[part] = 0
        kinds = [np.dtype(np.int32), np.dtype(np.int32), self._dtype]
        leaving = [] if move.outgoing is None else list(self.own_duals.pop(move.outgoing))
        came = exchange_lists(self._communicator, leaving, move.destination, kinds, move.source)
        if move.incoming is not None:
            self.slots[move.incoming] = slot
            self.own_duals[move.incoming] = Entries(*came)
