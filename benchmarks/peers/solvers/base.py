"""Interface of the solvers in a benchmark, and their discovery by name."""

from __future__ import annotations

import importlib
import os
import pkgutil
from abc import ABC, abstractmethod
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.peers.objective import accuracy
from benchmarks.peers.problems import Problem


def one_two_five(coarsest: float, n_decades: int) -> tuple[float, ...]:
    """Tolerances from coarse to fine: 1, 0.5, 0.2, 0.1, ... times the coarsest.

    Narrow steps, since a solver's time to a level is that of the first tolerance below it.
    """
    return tuple(
        float(f"{coarsest * step * 10.0**-decade:.3g}")
        for decade in range(n_decades)
        for step in (1.0, 0.5, 0.2)
    )


# Numbers of epochs, from few to many, for solvers that take a number of epochs.
EPOCHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class BaseSolver(ABC):
    """A program that trains linear classifiers.

    Attributes
    ----------
    name : str
        What the command line calls it.
    package : str
        The distribution whose version is recorded.
    tolerances : tuple of float
        The sweep, from coarse to fine, in the solver's own meaning of tolerance, or epochs.
    problems : tuple of str
        Problems whose objective it minimizes.
    accuracy_beside : tuple of str
        Problems that it does not solve, beside which its test accuracy is shown.
    threads : int
        How many it uses.
    default : bool
        Whether it is part of a run that names no solvers.
    """

    name: str
    package: str
    tolerances: tuple[float, ...]
    problems: tuple[str, ...] = ()
    accuracy_beside: tuple[str, ...] = ()
    threads: int = 1
    default: bool = True

    def skip(self) -> tuple[bool, str]:
        """Say whether it can't be used here, and why."""
        if self.version() is None:
            return True, f"{self.package} is not installed"
        n_cores = os.cpu_count() or 1
        return n_cores < self.threads, f"{self.threads} threads, but only {n_cores} core"

    def version(self) -> str | None:
        """Return the installed version of the package, or None."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None

    @abstractmethod
    def prepare(
        self, X: sp.csr_array, labels: NDArray[np.int32], problem: Problem, C: float
    ) -> None:
        """Convert the data and warm up; not timed."""

    @abstractmethod
    def run(self, tolerance: float) -> None:
        """Optimize from zero and keep the result; timed, so nothing else happens here."""

    @abstractmethod
    def weights(self) -> NDArray[np.floating]:
        """Return the last run's W, of shape (d, k), columns in the order of the labels."""

    def accuracy(self, X: sp.csr_array, labels: NDArray[np.int32]) -> float:
        """Return the share of these rows that the last run's classifier gets right."""
        return accuracy(X, labels, self.weights())


def find_solvers() -> dict[str, BaseSolver]:
    """Collect ``SOLVERS`` of every file in this folder, by name, ours first."""
    package = importlib.import_module(__package__)
    modules = [
        importlib.import_module(f"{__package__}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
    ]
    found = [solver for module in modules for solver in getattr(module, "SOLVERS", [])]
    found.sort(key=lambda solver: solver.package != "manyclass")
    return {solver.name: solver for solver in found}


def few_rows(problem: Problem) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return three rows of three classes: their fit loads what is loaded late."""
    labels = np.eye(3, dtype=np.int64) if problem.multilabel else np.arange(3)
    return np.array([[0.0], [1.0], [2.0]]), labels


def weights_from_coef(coef: Any, problem: Problem) -> NDArray[np.floating]:
    """Turn scikit-learn's ``coef_`` into W of shape (d, k).

    Of two classes scikit-learn keeps one column. One-vs-rest: w_1 = -w_0. Otherwise it is the
    difference: as the optimal weights add up to 0 over the classes, so do those of every dual
    method, and each class has half of it.
    """
    if sp.issparse(coef):
        coef = coef.toarray()
    if len(coef) == 1:
        share = 1.0 if problem.formulation == "one_vs_rest" else 0.5
        coef = np.vstack([-share * coef, share * coef])
    return np.asarray(coef).T
