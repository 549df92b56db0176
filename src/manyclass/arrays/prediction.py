"""Scores and best classes of rows on a device, computed on it by blocks."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from manyclass.arrays.dataset import training_type
from manyclass.arrays.namespace import NUMBERS_AT_A_TIME, Place, is_array, spans, to_numpy
from manyclass.arrays.places.memory import LEAST_ROWS
from manyclass.utils.types import Array, DeviceArray


def scores_on_device(X: DeviceArray, coef: Array, intercept: Array) -> Array:
    """Return the scores of rows as an ndarray of shape (n, k) or (n, 1).

    The type is the wider of the types of X, widened as in training, and of the weights. Refuse NaN
    and infinity.
    """
    parts = [to_numpy(S) for S in _scores(X, coef, intercept)]
    empty = np.empty((0, len(intercept)), np.result_type(training_type(X), coef))
    return np.concatenate([empty, *parts])


def best_on_device(X: DeviceArray, coef: Array, intercept: Array, top: int) -> NDArray[np.int64]:
    """Return the positions of the best classes of rows, shape (n, top); arguments as above."""
    place, parts = Place(X), [np.empty((0, top), np.int64)]
    for S in _scores(X, coef, intercept):
        if S.shape[1] == 1:
            S = place.xp.concat([0 * S, S], axis=1)
        if top == 1:
            best = place.xp.argmax(S, axis=1)[:, None]
        else:
            best = place.xp.argsort(S, axis=1, descending=True, stable=True)[:, :top]
        parts.append(to_numpy(best).astype(np.int64))
    return np.concatenate(parts)


def like(X: object, numbers: Array) -> Array:
    """Return numbers in the namespace and on the device of X, with array API dispatch.

    Only with ``sklearn.set_config(array_api_dispatch=True)``. Text labels and sparse arrays are not
    converted.
    """
    is_asked = get_config()["array_api_dispatch"] and is_array(X)
    if not is_asked or not isinstance(numbers, np.ndarray) or numbers.dtype.kind not in "biuf":
        return numbers
    there: Array = Place(X).asarray(numbers)
    return there


def _scores(X: DeviceArray, coef: Array, intercept: Array) -> Iterator[DeviceArray]:
    """Yield the scores of blocks of rows."""
    place = Place(X)
    xp, wide = place.xp, np.result_type(training_type(X), coef)
    dtype = place.wide if wide == np.float64 else xp.float32
    W = place.asarray(np.ascontiguousarray(coef.T, wide))
    b = place.asarray(np.ascontiguousarray(intercept, wide))
    step = max(LEAST_ROWS, NUMBERS_AT_A_TIME // max(coef.shape))
    for part in spans(X.shape[0], step):
        with place.current(), place.exact_products():
            S = xp.astype(X[part, :], dtype, copy=False) @ W + b[None, :]
        if not bool(xp.all(xp.isfinite(S))):
            _refuse(X[part, :], xp)
        yield S


def _refuse(X: DeviceArray, xp: ModuleType) -> None:
    if not bool(xp.all(xp.isfinite(X))):
        raise ValueError("Input X contains NaN or infinity.")
