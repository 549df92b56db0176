"""Estimators for Dask collections, trained on the workers that hold the rows."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Self

import numpy as np

try:
    import dask.array as da
    import distributed
    from dask import compute, delayed, is_dask_collection
except ImportError as missing:
    raise ImportError(
        f"manyclass.dask needs Dask ({missing}); pip install 'dask[array,dataframe]' distributed"
    ) from missing

from manyclass.distributed.clusters.cluster import ClusterTraining
from manyclass.distributed.clusters.dask_parts import DaskParts
from manyclass.distributed.clusters.estimator import (
    ClusterLogisticRegression,
    ClusterMixin,
    ClusterSVC,
    Collection,
    accuracy_sums,
    call_on_part,
    check_columns,
)
from manyclass.estimators.coefficients import with_callbacks
from manyclass.estimators.parameters.documented import documented
from manyclass.estimators.validation import input_restored
from manyclass.utils.scikit_learn import fit_context
from manyclass.utils.types import Settings

if TYPE_CHECKING:
    from dask.delayed import Delayed

    from manyclass.distributed.clusters.part import Model

__all__ = ["DaskMulticlassSVC", "DaskMultinomialLogisticRegression"]


class DaskMixin(ClusterMixin):
    """``fit``, ``score`` and lazy results on Dask collections."""

    @with_callbacks
    @fit_context
    def fit(self, X: Collection, y: Collection = None, sample_weight: Collection = None) -> Self:
        """Train on the workers of the current client.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Chunked by rows, dense or CSR. Chunks in the memory of a worker stay there; other
            chunks are loaded evenly over the workers. Chunks may be empty. Chunks that are arrays
            on a device are trained on it.
        y : dask.array.Array or dask.dataframe.Series of shape (n_samples,), or str, default=None
            Classes: numbers or strings. If X is a DataFrame, y may be the name of the column of
            the classes (None: "label"); the other columns are features.
        sample_weight : like y, default=None
            Non-negative weights of the rows.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If X or y is not a Dask collection.
        ValueError
            If the chunks of X, y and sample_weight do not match (the message names the part), or
            as in ``fit`` of the estimator for one process.
        """
        rows, targets, weights = taken(X, y, sample_weight)
        blocks = chunks_of(rows, targets, weights)
        model = self._as_model()
        parts = DaskParts(_client(), blocks, distributed.futures_of(X), self._device())
        with input_restored(self):
            ClusterTraining(model, parts).run(rows, targets, weights)
        self.__dict__.pop("feature_columns_", None)
        if rows is not X:
            self.feature_columns_ = list(rows.columns)
        return self

    def score(self, X: Collection, y: Collection = None, sample_weight: Collection = None) -> float:
        """Compute the accuracy: the weighted fraction of rows that are predicted correctly.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``, or arrays of this process.

        Returns
        -------
        float
        """
        if not _is_collection(X):
            return float(self.to_local().score(self._features_of(X), y, sample_weight))
        model = _shared(self.to_local())
        blocks = chunks_of(*taken(X, y, sample_weight))
        parts = [delayed(accuracy_sums)(model, *block) for block in blocks]
        found = np.array(compute(*parts)).sum(axis=0)
        return float(found[0] / found[1])

    def _mapped(self, method: str, X: Collection, options: Settings) -> Collection:
        """Return the lazy result of a method for every row of a collection."""
        if not _is_collection(X):
            return super()._mapped(method, X, options)
        empty = self._empty(method, options)
        model = _shared(self.to_local())
        X = self._features_of(X)
        rows = X.chunks[0] if isinstance(X, da.Array) else (np.nan,) * X.npartitions
        parts = [
            da.from_delayed(
                delayed(call_on_part)(model, method, block, options, empty),
                shape=(n, *empty.shape[1:]),
                dtype=empty.dtype,
            )
            for n, block in zip(rows, _blocks(X, "X"), strict=True)
        ]
        return da.concatenate(parts, allow_unknown_chunksizes=True)


@documented(like=ClusterLogisticRegression)
class DaskMultinomialLogisticRegression(DaskMixin, ClusterLogisticRegression):  # type: ignore[misc]  # fit takes collections
    """Multinomial logistic regression on Dask collections, with a certificate.

    The problem, the parameters and the fitted attributes are the same as in
    ``MultinomialLogisticRegression``. The rows stay on the workers of the current
    ``distributed.Client``, which return sums. Newton's method runs in this process. The
    certificate covers all rows.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, certificate_, history_, n_features_in_, feature_names_in_
        As in ``MultinomialLogisticRegression``.
    feature_columns_ : list of str
        Feature columns of the DataFrame, if y is one of its columns.

    See Also
    --------
    MultinomialLogisticRegression : The same problem for arrays in one process.

    Notes
    -----
    If a worker is lost, its chunks are loaded again from the task graph, and training continues.
    Results are reproducible for the same chunks on the same number of workers with one thread each.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from manyclass.dask import DaskMultinomialLogisticRegression
    >>> X, y = (da.from_array(values, chunks=50) for values in load_iris(return_X_y=True))
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     model = DaskMultinomialLogisticRegression().fit(X, y)
    ...     model.predict(X).compute().shape
    (150,)
    >>> model.certificate_.relative_gap <= 1e-4
    True
    """


@documented(like=ClusterSVC)
class DaskMulticlassSVC(DaskMixin, ClusterSVC):  # type: ignore[misc]  # fit takes collections
    """Support vector machines on Dask collections, with a certificate.

    The problem and the fitted attributes are the same as in ``MulticlassSVC``. The rows stay on the
    workers of the current ``distributed.Client``, which update their dual variables in rounds of
    consensus ADMM. The certificate covers all rows. The method suits many classes or many features.
    If rows far outnumber features, it needs many rounds; Newton's method replaces them if the
    weights are few.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, certificate_, history_, n_features_in_, feature_names_in_
        As in ``MulticlassSVC``; an epoch is a round.
    feature_columns_ : list of str
        Feature columns of the DataFrame, if y is one of its columns.

    See Also
    --------
    MulticlassSVC : The same problem for arrays in one process.

    Notes
    -----
    If a worker is lost, its chunks are loaded again from the task graph, their dual variables
    restart at 0, and training continues.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from manyclass.dask import DaskMulticlassSVC
    >>> X, y = (da.from_array(values, chunks=50) for values in load_iris(return_X_y=True))
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     model = DaskMulticlassSVC(C=0.1, random_state=0).fit(X, y)
    ...     model.predict(X).compute().shape
    (150,)
    >>> model.certificate_.relative_gap <= 1e-2
    True
    """


def taken(
    X: Collection, y: Collection, sample_weight: Collection
) -> tuple[Collection, Collection, Collection]:
    """Return X, y and weights as collections; y and weights may be names of columns of X.

    Raises
    ------
    TypeError, ValueError
        If y is a name and X is not a DataFrame, or has no such column.
    """
    if not (y is None or isinstance(y, str)):
        return X, y, sample_weight
    _check_collection(X, "X")
    if not hasattr(X, "columns"):
        raise TypeError(
            f"y must be a dask array of the classes if X is an array, not {y!r}; names of columns "
            "need a dask DataFrame"
        )
    label = "label" if y is None else y
    named = [label, sample_weight] if isinstance(sample_weight, str) else [label]
    check_columns([label], list(X.columns), "y")
    check_columns(named[1:], list(X.columns), "sample_weight")
    weights = X[sample_weight] if isinstance(sample_weight, str) else sample_weight
    return X.drop(columns=named), X[label], weights


def chunks_of(X: Collection, y: Collection, sample_weight: Collection) -> list[tuple[Delayed, ...]]:
    """Return the matching chunks of X, y and perhaps weights.

    Raises
    ------
    TypeError, ValueError
        If they are not collections, or are chunked differently.
    """
    rows = _blocks(X, "X")
    found = [rows]
    for values, name in ((y, "y"), (sample_weight, "sample_weight")):
        if values is None and name == "sample_weight":
            continue
        if (
            isinstance(values, da.Array)
            and isinstance(X, da.Array)
            and values.shape[0] == X.shape[0]
        ):
            values = values.rechunk({0: X.chunks[0]})
        found.append(_blocks(values, name))
        if len(found[-1]) != len(rows):
            raise ValueError(
                f"X has {len(rows)} parts and {name} {len(found[-1])}; chunk them alike, or give "
                "one DataFrame and the name of its column: fit(frame, 'label')"
            )
    return list(zip(*found, strict=True))


def _blocks(values: Collection, name: str) -> list[Delayed]:
    """Return the parts of a collection, as Delayed objects."""
    if isinstance(values, da.Array):
        if values.ndim == 2 and values.numblocks[1] > 1:
            raise ValueError(
                f"{name} has {values.numblocks[1]} chunks of columns, and a part needs all of "
                f"them: {name}.rechunk({{1: -1}})"
            )
        return list(values.to_delayed().ravel())
    _check_collection(values, name)
    # Optimization would fuse reads of few columns to fewer parts than reads of many columns.
    return list(values.to_delayed(optimize_graph=False))


def _check_collection(values: object, name: str) -> None:
    if not _is_collection(values):
        raise TypeError(
            f"{name} must be a dask array, DataFrame or Series, not {type(values).__name__}; use "
            "MultinomialLogisticRegression or MulticlassSVC for arrays of one process, or "
            "dask.array.from_array or dask.dataframe.from_pandas"
        )


def _is_collection(values: object) -> bool:
    """Whether values are a Dask array, DataFrame or Series."""
    return is_dask_collection(values) and hasattr(values, "to_delayed")


def _client() -> distributed.Client:
    """Return the current client."""
    try:
        client = distributed.default_client()
    except ValueError:
        raise RuntimeError(
            "training on Dask needs a cluster: client = dask.distributed.Client(...)"
        ) from None
    if client.asynchronous:
        raise RuntimeError("fit needs a synchronous client: Client(..., asynchronous=False)")
    return client


def _shared(model: Model) -> Delayed:
    """Return a model as one node of a task graph."""
    return delayed(model, name=f"manyclass_model-{uuid.uuid4().hex}", traverse=False)
