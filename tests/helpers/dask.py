"""A local cluster of Dask, collections in parts, and trainings of them."""

import itertools
import time

import pytest

pytest.importorskip(
    "distributed", reason="needs Dask: pip install 'dask[array,dataframe]' distributed"
)

import dask
import dask.array as da
from dask.distributed import Client, LocalCluster

from manyclass.dask import DaskMulticlassSVC, DaskMultinomialLogisticRegression
from tests.helpers.parts import ends


def processes(n):
    """Yield the client of a cluster of n processes."""
    yield from _workers(n, processes=True)


def threads(n):
    """Yield the client of a cluster of n threads of this process, which starts quickly.

    Its workers see what a test sets in this process.
    """
    yield from _workers(n, processes=False)


def _workers(n, **kind):
    where = {"dashboard_address": ":0", "memory_limit": 0}
    with (
        LocalCluster(n_workers=n, threads_per_worker=1, **where, **kind) as cluster,
        Client(cluster) as client,
    ):
        yield client


def is_free(client):
    """Return whether the workers hold no results, now or after cancelled ones are released."""
    for _ in range(1000):
        if not client.who_has():
            return True
        time.sleep(0.01)
    return False


def collection(rows, cuts):
    """Rows cut at some places, as a dask array; CSR where they are sparse."""
    meta = rows[:0]
    parts = [
        da.from_delayed(dask.delayed(rows[a:b]), (b - a, *rows.shape[1:]), rows.dtype, meta=meta)
        for a, b in itertools.pairwise(cuts)
    ]
    return da.concatenate(parts)


def fit(X, y, weights=None, size=3, **params):
    cuts = ends(size)
    own = None if weights is None else collection(weights, cuts)
    model = DaskMultinomialLogisticRegression(**{"tol": 1e-5, **params})
    return model.fit(collection(X, cuts), collection(y, cuts), own)


def fit_svm(X, y, weights=None, size=3, **params):
    cuts = ends(size)
    own = None if weights is None else collection(weights, cuts)
    model = DaskMulticlassSVC(**{"C": 0.1, "tol": 1e-3, "random_state": 0, **params})
    return model.fit(collection(X, cuts), collection(y, cuts), own)
