"""Storage of W, shape (d + 1, k): dense W in the kernels, and the choice of dense or sparse.

Rows of a dense W are padded to blocks of 64 bytes; classes are visited in lanes or groups of
blocks. The choice between dense and sparse depends on memory, then on speed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.dataset import Dataset
from manyclass.problem.problem import Problem
from manyclass.utils.machine import available_memory
from manyclass.utils.types import Array, DType

# Entries of W that are copied or summed at a time.
ELEMENTS_AT_A_TIME = 1 << 18


def allocate_weights(rows: int, n_classes: int, dtype: DType) -> tuple[Array, Array]:
    """Return zeros for W in the layout of the kernels: the memory, and its view (rows, stride)."""
    per_block = BLOCK_BYTES // dtype.itemsize
    stride = -(-n_classes // per_block) * per_block
    buffer = np.zeros(rows * stride + per_block, dtype)
    first = -buffer.ctypes.data % BLOCK_BYTES // dtype.itemsize
    return buffer, buffer[first : first + rows * stride].reshape(rows, stride)


def pack(buffer: Array, weights: Array, n_classes: int) -> Array:
    """Move the rows of W to the beginning of the buffer, without padding."""
    rows, stride = weights.shape
    step = max(1, ELEMENTS_AT_A_TIME // stride)
    for begin in range(0, rows, step):
        part = weights[begin : begin + step, :n_classes].ravel()
        buffer[begin * n_classes : begin * n_classes + part.size] = part
    return buffer


def class_means(W: Array) -> NDArray[np.float64]:
    """Return the mean over the classes of every row, shape (d + 1,)."""
    return np.concatenate([W[rows].mean(axis=1, dtype=np.float64) for rows in _parts(W)])


def subtract_means(W: Array) -> None:
    """Project W to mean zero over the classes, in place."""
    W -= class_means(W)[:, None]


def antisymmetric(W: Array) -> float:
    """For k = 2, set W to (-v, v), v = (w_1 - w_0) / 2, so that coef_ = w_1 - w_0 is exact.

    Return the distance by which W moves.
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
    """Return ||W||^2, summed in float64."""
    total = 0.0
    for rows in _parts(W):
        total += float(np.einsum("ij,ij->", W[rows], W[rows], dtype=np.float64))
    return total


