"""Estimators on the rows of Ray's datasets and objects, where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

try:
    import ray
    import ray.data
except ImportError as missing:
    raise ImportError(f"manyclass.ray needs Ray ({missing}); pip install 'ray[data]'") from missing

from manyclass.distributed.clusters.cluster import ClusterTraining
from manyclass.distributed.clusters.estimator import (
    ClusterLogisticRegression,
    ClusterMixin,
    ClusterSVC,
    Collection,
    accuracy_sums,
    call_on_part,
)
from manyclass.distributed.clusters.ray_parts import RayParts
from manyclass.estimators.coefficients import with_callbacks
from manyclass.estimators.parameters.documented import documented
from manyclass.estimators.validation import input_restored
from manyclass.utils.scikit_learn import fit_context
from manyclass.utils.types import Array, Settings

if TYPE_CHECKING:
    from manyclass.distributed.clusters.part import Model, Read

__all__ = ["RayMulticlassSVC", "RayMultinomialLogisticRegression"]

COLUMNS = {"predict": "prediction", "predict_proba": "probabilities"}  # of results


class RayMixin(ClusterMixin):
    """``fit``, ``score`` and lazy results on Ray's datasets and objects."""

    @with_callbacks
    @fit_context
    def fit(self, X: Collection, y: Collection = None, sample_weight: Collection = None) -> Self:
        """Train on the cluster that ``ray.init`` has connected to.

        Parameters
        ----------
        X : ray.data.Dataset or list of ObjectRef
            Of a Dataset, a block is a part: all columns but those of `y` and `sample_weight` are
            features, or there is one column of vectors. Or an object for each part: arrays, sparse
            matrices or data frames, or pairs (X, y), or (X, y, weights).
        y : str or list of ObjectRef, default=None
            The column of the classes ("label" when None); or an object for each part, if those of
            X are not pairs.
        sample_weight : str or list of ObjectRef, default=None
            Likewise.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If X is neither.
        ValueError
            If parts do not fit each other: the error names the part. Else as
            the plain estimator's ``fit``.
        """
        blocks, read = _parts_of(X, y, sample_weight)
        model = self._as_model()
        with input_restored(self):
            parts = RayParts(blocks, read, model.n_jobs, self._device())
            ClusterTraining(model, parts).run(X, y, sample_weight)
        self.__dict__.pop("feature_columns_", None)
        if isinstance(read, DatasetColumns):
            self.feature_columns_ = read.features
        return self

    def score(self, X: Collection, y: Collection = None, sample_weight: Collection = None) -> float:
        """Return the share of rows, by weight, whose class is predicted.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``; or arrays of this process.

        Returns
        -------
        float
        """
        if not _is_remote(X):
            return float(self.to_local().score(X, y, sample_weight))
        check_is_fitted(self)
        blocks, read = _parts_of(X, y, sample_weight)
        model, count = ray.put(self.to_local()), ray.remote(_accuracy_sums)
        found = np.array(ray.get([count.remote(model, read, *block) for block in blocks]))
        hit, total = found.sum(axis=0)
        return float(hit / total)

    def _mapped(self, method: str, X: Collection, options: Settings) -> Collection:
        """Return results: a lazy Dataset with a column more, or a reference for each part."""
        if not _is_remote(X):
            return super()._mapped(method, X, options)
        empty, local = self._empty(method, options), self.to_local()
        if isinstance(X, list):
            model, work = ray.put(local), ray.remote(call_on_part)
            return [work.remote(model, method, block, options, empty) for block in X]
        if not hasattr(self, "feature_columns_"):
            raise ValueError("the model was not trained on a Dataset, whose columns it would know")
        columns, name = (
            DatasetColumns(self.feature_columns_, None, None),
            COLUMNS.get(method, method),
        )

        def with_results(batch: Settings) -> Settings:
            return {**batch, name: call_on_part(local, method, columns.rows(batch), options, empty)}

        return X.map_batches(with_results, batch_format="numpy")


