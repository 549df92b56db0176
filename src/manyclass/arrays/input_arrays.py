"""Arrays on devices as users give them: checks of X, and y and weights as ndarrays."""

from __future__ import annotations

import importlib

import numpy as np

from manyclass.arrays.dataset import TYPES, finite_and_largest, training_type
from manyclass.arrays.namespace import (
    Place,
    dtype_name,
    is_array,
    is_on_device,
    namespace_of,
    to_numpy,
)
from manyclass.utils.types import Array, DeviceArray, Rows


def on_host(values: object) -> object:
    """Return an array of another namespace as an ndarray, anything else as it is."""
    return to_numpy(values) if is_array(values) else values


def rows_of(X: Rows, rows: Array) -> Rows:
    """Return some rows of X by their numbers, where X lies."""
    if isinstance(X, np.ndarray) or not is_on_device(X):
        return X[rows]
    found: Rows = Place(X).rows_of(X, rows)
    return found


def moved(X: Rows, device: str) -> DeviceArray:
    """Return validated rows on a device, through PyTorch.

    Raises
    ------
    ImportError
        If there is no PyTorch.
    ValueError
        If X is sparse, or the device is not there.
    MemoryError
        If X does not fit into its memory.
    """
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise ImportError(f"device={device!r} needs PyTorch: pip install torch") from None
    if hasattr(X, "tocsr"):
        raise ValueError(f"device={device!r} trains on dense rows; X is sparse")
    rows = torch.as_tensor(np.require(X, requirements=["C", "W"]))
    try:
        return rows.to(device)
    except (RuntimeError, AssertionError) as error:
        size = f"{rows.nbytes / 1e9:.1f} GB of X"
        if "out of memory" in str(error):
            raise MemoryError(f"{size} do not fit on device={device!r}; give fewer rows") from error
        raise ValueError(f"device={device!r} is not there: {error}") from error


def checked_rows(X: DeviceArray, *, finite: bool = True) -> DeviceArray:
    """Return X of shape (n, d), whose numbers may be trained on; integers become float64.

    Raises
    ------
    ValueError
        If it is not two-dimensional, has no rows or features, or holds NaN, infinity or complex
        numbers.
    FloatingPointError
        If the square of a number overflows.
    """
    if "meta" in str(getattr(X, "device", "")):
        raise ValueError("X lies on the device 'meta', which holds no numbers")
    if getattr(X, "is_sparse", False) or "sparse" in str(getattr(X, "layout", "")):
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
        X = xp.astype(X, xp.float64)
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
