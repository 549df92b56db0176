"""Arguments of ``fit`` as a data set."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import (
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_X_y,
    validate_data,
)

from manyclass.arrays.dataset import DeviceDataset, training_type
from manyclass.arrays.input_arrays import on_host, placed, rows_of, rows_on_device
from manyclass.arrays.namespace import is_on_device
from manyclass.estimators.example_weights import complete, weighted
from manyclass.problem.dataset import Dataset
from manyclass.utils.input_rows import check_sparse, is_sparse, rows_as_given
from manyclass.utils.labels import LabelError, labels_of
from manyclass.utils.scikit_learn import explain_rows, named_rows
from manyclass.utils.suggestions import meant
from manyclass.utils.types import (
    Array,
    ClassWeight,
    DeviceArray,
    DType,
    Label,
    Rows,
    RowsLike,
    Settings,
)

# Attributes that the validation of the input sets.
INPUT_ATTRIBUTES = ("n_features_in_", "feature_names_in_")


def one_of(names: Iterable[str]) -> StrOptions:
    """Return the constraint of a parameter that is one of these names, in this order."""
    return StrOptions(dict.fromkeys(names).keys())


def check_parameters(estimator: BaseEstimator) -> None:
    """Check the parameters of an estimator as scikit-learn does; suggest a name for a wrong one.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
    """
    constraints, params = estimator._parameter_constraints, estimator.get_params(deep=False)
    try:
        validate_parameter_constraints(constraints, params, type(estimator).__name__)
    except InvalidParameterError as error:
        wrong = next(n for n in params if str(error).startswith(f"The {n!r} parameter"))
        names = [c.options for c in constraints[wrong] if isinstance(c, StrOptions)]
        if not names or not isinstance(params[wrong], str):
            raise
        hint = meant(params[wrong], names[0]).replace("; did", " Did")
        raise InvalidParameterError(f"{error}{hint}") from None


@contextlib.contextmanager
def input_restored(estimator: object) -> Iterator[Settings]:
    """After an error, take back what the validation of the input has set.

    What is given is what would come back; empty it to keep what there is now.
    """
    before = {name: vars(estimator).get(name) for name in INPUT_ATTRIBUTES}
    try:
        yield before
    except BaseException:
        for name, value in before.items():
            vars(estimator).pop(name, None)
            if value is not None:
                setattr(estimator, name, value)
        raise


def validated(
    estimator: BaseEstimator,
    X: RowsLike,
    y: ArrayLike,
    dtype: object = None,
    *,
    reset: bool = True,
    least_rows: int = 1,
    on_device: bool = False,
) -> tuple[Rows, Array]:
    """Check the arguments of ``fit`` or, without ``reset``, of ``partial_fit``.

    Parameters
    ----------
    estimator : estimator
    X, y : array-like
    dtype : type or list of types, default=None
        Of X; float32 or float64, as it is given, when None.
    reset : bool, default=True
    least_rows : int, default=1
    on_device : bool, default=False
        Whether X may be an array on a device, or go to one.

    Returns
    -------
    X : ndarray or CSR of shape (n, d), or an array on a device
    y : ndarray of shape (n,)

    Raises
    ------
    ValueError
        If they have the wrong shape, hold NaN or infinity, or y holds no classes.
    """
    if on_device and not isinstance(X, np.ndarray) and is_on_device(X):
        return _validated_on_device(estimator, X, y, reset=reset)
    check_sparse(X)
    given, types = rows_as_given(X)
    check = validate_data if given is X else partial(named_rows, X)
    labels = labels_of(y if isinstance(y, np.ndarray) else on_host(y))
    try:
        rows, targets = check(
            estimator,
            given,
            labels,
            accept_sparse="csr",
            dtype=dtype or types,
            order="C",
            reset=reset,
            ensure_min_samples=least_rows,
        )
        with warnings.catch_warnings():
            # Many classes are the purpose of this package.
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            if len(targets):
                check_classification_targets(targets)
    except (TypeError, ValueError) as error:
        if _holds_label_sets(y):
            raise ValueError(
                "y should be a 1d array, one class for each row; for sets of labels use "
                "MultilabelSVC"
            ) from error
        explain_rows(error)
        raise
    device = getattr(estimator, "device", None) if on_device else None
    return (rows if device is None else placed(rows, device)), targets


def _validated_on_device(
    estimator: BaseEstimator, X: DeviceArray, y: object, *, reset: bool
) -> tuple[Rows, Array]:
    """Check X, which stays where it is, and y."""
    rows = rows_on_device(estimator, X, reset=reset)
    alike = np.zeros((rows.shape[0], 1))  # whose rows stand for those of X
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        _, targets = check_X_y(alike, labels_of(on_host(y)), dtype=None)
        check_classification_targets(targets)
    return rows, targets


def exact_labels(y: object, name: str = "y") -> object:
    """Return labels as ``labels_of`` does; ValueError of this name if one cannot be kept."""
    try:
        return labels_of(y)
    except LabelError as error:
        raise ValueError(error.within(name)) from None


def _holds_label_sets(y: object) -> bool:
    """Whether y holds sets of labels, or is an indicator matrix of them."""
    if isinstance(y, (list, tuple)):
        return any(isinstance(labels, (set, frozenset)) for labels in y[:1])
    shape: tuple[int, ...] = getattr(y, "shape", ())
    return is_sparse(y) or (len(shape) == 2 and shape[-1] > 1)


def training_data(
    X: Rows,
    y: Array,
    sample_weight: ArrayLike | None,
    class_weight: ClassWeight,
    bias: float,
    *,
    keeps_dense: bool = True,
    classes: Array | None = None,
) -> tuple[Dataset, Array]:
    """Turn rows and their classes into a data set; rows of weight zero are dropped.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
    y : ndarray of shape (n,)
    sample_weight : array-like of shape (n,) or None
    class_weight : dict, "balanced" or None
    bias : float
        Value of the appended constant feature; 0 = no intercept.
    keeps_dense : bool, default=True
        As in ``Dataset.from_matrix``.
    classes : ndarray of shape (k,), ascending, default=None
        The classes, two at least, some of which may have no row; those of y when None.

    Returns
    -------
    Dataset
    ndarray of shape (k,)
        The classes, ascending.

    Raises
    ------
    ValueError
        If a weight is negative, fewer than two classes have a row with a positive weight (where
        `classes` are given: no row has one), or `bias` is 0 or infinite in the type of X.
    """
    on_device = not isinstance(X, np.ndarray) and is_on_device(X)
    check_scaling(bias, training_type(X) if on_device else X.dtype)
    if classes is not None and isinstance(class_weight, dict):
        class_weight = complete(class_weight, classes)
    kept, y, weights = weighted(np.arange(len(y)), y, sample_weight, class_weight)
    found, labels = np.unique(y, return_inverse=True)
    if not len(found) or len(found if classes is None else classes) < 2:
        there_is = f"one class, {found.tolist()[0]!r}" if len(found) else "no row"
        raise ValueError(
            "training needs rows of at least two classes with a positive weight; there is "
            f"{there_is}"
        )
    if classes is None:
        classes = found
    else:
        labels = np.searchsorted(classes, found)[labels]
    if on_device:
        X = X if len(kept) == X.shape[0] else rows_of(X, kept)
        return DeviceDataset.from_array(
            X, labels, weights, n_classes=len(classes), bias=bias
        ), classes
    X = X if len(kept) == X.shape[0] else X[kept]
    dataset = Dataset.from_matrix(
        X, labels, n_classes=len(classes), weights=weights, bias=bias, keeps_dense=keeps_dense
    )
    return dataset, classes


def check_scaling(bias: float, dtype: DType) -> None:
    """Refuse a constant feature that rounding to the type of X makes 0 or infinite."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = float(dtype.type(bias))
    if bias and not 0 < rounded < np.inf:
        raise ValueError(f"intercept_scaling={bias:g} is {rounded:g} in {dtype}; choose about 1")


