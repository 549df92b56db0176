"""W for the kernels: a row per feature, padded to blocks of 64 bytes (dense_weights.hpp)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from manyclass.solvers.weights.layout import BLOCK_BYTES
from manyclass.utils.types import Array, DType

# Numbers of W that are copied or summed at a time.
ELEMENTS_AT_A_TIME = 1 << 18


def allocate_weights(rows: int, n_classes: int, dtype: DType) -> tuple[Array, Array]:
    """Zeros for W as the kernels want them: the memory, and its aligned view (rows, stride)."""
    per_block = BLOCK_BYTES // dtype.itemsize
    stride = -(-n_classes // per_block) * per_block
    buffer = np.zeros(rows * stride + per_block, dtype)
    first = -buffer.ctypes.data % BLOCK_BYTES // dtype.itemsize
    return buffer, buffer[first : first + rows * stride].reshape(rows, stride)


def classes_of(weights: Array, n_classes: int, *, apart: bool) -> Array:
    """Rows of W from rows of the padded memory: column k may hold the mean."""
    part = weights[:, :n_classes]
    return part - weights[:, n_classes : n_classes + 1] if apart else part


def pack(buffer: Array, weights: Array, n_classes: int, *, apart: bool) -> Array:
    """Move the rows of W to the buffer's beginning, without their padding."""
    rows, stride = weights.shape
    step = max(1, ELEMENTS_AT_A_TIME // stride)
    for begin in range(0, rows, step):
        part = classes_of(weights[begin : begin + step], n_classes, apart=apart).ravel()
        buffer[begin * n_classes : begin * n_classes + part.size] = part
    return buffer


def class_means(weights: Array, n_classes: int) -> NDArray[np.float64]:
    """Mean over the classes of every row, shape (d + 1,)."""
    step = max(1, ELEMENTS_AT_A_TIME // weights.shape[1])
    return np.concatenate(
        [
            weights[begin : begin + step, :n_classes].mean(axis=1, dtype=np.float64)
            for begin in range(0, len(weights), step)
        ]
    )


def subtract_means(weights: Array, n_classes: int) -> None:
    """Project W to mean zero over the classes, in place."""
    means = class_means(weights, n_classes)
    weights[:, :n_classes] -= means[:, None]


def antisymmetric(weights: Array) -> float:
    """For k = 2: W <- (-v, v), v = (w_1 - w_0) / 2, so that coef_ = w_1 - w_0 is exact.

    A column that holds the mean becomes 0. Returned: how far W moves.
    """
    before = weights[:, :2].astype(np.float64)
    weights[:, 1] = 0.5 * (weights[:, 1] - weights[:, 0])
    weights[:, 0] = -weights[:, 1]
    weights[:, 2:3] = 0
    return float(np.linalg.norm(weights[:, :2] - before))


def distance(a: Array, b: Array, n_classes: int) -> float:
    """Return an upper bound of ||A - B|| of the first columns, in float64."""
    total = 0.0
    step = max(1, ELEMENTS_AT_A_TIME // a.shape[1])
    for begin in range(0, len(a), step):
        rows = slice(begin, begin + step)
        part = a[rows, :n_classes].astype(np.float64) - b[rows, :n_classes]
        total += float(np.einsum("ij,ij->", part, part))
    return math.sqrt(total) * (1 + np.finfo(np.float64).eps * ELEMENTS_AT_A_TIME)


def squared_norm(weights: Array, n_classes: int, *, apart: bool) -> float:
    """||W||^2, summed in float64."""
    total = 0.0
    step = max(1, ELEMENTS_AT_A_TIME // weights.shape[1])
    for begin in range(0, len(weights), step):
        part = classes_of(weights[begin : begin + step], n_classes, apart=apart)
        total += float(np.einsum("ij,ij->", part, part, dtype=np.float64))
    return total
