"""What training on several ranks costs: work, seconds, memory, bytes. Pure functions of sizes.

    seconds of an epoch = sum_f rate_f work_f  +  latency messages  +  bytes / bandwidth

The work of a rank is counted from the sizes of the data, from what training is expected
to do (`Habits`) and from the number of ranks p; the rates are measured (rates.py). With n
examples of r non-zeros, d features and k classes, in an epoch of 2p - 1 rounds where class blocks
of classes meet:

    engine       visits on a rank   scores on a rank   numbers of W passed over
    alone        n                  n k                -
    centred      the same: sums to zero, whose visits look at all z of an example
    class blocks      n (2p - 1) / p     n k / p            d k (2p - 1) / 2p
    budgets      the same: Crammer-Singer, whose z go round with their classes
    separate     n k / 32p          n k / p            -
    shared_mean  n                  n k / p            d

A visit reads r non-zeros, a score multiplies r times. The examples of a class are visited where the
class is, so in each round all may wait for the rank that has the largest one. Source: Alber et al.
2017, which counts visits and messages likewise.
"""

from __future__ import annotations

import math

from manyclass import _core
from manyclass.planning.weight_density import share_of_uses
from manyclass.planning.work import Habits, Kind, Shape, Work
from manyclass.solvers.distributed.batches import batch_size
from manyclass.solvers.distributed.class_blocks import MESSAGE_ELEMENTS, SPARSE_ROWS
from manyclass.solvers.engine import Engine

SEPARATE_CLASSES = 32  # of one-vs-rest, visited together
LABEL = 4  # bytes of a class, a feature, a place in W
DATA_ROW = 48  # bytes of an example beside its non-zeros: begin, class, costs, norm
TABLE_NUMBERS = 6  # of W that a table has room for, for each that is not zero
TABLE_BYTES = 2 * _core.TABLE_ROW_BYTES  # of a feature's tables: two blocks of classes
CACHE = 32 << 20  # bytes of W, of all classes, that the ranks of a machine find in its caches


def work(engine: Engine, kind: Kind, shape: Shape, habits: Habits, n_ranks: int) -> Work:
    """Count what a rank does in an epoch.

    Parameters
    ----------
    engine : str
        As returned by ``select_engine``.
    kind : {"dense", "sparse"}
        How W is held while training.
    shape : Shape
    habits : Habits
    n_ranks : int
        1 for "serial" and "serial_centred".

    Returns
    -------
    Work

    Examples
    --------
    >>> from manyclass.planning.cost_model import Habits, Shape, work
    >>> shape = Shape(1000, 500, 64, 20_000, 30)
    >>> habits = Habits(scores=2.0, duals=5.0, density=0.1, fill=0.5, packed=0.2, epochs=10)
    >>> work("class_blocks", "dense", shape, habits, n_ranks=2).visits
    1500.0
    """
    if engine in ("class_blocks", "class_blocks_simplex"):
        return _of_class_pairs(engine, kind, shape, habits, n_ranks)
    if engine == "one_vs_rest":
        return _of_separate(shape, habits, n_ranks)
    n, share = shape.n_examples, shape.n_classes / n_ranks
    if engine == "sum_to_zero":
        return _of_shared_mean(shape, habits, n_ranks)
    dense = (habits.fill * share if kind == "sparse" else shape.padded(share)) * shape.n_nonzero
    return Work(
        visits=n,
        entries=shape.n_nonzero,
        dense=dense,
        far=dense * far(shape) if engine == "serial_centred" else 0.0,
        lists=max(0.0, habits.scores - 1) * share * shape.n_nonzero,
        duals=max(1.0, habits.scores) * habits.duals * n,
    )


def far(shape: Shape) -> float:
    """Return the share of all reads of rows of dense W that do not find them in a cache.

    The most frequent features' rows stay there, as many as if all ranks were on one machine.
    """
    stay = CACHE / (shape.padded(shape.n_classes) * shape.item)
    return 1 - share_of_uses(shape.n_examples, shape.n_features, shape.n_nonzero, stay)


def _of_separate(shape: Shape, habits: Habits, n_ranks: int) -> Work:
    """One-vs-rest: groups of classes, each with visits of its own; ranks exchange a few sums."""
    share = shape.n_classes / n_ranks
    groups = math.ceil(share / SEPARATE_CLASSES)
    columns = habits.scores * groups * shape.padded(share / groups)
    return Work(
        visits=habits.scores * groups * shape.n_examples,
        entries=habits.scores * groups * shape.n_nonzero,
        dense=columns * shape.n_nonzero,
        batches=1.0,
        messages=6 * steps(n_ranks),
        bytes=160.0 * (n_ranks - 1),
    )


