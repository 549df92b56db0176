"""Warm start: the state that an estimator keeps for its next fit.

z is scaled with C: from the optimum, the gap at t C between t z and W is 1/2 (t - 1)^2 ||W||^2,
little for steps of 1.2 and much for steps of 3. Other starts that were tried gain little or nothing
more (docs/performance.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.problem.formulations import named
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.utils.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class WarmStart:
    """Where the next fit may start, and the problem that this belongs to."""

    start: Start
    costs: NDArray[np.float64]
    labels: NDArray[np.int32]
    n_features: int
    classes: Array
    formulation: str
    loss: str

    def start_for(self, problem: Problem, classes: Array) -> Start | None:
        """Return the start of another problem on the same examples, z scaled to its costs.

        None where formulation, loss, labels, classes or the number of features differ, or a scaled
        z is not finite.
        """
        same = (
            problem.formulation is named(self.formulation)
            and problem.loss == self.loss
            and self.n_features == problem.dataset.n_features
            and np.array_equal(self.labels, problem.dataset.labels)
            and np.array_equal(self.classes, classes)
        )
        if not same:
            return None
        with np.errstate(over="ignore"):
            scaled = sp.csr_array(sp.diags_array(problem.costs / self.costs) @ self.start.duals)
        return Start(scaled, self.start.weights) if np.isfinite(scaled.data).all() else None
