"""LIBLINEAR's own Python packages, of one thread and of several."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.peers.problems import Problem
from benchmarks.peers.solvers.base import BaseSolver, one_two_five

# Both packages call their module liblinear, so that of several threads has a folder of its own.
MULTICORE = Path(sys.prefix) / "liblinear-multicore"


class Liblinear(BaseSolver):
    """``train -s NUMBER``, where the problem's name leads to the number.

    The tolerance of the dual methods (4, 3, 1) is the largest violation in units of the score, that
    of the primal one (2) is relative to the first gradient.
    """

    package = "liblinear-official"
    tolerances = one_two_five(2.0, 7)

    def __init__(self, name: str, numbers: dict[str, int]) -> None:
        self.name, self.numbers, self.problems = name, numbers, tuple(numbers)

    def prepare(
        self, X: sp.csr_array, labels: NDArray[np.int32], problem: Problem, C: float
    ) -> None:
        """Build its array of (index, value) nodes; the class of the matrix matters to it."""
        self.liblinear = self._module()
        self.options = f"-s {self.numbers[problem.name]} -c {C!r} -B -1 -q"
        rows = sp.csr_matrix(X.astype(np.float64))
        self.rows = self.liblinear.problem(labels.astype(np.float64), rows)

    def run(self, tolerance: float) -> None:
        """Train, quietly."""
        self.model: Any = self.liblinear.train(self.rows, f"{self.options} -e {tolerance!r}")

    def weights(self) -> NDArray[np.floating]:
        """Copy W out of the model, whose classes are in the order of their first appearance.

        Of two classes all but solver 4 keep a single column, that of the first.
        """
        labels = self.model.get_labels()
        n_columns = 1 if len(labels) == 2 and "-s 4" not in self.options else len(labels)
        W = np.ctypeslib.as_array(self.model.w, (self.model.get_nr_feature(), n_columns))
        if n_columns < len(labels):
            W = np.hstack([W, -W])
        return W[:, np.argsort(labels)].copy()

    def _module(self) -> Any:
        return importlib.import_module("liblinear.liblinearutil")


class LiblinearMulticore(Liblinear):
    """The same with ``-m 2``, which one-vs-rest alone profits from."""

    package = "liblinear-multicore"
    threads = 2

    def version(self) -> str | None:
        """Look into its folder."""
        found = importlib.metadata.distributions(name=self.package, path=[str(MULTICORE)])
        return next((distribution.version for distribution in found), None)

    def prepare(
        self, X: sp.csr_array, labels: NDArray[np.int32], problem: Problem, C: float
    ) -> None:
        """Convert as above."""
        super().prepare(X, labels, problem, C)
        self.options += f" -m {self.threads}"

    def _module(self) -> Any:
        """Import it under another name.

        Its threads wait for each other thousands of times a second; where other programs run, they
        lose a time slice in each busy wait, which made it 20 times slower.
        """
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        name, folder = "liblinear_multicore", MULTICORE / "liblinear"
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(
                name, folder / "__init__.py", submodule_search_locations=[str(folder)]
            )
            sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[name])
        return importlib.import_module(f"{name}.liblinearutil")


_DUAL = {"one_vs_rest": 3, "one_vs_rest_squared": 1}
_PRIMAL = {"one_vs_rest_squared": 2}
SOLVERS = [
    Liblinear("liblinear_official", {"crammer_singer": 4, **_DUAL}),
    Liblinear("liblinear_official_primal", _PRIMAL),
    LiblinearMulticore("liblinear_multicore_2", _DUAL),
    LiblinearMulticore("liblinear_multicore_primal_2", _PRIMAL),
]
