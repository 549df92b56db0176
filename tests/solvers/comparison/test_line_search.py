"""The exact line search of the cutting-plane method."""

import numpy as np
import pytest

from manyclass.problem import objective
from manyclass.solvers.comparison.line_search import Line
from tests.helpers.cases import each
from tests.helpers.catalog import random_problem
from tests.helpers.dense_data import rows_with_bias


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("crammer_singer", "hinge"),
        ("weston_watkins", "hinge"),
        ("weston_watkins", "squared_hinge"),
        ("one_vs_rest", "hinge"),
        ("one_vs_rest", "squared_hinge"),
    ],
)
@each("seed", range(5))
def test_no_other_step_is_better(name, loss, seed):
    problem = random_problem(seed, name, loss)
    data = problem.dataset
    rng = np.random.default_rng(seed)
    shape = data.n_features + 1, data.n_classes
    W, V = 0.1 * rng.normal(size=shape), rng.normal(size=shape)
    X = rows_with_bias(data)
    line = Line(problem, X @ W, X @ V, ((W * W).sum(), (W * V).sum(), (V * V).sum()))
    for mu in (0.0, 0.3, 1.7):
        assert line.objective(mu) == pytest.approx(objective.primal(problem, W + mu * V))
    best = line.best()
    assert best >= 0
    grid = np.concatenate([np.linspace(0, 3, 61), best + np.linspace(-1e-3, 1e-3, 5)])
    assert line.objective(best) <= min(line.objective(mu) for mu in grid[grid >= 0]) + 1e-9
