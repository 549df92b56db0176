"""Layout of W and z in the kernels: blocks of 64 bytes, lanes, groups of classes."""

from __future__ import annotations

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.utils.types import DType

BLOCK_BYTES = _core.BLOCK_BYTES  # rows of W are padded to whole blocks

# Blocks of 64 bytes that the weights of a group's classes fill, for one feature: one is slower by a
# fifth (news20, letter).
GROUP_BLOCKS = 2

# Rows are visited in batches when at least this share of X is not zero (measured: 256 features, 284
# classes; Crammer-Singer breaks even at 0.2 to 0.3, Weston-Watkins gains a sixth at 0.3).
BATCH_DENSITY = 0.3
# Where lanes would do, from so many classes and features on (measured: 20 classes break even at 256
# features; 26 at 1,000 are 3 to 8 times faster, 50 at 768 3 to 16 times).
BATCH_CLASSES, BATCH_FEATURES = 16, 256


def classes_in_group(dtype: DType) -> int:
    """Return how many classes a group has, at most."""
    return GROUP_BLOCKS * BLOCK_BYTES // dtype.itemsize


def in_lanes(problem: Problem) -> bool:
    """Whether the kernels for few classes serve: a visit holds all of them in registers."""
    data, formulation = problem.dataset, problem.formulation
    return _core.fits_lanes(
        formulation.takes_maximum, formulation.is_relative, data.n_classes, data.dtype.itemsize
    )


def in_batches(problem: Problem) -> bool:
    """Whether rows are visited as dense ones, in batches, W class-major (batched_visits.hpp)."""
    data = problem.dataset
    if len(data.values) < BATCH_DENSITY * data.n_examples * data.n_features:
        return False
    many = data.n_classes > BATCH_CLASSES and data.n_features >= BATCH_FEATURES
    return many or not in_lanes(problem)
