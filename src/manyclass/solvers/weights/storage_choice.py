"""Choice of dense or sparse storage of W: by memory, then by speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.solvers.weights.dense import classes_in_group, in_batches, in_lanes
from manyclass.utils.machine import available_memory
from manyclass.utils.types import DType

Kind = Literal["dense", "sparse"]
# Number of classes from which Crammer-Singer and Weston-Watkins are faster with sparse weights.
MANY_CLASSES = 2000
# Dense weights that take more than this share of the memory give way to sparse ones.
LARGE_SHARE = 0.25
# z of relative margins: so many classes of an example (16 to 52 were seen in the end).
CLASSES_PER_EXAMPLE = 64
# What sparse weights are expected to need: so many classes with a weight for every non-zero of X
# (16 to 52 are in the lists of an example, but examples share them), so many bytes for each in
# tables that are partly vacant, and in the copy that is returned.
CLASSES_PER_ENTRY = 16
BYTES_PER_WEIGHT = 24
# ... and for one-vs-rest, whose parts are put together in a copy (20 to 39 were seen).
SEPARATE_CLASSES_PER_ENTRY = 40
ROW_BYTES = _core.TABLE_ROW_BYTES  # of a feature's table, for each thread
WORTH_TELLING = 10**8
# Classes are trained together while their weights and z need no more than this, and no more than
# this share of the memory.
CHUNK_BYTES_OF_W = 1 << 29
CHUNK_SHARE = 0.25
DENSE_BY_NATURE = (
    "weights='sparse' does not go with this formulation, whose weights are dense by nature; use "
    "weights='auto', or formulation='crammer_singer', 'weston_watkins' or 'one_vs_rest'"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """How W is held, and what both ways would need.

    Attributes
    ----------
    kind : {"dense", "sparse"}
    dense_bytes : int
        Memory of dense weights and of z.
    sparse_bytes : int or None
        The same for sparse weights, roughly; None where the formulation has none.
    """

    kind: Kind
    dense_bytes: int
    sparse_bytes: int | None

    @property
    def needed(self) -> int:
        """Bytes of what was chosen."""
        sparse = self.sparse_bytes if self.kind == "sparse" else None
        return self.dense_bytes if sparse is None else sparse

    @property
    def matters(self) -> bool:
        """Whether to report the choice when verbose: not dense weights of a small problem."""
        return self.kind == "sparse" or self.needed > WORTH_TELLING

    def __str__(self) -> str:
        """One line for people."""
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
        Threads, each of which needs memory of its own.
    keeps_duals : bool, default=True
        Whether z is returned, too.

    Returns
    -------
    Choice

    Raises
    ------
    ValueError
        If sparse weights are wanted of a formulation whose W is dense by nature.
    MemoryError
        If neither fits, or not the one that is wanted.
    """
    dense = dense_bytes(problem, keeps_duals=keeps_duals)
    sparse = sparse_bytes(problem, n_jobs)
    if wanted == "sparse" and sparse is None:
        raise ValueError(DENSE_BY_NATURE)
    memory = available_memory()
    if sparse is None or wanted == "dense":
        choice = Choice("dense", dense, sparse)
    elif wanted == "sparse" or prefers_sparse(problem, dense, sparse, memory):
        choice = Choice("sparse", dense, sparse)
    else:
        choice = Choice("dense", dense, sparse)
    if choice.needed > memory:
        raise MemoryError(refusal(problem, choice, memory))
    return choice


def dense_bytes(problem: Problem, *, keeps_duals: bool = True) -> int:
    """Bytes of dense weights and of z while training, and as it is returned."""
    data = problem.dataset
    item, n, k = data.dtype.itemsize, data.n_examples, data.n_classes
    weights = weights_bytes(problem)
    if problem.formulation.is_separable:
        # The groups' weights, and those of all that are put together from them.
        return 2 * weights + n * k * item
    if in_lanes(problem) and not in_batches(problem):
        return weights + n * k * item
    if problem.formulation.is_relative:
        return weights + relative_duals_bytes(problem)
    # A class and a number each, and once more in what is returned.
    return weights + n * k * 2 * item + n * k * (item + 4) * keeps_duals


def sparse_bytes(problem: Problem, n_jobs: int = 1) -> int | None:
    """Bytes of sparse weights and of z while training, roughly; None where there are none."""
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
    """Bytes of a sparse W as it is returned, roughly."""
    if not problem.formulation.is_relative:  # parts, and what is put together from them
        return 2 * packed_bytes(problem, SEPARATE_CLASSES_PER_ENTRY)
    return packed_bytes(problem, CLASSES_PER_ENTRY)


def packed_bytes(problem: Problem, classes_per_entry: int) -> int:
    """Bytes of the rows of W without zeros: a class and a number each."""
    data = problem.dataset
    entries = classes_per_entry * (len(data.values) + data.n_examples)
    weights = min((data.n_features + 1) * data.n_classes, entries)
    return weights * (data.dtype.itemsize + 4)


def weights_bytes(problem: Problem) -> int:
    """Bytes of a dense W."""
    data = problem.dataset
    return (data.n_features + 1) * data.n_classes * data.dtype.itemsize


def relative_duals_bytes(problem: Problem) -> int:
    """Bytes of the z of relative margins: a class and a number each."""
    data = problem.dataset
    return data.n_examples * min(data.n_classes, CLASSES_PER_EXAMPLE) * 2 * data.dtype.itemsize


def chunk_bytes(problem: Problem, n_jobs: int, sharing: int = 1) -> int:
    """Bytes of a part's weights and z for each process that shares the memory."""
    data = problem.dataset
    groups = -(-data.n_classes // classes_in_group(data.dtype))
    return min(groups, groups_in_part(problem, n_jobs, sharing)) * _group_bytes(problem)


def groups_in_part(problem: Problem, n_jobs: int, sharing: int = 1) -> int:
    """Return how many groups of classes of one-vs-rest are trained together.

    At least one for each thread; so many processes share the memory.
    """
    budget = min(CHUNK_BYTES_OF_W, CHUNK_SHARE * available_memory(sharing))
    return max(n_jobs, int(budget / _group_bytes(problem)))


def _group_bytes(problem: Problem) -> int:
    data = problem.dataset
    per_class = (2 * (data.n_features + 1) + data.n_examples) * data.dtype.itemsize
    return per_class * min(data.n_classes, classes_in_group(data.dtype))


def prefers_sparse(problem: Problem, dense: int, sparse: int, memory: int) -> bool:
    """Whether sparse weights are faster, or need less memory where it is short."""
    relative = problem.formulation.is_relative
    many = relative and problem.dataset.n_classes > MANY_CLASSES and problem.dataset.is_sparse
    return sparse < dense and (many or dense > LARGE_SHARE * memory)


def refusal(problem: Problem, choice: Choice, memory: int) -> str:
    """Return the message of a choice that does not fit into memory."""
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
    """Bytes for people."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 10**9 else f"{n_bytes / 1e6:.3g} MB"


@dataclass(frozen=True, slots=True)
class Shape:
    """What W is like: d features and the appended one, k classes."""

    n_features: int
    n_classes: int
    dtype: DType

    @property
    def single(self) -> bool:
        """Whether numbers are float32."""
        return self.dtype == np.float32
