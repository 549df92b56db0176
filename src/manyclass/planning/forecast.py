"""What training on so many ranks is expected to take, by the cost model and measured rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from manyclass.planning.cost_model import memory, returned_bytes, work
from manyclass.planning.work import Habits, Kind, Network, Shape
from manyclass.solvers.engine import Engine


@dataclass(frozen=True, slots=True)
class Forecast:
    """What training on so many ranks is expected to take.

    Attributes
    ----------
    n_ranks : int
    working, talking : float
        Seconds of an epoch; working with what is waited for others.
    epochs : float
    beside : float
        How many epochs' work more all takes.
    ending : float
        Seconds in which rank 0 receives W.
    memory, moved : float
        Bytes of a rank; bytes that rank 0 receives until the end.
    """

    n_ranks: int
    working: float
    talking: float
    epochs: float
    beside: float
    ending: float
    memory: float
    moved: float

    @property
    def epoch(self) -> float:
        """Seconds of an epoch."""
        return self.working + self.talking

    @property
    def seconds(self) -> float:
        """Seconds of training in all; reading the data comes on top."""
        return self.epochs * self.epoch + self.beside * self.working + self.ending


def forecast(
    engine: Engine,
    kind: Kind,
    shape: Shape,
    habits: Habits,
    n_ranks: int,
    rates: Mapping[str, float],
    network: Network,
) -> Forecast:
    """Predict what training takes.

    Parameters
    ----------
    engine, kind, shape, habits, n_ranks
        As of ``work``.
    rates : mapping
        Seconds of a unit of each kind of local work.
    network : Network

    Returns
    -------
    Forecast
    """
    todo = work(engine, kind, shape, habits, n_ranks)
    epochs = habits.epochs_on(n_ranks)
    gathered = returned_bytes(kind, shape, habits) * (n_ranks - 1) / n_ranks  # by rank 0
    return Forecast(
        n_ranks=n_ranks,
        working=todo.seconds(rates, waiting=True),
        talking=network.seconds(todo.messages, todo.bytes),
        epochs=epochs,
        beside=habits.beside,
        ending=network.seconds(0, gathered),
        memory=memory(engine, kind, shape, habits, n_ranks),
        moved=epochs * todo.bytes + gathered,
    )
