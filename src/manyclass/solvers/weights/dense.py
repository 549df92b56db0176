"""Dense W, shape (d + 1, k): its layout in the kernels, memory, means and norms.

Rows of W are padded to blocks of 64 bytes; classes are visited in lanes or groups of blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.dataset import Dataset
from manyclass.problem.problem import Problem
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


def pack(buffer: Array, weights: Array, n_classes: int) -> Array:
    """Move the rows of W to the buffer's beginning, without their padding."""
    rows, stride = weights.shape
    step = max(1, ELEMENTS_AT_A_TIME // stride)
    for begin in range(0, rows, step):
        part = weights[begin : begin + step, :n_classes].ravel()
        buffer[begin * n_classes : begin * n_classes + part.size] = part
    return buffer


def class_means(W: Array) -> NDArray[np.float64]:
    """Mean over the classes of every row, shape (d + 1,)."""
    return np.concatenate([W[rows].mean(axis=1, dtype=np.float64) for rows in _parts(W)])


def subtract_means(W: Array) -> None:
    """Project W to mean zero over the classes, in place."""
    W -= class_means(W)[:, None]


def antisymmetric(W: Array) -> float:
    """For k = 2: W <- (-v, v), v = (w_1 - w_0) / 2, so that coef_ = w_1 - w_0 is exact.

    Returned: how far W moves.
    """
    before = W.astype(np.float64)
    W[:, 1] = 0.5 * (W[:, 1] - W[:, 0])
    W[:, 0] = -W[:, 1]
    return float(np.linalg.norm(W - before))


def distance(a: Array, b: Array) -> float:
    """Return an upper bound of ||A - B||, in float64."""
    total = 0.0
    for rows in _parts(a):
        part = a[rows].astype(np.float64) - b[rows]
        total += float(np.einsum("ij,ij->", part, part))
    return math.sqrt(total) * (1 + np.finfo(np.float64).eps * ELEMENTS_AT_A_TIME)


def squared_norm(W: Array) -> float:
    """||W||^2, summed in float64."""
    return sum(
        float(np.einsum("ij,ij->", W[rows], W[rows], dtype=np.float64)) for rows in _parts(W)
    )


def _parts(W: Array) -> Iterator[slice]:
    """Yield rows that are copied or summed at a time."""
    step = max(1, ELEMENTS_AT_A_TIME * W.itemsize // max(W.strides[0], W[0].nbytes))
    for begin in range(0, len(W), step):
        yield slice(begin, begin + step)


BLOCK_BYTES = _core.BLOCK_BYTES  # rows of W are padded to whole blocks

# Blocks of 64 bytes that the weights of a group's classes fill, for one feature: one is slower by a
# fifth (news20, letter).
GROUP_BLOCKS = 2

# Rows are visited in batches when at least this share of X is not zero (measured: 256 features, 284
# classes; Crammer-Singer breaks even at 0.2 to 0.3, Weston-Watkins gains a sixth at 0.3).
BATCH_DENSITY = 0.3
# Where lanes would do, from so many classes and features on. With relative margins, whose lists of
# z are short (measured, 8,000 to 100,000 rows, 20 and 50 classes, C = 1 and 10: at 64 features 1.1
# to 4 times faster, at 160 2 to 4; at 32 0.9 to 2.4); with absolute ones lanes have a Newton phase
# (20 classes break even at 256 features; 26 at 1,000 are 3 to 8 times faster).
BATCH_CLASSES, BATCH_FEATURES, RELATIVE_FEATURES = 16, 256, 64


def classes_in_group(dtype: DType) -> int:
    """Return how many classes a group has, at most."""
    return GROUP_BLOCKS * BLOCK_BYTES // dtype.itemsize


def has_wide_rows(data: Dataset) -> bool:
    """Whether rows are dense and have so many features that batches of them are faster."""
    share = len(data.values) / (data.n_examples * max(1, data.n_features))
    return share >= BATCH_DENSITY and data.n_features >= BATCH_FEATURES


def in_lanes(problem: Problem) -> bool:
    """Whether the kernels for few classes serve: a visit holds all of them in registers."""
    data, formulation = problem.dataset, problem.formulation
    return _core.fits_lanes(
        formulation.takes_maximum, formulation.is_relative, data.n_classes, data.dtype.itemsize
    )


def in_batches(problem: Problem, sizes: tuple[int, int] | None = None) -> bool:
    """Whether rows are visited as dense ones, in batches, W class-major (batched_visits.hpp).

    `sizes`: numbers of X and rows of all parts, where the problem is of one of them.
    """
    data = problem.dataset
    if data.sets is not None:
        return False
    n_values, n_examples = sizes or (len(data.values), data.n_examples)
    if n_values < BATCH_DENSITY * n_examples * data.n_features:
        return False
    is_relative = problem.formulation.is_relative
    wide = data.n_features >= (RELATIVE_FEATURES if is_relative else BATCH_FEATURES)
    return (data.n_classes > BATCH_CLASSES and wide) or not in_lanes(problem)
