"""Estimators for Ray datasets and objects, trained on the nodes that hold the rows."""

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
    check_columns,
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

COLUMNS = {"predict": "prediction", "predict_proba": "probabilities"}  # columns of results


class RayMixin(ClusterMixin):
    """``fit``, ``score`` and lazy results on Ray datasets and objects."""

    @with_callbacks
    @fit_context
    def fit(self, X: Collection, y: Collection = None, sample_weight: Collection = None) -> Self:
        """Train on the cluster that ``ray.init`` has connected to.

        Parameters
        ----------
        X : ray.data.Dataset or list of ObjectRef
            A Dataset, whose blocks are the parts: all columns except `y` and `sample_weight` are
            features, or there is one column of vectors. Or an object for each part: an array,
            sparse matrix or data frame, or a tuple (X, y) or (X, y, weights).
        y : str or list of ObjectRef, default=None
            Name of the column of the classes (None: "label"); or an object for each part, if the
            objects of X are not tuples.
        sample_weight : str or list of ObjectRef, default=None
            Name of the column of the weights, or an object for each part.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If X is neither.
        ValueError
            If X, y and sample_weight of a part do not match (the message names the part), or as in
            ``fit`` of the estimator for one process.
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
        """Compute the accuracy: the weighted fraction of rows that are predicted correctly.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``, or arrays of this process.

        Returns
        -------
        float
        """
        if not _is_remote(X):
            return float(self.to_local().score(self._features_of(X), y, sample_weight))
        check_is_fitted(self)
        blocks, read = _parts_of(X, y, sample_weight)
        model, count = ray.put(self.to_local()), ray.remote(_accuracy_sums)
        found = np.array(ray.get([count.remote(model, read, *block) for block in blocks]))
        hit, total = found.sum(axis=0)
        return float(hit / total)

    def _mapped(self, method: str, X: Collection, options: Settings) -> Collection:
        """Return results: a lazy Dataset with one more column, or a reference for each part."""
        if not _is_remote(X):
            return super()._mapped(method, X, options)
        empty, local = self._empty(method, options), self.to_local()
        if isinstance(X, list):
            model, work = ray.put(local), ray.remote(call_on_part)
            return [work.remote(model, method, block, options, empty) for block in X]
        if not hasattr(self, "feature_columns_"):
            raise ValueError(
                "the model was not trained on a Dataset, so it has no names of columns"
            )
        check_columns(self.feature_columns_, X.columns(), "features of the model")
        columns = DatasetColumns(self.feature_columns_, None, None)
        name = COLUMNS.get(method, method)

        def with_results(batch: Settings) -> Settings:
            return {**batch, name: call_on_part(local, method, columns.rows(batch), options, empty)}

        return X.map_batches(with_results, batch_format="numpy")


@documented(like=ClusterLogisticRegression)
class RayMultinomialLogisticRegression(RayMixin, ClusterLogisticRegression):  # type: ignore[misc]  # fit takes collections
    """Multinomial logistic regression on Ray datasets and objects, with a certificate.

    The problem, the parameters and the fitted attributes are the same as in
    ``MultinomialLogisticRegression``. The rows stay on the nodes of the cluster, where actors
    compute sums. Newton's method runs in this process. The certificate covers all rows.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, certificate_, history_, n_features_in_, feature_names_in_
        As in ``MultinomialLogisticRegression``.
    feature_columns_ : list of str
        Feature columns of the Dataset.

    See Also
    --------
    MultinomialLogisticRegression : The same problem for arrays in one process.

    Notes
    -----
    If an actor is lost, it is created again from its objects, and training continues.
    """


@documented(like=ClusterSVC)
class RayMulticlassSVC(RayMixin, ClusterSVC):  # type: ignore[misc]  # fit takes collections
    """Support vector machines on Ray datasets and objects, with a certificate.

    The problem and the fitted attributes are the same as in ``MulticlassSVC``. The rows stay on the
    nodes of the cluster, where actors update their dual variables in rounds of consensus ADMM. The
    certificate covers all rows. The method suits many classes or many features. If rows far
    outnumber features, it needs many rounds; Newton's method replaces them if the weights are few.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, certificate_, history_, n_features_in_, feature_names_in_
        As in ``MulticlassSVC``; an epoch is a round.
    feature_columns_ : list of str
        Feature columns of the Dataset.


    See Also
    --------
    MulticlassSVC : The same problem for arrays in one process.

    Notes
    -----
    If an actor is lost, it is created again from its objects, their dual variables restart at 0,
    and training continues.
    """


class DatasetColumns:
    """Columns of a Dataset: features, label, weight.

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
        """Return X: the vectors of a single column, or a data frame of all feature columns."""
        if len(self.features) > 1:
            return pd.DataFrame({name: batch[name] for name in self.features})
        only = np.asarray(batch[self.features[0]])
        if only.dtype == object:
            only = np.stack([np.asarray(row) for row in only])
        return only if only.ndim == 2 else pd.DataFrame({self.features[0]: only})


def _parts_of(
    X: Collection, y: Collection, sample_weight: Collection
) -> tuple[list[tuple[ray.ObjectRef, ...]], Read]:
    """Return the objects of each part, and the function that reads them."""
    if isinstance(X, ray.data.Dataset):
        label = "label" if y is None else y
        names = X.columns()
        check_columns([label], names, "y")
        check_columns([] if sample_weight is None else [sample_weight], names, "sample_weight")
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
