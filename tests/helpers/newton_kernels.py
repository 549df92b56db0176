"""The core of the Newton phase around some dual variables."""

import numpy as np
import pytest

from manyclass.problem import objective
from manyclass.solvers.newton_phase import length_of_round
from tests.helpers.catalog import FORMULATIONS, PAIRS
from tests.helpers.dual_kernels import engine_for, set_duals

LANES = [
    (name, loss)
    for name, loss in PAIRS
    if FORMULATIONS[name].aggregation == "sum" or FORMULATIONS[name].margin == "relative"
]


rows = pytest.mark.parametrize(("name", "loss"), LANES)


def prepared(problem, *, seed=0, n_threads=3):
    """The core of the phase around some feasible zbar; its engine; zbar; a W of its kind."""
    rng = np.random.default_rng(seed)
    data = problem.dataset
    engine = engine_for(problem, "dense", n_threads)
    centre = rng.random((data.n_examples, data.n_classes)) * problem.costs[:, None]
    centre *= objective.targets(problem) & objective._has_features(problem)[:, None]
    centre /= data.n_classes
    centre *= rng.random(centre.shape) < 0.5
    centre = centre.astype(data.dtype)
    set_duals(engine, centre)
    core = engine.newton()
    core.rebuild(anew=True)
    return core, engine, centre.astype(float), weights_like(engine, problem, rng)


def weights_like(engine, problem, rng, size=0.3):
    made = engine.new_weights()
    W = made.matrix
    W[:] = size * rng.normal(size=W.shape)
    if problem.formulation.sum_to_zero != "no":
        W -= W.mean(axis=1, keepdims=True)
    if not problem.dataset.bias:
        W[-1] = 0
    return made


def gradient_at(core, W, epsilon, out):
    """The gradient of phi at W, of which the core then knows the response and the Hessian."""
    core.write_weights(W)
    core.rebuild(anew=False)
    core.respond(epsilon)
    core.read_gradient(out)


def newton_round(core, epsilon, budget=10**9):
    """A round on the z of the core's engine."""
    return core.move(length_of_round(core, epsilon, budget))


def digits_of(problem):
    return 2e-4 if problem.dataset.dtype == np.float32 else 1e-10


def projection(point, upper, *, simplex):
    """Of every row onto the box, or onto {z >= 0, sum z <= upper} by bisection."""
    if not simplex:
        return np.clip(point, 0, upper[:, None])
    low, high = np.zeros(len(point)), np.maximum(point.max(axis=1), 0)
    for _ in range(200):
        middle = (low + high) / 2
        large = np.maximum(point - middle[:, None], 0).sum(axis=1) > upper
        low, high = np.where(large, middle, low), np.where(large, high, middle)
    return np.maximum(point - high[:, None], 0)


def expected_response(problem, centre, weights, epsilon):
    """The z of every example that maximizes its part of phi."""
    xi = objective.slacks(problem, weights)
    ridge = 1 / (2 * problem.costs[:, None]) if problem.loss == "squared_hinge" else 0.0
    point = centre + (xi - ridge * centre) / (epsilon + ridge)
    upper = np.full(len(xi), np.inf) if problem.loss == "squared_hinge" else problem.costs
    z = projection(point, upper, simplex=problem.formulation.aggregation == "max")
    return z * objective._has_features(problem)[:, None]
