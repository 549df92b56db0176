"""scikit-learn's LinearSVC(multi_class="crammer_singer"): its own copy of LIBLINEAR."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from benchmarks.solvers.base import BaseSolver, one_two_five, weights_from_coef


class Solver(BaseSolver):
    """LinearSVC; the tolerance is the largest violation in units of the score."""

    name = "sklearn_linear_svc"
    package = "scikit-learn"
    tolerances = one_two_five(2.0, 5)

    def prepare(self, X: sp.csr_array, labels: NDArray[np.int32], C: float) -> None:
        """Convert to float64 with 32-bit indices, which it would otherwise do in each fit."""
        self.X, self.labels = X.astype(np.float64), labels.astype(np.int64)
        self.model = LinearSVC(
            multi_class="crammer_singer",
            fit_intercept=False,
            C=C,
            max_iter=10_000_000,
            random_state=0,
        )
        self.model.fit([[0.0], [1.0], [2.0]], [0, 1, 2])

    def run(self, tolerance: float) -> None:
        """Fit."""
        self.model.set_params(tol=tolerance).fit(self.X, self.labels)

    def weights(self) -> NDArray[np.floating]:
        """Return ``coef_``, turned round."""
        return weights_from_coef(self.model.coef_)