def _of_shared_mean(shape: Shape, habits: Habits, n_ranks: int) -> Work:
    """Batches of examples, after each of which ranks sum a number for each of them."""
    n, share = shape.n_examples, shape.n_classes / n_ranks
    batch = batch_size(n, shape.n_nonzero, shape.n_classes, n_ranks, has_intercept=False)
    summed = habits.scores * n + max(0.0, habits.scores - 1) * n / 2
    dense = habits.scores * shape.padded(share + 1) * shape.n_nonzero
    return Work(
        visits=habits.scores * n,
        entries=habits.scores * shape.n_nonzero,
        dense=dense,
        far=dense * far(shape),
        swept=shape.n_features + 1.0,  # the column of m
        duals=habits.scores * habits.duals * n / n_ranks,
        batches=habits.scores * n / batch,
        messages=2 * steps(n_ranks) * (habits.scores * n / batch + 5),
        bytes=16.0 * summed * (n_ranks - 1) / n_ranks,
    )


def _of_class_pairs(engine: Engine, kind: Kind, shape: Shape, habits: Habits, n_ranks: int) -> Work:
    """2p - 1 rounds of pairs of class blocks; after each, a rank sends and receives one block."""
    blocks = min(shape.n_classes, 2 * n_ranks)
    rounds, block = blocks - 1, shape.n_classes / blocks
    here = 2 / blocks  # share of the examples that a rank visits in a round
    padding = shape.padded(block) / block
    filled, held = (habits.fill, habits.density) if kind == "sparse" else (padding, padding)
    columns = here * shape.n_classes  # each met once
    z = habits.duals * shape.n_examples
    # A class block's own z go with it; all are told at the end of an epoch.
    going = z / blocks if engine == "class_blocks_simplex" else z / blocks**2
    numbers = (rounds - 1) * going + z * (n_ranks - 1) / n_ranks
    return Work(
        visits=rounds * here * shape.n_examples,
        entries=rounds * here * shape.n_nonzero,
        dense=min(1.0, habits.scores) * columns * filled * shape.n_nonzero,
        lists=max(0.0, habits.scores - 1) * columns * shape.n_nonzero,
        swept=shape.weights * held * rounds / blocks,
        rows=float(rounds * shape.n_examples),
        duals=z * (1 + 2 * rounds / blocks),
        messages=_messages_of_class_pairs(kind, shape, blocks, n_ranks),
        bytes=(rounds - 1) * _block_bytes(shape, habits, block)
        + numbers * (2 * LABEL + shape.item),
        uneven=unevenness(shape, blocks),
    )


def _messages_of_class_pairs(kind: Kind, shape: Shape, blocks: int, n_ranks: int) -> float:
    """Of a class block: four for each part of its W, four for its z; then sums and all z."""
    rows = max(1, MESSAGE_ELEMENTS // round(shape.padded(shape.n_classes / blocks)))
    parts = math.ceil((shape.n_features + 1) / max(rows, SPARSE_ROWS if kind == "sparse" else 1))
    return (blocks - 2) * (4.0 * parts + 4) + 10 * steps(n_ranks)


def _block_bytes(shape: Shape, habits: Habits, block: float) -> float:
    """Bytes of a message with W of a class block: a count per feature, and the non-zeros."""
    listed = habits.density * block * (LABEL + shape.item)
    whole = habits.packed * shape.padded(block) * shape.item
    return (shape.n_features + 1) * (LABEL + min(listed, whole))


def unevenness(shape: Shape, n_blocks: int) -> float:
    """Return how much more is visited in a round where the largest class is than on average.

    There it is, never cut, with an average class block; it goes round, but in each round all wait.
    """
    average = shape.n_examples / n_blocks
    return (max(average, shape.largest_class) + average) / (2 * average)


def steps(n_ranks: int) -> int:
    """Return how many messages one after the other let all ranks hear from all."""
    return math.ceil(math.log2(n_ranks))


def memory(engine: Engine, kind: Kind, shape: Shape, habits: Habits, n_ranks: int) -> float:
    """Count the bytes of a rank while it trains: X, z, W.

    Ranks of one machine share X; each is counted with all of it. W is not put together, as
    ``manyclass train`` does not (`returned_bytes` come on top after ``fit``).

    Parameters
    ----------
    engine, kind, shape, habits, n_ranks
        As of ``work``.

    Returns
    -------
    float
    """
    z = shape.n_examples * habits.duals
    if kind == "sparse":
        numbers = TABLE_NUMBERS * habits.density * shape.weights * shape.item
        held = min(shape.weights * shape.item, numbers) + TABLE_BYTES * shape.n_features
    else:
        held = shape.weights * shape.item
    if engine in ("serial", "serial_centred"):
        return data_bytes(shape) + held + z * (LABEL + shape.item)
    share = 2 * held / min(shape.n_classes, 2 * n_ranks)
    if engine in ("one_vs_rest", "sum_to_zero"):
        return data_bytes(shape) + share + z / n_ranks * (LABEL + shape.item)
    # All z, as it was before the epoch, and as it is gathered.
    return data_bytes(shape) + share + 2 * z * (2 * LABEL + shape.item)


def returned_bytes(kind: Kind, shape: Shape, habits: Habits) -> float:
    """Count the bytes of W as it is returned or written."""
    whole = shape.weights * shape.item
    if kind == "dense":
        return whole
    return min(whole, habits.density * shape.weights * (LABEL + shape.item))


def data_bytes(shape: Shape) -> float:
    """Count the bytes of X, y and what is kept of each example."""
    return shape.n_nonzero * (LABEL + shape.item) + float(shape.n_examples * DATA_ROW)
