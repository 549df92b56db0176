"""The core of the Newton phase around some dual variables."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass.problem import objective
from manyclass.solvers.weights.dense import allocate_weights
from tests.helpers.catalog import FORMULATIONS, PAIRS
from tests.helpers.dual_kernels import trainer_for

LANES = [
    (name, loss)
    for name, loss in PAIRS
    if FORMULATIONS[name].aggregation == "sum" or FORMULATIONS[name].margin == "relative"
]


rows = pytest.mark.parametrize(("name", "loss"), LANES)


def prepared(problem, *, seed=0, n_threads=3):
    """The core of the phase around some feasible zbar; zbar; a W of its kind."""
    rng = np.random.default_rng(seed)
    data = problem.dataset
    trainer, z = trainer_for(problem, "lanes")
    centre = rng.random((data.n_examples, data.n_classes)) * problem.costs[:, None]
    centre *= objective.targets(problem) & objective._has_features(problem)[:, None]
    centre /= data.n_classes
    centre *= rng.random(centre.shape) < 0.5
    csr = sp.csr_array(centre.astype(data.dtype))
    z.from_csr(csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data)
    core = trainer.newton(z, n_threads)
    core.rebuild(anew=True)
    return core, csr.toarray().astype(float), weights_like(problem, rng)


def weights_like(problem, rng, size=0.3):
    data = problem.dataset
    _, W = allocate_weights(data.n_features + 1, data.n_classes, data.dtype)
    k = data.n_classes
    W[:, :k] = size * rng.normal(size=(len(W), k))
    if problem.formulation.sum_to_zero != "no":
        W[:, :k] -= W[:, :k].mean(axis=1, keepdims=True)
    if not data.bias:
        W[-1] = 0
    return W


def digits_of(problem):
    return 2e-4 if problem.dataset.dtype == np.float32 else 1e-10