@documented(like=ClusterLogisticRegression)
class RayMultinomialLogisticRegression(RayMixin, ClusterLogisticRegression):  # type: ignore[misc]  # fit takes collections
    """Multinomial logistic regression, certified, on the rows of Ray's datasets and objects.

    The problem, the parameters and the fitted attributes are those of
    ``MultinomialLogisticRegression``. The rows stay on the nodes of the cluster, where actors
    answer with sums; Newton's method runs in this process, and its certificate is of all rows.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, certificate_, history_, n_features_in_, feature_names_in_
        As of ``MultinomialLogisticRegression``.
    feature_columns_ : list of str
        Columns of a Dataset that are features.

    See Also
    --------
    MultinomialLogisticRegression : The same for arrays of one process.

    Notes
    -----
    An actor that is lost is made again from its objects; training continues.
    """


@documented(like=ClusterSVC)
class RayMulticlassSVC(RayMixin, ClusterSVC):  # type: ignore[misc]  # fit takes collections
    """Support vector machines, certified, on the rows of Ray's datasets and objects.

    The problem and the fitted attributes are those of ``MulticlassSVC``. The rows stay on the nodes
    of the cluster, in actors: consensus ADMM visits them there with exact steps, and its
    certificate is of all rows. It suits many classes or many features. Where rows far
    outnumber features it takes many rounds, which Newton's method replaces if the weights are few.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, certificate_, history_, n_features_in_, feature_names_in_
        As of ``MulticlassSVC``; an epoch is a round.
    feature_columns_ : list of str
        Columns of a Dataset that are features.


    See Also
    --------
    MulticlassSVC : The same for arrays of one process.

    Notes
    -----
    An actor that is lost is made again from its objects; their dual variables begin again at 0,
    and training continues.
    """


class DatasetColumns:
    """Which columns of a Dataset are what.

    Parameters
    ----------
    features : list of str
    label, weight : str or None
    """

    def __init__(self, features: list[str], label: str | None, weight: str | None) -> None:
        self.features, self.label, self.weight = features, label, weight

    def __call__(self, batch: Settings) -> tuple[ArrayLike, ...]:
        """Return X, y and the weights of a block."""
        return self.rows(batch), *(batch[c] for c in (self.label, self.weight) if c is not None)

    def rows(self, batch: Settings) -> Array | pd.DataFrame:
        """Return X: the vectors of the only column, or a data frame of all of them."""
        if len(self.features) > 1:
            return pd.DataFrame({name: batch[name] for name in self.features})
        only = np.asarray(batch[self.features[0]])
        if only.dtype == object:
            only = np.stack([np.asarray(row) for row in only])
        return only if only.ndim == 2 else pd.DataFrame({self.features[0]: only})


def _parts_of(
    X: Collection, y: Collection, sample_weight: Collection
) -> tuple[list[tuple[ray.ObjectRef, ...]], Read]:
    """Return the objects of each part, and what reads them."""
    if isinstance(X, ray.data.Dataset):
        label = "label" if y is None else y
        names = X.columns()
        for name in (label, sample_weight):
            if name is not None and name not in names:
                raise ValueError(f"the Dataset has no column {name!r}; it has {names}")
        features = [name for name in names if name not in (label, sample_weight)]
        blocks = X.materialize().to_numpy_refs()
        return [(block,) for block in blocks], DatasetColumns(features, label, sample_weight)
    if not (_is_remote(X) and X):
        raise TypeError(
            f"X must be a ray.data.Dataset, or a list with an object reference for each part, not "
            f"{type(X).__name__}; use MultinomialLogisticRegression for arrays of one process"
        )
    given = [values for values in (X, y, sample_weight) if values is not None]
    for values in given[1:]:
        if not isinstance(values, list) or len(values) != len(X):
            raise ValueError(f"X has {len(X)} parts; give y and sample_weight one for each of them")
    return list(zip(*given, strict=True)), _pair if len(given) == 1 else _objects


def _pair(pair: object) -> tuple[ArrayLike, ...]:
    """Return X, y and perhaps weights of one object."""
    if not isinstance(pair, tuple | list) or len(pair) not in (2, 3):
        raise ValueError(f"the object must be a pair (X, y), not {type(pair).__name__}; or give y")
    return tuple(pair)


def _objects(*parts: ArrayLike) -> tuple[ArrayLike, ...]:
    return parts


def _accuracy_sums(model: Model, read: Read, *block: object) -> tuple[float, float]:
    return accuracy_sums(model, *read(*block))


def _is_remote(X: object) -> bool:
    """Whether X is a Dataset or a list of references."""
    if isinstance(X, list):
        return all(isinstance(one, ray.ObjectRef) for one in X)
    return isinstance(X, ray.data.Dataset)
