"""Number of one-vs-rest classes trained at a time, by the available memory."""

from __future__ import annotations

import numpy as np

from manyclass.parallel.communicator import Communicator
from manyclass.problem.problem import Problem
from manyclass.solvers.weights.layout import classes_in_group
from manyclass.utils.memory import available_memory

# Classes are trained together while their weights and z need no more than this, and no more than
# this share of the memory.
CHUNK_BYTES_OF_W = 1 << 29
CHUNK_SHARE = 0.25


def chunk_bytes(problem: Problem, n_jobs: int, sharing: int = 1) -> int:
    """Bytes of a part's weights and z for each process that shares the memory."""
    data = problem.dataset
    groups = -(-data.n_classes // classes_in_group(data.dtype))
    return min(groups, _groups_in_part(problem, n_jobs, sharing)) * _group_bytes(problem)


def classes_in_chunk(problem: Problem, n_jobs: int, ranks: Communicator) -> int:
    """Return how many classes are trained together: as many on every rank.

    Whole groups, at least one for each thread.
    """
    machines = ranks.first_on_machine()
    here = _groups_in_part(problem, n_jobs, machines.count(machines[ranks.rank]))
    groups = -int(ranks.all_max(np.array([-here]))[0])
    return ranks.size * groups * classes_in_group(problem.dataset.dtype)


def _groups_in_part(problem: Problem, n_jobs: int, sharing: int) -> int:
    budget = min(CHUNK_BYTES_OF_W, CHUNK_SHARE * available_memory(sharing))
    return max(n_jobs, int(budget / _group_bytes(problem)))


def _group_bytes(problem: Problem) -> int:
    data = problem.dataset
    per_class = (2 * (data.n_features + 1) + data.n_examples) * data.dtype.itemsize
    return per_class * min(data.n_classes, classes_in_group(data.dtype))
