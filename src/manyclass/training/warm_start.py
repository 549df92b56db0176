"""Warm start: the state that an estimator keeps for its next fit.

z is scaled with C: from the optimum, the gap at t C between t z and W is 1/2 (t - 1)^2 ||W||^2,
little for steps of 1.2 and much for steps of 3. Other starts that were tried gain little or nothing
more (docs/development/trials.md). v = log u of logistic regression is feasible at any C.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.problem.formulations import Formulation
from manyclass.problem.merged_columns import MergedColumns
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.utils.types import Array, Numbers


@dataclass(frozen=True, slots=True, eq=False)
class WarmStart:
    """Where the next fit may start, and the problem that this belongs to.

    Attributes
    ----------
    start : Start
    classes : ndarray of shape (k,)
    formulation : Formulation
    loss : str
    n_features : int
    labels : ndarray of shape (n,), int32, or None
        None where W alone is known.
    costs : ndarray of shape (n,), float64, or None
    factors : ndarray of shape (k, k), float64, or None
        As of ``Problem``.
    columns : MergedColumns, default=None
        Columns of the same X that were trained as one.
    """

    start: Start
    classes: Array
    formulation: Formulation
    loss: str
    n_features: int
    labels: NDArray[np.int32] | None = None
    costs: NDArray[np.float64] | None = None
    factors: Numbers | None = None
    columns: MergedColumns | None = None

    @classmethod
    def from_problem(cls, problem: Problem, start: Start, classes: Array) -> WarmStart:
        """Return the state in which the training of a problem ended."""
        data = problem.dataset
        return cls(
            start,
            classes,
            problem.formulation,
            problem.loss,
            data.n_features,
            data.labels,
            problem.costs,
            problem.factors,
        )

    def start_for(self, problem: Problem, classes: Array) -> Start | None:
        """Return the start of another problem; None where none of this one serves.

        Formulation, loss, classes and the number of features must be the same. z and v need the
        same examples; W of logistic regression serves without them.
        """
        data = problem.dataset
        if (
            problem.formulation != self.formulation
            or problem.loss != self.loss
            or self.n_features != data.n_features
            or not np.array_equal(self.classes, classes)
        ):
            return None
        same_rows = self.labels is not None and np.array_equal(self.labels, data.labels)
        if problem.loss == "log_loss":
            return self._logistic_start(problem, same_rows=same_rows)
        return self._scaled(problem) if same_rows else None

    def _scaled(self, problem: Problem) -> Start | None:
        """Return z scaled to the costs of a problem, feasible; None where z is not finite."""
        assert self.costs is not None
        with np.errstate(over="ignore"):
            scaled = sp.csr_array(sp.diags_array(problem.costs / self.costs) @ self.start.duals)
        if not np.isfinite(scaled.data).all():
            return None
        if problem.factors is not None or self.factors is not None:
            rows = np.repeat(np.arange(scaled.shape[0]), np.diff(scaled.indptr))
            bounds = problem.upper(rows, scaled.indices).astype(scaled.dtype)
            scaled.data = np.minimum(scaled.data, bounds)
            scaled.eliminate_zeros()
        return Start(scaled, self.start.weights)

    def _logistic_start(self, problem: Problem, *, same_rows: bool) -> Start | None:
        """Return W, and v where the examples are the same; None where W is not finite."""
        data, W = problem.dataset, self.start.weights
        if W is None or not np.isfinite(W).all():
            return None
        zero = Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        log_u = self.start.log_u if same_rows else None
        return replace(zero, weights=np.asarray(W, data.dtype), log_u=log_u)
