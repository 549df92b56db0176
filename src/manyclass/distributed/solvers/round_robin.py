"""Round-robin schedule of the pairs of class blocks.

Classes are partitioned into class blocks; in a round, every rank holds two of them. In an epoch,
every pair of class blocks occurs once. Source: Alber et al. 2017, algorithm 5 (the circle method
for a 1-factorization of the complete graph).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Round: TypeAlias = tuple[tuple[int, ...], ...]  # for each rank, the class blocks that it holds
BLOCKS_PER_RANK = 2


def one_factorization(n_blocks: int) -> list[list[tuple[int, ...]]]:
    """Return all pairs of class blocks, in rounds of disjoint pairs.

    There are n_blocks - 1 rounds, or n_blocks if that is odd and each round leaves out one class
    block, which stands alone in its tuple.

    Examples
    --------
    >>> from manyclass.distributed.solvers.round_robin import one_factorization
    >>> one_factorization(4)
    [[(0, 3), (1, 2)], [(1, 3), (2, 0)], [(2, 3), (0, 1)]]
    >>> one_factorization(3)
    [[(0,), (1, 2)], [(1,), (2, 0)], [(2,), (0, 1)]]
    """
    last = n_blocks - 1 + n_blocks % 2  # the last of an even number of blocks, a dummy if odd
    rounds = []
    for r in range(last):
        pairs = [(r, last)]
        pairs += [((r + t) % last, (r - t) % last) for t in range(1, (last + 1) // 2)]
        rounds.append([tuple(block for block in pair if block < n_blocks) for pair in pairs])
    return rounds


def balanced_blocks(
    work: NDArray[np.float64], n_blocks: int, rng: np.random.Generator
) -> list[NDArray[np.int32]]:
    """Share out classes at random, yet evenly, by number and by work; ascending in each block.

    Sizes differ by at most one, and the work of two class blocks by at most the work of the
    costliest class.

    Examples
    --------
    >>> import numpy as np
    >>> from manyclass.distributed.solvers.round_robin import balanced_blocks
    >>> blocks = balanced_blocks(np.array([9.0, 1, 1, 9]), 2, np.random.default_rng(0))
    >>> sorted(len(block) for block in blocks)
    [2, 2]
    """
    # For each n_blocks random classes: one goes to each class block, the costliest to the class
    # block with the least work.
    order = rng.permutation(len(work))
    block_of = np.empty(len(work), np.int64)
    loads = np.zeros(n_blocks)
    for first in range(0, len(work), n_blocks):
        some = order[first : first + n_blocks]
        some = some[np.argsort(-work[some], kind="stable")]
        emptiest = np.argsort(loads, kind="stable")[: len(some)]
        block_of[some] = emptiest
        loads[emptiest] += work[some]
    return [np.flatnonzero(block_of == b).astype(np.int32) for b in range(n_blocks)]


@dataclass(frozen=True, slots=True)
class Move:
    """Exchange of a rank between two rounds: at most one class block sent, and one received."""

    outgoing: int | None = None
    destination: int | None = None
    incoming: int | None = None
    source: int | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """The rounds of an epoch: rounds[r][rank] are the class blocks that the rank holds, 0 to 2.

    Between two rounds a rank keeps one of its class blocks, so it sends one at most and receives
    one at most.
    """

    n_blocks: int
    rounds: tuple[Round, ...]

    @classmethod
    def from_counts(cls, n_blocks: int, n_ranks: int) -> Schedule:
        """Assign the pairs of every round to ranks; needs at least n_blocks / 2 ranks."""
        factors = one_factorization(n_blocks)
        if len(factors[0]) > n_ranks:
            raise ValueError(f"{n_blocks} class blocks are too many for {n_ranks} ranks")
        idle: Round = ((),) * (n_ranks - len(factors[0]))
        rounds = [tuple(factors[0])]
        for pairs in factors[1:]:
            rounds.append(_next_to(rounds[-1], pairs))
        return cls(n_blocks, tuple((*round_, *idle) for round_ in rounds))

    @property
    def n_pairs(self) -> int:
        """Number of pairs and of single class blocks in an epoch."""
        return sum(len(held) > 0 for round_ in self.rounds for held in round_)

    def pairs_of(self, rank: int) -> list[tuple[int, int]]:
        """List the ordered pairs of class blocks on a rank."""
        return [pair for held in self.rounds for pair in itertools.permutations(held[rank], 2)]

    def move(self, before: int, rank: int) -> Move:
        """Return the exchange of a rank between a round and the next."""
        after = before + 1
        held, wanted = self.rounds[before][rank], self.rounds[after][rank]
        outgoing = next((b for b in held if b not in wanted), None)
        incoming = next((b for b in wanted if b not in held), None)
        return Move(
            outgoing, self._holder(after, outgoing), incoming, self._holder(before, incoming)
        )

    def _holder(self, at: int, block: int | None) -> int | None:
        if block is None:
            return None
        return next(rank for rank, held in enumerate(self.rounds[at]) if block in held)


def _next_to(before: Round, pairs: list[tuple[int, ...]]) -> Round:
    """Assign pairs to ranks so that each rank keeps one of its class blocks.

    The pairs of two rounds form cycles, rank - pair - rank - pair; in a cycle, each rank sends one
    class block to the previous rank. A single class block ends a chain, which is handled likewise.
    """
    pair_of = {block: pair for pair in pairs for block in pair}
    rank_of = {block: rank for rank, held in enumerate(before) for block in held}
    placed: dict[int, tuple[int, ...]] = {}
    # Chains first, from the rank with a single class block, which must keep it.
    starts = sorted(range(len(before)), key=lambda rank: len(before[rank]))
    for start in starts:
        rank, kept = start, before[start][0]
        while rank not in placed:
            placed[rank] = pair_of[kept]
            partner = [block for block in pair_of[kept] if block != kept]
            if not partner:
                break
            rank = rank_of[partner[0]]
            kept = next((b for b in before[rank] if b != partner[0]), partner[0])
    return tuple(placed[rank] for rank in range(len(before)))


def work_of_classes(
    labels: NDArray[np.int32], row_lengths: NDArray[np.int64], n_classes: int
) -> NDArray[np.float64]:
    """Sum the non-zeros of the rows of each class, including an appended feature, shape (k,)."""
    return np.bincount(labels, row_lengths + 1.0, n_classes).astype(np.float64)
