"""The master problem of the cutting-plane method.

    max_lambda  b . lambda - 1/2 lambda^T G lambda    s.t.  lambda >= 0,  sum lambda <= 1

Input: b and a positive semi-definite G, J x J with J some hundreds; a feasible start. Output:
lambda, to a duality gap of ``tol``. Primal active-set method: the equality-constrained problem on
the support, a step to the first bound if its solution leaves the simplex, then the coordinate with
the largest gradient enters. It ends earlier if rounding prevents an increase of the objective.
Source: Nocedal and Wright 2006, algorithm 16.3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

STEPS_PER_CUT = 2
DIGIT = 4 * float(np.finfo(np.float64).eps)  # rounding error, as a share of the objective


def solve_simplex_qp(
    gram: Vector, b: Vector, start: Vector, tol: float, ridge: float = 1e-13
) -> Vector:
    """Maximize b . x - x^T G x / 2 over x >= 0, sum x <= 1.

    Parameters
    ----------
    gram : ndarray of shape (J, J)
    b, start : ndarray of shape (J,)
        Linear term, and a feasible start.
    tol : float
        Duality gap at which to end.
    ridge : float, default=1e-13
        Share of the diagonal of G that is added to it, above the rounding of G, so that the
        non-zero rows are linearly independent.

    Returns
    -------
    ndarray of shape (J,)
    """
    size = len(b)
    # The slack of sum x <= 1 is an additional coordinate, with b = 0 and G = 0.
    G = np.zeros((size + 1, size + 1))
    G[:size, :size] = gram
    G[np.diag_indices(size)] *= 1 + ridge
    c = np.append(b, 0.0)
    x = np.append(start, max(0.0, 1 - start.sum()))
    # The objective is linear in coordinates with G = 0: the one with the largest c suffices.
    curved = G.diagonal() >= np.finfo(np.float64).tiny
    linear = np.flatnonzero(~curved)
    best = linear[c[linear].argmax()]
    kept = np.append(np.flatnonzero(curved), best)
    x[best] = x[linear].sum()
    solution = np.zeros(size + 1)
    solution[kept] = _maximized(G[np.ix_(kept, kept)], c[kept], x[kept] / x[kept].sum(), tol)
    return solution[:size]


def _maximized(G: Vector, c: Vector, x: Vector, tol: float) -> Vector:
    """Maximize c . x - x^T G x / 2 over the simplex, from a point of it."""
    value = _objective(G, c, x)
    for _ in range(STEPS_PER_CUT * len(c)):
        gradient = c - G @ x
        entering = int(gradient.argmax())
        if gradient[entering] - gradient @ x <= tol:
            break
        support = np.union1d(np.flatnonzero(x > 0), entering)
        candidates = [_on_support(G, c, x, support), _towards(G, c, x, entering)]
        values = [_objective(G, c, candidate) for candidate in candidates]
        after = max((v for v in values if np.isfinite(v)), default=value)
        if after - value <= DIGIT * abs(value):
            break
        x, value = candidates[values.index(after)], after
    return x


def _objective(G: Vector, c: Vector, x: Vector) -> float:
    return float(c @ x - 0.5 * x @ G @ x)


def _on_support(G: Vector, c: Vector, x: Vector, support: NDArray[np.intp]) -> Vector:
    """Maximize over the coordinates of the support, which shrinks when a bound is reached."""
    while len(support):
        target = _stationary(G, c, support)
        moving = x[support]
        leaves = target < 0
        if not leaves.any():
            result = np.zeros_like(x)
            result[support] = target
            total = float(result.sum())
            return result / total if total > 0 else x
        step = float((moving[leaves] / (moving[leaves] - target[leaves])).min())
        moved = np.maximum(0, moving + step * (target - moving))
        at_bound = leaves & (moved <= 1e-15)
        if not at_bound.any():  # rounding
            at_bound = leaves & (moved == moved[leaves].min())
        moved[at_bound] = 0
        x = np.zeros_like(x)
        x[support] = moved
        x /= x.sum()
        support = support[~at_bound]
    return x


def _stationary(G: Vector, c: Vector, support: NDArray[np.intp]) -> Vector:
    """Solve the KKT system of the support: G x + tau = c, sum x = 1.

    If G spans so many decades that rounding makes the system singular, it is scaled to a unit
    diagonal and solved by least squares.
    """
    m = len(support)
    block = G[np.ix_(support, support)]
    system = np.zeros((m + 1, m + 1))
    system[:m, :m] = block
    system[:m, m] = system[m, :m] = 1
    right = np.append(c[support], 1.0)
    try:
        solution: Vector = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:
        diagonal = block.diagonal()
        scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1)), 1.0)
        scale = np.append(scale, 1 / scale.max())
        scaled = scale[:, None] * system * scale
        solution = scale * np.linalg.lstsq(scaled, scale * right)[0]
    return solution[:m]


def _towards(G: Vector, c: Vector, x: Vector, entering: int) -> Vector:
    """Move mass to one coordinate by an exact line search (a Frank-Wolfe step)."""
    direction = -x
    direction[entering] += 1
    slope = float(direction @ (c - G @ x))
    curvature = float(direction @ G @ direction)
    step = 1.0 if curvature <= slope else slope / curvature
    return np.maximum(0, x + step * direction)
