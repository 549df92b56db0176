"""A local cluster of Dask, collections in parts, and trainings of them."""

import itertools

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
    """A cluster of so many processes, and its client."""
    with (
        LocalCluster(
            n_workers=n, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


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
