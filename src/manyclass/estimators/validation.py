"""Validation of the arguments of ``fit``, and conversion to a data set."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import (
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_X_y,
    validate_data,
)

from manyclass.arrays.dataset import DeviceDataset, training_type
from manyclass.arrays.input_arrays import on_host, placed, rows_of, rows_on_device
from manyclass.arrays.namespace import is_on_device
from manyclass.problem.dataset import Dataset
from manyclass.utils.input_rows import is_sparse, rows_as_given
from manyclass.utils.labels import LabelError, classes_and_numbers, labels_of
from manyclass.utils.scikit_learn import explain_rows, named_rows
from manyclass.utils.suggestions import first_of, meant, meant_label
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
    """Return the constraint of a parameter that is one of several names, in their order."""
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
    """After an error, restore the attributes that the validation of the input has set.

    Yields the attributes to restore; clear them to keep the current ones.
    """
    given = map(vars(estimator).get, INPUT_ATTRIBUTES)
    before = dict(zip(INPUT_ATTRIBUTES, given, strict=True))
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
        Type of X; None: float32 or float64, as given.
    reset : bool, default=True
    least_rows : int, default=1
    on_device : bool, default=False
        Whether X may be an array on a device, or be copied to one.

    Returns
    -------
    X : ndarray or CSR of shape (n, d), or an array on a device
    y : ndarray of shape (n,)

    Raises
    ------
    ValueError
        If X or y have the wrong shape, hold NaN or infinity, or y does not hold classes.
    """
    if on_device and not isinstance(X, np.ndarray) and is_on_device(X):
        return _validated_on_device(estimator, X, y, reset=reset)
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
        check_targets(targets)
    except (TypeError, ValueError) as error:
        if _holds_label_sets(y):
            raise ValueError(
                "y should be a 1d array, one class for each row; for label sets use MultilabelSVC"
            ) from error
        explain_rows(error, given, getattr(estimator, "feature_names_in_", None))
        raise
    device = getattr(estimator, "device", None) if on_device else None
    return (rows if device is None else placed(rows, device)), targets


def _validated_on_device(
    estimator: BaseEstimator, X: DeviceArray, y: object, *, reset: bool
) -> tuple[Rows, Array]:
    """Check y and X, without moving X from its device."""
    rows = rows_on_device(estimator, X, reset=reset)
    alike = np.zeros((rows.shape[0], 1))  # its rows represent the rows of X
    _, targets = check_X_y(alike, labels_of(on_host(y)), dtype=None)
    check_targets(targets)
    return rows, targets


def check_targets(targets: Array) -> None:
    """Refuse numbers that are not classes, such as 0.5; integers and text always are classes."""
    if not len(targets) or (targets.ndim == 1 and targets.dtype.kind in "iubU"):
        return
    with warnings.catch_warnings():
        # This package supports many classes.
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        check_classification_targets(targets)


def exact_labels(y: object, name: str = "y") -> object:
    """Return labels as ``labels_of`` does; errors name the argument."""
    try:
        return labels_of(y)
    except LabelError as error:
        raise ValueError(error.within(name)) from None


def _holds_label_sets(y: object) -> bool:
    """Whether y holds label sets, or is a label indicator matrix."""
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
        At least two classes, some of which may have no rows. None: the classes of y.

    Returns
    -------
    Dataset
    ndarray of shape (k,)
        The classes, ascending.

    Raises
    ------
    ValueError
        If a weight is negative, if fewer than two classes have a row with a positive weight (with
        `classes`: if no row has a positive weight), or if `bias` is 0 or infinite in X's dtype.
    """
    on_device = not isinstance(X, np.ndarray) and is_on_device(X)
    check_scaling(bias, training_type(X) if on_device else X.dtype)
    if classes is not None and isinstance(class_weight, dict):
        class_weight = complete(class_weight, classes)
    kept, y, weights = weighted(np.arange(len(y)), y, sample_weight, class_weight)
    found, labels = classes_and_numbers(y)
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
    """Refuse a constant feature that becomes 0 or infinite when rounded to the dtype of X."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = float(dtype.type(bias))
    if bias and not 0 < rounded < np.inf:
        raise ValueError(f"intercept_scaling={bias:g} is {rounded:g} in {dtype}; choose about 1")


