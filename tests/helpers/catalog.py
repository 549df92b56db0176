"""The one catalogue that drives the tests: formulations x solvers x tiny problems."""

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import scipy.sparse as sp

from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.stopping import RULES
from manyclass.training.epoch_loop import solve

GB = 10**9


def has_relative_margins(name):
    """Those are solved with sparse weights, too."""
    return FORMULATIONS[name].margin == "relative"


SparseDual = partial(SequentialDual, storage="tables")
BatchedDual = partial(SequentialDual, storage="class_major")

# Formulation, loss.
PAIRS = [(name, loss) for name, f in FORMULATIONS.items() for loss in f.losses]
# Formulation, loss, solver; a new combination is one row.
ROWS = [(name, loss, SequentialDual) for name, loss in PAIRS]
ROWS += [(name, loss, BatchedDual) for name, loss in PAIRS if name != "one_vs_rest"]
ROWS += [(name, loss, SparseDual) for name, loss in PAIRS if has_relative_margins(name)]


@dataclass(frozen=True)
class Solved:
    """A problem whose optimum was worked out by hand."""

    problem: Problem
    weights: np.ndarray  # (d + 1, k)
    duals: np.ndarray  # (n, k)
    objective: float
    unique_duals: bool


# Five points, three classes, C = 1/2. The axes decouple: (1, 0) of class 0 and (-1, 0) of class 1
# mirror each other; (0, 1) of class 2 and (0, 1) of class 1 contradict each other, (0, -1) is of
# class 0. So W = [[a, -a, 0], [-2b, b, b]] (OVR: three numbers), and P is a function of a and b.
# Crammer-Singer, for one: losses 1 - a (against class 2) twice, so a = C; 1, 1 and 1 - 3b, so
# 6b = 3C; the z of an example with a loss sum to C, that of (0, -1) evenly by symmetry.
# Per formulation and loss: the optimum, W, z (rows are examples).
SOLUTIONS = """
crammer_singer hinge: 33/16; 1/2 -1/2 0, -1/2 1/4 1/4;
    0 0 1/2, 0 0 1/2, 0 1/2 0, 0 1/4 1/4, 0 0 1/2
weston_watkins hinge: 25/12; 1/2 -1/2 0, -2/3 1/3 1/3;
    0 0 1/2, 0 0 1/2, 0 1/2 0, 0 1/3 1/3, 0 0 1/2
weston_watkins squared_hinge: 25/14; 1/2 -1/2 0, -4/7 2/7 2/7;
    0 0 1/2, 0 0 1/2, 1/7 1 0, 0 1/7 1/7, 1/7 0 1
lee_lin_wahba hinge: 53/12; 1/2 -1/2 0, -2/3 1/3 1/3;
    0 1/2 1/2, 1/2 0 1/2, 1/2 1/2 0, 0 1/2 1/2, 1/2 0 1/2
lee_lin_wahba squared_hinge: 73/18; 1/2 -1/2 0, -4/9 2/9 2/9;
    0 1/2 1, 1/2 0 1, 5/9 11/9 0, 0 7/9 7/9, 5/9 0 11/9
adm hinge: 5/2; 0 0 0, 0 0 0;
    0 0 1/2, 0 0 1/2, 1/12 5/12 0, 0 1/4 1/4, 1/12 0 5/12
ats hinge: 21/4; 1 -1 0, -1 1/2 1/2;
    1/2 1/2 1/2, 1/2 1/2 1/2, 0 1/2 1/2, 1/2 1/2 1/2, 1/2 1/2 1/2
ats squared_hinge: 29/6; 2/3 -2/3 0, -2/3 1/3 1/3;
    1/3 1/3 1, 1/3 1/3 1, 1/3 4/3 2/3, 1/3 2/3 2/3, 1/3 2/3 4/3
atm hinge: 5/2; 0 0 0, 0 0 0;
    0 0 1/2, 0 0 1/2, 1/12 5/12 0, 0 1/4 1/4, 1/12 0 5/12
reinforced hinge: 31/4; 1 -1 0, -1 1/2 1/2;
    1/2 1/2 1/2, 1/2 1/2 1/2, 0 1/2 1/2, 1/2 1/2 1/2, 1/2 1/2 1/2
reinforced squared_hinge: 9; 1 -1 0, -1 1/2 1/2;
    1 0 1, 0 1 1, 0 3/2 3/2, 1 1/2 1/2, 0 3/2 3/2
mmr hinge: 23/12; 1/2 -1/2 0, -2/3 1/3 1/3;
    1/2 0 0, 0 1/2 0, 0 0 1/2, 1/2 0 0, 0 1/2 0
mmr squared_hinge: 4/3; 1/2 -1/2 0, -2/3 1/3 1/3;
    1/2 0 0, 0 1/2 0, 0 0 2/3, 1/3 0 0, 0 2/3 0
one_vs_rest hinge: 21/4; 1 -1 0, -1 1/2 1/2;
    1/2 1/2 1/2, 1/2 1/2 1/2, 0 1/2 1/2, 1/2 1/2 1/2, 1/2 1/2 1/2
one_vs_rest squared_hinge: 115/24; 2/3 -2/3 0, -3/4 1/4 1/4;
    1/3 1/3 1, 1/3 1/3 1, 1/4 5/4 3/4, 1/4 3/4 3/4, 1/4 3/4 5/4
"""
MADE = re.findall(r"(\w+) (\w+): (.+); (.+);\n +(.+)", SOLUTIONS)
FIVE_POINTS = {(name, loss): (W, z, optimum) for name, loss, optimum, W, z in MADE}
# Where another z gives the same W and D.
MANY_DUALS = {"weston_watkins", "adm", "ats", "atm", "reinforced", "one_vs_rest"}


