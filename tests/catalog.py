"""The one catalogue that drives the tests: formulations x solvers x tiny problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyclass.dataset import Dataset
from manyclass.formulations import FORMULATIONS
from manyclass.problem import Problem
from manyclass.solution import Solution
from manyclass.solvers.base import solve
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.stopping import RULES

# Formulation, solver; a new pair is one row.
PAIRS = [("crammer_singer", SequentialDual)]


@dataclass(frozen=True)
class Solved:
    """A problem whose optimum was worked out by hand."""

    problem: Problem
    weights: np.ndarray  # (d + 1, k)
    duals: np.ndarray  # (n, k)
    objective: float


def five_points(dtype: Any = np.float64) -> Solved:
    """Five points, three classes, Crammer-Singer at C = 1/2.

    The axes decouple. On the first, (1, 0) of class 0 and (-1, 0) of class 1 mirror each other:
    w = (a, -a, 0), loss 1 - a against class 2 (1 - 2a against each other), so a = C and both z_i2
    are at their bound. On the second, (0, 1) of class 2 and (0, 1) of class 1 contradict each other
    and (0, -1) is of class 0: w = (-2b, b, b), losses 1, 1, 1 - 3b, so 6b = 3C; the two are at
    their bound against each other, and (0, -1) splits its C evenly.
    """
    X = np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [0, 1]], dtype)
    labels = np.array([0, 1, 2, 0, 1])
    duals = np.array([[0, 0, 2], [0, 0, 2], [0, 2, 0], [0, 1, 1], [0, 0, 2]]) / 4
    weights = np.array([[2, -2, 0], [-2, 1, 1], [0, 0, 0]]) / 4
    problem = make_problem(X, labels, n_classes=3, C=0.5)
    return Solved(problem, weights, duals, objective=33 / 16)


def make_problem(
    X: Any, labels: Any, *, n_classes: int, C: float = 1.0, weights: Any = None, bias: float = 0.0
) -> Problem:
    """A Crammer-Singer problem."""
    dataset = Dataset.from_matrix(X, labels, n_classes=n_classes, weights=weights, bias=bias)
    return Problem(dataset, FORMULATIONS["crammer_singer"], C)


def random_problem(seed: int, dtype: Any = np.float64) -> Problem:
    """A tiny problem: 2 to 5 classes, some rows empty or repeated, weights, C of any size."""
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(2, 13), rng.integers(1, 6), rng.integers(2, 6)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    X[rng.integers(n)] = X[rng.integers(n)]
    if seed % 5 == 0:
        X[0] = 0
    weights = rng.integers(1, 4, n).astype(float) if seed % 2 else None
    return make_problem(
        sp.csr_array(X.astype(dtype)),
        rng.integers(0, k, n),
        n_classes=int(k),
        C=float(10 ** rng.uniform(-2, 2)),
        weights=weights,
        bias=float(rng.choice([0.0, 1.0])),
    )


def text_problem(n: int = 300, d: int = 400, k: int = 40, dtype: Any = np.float32) -> Problem:
    """Sparse unit rows with some class structure."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, k, n)
    X = sp.random_array((n, d), density=0.03, rng=rng, dtype=np.float64).tolil()
    X[np.arange(n), labels % d] = 1.0
    X = sp.csr_array(X)
    X = sp.diags_array(1 / np.sqrt(X.power(2).sum(axis=1))) @ X
    return make_problem(sp.csr_array(X.astype(dtype)), labels, n_classes=k, C=1.0)


def train(
    problem: Problem,
    solver: Any = SequentialDual,
    *,
    tol: float = 1e-9,
    stopping: str = "gap",
    max_iter: int = 20_000,
    seed: int = 0,
    **options: Any,
) -> Solution:
    """Solve a problem tightly."""
    return solve(
        problem,
        solver(np.random.default_rng(seed)),
        RULES[stopping](tol),
        max_iter=max_iter,
        **options,
    )
