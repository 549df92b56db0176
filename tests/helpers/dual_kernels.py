"""Engines of the core."""

from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

from manyclass import _core
from manyclass.problem.problem import core_problem
from manyclass.solvers.weights.storage import in_lanes
from tests.helpers.catalog import make_problem


def random_data(n, d, k, dtype, *, seed=0, bias=0.0, name="crammer_singer", loss="hinge"):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.3, random_state=rng, dtype=np.float64).astype(dtype)
    return make_problem(
        sp.csr_array(X),
        rng.integers(0, k, n),
        n_classes=k,
        formulation=name,
        loss=loss,
        C=0.1,
        bias=bias,
    )


def kinds_for(problem):
    """The kernels that can solve the problem."""
    return ["lists", "lanes"] if in_lanes(problem) else ["lists"]


def engine_for(problem, storage, n_threads=1, **options):
    """The core's engine, W = 0 and z = 0; in tables the classes are in their own order.

    ``storage`` may be a kind of dense kernels: lists or lanes.
    """
    if storage in ("lists", "lanes"):
        options["lists"], storage = storage == "lists", "dense"
    if storage == "tables":
        options["order"] = np.arange(problem.dataset.n_classes, dtype=np.int32)
    return _core.Engine(core_problem(problem), storage, n_threads, **options)


def filled_rows(problem):
    """The examples with x_i != 0."""
    return np.flatnonzero(core_problem(problem).squared_norms() > 0).astype(np.int32)


def set_duals(engine, z):
    csr = sp.csr_array(z)
    engine.set_duals(
        csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data.astype(np.float64)
    )


def sums_of(parts):
    """Gap, loss and violation of all parts."""
    return SimpleNamespace(
        gap=sum(part.gap for part in parts),
        loss=sum(part.loss for part in parts),
        max_violation=max(part.max_violation for part in parts),
    )


def duals_of(engine, problem):
    indptr, labels, values = engine.export_duals()
    shape = (problem.dataset.n_examples, problem.dataset.n_classes)
    return sp.csr_array((values, labels, indptr), shape=shape)
