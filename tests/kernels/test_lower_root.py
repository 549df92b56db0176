"""Blocks of many classes: a visit's z is the best one, although few classes are listed."""

import numpy as np
import pytest
import scipy.optimize

from manyclass import _core
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem, problem_arguments
from manyclass.utils.machine import core_class
from tests.helpers.cases import each

K = 150


def visited(name, dtype, instruction_set, X, labels, C, loss="hinge"):
    """Return z of shape (n, k) after one visit of each row in random order."""
    data = Dataset.from_matrix(X.astype(dtype), labels, n_classes=K)
    problem = Problem(data, FORMULATIONS[name], C, loss)
    arguments = problem_arguments(problem) | {"instruction_set": instruction_set}
    engine = _core.Engine(core_class("Problem", data.dtype)(**arguments), "dense", 1, lists=True)
    rows = np.arange(len(X), dtype=np.int32)
    engine.full_loop(rows, np.empty_like(rows), -np.inf, 0)
    indptr, classes, values = engine.export_duals()
    dense = np.zeros((len(X), K))
    dense[np.repeat(rows, np.diff(indptr)), classes] = values
    return dense, engine.copy_weights()[:-1].astype(np.float64)


def best_of(name, xi, q, C):
    """The z of one example at W = 0 less its own part, by bisection for the root."""
    if name == "crammer_singer":
        # z = max(0, xi / q - theta), sum z = min(theta, C)
        def excess(theta):
            return np.maximum(0, xi / q - theta).sum() - min(theta, C)

        theta = scipy.optimize.brentq(excess, min(0, (xi / q).min()) - C - 1, (xi / q).max() + 1)
        return np.maximum(0, xi / q - theta)

    def excess(t):
        return np.clip(xi / q - t, 0, C).sum() - t

    return np.clip(xi / q - scipy.optimize.brentq(excess, 0, xi.sum() / q + 1), 0, C)


@pytest.mark.parametrize("instruction_set", _core.instruction_sets())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins"])
@each("size", [1e-3, 1.0, 1e3])
@each("C", [1e-3, 1.0, 1e3])
def test_the_second_visit_is_exact(name, dtype, instruction_set, size, C):
    """Of two parallel rows: the second one's scores are those of the first one's step."""
    rng = np.random.default_rng(0)
    x = size * rng.normal(size=6)
    X = np.array([x, 0.7 * x])
    labels = np.array([3, 77], np.int32)
    z, W = visited(name, dtype, instruction_set, X, labels, C)
    # Whichever came first: one of the rows has, given W less its own part, its best z.
    errors = []
    for i, y in enumerate(labels):
        delta = -z[i].copy()
        delta[y] += z[i].sum()
        s = X[i] @ (W - np.outer(X[i], delta))
        xi = np.delete(1 - (s[y] - s), y)
        best = best_of(name, xi, X[i] @ X[i], C)
        scale = max(best.max(), np.finfo(float).tiny)
        rounding = 4 * np.finfo(float).eps * np.abs(xi).max() / (X[i] @ X[i])  # of xi / q here
        errors.append((np.abs(np.delete(z[i], y) - best).max() - rounding) / scale)
    assert min(errors) <= (2e-3 if dtype == np.float32 else 1e-9)
