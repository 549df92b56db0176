"""Exponentiated gradient: multiplicative steps on the dual, one example at a time.

    max_u D(z(u)),  z_ic = C_i u_ic
    Crammer-Singer:  u_i >= 0, sum_c u_ic = 1 over all k classes; u_{i,y_i} is a slack variable
    Weston-Watkins:  0 <= u_ic <= 1 for c != y_i

Input: x_i, y_i, C_i, hinge loss. Output: W(z), z and the certificate. An epoch visits every example
once, in a new random order; a visit multiplies u_i by the exponential of its gradient times the
example's step length, which is halved until D increases (exponentiated_gradient.hpp). No u becomes
0, so z is dense: n x k numbers. Convergence: D increases with every visit; slowly near the optimum,
because u with the limit 0 and small gradients decrease only like 1 / epochs.
Sources: Collins et al. 2008 (JMLR 9:1775); Keerthi et al. 2008, sec. 2.3.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.problem.problem import Problem
from manyclass.solvers.comparison.base import (
    ComparisonSolver,
    LoopFindings,
)
from manyclass.utils.types import CsrArray

FIRST_RATE = 0.5
# A warm start mixes in this share of uniform u, because log u = -inf would never change.
MIXED = 1e-4
REBUILD_EVERY = 16  # epochs


class ExponentiatedGradient(ComparisonSolver):
    """Solver for Crammer-Singer and Weston-Watkins with hinge loss."""

    def _begin(self, z: CsrArray | None) -> None:
        data = self.problem.dataset
        # log u (Crammer-Singer) or logit u (Weston-Watkins), -inf if u is always 0.
        self._logs = self._scores_like(data.n_examples)
        self._logs.fill(-np.inf)
        self._logs[:, : data.n_classes] = _first_logarithms(self.problem, z)
        self._rates = np.full(data.n_examples, FIRST_RATE)  # step lengths

    def _loop(self) -> LoopFindings:
        if self._n_epochs and self._n_epochs % REBUILD_EVERY == 0:
            self._put_duals()
            self.engine.rebuild()
        found = self.kernels.exponentiated_gradient(
            self.W, self._logs, self._rates, self.rows, self._seed()
        )
        self.dual += found.dual_gain
        return LoopFindings(found.gap, found.max_violation, found.evaluations)

    def _put_duals(self) -> None:
        problem, data = self.problem, self.problem.dataset
        values = self._logs[:, : data.n_classes].astype(np.float64)
        with np.errstate(over="ignore", under="ignore"):
            u = np.exp(values) if problem.formulation.takes_maximum else 1 / (1 + np.exp(-values))
        u[~self.filled] = 0
        u[np.arange(data.n_examples), data.labels] = 0
        if problem.formulation.takes_maximum:
            u /= np.maximum(1, u.sum(axis=1, keepdims=True))
        self.engine.load(sp.csr_array(u * problem.costs[:, None]))


def _first_logarithms(problem: Problem, z: CsrArray | None) -> NDArray[np.float64]:
    """Return log u or logit u of uniform u, or of a mix of z and uniform u; shape (n, k)."""
    data, simplex = problem.dataset, problem.formulation.takes_maximum
    own = np.arange(data.n_examples), data.labels
    uniform = 1 / data.n_classes if simplex else 0.5
    u = np.full((data.n_examples, data.n_classes), uniform)
    if z is not None:
        given = z.toarray() / problem.costs[:, None]
        if simplex:
            given[own] = np.maximum(0, 1 - given.sum(axis=1))
        u = (1 - MIXED) * np.clip(given, 0, 1) + MIXED * u
    if simplex:
        return np.asarray(np.log(u / u.sum(axis=1, keepdims=True)))
    u[own] = 0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(u) - np.log1p(-u))
