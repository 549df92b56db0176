"""An independent solver: the primal as a quadratic program for an interior-point method."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass.problem.objective import targets
from tests.helpers.dense_data import rows_with_bias


def optimal_objective(
    problem,
    costs=None,
    offsets=None,
    factors=None,
):
    """Optimum of 1/2 ||W||^2 + sum C_i loss_i, one slack per example (max) or target (sum).

    Variables: W by classes, then the slacks; slack >= gamma_c - mu_c, slack >= 0, and
    sum_c w_c = 0 where the formulation asks for it. With ``costs`` Delta of shape (k, k), gamma_c
    of c != y is Delta(y, c); with ``offsets`` o of shape (k,) or (n, k), s_c + o_c takes the place
    of s_c.
    With ``factors`` Delta of shape (k, k), the loss of c counts Delta(y, c) times, perhaps 0.
    The problem's own base scores and factors are not looked at.
    """
    clarabel = pytest.importorskip("clarabel")
    data = problem.dataset
    X = rows_with_bias(data)
    d, k = X.shape[1], data.n_classes
    pairs = np.argwhere(targets(problem))
    if factors is not None:
        pairs = pairs[factors[data.labels[pairs[:, 0]], pairs[:, 1]] > 0]
    together = problem.formulation.aggregation == "max"
    slack_of = pairs[:, 0] if together else np.arange(len(pairs))
    slack_cost = problem.costs if together else problem.costs[pairs[:, 0]]
    if factors is not None:
        slack_cost = slack_cost * factors[data.labels[pairs[:, 0]], pairs[:, 1]]
    n_slacks = len(slack_cost)
    rows, bounds = [], []
    for (i, c), slack in zip(pairs, slack_of, strict=True):
        row = np.zeros(d * k + n_slacks)
        row[d * k + slack] = -1
        y = data.labels[i]
        if problem.formulation.margin == "relative":
            row[y * d : y * d + d] -= X[i]
            row[c * d : c * d + d] += X[i]
        else:
            row[c * d : c * d + d] = -X[i] if c == y else X[i]
        rows.append(row)
        own = problem.formulation.margin == "absolute" and c == y
        gamma = 1.0 if costs is None else float(costs[y, c])
        gamma = float(problem.formulation.margins(k)[1]) if own else gamma
        added = np.zeros(k) if offsets is None else np.broadcast_to(offsets, (len(X), k))[i]
        relative = problem.formulation.margin == "relative"
        bounds.append(-gamma - (added[c] * (-1 if own else 1) - (added[y] if relative else 0)))
    A = np.vstack([np.array(rows), -np.eye(d * k + n_slacks)[d * k :]])
    b = np.concatenate([bounds, np.zeros(n_slacks)])
    cones = [clarabel.NonnegativeConeT(len(b))]
    if problem.formulation.centred:
        mean = np.hstack([np.tile(np.eye(d), k), np.zeros((d, n_slacks))])
        A, b = np.vstack([mean, A]), np.concatenate([np.zeros(d), b])
        cones.insert(0, clarabel.ZeroConeT(d))
    quadratic = 2 * slack_cost if problem.loss == "squared_hinge" else np.zeros(n_slacks)
    linear = np.zeros(n_slacks) if problem.loss == "squared_hinge" else slack_cost
    P = sp.diags(np.concatenate([np.ones(d * k), quadratic]), format="csc")
    q = np.concatenate([np.zeros(d * k), linear])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    return float(clarabel.DefaultSolver(P, q, sp.csc_matrix(A), b, cones, settings).solve().obj_val)
