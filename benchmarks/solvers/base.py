"""What a solver in a benchmark is, and how one is found by its name."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def one_two_five(coarsest: float, n_decades: int) -> tuple[float, ...]:
    """Tolerances from coarse to fine: 1, 0.5, 0.2, 0.1, ... times the coarsest.

    Narrow steps, since a solver's time to a level is that of the first tolerance below it.
    """
    return tuple(
        float(f"{coarsest * step * 10.0**-decade:.3g}")
        for decade in range(n_decades)
        for step in (1.0, 0.5, 0.2)
    )


class BaseSolver(ABC):
    """A program that minimises the objective of ``benchmarks.objective``.

    Attributes
    ----------
    name : str
        What the command line calls it.
    package : str
        The distribution whose version is recorded.
    tolerances : tuple of float
        The sweep, from coarse to fine, in the solver's own meaning of tolerance.
    default : bool
        Whether it is part of a run that names no solvers.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    tolerances: ClassVar[tuple[float, ...]]
    default: ClassVar[bool] = True

    def skip(self) -> tuple[bool, str]:
        """Say whether it can't be used here, and why."""
        return False, ""

    @abstractmethod
    def prepare(self, X: sp.csr_array, labels: NDArray[np.int32], C: float) -> None:
        """Convert the data and warm up; not timed."""

    @abstractmethod
    def run(self, tolerance: float) -> None:
        """Optimise from zero and keep the result; timed, so nothing else happens here."""

    @abstractmethod
    def weights(self) -> NDArray[np.floating]:
        """Return the last run's W, of shape (d, k), columns in the order of the labels."""


def find_solvers() -> dict[str, BaseSolver]:
    """Collect ``Solver`` of every file in this folder, by name, ours first."""
    package = importlib.import_module(__package__)
    modules = [
        importlib.import_module(f"{__package__}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
    ]
    found = [module.Solver() for module in modules if hasattr(module, "Solver")]
    found.sort(key=lambda solver: (solver.name != "manyclass", solver.name))
    return {solver.name: solver for solver in found}


def weights_from_coef(coef: Any) -> NDArray[np.floating]:
    """Turn scikit-learn's ``coef_`` into W of shape (d, k).

    Of two classes scikit-learn keeps w_1 - w_0 only. As the optimal weights add up to 0 over the
    classes, so do those of every dual method, and each class has half of the difference.
    """
    if sp.issparse(coef):
        coef = coef.toarray()
    if len(coef) == 1:
        coef = np.vstack([-0.5 * coef, 0.5 * coef])
    return np.asarray(coef).T
