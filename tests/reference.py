"""An independent solver: the primal as a quadratic program for an interior-point method."""

from __future__ import annotations

import clarabel
import numpy as np
import scipy.sparse as sp

from manyclass.problem import Problem


def optimal_objective(problem: Problem) -> float:
    """Optimum of 1/2 ||W||^2 + sum C_i xi_i, xi_i >= 0, xi_i >= 1 - (w_y - w_c) . x_i (c != y)."""
    data = problem.dataset
    X = np.column_stack([data.matrix().toarray(), np.full(data.n_examples, data.bias)])
    n, d = X.shape
    k = data.n_classes
    rows = []
    for i, (x, y) in enumerate(zip(X, data.labels, strict=True)):
        for c in range(k):
            row = np.zeros(d * k + n)
            row[d * k + i] = -1
            if c != y:
                row[y * d : y * d + d] = -x
                row[c * d : c * d + d] = x
            rows.append((row, 0.0 if c == y else -1.0))
    A = sp.csc_matrix(np.array([row for row, _ in rows]))
    b = np.array([bound for _, bound in rows])
    P = sp.block_diag([sp.eye(d * k), sp.csc_matrix((n, n))], format="csc")
    q = np.concatenate([np.zeros(d * k), problem.costs])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(len(b))]
    return float(clarabel.DefaultSolver(P, q, A, b, cones, settings).solve().obj_val)
