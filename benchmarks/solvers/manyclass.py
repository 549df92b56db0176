"""manyclass, in float32, on one thread; the tolerance is the relative duality gap."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.solvers.base import BaseSolver, one_two_five, weights_from_coef
from manyclass import MulticlassSVC


class Solver(BaseSolver):
    """MulticlassSVC."""

    name = "manyclass"
    package = "manyclass"
    tolerances = one_two_five(0.5, 5)

    def prepare(self, X: sp.csr_array, labels: NDArray[np.int32], C: float) -> None:
        """Keep the data as they are, and fit a few rows, which loads what is loaded late."""
        self.X, self.labels = X, labels
        self.model = MulticlassSVC(fit_intercept=False, C=C, max_iter=100_000, random_state=0)
        MulticlassSVC().fit([[0.0], [1.0], [2.0]], [0, 1, 2])

    def run(self, tolerance: float) -> None:
        """Fit."""
        self.model.set_params(tol=tolerance).fit(self.X, self.labels)

    def weights(self) -> NDArray[np.floating]:
        """Return ``coef_``, turned round."""
        return weights_from_coef(self.model.coef_)
