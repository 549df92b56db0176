"""Small problems on arrays that count as arrays on a device, and their exact objectives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass.arrays import namespace
from manyclass.arrays.dataset import DeviceDataset
from manyclass.problem import objective
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import LOGISTIC, named
from manyclass.problem.problem import Problem

# Arrays of array-api-strict are slow: some tests of them are enough.
TORCH = pytest.param("torch", marks=pytest.mark.slow)
KINDS = (
    ("crammer_singer", "hinge"),
    ("weston_watkins", "hinge"),
    ("weston_watkins", "squared_hinge"),
    ("one_vs_rest", "hinge"),
    ("one_vs_rest", "squared_hinge"),
    ("logistic", "log_loss"),
)


@pytest.fixture(params=[TORCH])
def asarray(request, monkeypatch):
    """Make tensors, which count as lying on a device."""
    return counted(request.param, monkeypatch)


@pytest.fixture
def strict(monkeypatch):
    """Make arrays of array-api-strict, which count as lying on a device."""
    return counted("array_api_strict", monkeypatch)


def counted(name, monkeypatch):
    """Return the function that makes arrays of a package; they count as lying on a device."""
    pytest.importorskip("array_api_compat")
    module = pytest.importorskip(name)
    monkeypatch.setattr(namespace, "CPU_COUNTS", True)
    if name == "torch":
        module.set_num_threads(1)  # tensors are small
        return module.as_tensor
    return module.asarray


def rows(seed=0, n=40, d=16, k=3, dtype=np.float64):
    """Draw rows and labels, some of which lie on the wrong side."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, k)) + 2 * rng.normal(size=(n, k))).argmax(axis=1)
    y[:k] = np.arange(k)
    return X.astype(dtype), y


def problems(asarray, name, loss, C=0.1, *, offsets=False, bias=1.0, seed=0, scale=1.0, **size):
    """Return the same problem on the device and on the host."""
    X, y = rows(seed, **size)
    X *= X.dtype.type(scale)
    k, weights = int(y.max()) + 1, np.linspace(0.5, 2, len(y))
    there = DeviceDataset.from_array(asarray(X), y, weights, n_classes=k, bias=bias)
    here = Dataset.from_matrix(X, y, n_classes=k, weights=weights, bias=bias)
    formulation = LOGISTIC if name == "logistic" else named(name)
    made = [Problem(data, formulation, C, loss) for data in (there, here)]
    if offsets:
        base = BaseScores.from_offsets(np.linspace(-0.5, 0.5, k), len(y))
        made = [problem.with_base(base) for problem in made]
    return made


def primal(problem, W):
    """Return P in long double."""
    return (W.astype(np.longdouble) ** 2).sum() / 2 + loss_of(problem, W)


def loss_of(problem, W):
    """Return sum_i C_i loss_i in long double."""
    exact = np.longdouble
    data = problem.dataset
    given = data.matrix()
    dense = given.toarray() if sp.issparse(given) else given
    X = np.column_stack([dense, np.full(data.n_examples, data.bias)]).astype(exact)
    S = X @ W.astype(exact)
    if problem.loss == "log_loss":
        if problem.base is not None:
            S = S + problem.base.of(slice(None)).astype(exact)
        top = S.max(axis=1)
        own = S[np.arange(len(S)), data.labels]
        losses = top + np.log(np.exp(S - top[:, None]).sum(axis=1)) - own
    else:
        losses = objective.losses_of(problem, S)
    return problem.costs.astype(exact) @ losses
