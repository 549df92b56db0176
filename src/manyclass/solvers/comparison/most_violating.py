"""Exact steps on the example with the largest violation: the method of Crammer and Singer.

    max_z D(z), one block at a time: the block of the example with the largest v_i

Input: x_i, y_i, C_i; Crammer-Singer or Weston-Watkins with hinge loss. Output: W(z), z and the
certificate. The scores of all examples are stored, n x k numbers: a step updates them by one sparse
product (most_violating.hpp). An epoch is n steps. Convergence: every step is the exact maximum over
its block; it needs fewer steps than a random order, but each costs a product with X.
Sources: Crammer and Singer 2001 (JMLR 2:265); Keerthi et al. 2008, sec. 2.2.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from manyclass.problem.solution import Certificate
from manyclass.solvers.comparison.base import (
    ComparisonSolver,
    LoopFindings,
)
from manyclass.utils.types import CsrArray


class MostViolating(ComparisonSolver):
    """Solver for Crammer-Singer and Weston-Watkins with hinge loss."""

    def _begin(self, z: CsrArray | None) -> None:
        data = self.problem.dataset
        columns = sp.csc_array(data.matrix())
        self._scores = self._scores_like(data.n_examples)  # all w_c . x_i
        self._violations = np.zeros(data.n_examples)  # all v_i
        self._by_feature = (
            columns.indptr.astype(np.int64),
            columns.indices.astype(np.int32),
            columns.data,
        )
        if z is not None:
            self.engine.load(z)

    def certify(self) -> Certificate:
        """Compute the certificate; all scores are computed again, from W(z)."""
        found = super().certify()
        self.kernels.scores(self.W, self._scores, 0, self.problem.dataset.n_examples)
        self.kernels.violations(self._scores, self.engine.lists, self._violations)
        return found

    def _loop(self) -> LoopFindings:
        found = self.kernels.most_violating(
            self._scores,
            self.engine.lists,
            self._violations,
            *self._by_feature,
            self.problem.dataset.n_examples,
        )
        at_z = self.certify()
        return LoopFindings(at_z.gap, at_z.max_violation, found.evaluations, found.steps)

    def _put_duals(self) -> None:
        """Do nothing, as the steps change z in place."""
