"""Trainers of the core and their dual variables."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

from manyclass import _core
from manyclass.solvers.kernels import core_problem
from manyclass.solvers.weights.layout import in_lanes
from tests.helpers.catalog import make_problem


def random_data(n, d, k, dtype, *, seed=0, bias=0.0, name="crammer_singer", loss="hinge"):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.3, rng=rng, dtype=np.float64).astype(dtype)
    return make_problem(
        sp.csr_array(X),
        rng.integers(0, k, n),
        n_classes=k,
        formulation=name,
        loss=loss,
        C=0.1,
        bias=bias,
    )


CORES = {
    ("lists", np.float32): (_core.Trainer32, _core.Duals32),
    ("lists", np.float64): (_core.Trainer64, _core.Duals64),
    ("lanes", np.float32): (_core.LaneTrainer32, _core.LaneDuals32),
    ("lanes", np.float64): (_core.LaneTrainer64, _core.LaneDuals64),
}


def kinds_for(problem):
    """The kernels that can solve the problem."""
    return ["lists", "lanes"] if in_lanes(problem) else ["lists"]


def trainer_for(problem, kind="lists"):
    data = problem.dataset
    trainer_of, duals_of = CORES[kind, data.dtype.type]
    return trainer_of(core_problem(problem)), duals_of(data.n_examples, data.n_classes)


def engine_for(problem, storage, n_threads=1, **options):
    """The core's engine, W = 0 and z = 0; in tables the classes are in their own order."""
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


def duals_of(z, problem):
    indptr, labels, values = z.export_duals() if isinstance(z, _core.Engine) else z.to_csr()
    shape = (problem.dataset.n_examples, problem.dataset.n_classes)
    return sp.csr_array((values, labels, indptr), shape=shape)