def checked_count(count: object, name: str) -> int:
    """Return a parameter that says how many, one at least.

    Raises
    ------
    ValueError
        Naming the parameter.
    """
    if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
        raise ValueError(f"{name} must be an integer of at least 1, not {count!r}")
    return int(count)


def stream_data(
    X: Rows,
    y: Array,
    sample_weight: ArrayLike | None,
    class_weight: Mapping[Label, float] | None,
    classes: Array,
    bias: float,
) -> Dataset:
    """Turn some rows of a stream, whose classes are known, into a data set.

    Parameters
    ----------
    X, y, sample_weight, class_weight, bias
        As in ``training_data``.
    classes : ndarray of shape (k,), ascending

    Returns
    -------
    Dataset
        Of rows with a positive weight; there may be none.

    Raises
    ------
    ValueError
        If y holds another class.
    """
    if sample_weight is not None and not np.any(sample_weight):  # scikit-learn refuses them
        check_consistent_length(X, sample_weight)
        X, y, weights = X[:0], y[:0], np.zeros(0)
    else:
        X, y, weights = weighted(X, y, sample_weight, complete(class_weight, classes))
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(
            f"y holds {unknown.tolist()[0]!r}, which is none of the classes that were given; give "
            'all at the beginning, or partial_fit(..., classes="grow")'
        )
    labels = np.searchsorted(classes, y)
    return Dataset.from_matrix(
        X, labels, n_classes=len(classes), weights=weights, bias=bias, keeps_dense=False
    )


Sample = tuple[Rows, Array, NDArray[np.float64]]  # rows, their classes, their weights


def hold_out(
    X: Rows,
    y: Array,
    sample_weight: ArrayLike | None,
    share: float,
    rng: np.random.Generator,
) -> tuple[Sample, Sample]:
    """Draw rows to hold out, of those with a positive weight; one row of every class stays.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
    y : ndarray of shape (n,)
    sample_weight : array-like of shape (n,) or None
    share : float
        Of the rows, to hold out.
    rng : numpy.random.Generator

    Returns
    -------
    kept, held : (X, y, weights)
        In the order of the rows.

    Raises
    ------
    ValueError
        If a weight is negative, or no class has two rows.
    """
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    rows = rng.permutation(np.flatnonzero(weights))
    _, first = np.unique(y[rows], return_index=True)
    spare = np.delete(rows, first)
    if len(spare) == 0:
        raise ValueError(
            "early_stopping holds out rows of classes with two rows at least; there is no such "
            "class; use early_stopping=False"
        )
    held = np.sort(spare[: max(1, round(share * len(rows)))])
    kept = np.setdiff1d(np.flatnonzero(weights), held, assume_unique=True)
    return (X[kept], y[kept], weights[kept]), (X[held], y[held], weights[held])


def check_size(dataset: Dataset) -> None:
    """Refuse values whose squares leave z, which is as small as they are large, without digits."""
    values, limits = dataset.values, np.finfo(dataset.dtype)
    largest = max(-float(values.min()), float(values.max())) if len(values) else 0.0
    if largest > np.sqrt(float(limits.max) * float(limits.eps)):
        raise FloatingPointError(
            f"X holds a value of size {largest:.1e}, whose square is too large for "
            f"{dataset.dtype}; scale the features to about one"
        )
