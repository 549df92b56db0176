"""manyclass in float64: slower a visit, but not stopped by float32's rounding."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.solvers import manyclass


class Solver(manyclass.Solver):
    """MulticlassSVC, fitted to float64."""

    name = "manyclass_float64"
    default = False

    def prepare(self, X: sp.csr_array, labels: NDArray[np.int32], C: float) -> None:
        """Convert, which makes the estimator compute in float64."""
        super().prepare(X.astype(np.float64), labels, C)
