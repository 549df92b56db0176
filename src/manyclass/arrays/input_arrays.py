"""Input arrays on devices: checks of X, and y and weights as ndarrays."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, _check_n_features

from manyclass.arrays import namespace
from manyclass.arrays.dataset import TYPES, training_type
from manyclass.arrays.namespace import (
    NUMBERS_AT_A_TIME,
    Place,
    dtype_name,
    is_array,
    is_on_device,
    namespace_of,
    spans,
    to_numpy,
)
from manyclass.arrays.places.host_rows import HostRows
from manyclass.utils.types import Array, DeviceArray, Rows


def on_host(values: object, name: str = "y") -> object:
    """Return an array of a different namespace as an ndarray, other objects unchanged.

    Refuse sparse tensors and tensors on the device "meta"; errors name the argument.
    """
    if not is_array(values):
        return values
    if is_sparse_tensor(values):
        raise ValueError(f"{name} is a sparse tensor; give a dense one: {name}.to_dense()")
    if "meta" in str(getattr(values, "device", "")):
        raise ValueError(f"{name} lies on the device 'meta', which holds no numbers")
    return to_numpy(values)


def is_sparse_tensor(X: DeviceArray) -> bool:
    """Whether X is a sparse tensor of PyTorch or a sparse matrix of CuPy."""
    return bool(getattr(X, "is_sparse", False)) or "sparse" in str(getattr(X, "layout", ""))


def rows_of(X: Rows, rows: Array) -> Rows:
    """Return some rows of X by their numbers, on the device of X."""
    if isinstance(X, np.ndarray | HostRows) or not is_on_device(X):
        return X[rows]
    found: Rows = Place(X).rows_of(X, rows)
    return found


def placed(X: Rows, device: str | Sequence[str]) -> HostRows | Rows:
    """Return validated rows that are to be trained on devices of PyTorch; on the CPU, X itself."""
    names = [device] if isinstance(device, str) else list(device)
    if not names:
        raise ValueError("device is an empty list; give names of devices, or None")
    places = [_place_of(name) for name in names]
    if hasattr(X, "tocsr"):
        raise ValueError(f"device={device!r} trains on dense rows; X is sparse")
    on_cpu = [str(place.device) == "cpu" and not namespace.CPU_COUNTS for place in places]
    if any(on_cpu):
        if len(names) > 1:
            raise ValueError(f"device={device!r}: the CPU cannot be one of several devices")
        return X
    if X.dtype == np.float64 and not all(place.has_double for place in places):
        raise ValueError(f"device={device!r} does not compute in float64; give X as float32")
    return HostRows(np.require(X, requirements=["C"]), places)


def numbered(device: str, number: int) -> str:
    """Return the name of the device of a worker, given its number on its machine.

    A name without a number, such as "cuda", means all visible devices of this kind, used by the
    workers in turn.
    """
    counted = getattr(getattr(_torch(device), device, None), "device_count", None)
    count = 1 if counted is None else counted()
    return f"{device}:{number % count}" if count > 1 else device


def _torch(device: str) -> ModuleType:
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise ImportError(f"device={device!r} needs PyTorch: pip install torch") from None


def _place_of(device: str) -> Place:
    torch = _torch(device)
    try:
        empty = torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device={device!r} does not exist: {error}") from error
    if empty.is_meta:
        raise ValueError(f"device={device!r} holds no numbers")
    return Place(empty)


def checked_rows(X: DeviceArray, *, finite: bool = True) -> DeviceArray:
    """Return X of shape (n, d), whose numbers may be trained on; integers become float64."""
    if isinstance(X, HostRows):  # of a fold: they were checked
        return X
    if "meta" in str(getattr(X, "device", "")):
        raise ValueError("X lies on the device 'meta', which holds no numbers")
    if is_sparse_tensor(X):
        raise ValueError("X is a sparse tensor; give dense rows, or a SciPy CSR array on the CPU")
    if len(X.shape) != 2:
        raise ValueError(f"Expected 2D array, got {len(X.shape)}D array instead: X must be rows")
    if 0 in X.shape:
        raise ValueError(
            f"Found array with shape {tuple(X.shape)}; at least one row and feature are needed"
        )
    if hasattr(X, "detach"):
        X = X.detach()
    if dtype_name(X) not in TYPES:
        xp = namespace_of(X)
        if xp.isdtype(X.dtype, "complex floating"):
            raise ValueError("Complex data not supported")
        X = xp.astype(X, Place(X).wide)
    if finite:
        _check_numbers(X)
    return X


def _check_numbers(X: DeviceArray) -> None:
    is_finite, largest = finite_and_largest(X)
    if not is_finite:
        raise ValueError("Input X contains NaN or infinity.")
    limits = np.finfo(training_type(X))
    if largest > np.sqrt(float(limits.max) * float(limits.eps)):
        raise FloatingPointError(
            f"X holds a value of size {largest:.1e}, whose square is too large for "
            f"{training_type(X)}; scale the features to about one"
        )


def finite_and_largest(X: DeviceArray) -> tuple[bool, float]:
    """Return whether all numbers of X are finite, and the largest magnitude."""
    xp, largest, finite = namespace_of(X), 0.0, True
    for rows in spans(X.shape[0], max(1, NUMBERS_AT_A_TIME // X.shape[1])):
        part = X[rows, :]
        finite = finite and bool(xp.all(xp.isfinite(part)))
        largest = max(largest, float(xp.max(part)), -float(xp.min(part)))
    return finite, largest


def rows_on_device(
    estimator: BaseEstimator, X: DeviceArray, *, reset: bool, finite: bool = True
) -> DeviceArray:
    """Check X like ``validate_data``, without moving it."""
    rows = checked_rows(X, finite=finite)
    _check_feature_names(estimator, rows, reset=reset)
    _check_n_features(estimator, rows, reset=reset)
    return rows