def checked_count(count: object, name: str) -> int:
    """Return a parameter that must be an integer of at least 1.

    Raises
    ------
    ValueError
        If it is not; the message names the parameter.
    """
    if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
        raise ValueError(f"{name} must be an integer of at least 1, not {count!r}")
    return int(count)


def check_size(dataset: Dataset) -> None:
    """Refuse values that are so large that z, which scales with 1 / ||x||^2, loses all digits."""
    values, limits = dataset.values, np.finfo(dataset.dtype)
    largest = max(-float(values.min()), float(values.max())) if len(values) else 0.0
    if largest > np.sqrt(float(limits.max) * float(limits.eps)):
        raise FloatingPointError(
            f"X holds a value of size {largest:.1e}, whose square is too large for "
            f"{dataset.dtype}; scale the features to about one"
        )


def rows_with_weight(
    y: Array, sample_weight: ArrayLike | None, class_weight: ClassWeight
) -> NDArray[np.intp]:
    """Return the numbers of the rows that ``training_data`` keeps."""
    kept, _, _ = weighted(np.arange(len(y)), y, sample_weight, class_weight)
    return np.asarray(kept)


def weighted(
    X: Rows,
    y: Array,
    sample_weight: ArrayLike | None,
    class_weight: ClassWeight,
) -> tuple[Rows, Array, NDArray[np.float64]]:
    """Return the rows with a positive weight, their classes and weights."""
    if np.ma.is_masked(sample_weight):
        raise ValueError("sample_weight has masked entries; fill them, or drop the rows")
    weights = np.ones(len(y)) if sample_weight is None else checked_weights(sample_weight, X)
    weights = weights * (1.0 if class_weight is None else class_weights(class_weight, y, weights))
    if not weights.all():
        kept = np.flatnonzero(weights)
        X, y, weights = X[kept], y[kept], weights[kept]
    return X, y, weights


def checked_weights(sample_weight: ArrayLike | None, X: Rows) -> NDArray[np.float64]:
    """Return the weights of the rows of X, from any library and device; 1 if None.

    Raises
    ------
    ValueError
        If their number differs from the number of rows, or a weight is negative, infinite or NaN.
    """
    given = sample_weight if sample_weight is None else on_host(sample_weight, "sample_weight")
    if isinstance(given, np.ndarray) and given.ndim == 0:
        raise ValueError("sample_weight is one number; give one for each row, or leave it out")
    numbers = np.empty(X.shape[0])  # X may be an array of a different library
    weights = _check_sample_weight(given, numbers, dtype=np.float64, ensure_non_negative=True)
    return np.asarray(weights)


def class_weights(
    class_weight: ClassWeight, y: Array, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of each row's class, shape (n,), given the rows' own weights."""
    if class_weight is None:
        return np.ones(len(y))
    classes, labels = classes_and_numbers(y)
    if class_weight == "balanced":
        totals = np.bincount(labels, weights=weights)
        present = totals > 0
        share = np.divide(weights.sum(), present.sum() * totals, where=present, out=totals.copy())
        return np.asarray(share[labels])
    if isinstance(class_weight, dict) and not all(
        isinstance(w, Real) and float(w) >= 0 for w in class_weight.values()
    ):
        raise ValueError(f"class weights must be numbers and not negative, got {class_weight}")
    if isinstance(class_weight, dict):
        _check_names(class_weight, classes)
    per_class = compute_class_weight(class_weight, classes=classes, y=y)
    return np.asarray(per_class, dtype=np.float64)[labels]


def _check_names(class_weight: dict[Label, float], classes: Array) -> None:
    """Refuse a label that is not a class if some classes have no weight: it is misspelled."""
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown and any(label not in class_weight for label in labels):
        raise ValueError(
            f"class_weight: {unknown[0]!r} is not a class of y, whose classes are "
            f"{first_of(labels)}{meant_label(unknown[0], labels)}"
        )


def complete(
    class_weight: Mapping[Label, float] | None, classes: Array
) -> dict[Label, float] | None:
    """Add weight 1 for classes missing in a dict, as some blocks may hold only such classes."""
    if class_weight is None:
        return None
    return {c: class_weight.get(c, 1.0) for c in classes.tolist()}
