"""Warm start of logistic regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.utils.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class WarmStart:
    """W and v = log u where an earlier fit ended, and the examples that v belongs to.

    v is feasible at any C; W follows from it, but for intercepts that are not regularised.
    """

    weights: Array | None
    log_u: Array | None
    labels: NDArray[np.int32] | None
    classes: Array

    def start_for(self, problem: Problem, classes: Array) -> Start | None:
        """Return the start of a problem: None where it has other classes or features."""
        data = problem.dataset
        W = self.weights
        if W is None or W.shape != (data.n_features + 1, data.n_classes):
            return None
        if not np.array_equal(self.classes, classes) or not np.isfinite(W).all():
            return None
        same = self.labels is not None and np.array_equal(self.labels, data.labels)
        zero = Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        v = self.log_u if same else None
        return Start(zero.duals, np.asarray(W, data.dtype), log_u=v)