def _parts(W: Array) -> Iterator[slice]:
    """Yield blocks of rows."""
    step = max(1, ELEMENTS_AT_A_TIME * W.itemsize // max(W.strides[0], W[0].nbytes))
    for begin in range(0, len(W), step):
        yield slice(begin, begin + step)


BLOCK_BYTES = _core.BLOCK_BYTES  # rows of W are padded to whole blocks

# Blocks of 64 bytes with the weights of a group's classes for one feature: one block is slower by a
# fifth (news20, letter).
GROUP_BLOCKS = 2

# Rows are visited in batches if at least this share of X is non-zero (measured: 256 features, 284
# classes; Crammer-Singer breaks even at 0.2 to 0.3, Weston-Watkins gains a sixth at 0.3).
BATCH_DENSITY = 0.3
# Numbers of classes and features from which batches replace lanes. With relative margins, lists of
# z are short (measured, 8,000 to 100,000 rows, 20 and 50 classes, C = 1 and 10: at 64 features 1.1
# to 4 times faster, at 160 2 to 4; at 32 0.9 to 2.4). With absolute margins, lanes have a Newton
# phase (20 classes break even at 256 features; 26 at 1,000 are 3 to 8 times faster).
BATCH_CLASSES, BATCH_FEATURES, RELATIVE_FEATURES = 16, 256, 64


def classes_in_group(dtype: DType) -> int:
    """Return the largest number of classes in a group."""
    return GROUP_BLOCKS * BLOCK_BYTES // dtype.itemsize


def has_wide_rows(data: Dataset) -> bool:
    """Whether rows are dense and have enough features that batches are faster."""
    share = len(data.values) / (data.n_examples * max(1, data.n_features))
    return share >= BATCH_DENSITY and data.n_features >= BATCH_FEATURES


def in_lanes(problem: Problem) -> bool:
    """Whether the kernels for few classes apply, with all classes of a visit in registers."""
    data, formulation = problem.dataset, problem.formulation
    return _core.fits_lanes(
        formulation.takes_maximum, formulation.is_relative, data.n_classes, data.dtype.itemsize
    )


def in_batches(problem: Problem, sizes: tuple[int, int] | None = None) -> bool:
    """Whether rows are visited as dense rows, in batches, with class-major W (batched_visits.hpp).

    `sizes` are the numbers of values and rows of all parts, if the problem is one of them.
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


Kind = Literal["dense", "sparse"]
# Number of classes from which Crammer-Singer and Weston-Watkins are faster with sparse weights.
MANY_CLASSES = 2000
# Weights are sparse if dense ones would need more than this share of the memory.
LARGE_SHARE = 0.25
# Expected number of classes with z per example, for relative margins (16 to 52 were measured at
# the end of training).
CLASSES_PER_EXAMPLE = 64
# Expected size of sparse weights: number of classes with a weight per non-zero of X (16 to 52 are
# in the lists of an example, but examples share them), bytes of each in partly vacant tables, and
# in the returned copy.
CLASSES_PER_ENTRY = 16
BYTES_PER_WEIGHT = 24
# ... and for one-vs-rest, where chunks are joined in a copy (20 to 39 were measured).
SEPARATE_CLASSES_PER_ENTRY = 40
ROW_BYTES = _core.TABLE_ROW_BYTES  # bytes of a feature's table, for each thread
WORTH_TELLING = 10**8
# Largest size of the weights and z of classes that are trained together, in bytes and as a share of
# the memory.
CHUNK_BYTES_OF_W = 1 << 29
CHUNK_SHARE = 0.25
DENSE_BY_NATURE = (
    "the weights of this formulation are always dense, not sparse; use weights='auto', or train "
    "crammer_singer, weston_watkins or one_vs_rest"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen storage of W, and the memory for both kinds.

    Attributes
    ----------
    kind : {"dense", "sparse"}
    dense_bytes : int
        Memory of dense weights and of z.
    sparse_bytes : int or None
        Approximate memory of sparse weights and of z; None if the formulation does not support
        them.
    """

    kind: Kind
    dense_bytes: int
    sparse_bytes: int | None

    @property
    def needed(self) -> int:
        """Bytes of the chosen storage."""
        sparse = self.sparse_bytes if self.kind == "sparse" else None
        return self.dense_bytes if sparse is None else sparse

    @property
    def matters(self) -> bool:
        """Whether to report the choice when verbose: not for dense weights of a small problem."""
        return self.kind == "sparse" or self.needed > WORTH_TELLING

    def __str__(self) -> str:
        """One line for users."""
        dense = f"dense {size_text(self.dense_bytes)}"
        if self.sparse_bytes is None:
            return f"weights are dense: {dense}"
        return f"weights are {self.kind}: {dense}, sparse about {size_text(self.sparse_bytes)}"


def choose_weights(
    problem: Problem, wanted: str, n_jobs: int = 1, *, keeps_duals: bool = True
) -> Choice:
    """Choose the storage of W.

    Parameters
    ----------
    problem : Problem
    wanted : {"auto", "dense", "sparse"}
    n_jobs : int, default=1
        Threads, each of which needs additional memory.
    keeps_duals : bool, default=True
        Whether z is returned, too.

    Returns
    -------
    Choice

    Raises
    ------
    ValueError
        If sparse weights are requested for a formulation with dense W.
    MemoryError
        If neither fits, or the requested one does not fit.
    """
    dense = dense_bytes(problem, keeps_duals=keeps_duals)
    sparse = sparse_bytes(problem, n_jobs)
    if wanted == "sparse" and sparse is None:
        raise ValueError(DENSE_BY_NATURE)
    memory = available_memory()
    is_sparse = wanted == "sparse" or (
        wanted == "auto" and sparse is not None and prefers_sparse(problem, dense, sparse, memory)
    )
    choice = Choice("sparse" if is_sparse else "dense", dense, sparse)
    if choice.needed > memory:
        raise MemoryError(refusal(problem, choice, memory))
    return choice


def dense_bytes(problem: Problem, *, keeps_duals: bool = True) -> int:
    """Return the bytes of dense weights and of z, in training and returned."""
    data = problem.dataset
    item, n, k = data.dtype.itemsize, data.n_examples, data.n_classes
    weights = weights_bytes(problem)
    if problem.formulation.is_separable:
        # The weights of the groups, and the joined weights.
        return 2 * weights + n * k * item
    if in_lanes(problem) and not in_batches(problem):
        return weights + n * k * item
    if problem.formulation.is_relative:
        return weights + relative_duals_bytes(problem)
    # A class and a number per entry, and the same again in the returned array.
    return weights + n * k * 2 * item + n * k * (item + 4) * keeps_duals


def sparse_bytes(problem: Problem, n_jobs: int = 1) -> int | None:
    """Return the approximate bytes of sparse weights and of z in training; None: unsupported."""
    if problem.formulation.centred:
        return None
    data = problem.dataset
    item, entries = data.dtype.itemsize, len(data.values) + data.n_examples
    everything = (data.n_features + 1) * data.n_classes
    if problem.formulation.is_separable:
        return chunk_bytes(problem, n_jobs) + returned_bytes(problem)
    weights = min(everything, CLASSES_PER_ENTRY * entries)
    duals = relative_duals_bytes(problem)
    rows = (data.n_features + 1) * ROW_BYTES * n_jobs
    return weights * BYTES_PER_WEIGHT * item // 4 + duals + rows


def returned_bytes(problem: Problem) -> int:
    """Return the approximate bytes of a returned sparse W."""
    if not problem.formulation.is_relative:  # chunks, and the joined array
        return 2 * packed_bytes(problem, SEPARATE_CLASSES_PER_ENTRY)
    return packed_bytes(problem, CLASSES_PER_ENTRY)


def packed_bytes(problem: Problem, classes_per_entry: int) -> int:
    """Return the bytes of the rows of W without zeros: a class and a number per entry."""
    data = problem.dataset
    entries = classes_per_entry * (len(data.values) + data.n_examples)
    weights = min((data.n_features + 1) * data.n_classes, entries)
    return weights * (data.dtype.itemsize + 4)


def weights_bytes(problem: Problem) -> int:
    """Return the bytes of a dense W."""
    data = problem.dataset
    return (data.n_features + 1) * data.n_classes * data.dtype.itemsize


def relative_duals_bytes(problem: Problem) -> int:
    """Return the bytes of the z of relative margins: a class and a number per entry."""
    data = problem.dataset
    return data.n_examples * min(data.n_classes, CLASSES_PER_EXAMPLE) * 2 * data.dtype.itemsize


def chunk_bytes(problem: Problem, n_jobs: int, sharing: int = 1) -> int:
    """Return the bytes of a chunk's weights and z for each process that shares the memory."""
    data = problem.dataset
    groups = -(-data.n_classes // classes_in_group(data.dtype))
    return min(groups, groups_in_part(problem, n_jobs, sharing)) * _group_bytes(problem)


def groups_in_part(problem: Problem, n_jobs: int, sharing: int = 1) -> int:
    """Return the number of groups of classes of one-vs-rest that are trained together.

    There is at least one for each thread; `sharing` processes share the memory.
    """
    budget = min(CHUNK_BYTES_OF_W, CHUNK_SHARE * available_memory(sharing))
    return max(n_jobs, int(budget / _group_bytes(problem)))


def _group_bytes(problem: Problem) -> int:
    data = problem.dataset
    per_class = (2 * (data.n_features + 1) + data.n_examples) * data.dtype.itemsize
    return per_class * min(data.n_classes, classes_in_group(data.dtype))


def prefers_sparse(problem: Problem, dense: int, sparse: int, memory: int) -> bool:
    """Whether sparse weights are faster, or need less memory if it is short."""
    relative = problem.formulation.is_relative
    many = relative and problem.dataset.n_classes > MANY_CLASSES and problem.dataset.is_sparse
    return sparse < dense and (many or dense > LARGE_SHARE * memory)


def refusal(problem: Problem, choice: Choice, memory: int) -> str:
    """Return the message for a choice that does not fit into memory."""
    data = problem.dataset
    asked = f"{data.n_features} features and {data.n_classes} classes"
    words = f"dense weights for {asked} need {size_text(choice.dense_bytes)}"
    if choice.sparse_bytes is not None:
        words += f", sparse ones about {size_text(choice.sparse_bytes)}"
    advice = "use float32, fewer features (hashing, selection) or fewer classes"
    if choice.sparse_bytes is None:
        advice += ", or 'crammer_singer', 'weston_watkins' or 'one_vs_rest' with weights='sparse'"
    elif min(choice.dense_bytes, choice.sparse_bytes) <= memory:
        advice = f"use weights='{'sparse' if choice.kind == 'dense' else 'dense'}'"
    return f"{words} (with z); there are {size_text(memory)}. Advice: {advice}"


def size_text(n_bytes: int) -> str:
    """Return a number of bytes as text."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 10**9 else f"{n_bytes / 1e6:.3g} MB"


@dataclass(frozen=True, slots=True)
class Shape:
    """Shape and dtype of W: d features and the appended one, k classes."""

    n_features: int
    n_classes: int
    dtype: DType

    @property
    def single(self) -> bool:
        """Whether numbers are float32."""
        return self.dtype == np.float32
