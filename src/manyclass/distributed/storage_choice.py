"""Choice of dense or sparse storage of W with classes partitioned over ranks."""

from __future__ import annotations

from manyclass.problem.problem import Problem
from manyclass.solvers.weights.storage import (
    BYTES_PER_WEIGHT,
    CLASSES_PER_ENTRY,
    DENSE_BY_NATURE,
    ROW_BYTES,
    SEPARATE_CLASSES_PER_ENTRY,
    Choice,
    Kind,
    chunk_bytes,
    dense_bytes,
    packed_bytes,
    prefers_sparse,
    refusal,
    relative_duals_bytes,
    returned_bytes,
    weights_bytes,
)
from manyclass.utils.machine import available_memory


def choose_for_ranks(
    problem: Problem,
    wanted: str,
    n_ranks: int,
    *,
    gathers: bool = True,
    keeps_duals: bool = True,
    sharing: int = 1,
) -> Choice:
    """Choose how W is held and returned if its classes are spread over ranks.

    Each rank needs its share, all z and, with `gathers`, all of W; `sharing` ranks are on this
    machine. Raises ValueError if sparse weights are wanted of a formulation whose W is dense by
    nature, MemoryError if W and z do not fit.
    """
    memory = available_memory(sharing)
    if problem.formulation.centred:
        if wanted == "sparse":
            raise ValueError(DENSE_BY_NATURE)
        held = dense_bytes(problem, keeps_duals=False) // n_ranks
        dense = held + weights_bytes(problem) * gathers
        dense += _gathered_duals_bytes(problem, n_ranks) * keeps_duals
        choice = Choice("dense", dense, None)
    else:
        dense, sparse = _held_by_rank(problem, n_ranks, sharing)
        whole, some = weights_bytes(problem), returned_bytes(problem)
        many = prefers_sparse(problem, dense + whole, sparse + some, memory)
        kind: Kind = "sparse" if wanted == "sparse" or (wanted == "auto" and many) else "dense"
        choice = Choice(kind, dense + whole * gathers, sparse + some * gathers)
    if choice.needed > memory:
        raise MemoryError(refusal(problem, choice, memory))
    return choice


def _gathered_duals_bytes(problem: Problem, n_ranks: int) -> int:
    """Return the bytes of all z, which every rank gathers, and of its own z in the messages."""
    data = problem.dataset
    item, n_duals = data.dtype.itemsize, data.n_examples * data.n_classes
    return n_duals * (12 + 2 * item) + n_duals * (24 + item) // n_ranks


def _held_by_rank(problem: Problem, n_ranks: int, sharing: int) -> tuple[int, int]:
    """Return the bytes of W and z on a rank during training; for sparse W, an estimate.

    The number of threads is ignored: it may differ between ranks, which must all choose the same.
    """
    data, everything = problem.dataset, weights_bytes(problem)
    item = data.dtype.itemsize
    if not problem.formulation.is_relative:  # one-vs-rest
        packed = packed_bytes(problem, SEPARATE_CLASSES_PER_ENTRY)
        part = chunk_bytes(problem, 1, sharing)
        return dense_bytes(problem) // n_ranks, part + packed // n_ranks
    # Every rank has z of all examples, and z of its pairs.
    duals = 2 * relative_duals_bytes(problem)
    entries = len(data.values) + data.n_examples
    weights = min(everything // item, CLASSES_PER_ENTRY * entries) * BYTES_PER_WEIGHT * item // 4
    rows = 2 * (data.n_features + 1) * ROW_BYTES
    return everything // n_ranks + duals, weights // n_ranks + rows + duals
