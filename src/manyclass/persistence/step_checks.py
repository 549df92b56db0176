"""Check the contents of scikit-learn's objects in model files, before they are used.

This module lists the types that a file may hold, each with its checks. Most types compute only with
NumPy and SciPy, which check shapes and indices themselves if sparse arrays are valid. Types that
pass indices to compiled code without a check (trees, neighbors, kernel SVMs) are not accepted.
"""

from __future__ import annotations

import inspect
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO

import numpy as np
from sklearn import (
    calibration,
    compose,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_extraction,
    feature_selection,
    frozen,
    impute,
    isotonic,
    kernel_approximation,
    linear_model,
    model_selection,
    multiclass,
    naive_bayes,
    pipeline,
    preprocessing,
    random_projection,
    semi_supervised,
    svm,
)
from sklearn.base import BaseEstimator

from manyclass.persistence.trusted_types import AROUND
from manyclass.utils.input_rows import check_sparse
from manyclass.utils.types import Array, Settings

METHODS = {"predict", "predict_proba", "decision_function"}
OF_A_RUN = ("n_jobs", "verbose", "memory", "pre_dispatch")  # parameters
# Nodes of skops for other values than objects of a class; none of them calls a function.
PLAIN_NODES = {
    *("CachedNode", "DTypeNode", "DictNode", "FunctionNode", "JsonNode", "ListNode"),
    *("MaskedArrayNode", "NdArrayNode", "SetNode", "SliceNode", "SparseMatrixNode"),
    *("TupleNode", "TypeNode"),
}

# These compute only with NumPy and SciPy.
PLAIN = (
    *(calibration.CalibratedClassifierCV, compose.ColumnTransformer),
    *(decomposition.FastICA, decomposition.IncrementalPCA, decomposition.KernelPCA),
    *(decomposition.PCA, decomposition.TruncatedSVD),
    *(discriminant_analysis.LinearDiscriminantAnalysis, ensemble.BaggingClassifier),
    *(feature_extraction.text.CountVectorizer, feature_extraction.text.TfidfTransformer),
    feature_extraction.text.TfidfVectorizer,  # vocabularies are stored as tensors: vocabularies.py
    *(feature_selection.GenericUnivariateSelect, feature_selection.RFE, feature_selection.RFECV),
    *(feature_selection.SelectFdr, feature_selection.SelectFpr, feature_selection.SelectFromModel),
    *(feature_selection.SelectFwe, feature_selection.SelectKBest),
    *(feature_selection.SelectPercentile, feature_selection.SequentialFeatureSelector),
    *(feature_selection.VarianceThreshold, frozen.FrozenEstimator),
    *(impute.MissingIndicator, impute.SimpleImputer, isotonic.IsotonicRegression),
    *(kernel_approximation.AdditiveChi2Sampler, kernel_approximation.Nystroem),
    *(kernel_approximation.RBFSampler, kernel_approximation.SkewedChi2Sampler),
    *(linear_model.LogisticRegression, linear_model.LogisticRegressionCV),
    *(linear_model.RidgeClassifier, linear_model.RidgeClassifierCV),
    *(model_selection.FixedThresholdClassifier, model_selection.GridSearchCV),
    *(model_selection.RandomizedSearchCV, model_selection.TunedThresholdClassifierCV),
    *(multiclass.OneVsOneClassifier, multiclass.OneVsRestClassifier),
    *(naive_bayes.BernoulliNB, naive_bayes.ComplementNB, naive_bayes.GaussianNB),
    *(naive_bayes.MultinomialNB, pipeline.FeatureUnion, pipeline.Pipeline),
    *(preprocessing.Binarizer, preprocessing.FunctionTransformer, preprocessing.KBinsDiscretizer),
    *(preprocessing.KernelCenterer, preprocessing.LabelBinarizer, preprocessing.LabelEncoder),
    *(preprocessing.MaxAbsScaler, preprocessing.MinMaxScaler, preprocessing.MultiLabelBinarizer),
    *(preprocessing.Normalizer, preprocessing.OrdinalEncoder, preprocessing.PolynomialFeatures),
    preprocessing.PowerTransformer,
    *(preprocessing.QuantileTransformer, preprocessing.RobustScaler, preprocessing.StandardScaler),
    *(random_projection.GaussianRandomProjection, random_projection.SparseRandomProjection),
    *(semi_supervised.SelfTrainingClassifier, svm.LinearSVC),
)


def check_steps(values: Iterable[object]) -> None:
    """Refuse objects whose contents would make compiled code read or write outside arrays.

    `values` are all objects of a model, also those within others.
    """
    for value in values:
        check_sparse(value)
        if type(value) not in CHECKS:
            continue
        assert isinstance(value, BaseEstimator)
        name = type(value).__name__
        hidden = [a for a in vars(value) if callable(getattr(type(value), a, None))]
        if hidden:
            raise ValueError(f"a {name} with {hidden[0]!r} instead of its method")
        try:
            CHECKS[type(value)](value)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(f"a {name} with inconsistent contents ({error})") from None


