"""LIBLINEAR's own Python package, solver 4 (Crammer and Singer)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.solvers.base import BaseSolver, one_two_five

try:
    from liblinear import liblinearutil
except ImportError:
    liblinearutil = None


class Solver(BaseSolver):
    """``train -s 4``; the tolerance is the largest violation in units of the score."""

    name = "liblinear_official"
    package = "liblinear-official"
    tolerances = one_two_five(2.0, 5)

    def skip(self) -> tuple[bool, str]:
        """Skip where the package is absent."""
        return liblinearutil is None, "liblinear-official is not installed"

    def prepare(self, X: sp.csr_array, labels: NDArray[np.int32], C: float) -> None:
        """Build its array of (index, value) nodes; the class of the matrix matters to it."""
        self.C = C
        rows = sp.csr_matrix(X.astype(np.float64))
        self.problem = liblinearutil.problem(labels.astype(np.float64), rows)

    def run(self, tolerance: float) -> None:
        """Train, quietly."""
        options = f"-s 4 -c {self.C!r} -e {tolerance!r} -B -1 -q"
        self.model: Any = liblinearutil.train(self.problem, options)

    def weights(self) -> NDArray[np.floating]:
        """Copy W out of the model, whose classes are in the order of their first appearance.

        Solver 4 keeps a column per class for two classes too, unlike the other solvers.
        """
        shape = (self.model.get_nr_feature(), self.model.get_nr_class())
        W = np.ctypeslib.as_array(self.model.w, shape)
        return W[:, np.argsort(self.model.get_labels())].copy()