def five_points(formulation, loss, dtype=np.float64):
    """The problem of FIVE_POINTS with its solution."""
    X = np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [0, 1]], dtype)
    problem = make_problem(
        X, [0, 1, 2, 0, 1], n_classes=3, formulation=formulation, loss=loss, C=0.5
    )
    weights, duals, objective = FIVE_POINTS[formulation, loss]
    matrix = np.vstack([_matrix(weights), np.zeros(3)])
    unique = loss == "squared_hinge" or formulation not in MANY_DUALS
    return Solved(problem, matrix, _matrix(duals), float(Fraction(objective)), unique)


def _matrix(text):
    return np.array([[float(Fraction(v)) for v in row.split()] for row in text.split(",")])


def make_problem(
    X,
    labels,
    *,
    n_classes,
    formulation="crammer_singer",
    loss="hinge",
    C=1.0,
    weights=None,
    bias=0.0,
):
    """A problem from arrays."""
    dataset = Dataset.from_matrix(X, labels, n_classes=n_classes, weights=weights, bias=bias)
    return Problem(dataset, FORMULATIONS[formulation], C, loss)


def random_problem(seed, formulation="crammer_singer", loss="hinge", dtype=np.float64):
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
        formulation=formulation,
        loss=loss,
        C=float(10 ** rng.uniform(-2, 2)),
        weights=weights,
        bias=float(rng.choice([0.0, 1.0])),
    )


def text_problem(
    formulation="crammer_singer",
    loss="hinge",
    dtype=np.float32,
    *,
    n=300,
    d=400,
    k=40,
):
    """Sparse unit rows with some class structure."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, k, n)
    X = sp.random_array((n, d), density=0.03, random_state=rng, dtype=np.float64).tolil()
    X[np.arange(n), labels % d] = 1.0
    X = sp.csr_array(X)
    X = sp.diags_array(1 / np.sqrt(X.power(2).sum(axis=1))) @ X
    X = sp.csr_array(X.astype(dtype))
    return make_problem(X, labels, n_classes=k, formulation=formulation, loss=loss)


def train(
    problem,
    solver=SequentialDual,
    *,
    tol=1e-9,
    stopping="gap",
    max_iter=20_000,
    seed=0,
    **options,
):
    """Solve a problem tightly; W is an ndarray."""
    solution = solve(
        problem,
        partial(solver, rng=np.random.default_rng(seed)),
        RULES[stopping](tol),
        max_iter=max_iter,
        **options,
    )
    weights = solution.weights
    return replace(solution, weights=weights.toarray() if sp.issparse(weights) else weights)


def problem_of_size(name="crammer_singer", *, d=1000, k=100, n=50, nnz=20):
    """A problem of which only the sizes matter."""
    X = sp.csr_array(np.ones((n, nnz), np.float32))
    problem = make_problem(X, np.arange(n) % 2, n_classes=2, formulation=name)
    return Problem(replace(problem.dataset, n_features=d, n_classes=k), problem.formulation, 1.0)


def random_costs(k, seed, least=0.0):
    """Costs of mistakes from `least` to 3, a fifth of them 0."""
    rng = np.random.default_rng(seed)
    costs = rng.uniform(least, 3, (k, k)) * (rng.random((k, k)) < 0.8)
    costs[0, 1] = 2.0
    np.fill_diagonal(costs, 0)
    return costs


def problem_and_costs(seed, name, loss, dtype=np.float64, least=0.0):
    """A tiny problem of three classes or more, and costs for it."""
    problem = random_problem(seed, name, loss, dtype)
    while problem.dataset.n_classes < 3:
        seed += 1000
        problem = random_problem(seed, name, loss, dtype)
    return problem, random_costs(problem.dataset.n_classes, seed, least)
