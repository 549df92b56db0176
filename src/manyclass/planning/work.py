"""What the cost model counts: sizes of the data, expectations of training, work, messages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from manyclass.solvers.weights.layout import BLOCK_BYTES

Kind = Literal["dense", "sparse"]


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a data set.

    Attributes
    ----------
    n_examples, n_features, n_classes, n_nonzero : int
    largest_class : int
        Examples of the largest class.
    item : int, default=4
        Bytes of a number of X and W.
    """

    n_examples: int
    n_features: int
    n_classes: int
    n_nonzero: int
    largest_class: int
    item: int = 4

    @property
    def row(self) -> float:
        """Non-zeros of an example."""
        return self.n_nonzero / self.n_examples

    @property
    def weights(self) -> float:
        """Numbers of W, the intercepts among them."""
        return (self.n_features + 1.0) * self.n_classes

    def padded(self, n_columns: float) -> float:
        """Columns of dense W that so many classes take."""
        per_block = BLOCK_BYTES // self.item
        return max(1, math.ceil(n_columns / per_block)) * per_block


@dataclass(frozen=True, slots=True)
class Habits:
    """What training is expected to do, which the sizes do not tell.

    Attributes
    ----------
    scores : float
        Scores computed in an epoch, for each example and class.
    duals : float
        Numbers of z that are not 0, for each example.
    density : float
        Share of W that is not 0.
    fill : float
        The same share where features count as often as X has them: frequent ones have weights
        for more classes.
    packed : float
        Share of the bytes of dense W that are sent: of each feature all weights, or those that are
        not 0 and their classes, if these are less.
    epochs : float
        To the tolerance, of one process or of two ranks.
    growth : float, default=0
        Epochs grow like p^growth with the number of ranks.
    beside : float, default=0
        How many epochs' work more all takes: the first, which begins at z = 0 and is unlike the
        others, what comes before it, and the certificate.
    """

    scores: float
    duals: float
    density: float
    fill: float
    packed: float
    epochs: float
    growth: float = 0.0
    beside: float = 0.0

    def epochs_on(self, n_ranks: int) -> float:
        """Return how many epochs so many ranks need."""
        return self.epochs * math.pow(max(1.0, n_ranks / 2), self.growth)


@dataclass(frozen=True, slots=True)
class Work:
    """What a rank does in an epoch.

    Attributes
    ----------
    visits : float
        Of an example, with the scores of all classes at hand.
    entries : float
        Non-zeros of X that they read.
    dense : float
        Multiply-adds of these scores.
    far : float
        Those of them, of sum-to-zero machines, with rows of W that are too many for the caches.
    lists : float
        Multiply-adds of other scores: in loops over the shrunk problem.
    swept : float
        Numbers of W zeroed, looked through, copied.
    rows : float
        Examples looked through between visits.
    duals : float
        Numbers of z put together and sorted out.
    batches : float
        Calls of the core, between which ranks may talk.
    messages, bytes : float
        One after the other; received.
    uneven : float, default=1
        How much longer the visits of a round take on the rank that all others wait for.
    """

    visits: float = 0.0
    entries: float = 0.0
    dense: float = 0.0
    far: float = 0.0
    lists: float = 0.0
    swept: float = 0.0
    rows: float = 0.0
    duals: float = 0.0
    batches: float = 0.0
    messages: float = 0.0
    bytes: float = 0.0
    uneven: float = 1.0

    def seconds(self, rates: Mapping[str, float], *, waiting: bool = False) -> float:
        """Return how long the local work takes.

        Parameters
        ----------
        rates : mapping
            Seconds of a unit of each kind of local work.
        waiting : bool, default=False
            Whether to count the time in which a rank waits for others to end their visits.
        """
        visits, between = (
            math.fsum(rates.get(name, 0.0) * getattr(self, name) for name in names)
            for names in (VISITS, BETWEEN)
        )
        return visits * (self.uneven if waiting else 1.0) + between


VISITS = ("visits", "entries", "dense", "far", "lists")
BETWEEN = ("swept", "rows", "duals", "batches")
LOCAL = VISITS + BETWEEN


@dataclass(frozen=True, slots=True)
class Network:
    """How ranks are joined: seconds of a message, bytes a second into a rank."""

    latency: float
    bandwidth: float

    def seconds(self, messages: float, n_bytes: float) -> float:
        """Return how long messages take."""
        return self.latency * messages + n_bytes / self.bandwidth