def reset_runs(estimators: Iterable[BaseEstimator]) -> None:
    """Reset parameters of a run to their defaults, as they do not belong to the model.

    Also reset ``random_state`` if it is not an int.
    """
    for estimator in estimators:
        given = inspect.signature(type(estimator)).parameters
        for name in OF_A_RUN:
            if name in given:
                setattr(estimator, name, given[name].default)
        if not isinstance(getattr(estimator, "random_state", None), int | None):
            estimator.random_state = None


def refused_types(content: bytes) -> set[str]:
    """Return the types in a skops archive that a model file may not hold.

    Read from its table, before any object is made.
    """
    with zipfile.ZipFile(BytesIO(content)) as archive:
        schema = json.loads(archive.read("schema.json"))
    found = set()
    for node in _nodes(schema):
        name = f"{node['__module__']}.{node['__class__']}"
        kind = node["__loader__"]
        if kind not in PLAIN_NODES and (kind != "ObjectNode" or name not in OBJECTS):
            found.add(name)
    return found


def _nodes(schema: object) -> Iterator[Settings]:
    if isinstance(schema, dict):
        if "__loader__" in schema:
            yield schema
        for value in schema.values():
            yield from _nodes(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _nodes(value)


def _nothing(step: BaseEstimator) -> None:
    """Check nothing, as NumPy and SciPy check."""


def _parameters(step: BaseEstimator) -> None:
    """Check that a hashing step has features, as compiled code divides by their number."""
    type(step)._validate_params(step)


def _one_hot(step: BaseEstimator) -> None:
    """Check the data for indices of columns: categories, groups of rare categories, outputs."""
    if not hasattr(step, "categories_"):
        return
    sizes = [_n_groups(step, i, known) for i, known in enumerate(step.categories_)]
    dropped = step._drop_idx_after_grouping
    if dropped is not None:
        places = [None if place is None else int(place) for place in dropped]
        if len(places) != len(sizes) or not all(
            place is None or 0 <= place < size for place, size in zip(places, sizes, strict=True)
        ):
            raise ValueError("a dropped category does not exist")
        sizes = [size - (place is not None) for size, place in zip(sizes, places, strict=True)]
    if list(step._n_features_outs) != sizes or step.n_features_in_ != len(sizes):
        raise ValueError(f"categories for {sum(sizes)} columns")


def _n_groups(step: BaseEstimator, i: int, known: Array) -> int:
    """Return the number of categories of a feature, with all rare categories counted as one."""
    n = len(known)
    ordered = known if known.dtype.kind != "f" or not n or known[-1] == known[-1] else known[:-1]
    if known.ndim != 1 or (known.dtype.kind != "O" and not (ordered[:-1] < ordered[1:]).all()):
        raise ValueError("categories are not ascending")
    if not getattr(step, "_infrequent_enabled", False):
        return n
    rare, mapping = step._infrequent_indices[i], step._default_to_infrequent_mappings[i]
    if rare is None:
        if mapping is not None:
            raise ValueError("rare categories that do not exist")
        return n
    frequent = np.setdiff1d(np.arange(n), rare)
    wanted = np.full(n, len(frequent))
    wanted[frequent] = np.arange(len(frequent))
    rare_ones = np.setdiff1d(np.arange(n), frequent)
    if not np.array_equal(np.sort(rare), rare_ones) or not np.array_equal(mapping, wanted):
        raise ValueError("rare categories that do not exist")
    return len(frequent) + 1


def _vocabulary(step: BaseEstimator) -> None:
    """Check that a vocabulary has each column number once."""
    columns = getattr(step, "vocabulary_", {})
    if not isinstance(columns, Mapping) or sorted(columns.values()) != [*range(len(columns))]:
        raise ValueError("a vocabulary whose columns are not 0, 1, 2, ...")


def _methods(step: BaseEstimator) -> None:
    """Check the names of the methods whose results are stacked."""
    if set(getattr(step, "stack_method_", [])) - METHODS:
        raise ValueError("a method that does not predict")


def _votes(step: BaseEstimator) -> None:
    """Check that classifiers vote for valid class numbers, which are counted in an array."""
    if not hasattr(step, "le_"):
        return
    n = len(step.le_.classes_)
    for voter in step.estimators_:
        if not np.isin(voter.classes_, np.arange(n)).all():
            raise ValueError("a classifier with different classes")


CHECKS: dict[type, Callable[[BaseEstimator], None]] = {
    **dict.fromkeys(PLAIN, _nothing),
    ensemble.StackingClassifier: _methods,
    ensemble.VotingClassifier: _votes,
    feature_extraction.DictVectorizer: _vocabulary,
    feature_extraction.FeatureHasher: _parameters,
    feature_extraction.text.HashingVectorizer: _parameters,
    preprocessing.OneHotEncoder: _one_hot,
}
OBJECTS = {
    *AROUND,
    "manyclass.persistence.composites.Placeholder",
    *(f"{kind.__module__}.{kind.__name__}" for kind in CHECKS),
}
