"""How the kernels lay out W and z for a problem: blocks of 64 bytes, lanes, groups of classes."""

from __future__ import annotations

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.utils.types import DType

BLOCK_BYTES = _core.BLOCK_BYTES  # rows of W are padded to whole blocks

# Blocks of 64 bytes that the weights of a group's classes fill, for one feature: one is slower by a
# fifth (news20, letter).
GROUP_BLOCKS = 2


def classes_in_group(dtype: DType) -> int:
    """Return how many classes a group has, at most."""
    return GROUP_BLOCKS * BLOCK_BYTES // dtype.itemsize


def in_lanes(problem: Problem, *, shifted: bool = False) -> bool:
    """Whether the kernels for few classes serve: a visit holds all of them in registers.

    ``shifted``: W has a column more.
    """
    formulation = problem.formulation
    per_block = BLOCK_BYTES // problem.dataset.dtype.itemsize
    simple = not formulation.takes_maximum or formulation.is_relative
    return simple and problem.dataset.n_classes + shifted <= _core.MAX_LANE_BLOCKS * per_block


def in_batches(problem: Problem) -> bool:
    """Whether dense rows are visited in batches, with W class-major (batched_visits.hpp)."""
    return not in_lanes(problem) and problem.dataset.is_dense


def mean_apart(problem: Problem) -> bool:
    """Whether the kernels' memory has a column k for the mean of W, which is centred."""
    apart = problem.formulation.centred and not in_lanes(problem)
    return apart and not in_batches(problem)
