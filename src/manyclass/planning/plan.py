"""How many ranks to train on: the cost model's forecasts for some numbers of them, compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from manyclass.planning.cost_model import memory
from manyclass.planning.forecast import Forecast, forecast
from manyclass.planning.rates import Measured
from manyclass.planning.work import Habits, Kind, Network, Shape
from manyclass.problem.formulations import FORMULATIONS
from manyclass.solvers.engine import select_engine
from manyclass.solvers.weights.storage_choice import LARGE_SHARE, MANY_CLASSES

# A number of ranks is worth its price while each does this share of what one alone would do.
WORTH_IT = 0.5


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be trained, and where.

    Attributes
    ----------
    formulation : str
    shape : Shape
    network : Network
    memory : float
        Bytes that a rank may take.
    weights : {"auto", "dense", "sparse"}
    known : dict
        Attributes of `Habits` that are known better than what is usual.
    """

    formulation: str
    shape: Shape
    network: Network
    memory: float
    weights: str
    known: dict[str, float]


@dataclass(frozen=True, slots=True)
class Option:
    """Training on so many ranks.

    Attributes
    ----------
    forecast : Forecast
    kind : {"dense", "sparse"}
        How W is held while training.
    habits : Habits
    like : str
        The solver whose rates were taken.
    efficiency : float
        Seconds of one process over the ranks' seconds taken together.
    fits : bool
        Whether a rank's memory suffices.
    """

    forecast: Forecast
    kind: Kind
    habits: Habits
    like: str
    efficiency: float
    fits: bool


def options(question: Question, ranks: Sequence[int], measured: Measured) -> list[Option]:
    """Forecast training on each number of ranks.

    Parameters
    ----------
    question : Question
    ranks : sequence of int
    measured : Measured

    Returns
    -------
    list of Option
        One for each, in the same order.

    Raises
    ------
    ValueError
        If ranks do not train the formulation, or nothing like it was measured.
    """
    formulation = FORMULATIONS[question.formulation]
    if formulation.takes_maximum and not formulation.is_relative:
        raise ValueError(f"{question.formulation} is trained by one process; there is no choice")
    alone = _option(question, 1, measured, 0.0).forecast.seconds
    return [_option(question, p, measured, alone) for p in ranks]


def best(found: Sequence[Option]) -> Option | None:
    """Return the fastest that fits, the one with fewer ranks of two alike; None if none fits."""
    fitting = [option for option in found if option.fits]
    return min(fitting, key=lambda o: (o.forecast.seconds, o.forecast.n_ranks), default=None)


def thriftiest(found: Sequence[Option]) -> Option | None:
    """Return the fastest of those that fit and whose efficiency is at least `WORTH_IT`."""
    return best([option for option in found if option.efficiency >= WORTH_IT])


def _option(question: Question, n_ranks: int, measured: Measured, alone: float) -> Option:
    formulation = FORMULATIONS[question.formulation]
    engine = select_engine(formulation, n_ranks)

    def habits_of(kind: Kind) -> Habits:
        like = measured.like(question.formulation, kind, engine)
        return measured.usual[like].habits(question.shape, question.known)

    def needs(kind: Kind) -> float:
        return memory(engine, kind, question.shape, habits_of(kind), n_ranks)

    kind: Kind = "dense"
    if not formulation.centred and question.weights != "dense":
        many = formulation.is_relative and question.shape.n_classes > MANY_CLASSES
        large = needs("dense") > LARGE_SHARE * question.memory
        smaller = needs("sparse") < needs("dense")
        if question.weights == "sparse" or ((many or large) and smaller):
            kind = "sparse"
    like = measured.like(question.formulation, kind, engine)
    found = forecast(
        engine,
        kind,
        question.shape,
        habits_of(kind),
        n_ranks,
        measured.rates[like],
        question.network,
    )
    efficiency = alone / (n_ranks * found.seconds) if alone else 1.0
    return Option(found, kind, habits_of(kind), like, efficiency, found.memory <= question.memory)
