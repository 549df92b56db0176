"""Exact steps on the example with the largest violation: Crammer and Singer's own method.

    max_z D(z), one example's block at a time: that with the largest v_i

Given: x_i, y_i, C_i; Crammer-Singer or Weston-Watkins with hinge loss. Returned: W(z), z and the
certificate. The scores of all examples are kept, n x k numbers: a step changes them by one sparse
product (most_violating.hpp). An epoch is n steps. Converges: every step is the exact maximum over
its block; fewer steps than in random order, but each costs a product with X.
Sources: Crammer and Singer 2001 (JMLR 2:265); Keerthi et al. 2008, sec. 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate
from manyclass.solvers.comparison.base import (
    ComparisonSolver,
    ComparisonState,
    LoopFindings,
    set_duals,
)
from manyclass.solvers.weights.dense import allocate_weights
from manyclass.utils.types import Array, CsrArray


@dataclass(slots=True, eq=False)
class Scores:
    """All w_c . x_i, all v_i, and X by feature."""

    values: Array  # (n, stride)
    violations: NDArray[np.float64]
    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    entries: Array


class MostViolating(ComparisonSolver[Scores]):
    """Solver for Crammer-Singer and Weston-Watkins with hinge loss."""

    def _begin(self, problem: Problem, state: ComparisonState, z: CsrArray | None) -> None:
        data = problem.dataset
        columns = sp.csc_array(data.matrix())
        state.own = Scores(
            allocate_weights(data.n_examples, data.n_classes, data.dtype)[1],
            np.zeros(data.n_examples),
            columns.indptr.astype(np.int64),
            columns.indices.astype(np.int32),
            columns.data,
        )
        if z is not None:
            set_duals(problem, state.store.z, z)

    def certify(self, problem: Problem, state: ComparisonState) -> Certificate:
        """Compute the certificate; all scores are computed anew from W(z)."""
        found = super().certify(problem, state)
        own, n = state.own, problem.dataset.n_examples
        state.kernels.scores(state.store.weights, own.values, 0, n)
        state.kernels.violations(own.values, state.store.z, own.violations)
        return found

    def _loop(self, problem: Problem, state: ComparisonState) -> LoopFindings:
        own = state.own
        found = state.kernels.most_violating(
            own.values,
            state.store.z,
            own.violations,
            own.indptr,
            own.rows,
            own.entries,
            problem.dataset.n_examples,
        )
        at_z = self.certify(problem, state)
        return LoopFindings(at_z.gap, at_z.max_violation, found.evaluations, found.steps)

    def _put_duals(self, problem: Problem, state: ComparisonState) -> None:
        """Do nothing: the steps change z in its place."""
