"""What the cost model takes from measurements: rates of work, and habits of training.

``cost_rates.json`` is written by ``python -m benchmarks.rank_costs``, which measures both on the
machine that it names.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from manyclass.planning.weight_density import filling
from manyclass.planning.work import LOCAL, Habits, Kind, Network, Shape
from manyclass.solvers.engine import Engine

FILE = Path(__file__).with_name("cost_rates.json")


@dataclass(frozen=True, slots=True)
class Usual:
    """What training did where it was measured.

    Attributes
    ----------
    scores, epochs, growth, beside : float
        As of `Habits`.
    duals : float or None
        The same, where it does not grow with the number of classes: of relative margins.
    dual_share : float or None
        Otherwise: of the classes.
    """

    scores: float
    epochs: float
    growth: float
    beside: float = 0.0
    duals: float | None = None
    dual_share: float | None = None

    def habits(self, shape: Shape, known: Mapping[str, float]) -> Habits:
        """Return what is expected with other data; `known` has what is known better."""
        duals = known.get("duals")
        if duals is None:
            duals = self.duals or (self.dual_share or 1.0) * shape.n_classes
        found = filling(
            shape.n_examples,
            shape.n_features,
            shape.n_nonzero,
            min(1.0, duals / shape.n_classes),
        )
        density = known.get("density", found.density)
        return Habits(
            scores=known.get("scores", self.scores),
            duals=min(duals, shape.n_classes),
            density=density,
            fill=min(1.0, found.fill * density / found.density),
            packed=min(1.0, found.packed * density / found.density),
            epochs=known.get("epochs", self.epochs),
            growth=known.get("growth", self.growth),
            beside=self.beside,
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """Rates and habits of every solver on one machine.

    Attributes
    ----------
    machine, date : str
    local : Network
        Between ranks on that machine.
    rates : dict
        By solver (`name_of`), seconds of a unit of each kind of local work.
    usual : dict
        By solver.
    """

    machine: str
    date: str
    local: Network
    rates: dict[str, dict[str, float]]
    usual: dict[str, Usual]

    @classmethod
    def read(cls, path: Path = FILE) -> Measured:
        """Read a file of rates.

        Raises
        ------
        OSError
            If it cannot be read.
        ValueError
            If it holds something else.
        """
        try:
            found = json.loads(path.read_text())
            return cls(
                machine=f"{found['machine']['cpu']}, {found['machine']['cores']} cores",
                date=str(found["date"]),
                local=Network(**found["local"]),
                rates={
                    name: {part: float(rates[part]) for part in LOCAL}
                    for name, rates in found["rates"].items()
                },
                usual={name: Usual(**usual) for name, usual in found["usual"].items()},
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{path}: is no file of rates; python -m benchmarks.rank_costs writes one"
            ) from error

    def like(self, formulation: str, kind: Kind, engine: Engine) -> str:
        """Return the solver whose measurements serve another one, mostly itself.

        Raises
        ------
        ValueError
            If nothing alike was measured.
        """
        others = STAND_INS.get(formulation, ())
        engines: tuple[Engine, ...] = (
            (engine, "class_blocks") if engine == "class_blocks_simplex" else (engine,)
        )
        for names in itertools.product((formulation, *others), (kind, "dense"), engines):
            name = name_of(*names)
            if name in self.rates and name in self.usual:
                return name
        raise ValueError(f"{formulation} with {kind} weights was not measured ({engine})")


# Formulations that the same solvers train.
STAND_INS = {
    "crammer_singer": ("weston_watkins",),
    "ats": ("lee_lin_wahba",),
    "reinforced": ("lee_lin_wahba",),
    "mmr": ("lee_lin_wahba",),
}


def name_of(formulation: str, kind: str, engine: Engine) -> str:
    """Return under which name a solver's rates are kept."""
    return f"{formulation} {kind} {engine}"
