"""Bundles of classes: the examples and the weights of each, and how weights go round the ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.parallel.communicator import Communicator
from manyclass.parallel.schedule import (
    Schedule,
    balanced_bundles,
    circulation,
    work_of_classes,
)
from manyclass.parallel.travel import exchange
from manyclass.problem import Problem
from manyclass.solution import Weights
from manyclass.solvers.weights import allocate_weights


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """Some classes and the examples of those classes.

    Attributes
    ----------
    classes : ndarray of shape (k_b,), int32
        Ascending.
    rows : ndarray of shape (n_b,), intp
        The examples among all, ascending.
    problem : Problem
        Of these examples; its labels are numbers within `classes`.
    """

    classes: NDArray[np.int32]
    rows: NDArray[np.intp]
    problem: Problem


def bundles_of(problem: Problem, n_bundles: int) -> list[Bundle]:
    """Cut a problem into bundles, even by classes and by non-zeros; rows of X are copied."""
    data = problem.dataset
    work = work_of_classes(data.labels, np.diff(data.indptr), data.n_classes)
    bundles = []
    for classes in balanced_bundles(work, n_bundles):
        places = np.full(data.n_classes, -1, np.int32)
        places[classes] = np.arange(len(classes), dtype=np.int32)
        rows = np.flatnonzero(places[data.labels] >= 0)
        X = sp.csr_array(data.matrix()[rows])
        some = replace(
            data,
            indptr=X.indptr.astype(np.int64),
            indices=X.indices.astype(np.int32, copy=False),
            values=X.data,
            labels=places[data.labels[rows]],
            weights=data.weights[rows],
            n_classes=len(classes),
        )
        part = Problem(some, problem.formulation, problem.C, problem.loss)
        bundles.append(Bundle(classes, rows, part))
    return bundles


class GoingRound:
    """W of the bundles that this rank holds, as they go from rank to rank.

    Parameters
    ----------
    communicator : Communicator
    schedule : Schedule
    bundles : list of Bundle
    """

    def __init__(
        self, communicator: Communicator, schedule: Schedule, bundles: list[Bundle]
    ) -> None:
        self._communicator = communicator
        self._schedule = schedule
        self._bundles = bundles
        self._at = 0
        self._forth = True
        self._data = bundles[0].problem.dataset
        self.bytes_sent = 0
        self.weights = {bundle: self._allocate(bundle) for bundle in self.held}

    @property
    def held(self) -> tuple[int, ...]:
        """The bundles that this rank holds."""
        return self._schedule.rounds[self._at][self._communicator.rank]

    def run(self, meet: Callable[[tuple[int, ...]], None]) -> None:
        """Go through one epoch of the schedule; call for what meets: two bundles, or one itself."""
        for at, itself in circulation(len(self._schedule.rounds), backwards=not self._forth):
            self._go(at)
            if itself:
                for bundle in self.held:
                    meet((bundle,))
            elif len(self.held) > 1:
                meet(self.held)
        self._forth = not self._forth

    def gather(self, *, sparse: bool) -> Weights:
        """Return W, shape (d + 1, k), on every rank: an ndarray or a CSR array."""
        rows, k = self._data.n_features + 1, sum(len(b.classes) for b in self._bundles)
        parts = []
        W = np.empty((0 if sparse else rows, k), self._data.dtype)
        for bundle, root in sorted(self._holders().items()):
            part = self.weights[bundle] if bundle in self.weights else self._allocate(bundle)
            self._communicator.broadcast(part, root)
            classes = self._bundles[bundle].classes
            if sparse:
                parts.append(sp.csr_array(part[:, : len(classes)]))
            else:
                W[:, classes] = part[:, : len(classes)]
        if not sparse:
            return W
        together = sp.csr_array(sp.hstack(parts, format="csr"))
        order = np.argsort(np.concatenate([bundle.classes for bundle in self._bundles]))
        return sp.csr_array(together[:, order])

    def _holders(self) -> dict[int, int]:
        held = self._schedule.rounds[self._at]
        return {bundle: rank for rank, some in enumerate(held) for bundle in some}

    def _go(self, to: int) -> None:
        """Send and receive what the next round wants elsewhere."""
        if to == self._at:
            return
        move = self._schedule.move(self._at, to, self._communicator.rank)
        outgoing = None if move.outgoing is None else self.weights.pop(move.outgoing)
        incoming = None if move.incoming is None else self._allocate(move.incoming)
        self.bytes_sent += exchange(
            self._communicator,
            None if outgoing is None else outgoing.reshape(-1),
            move.destination,
            None if incoming is None else incoming.reshape(-1),
            move.source,
        )
        if move.incoming is not None and incoming is not None:
            self.weights[move.incoming] = incoming
        self._at = to

    def _allocate(self, bundle: int) -> NDArray[Any]:
        k = len(self._bundles[bundle].classes)
        return allocate_weights(self._data.n_features + 1, k, self._data.dtype)[1]
