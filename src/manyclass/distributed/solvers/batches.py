"""Batch sizes: examples visited between two exchanges of W."""

from __future__ import annotations

BATCH_WORK = 1 << 22
BATCHES = {False: 160, True: 400}


def batch_size(
    n_examples: int, n_nonzero: int, n_classes: int, n_ranks: int, *, has_intercept: bool
) -> int:
    """Return how many examples ranks that share a mean visit between two updates of it.

    A loop has ``BATCHES`` batches, where there are examples enough: more with an intercept, along
    which all examples move the classes. And none takes a rank more than ``BATCH_WORK``
    multiply-adds, a millisecond or so.
    """
    per_example = (n_nonzero / n_examples + 1) * max(1, n_classes // n_ranks)
    batches = BATCHES[has_intercept]
    return max(1, int(min(BATCH_WORK / per_example, n_examples / batches)))
