"""Weston-Watkins with its classes partitioned over ranks.

    max_z  D(z) = sum_ic z_ic - 1/2 ||W(z)||^2 [- sum_ic z_ic^2 / (4 C_i)]    s.t. 0 <= z_ic <= C_i

z_{i,c} reads and changes w_{y_i} and w_c alone. So where two class blocks meet, the z that
their examples have in their classes can move while other ranks move those of other class blocks. In
an epoch class blocks are exchanged round-robin, two on each rank, until every pair has met. Where
two meet, all their examples are visited, against all classes of the other class block and those of
their own with z > 0 (in the first round, against all of both), then those that still move until
little of the pair's gap is left. So every score is computed once in an epoch for those visits, and
each of them solves the z of an example in both class blocks together. Each epoch has new class
blocks at random: with the same ones in all epochs what is to move between class blocks moves very
slowly (measured on news20, two ranks: 14 epochs to a gap of 1e-3, against more than 300). Between
epochs z is all-gathered, a few numbers per example, and each rank builds W of its next two class
blocks from it.

W is held dense, or, for very many classes, as one table per feature and class block
(hash_tables.hpp); then of the classes that violate an example's conditions only those enter its
list in one visit that do so most (entering_classes.hpp).

Base scores of costs and offsets, 0 at y_i, add to the scores of the classes that are held; factors
of losses (slack rescaling) make the bounds C_i Delta(y_i, c).

Given: x_i, y_i, C_i on every rank. Returned: W, z, and the certificate, the same on every rank: the
gap is a sum over examples and classes once w_{y_i} . x_i is known.
Converges: a visit raises D by q_i / 2 times its squared step or more, so steps vanish, and every z
is visited in every epoch, after which its slope points out of the box or is zero.
Sources: Alber et al. 2017, algorithms 4 and 5 (there single classes meet, always in one order);
Keerthi et al. 2008 for the visits.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.distributed.solvers.base import PassTotals, aborts_all_ranks
from manyclass.distributed.solvers.class_pairs import ClassPairSolver
from manyclass.distributed.solvers.coo_duals import CooDuals, concatenate, from_core
from manyclass.problem.solution import Certificate
from manyclass.solvers.engines import certificate_of
from manyclass.solvers.stopping import StoppingRule


class DistributedWestonWatkins(ClassPairSolver):
    """Solver for sums of losses of relative margins; parameters as ClassPairSolver.

    ``round.own_duals`` has the z_ic with both y_i and c in a block that is held here.
    """

    # z_ic with y_i in one class block and c in another, of all pairs visited here.
    _mutual: dict[tuple[int, int], CooDuals]

    @aborts_all_ranks
    def certify(self) -> Certificate:
        """Compute the certificate: each rank visits all examples with the classes that it holds.

        All w_{y_i} . x_i are exchanged first.
        """
        own_scores = self._own_scores()
        core, _ = self._core_pair()
        z = self._core_duals(self.duals)
        at, distance = self._as_returned()
        here = self.trainer.inspect(core, self.round.weights, z, own_scores, at.norm)
        proof = certificate_of(
            self.problem, at, self._gather_found(here), distance, self.zero_objective
        )
        self.dual = proof.dual_objective  # free of the rounding of many small gains
        return proof

    def _loss_of(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of examples from those of all classes."""
        return np.asarray(losses.sum(axis=-1))

    def _feasible(self, z: CooDuals) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return sum_c z_ic with each z clipped to its bound; the core does that, too."""
        problem = self.problem
        upper = np.asarray(problem.slack_loss.upper(problem.costs_of(z.rows, z.labels)))
        values = np.minimum(z.values.astype(np.float64), upper)
        n = len(problem.costs)
        totals = np.bincount(z.rows, values, minlength=n).astype(np.float64, copy=False)
        return totals, np.ones(n)

    def _share_out(self) -> None:
        """Keep z within the held class blocks, and of all pairs of class blocks on this rank."""
        block_of = self.round.blocks.block_of
        own = [(b, b) for b in self.round.held]
        met = self.schedule.pairs_of(self.communicator.rank)
        parts = self.duals.by_pair(block_of[self.problem.dataset.labels], block_of, own + met)
        self.round.own_duals = {b: parts[b, b] for b in self.round.held}
        self._mutual = {pair: parts[pair] for pair in met}

    def _moved(self) -> CooDuals:
        """Return the z that this rank has at the end of an epoch; each is on one rank."""
        parts = [*self._mutual.values(), *self.round.own_duals.values()]
        return concatenate(parts, self.problem.dataset.dtype)

    def _visit_pair(self, rule: StoppingRule) -> PassTotals:
        """Visit all examples of the pair, then those that still move."""
        core, labels = self._core_pair()
        held, mutual = self.round.held, self._mutual
        met = list(itertools.permutations(held, 2))
        z = [self.round.own_duals[b] for b in held] + [mutual[pair] for pair in met]
        duals = self._core_duals(concatenate(z, self.problem.dataset.dtype))
        rows = np.flatnonzero((labels >= 0) & self.filled).astype(np.int32)

        def loop(
            some: NDArray[np.int32], active: NDArray[np.int32], shrunk: bool
        ) -> _core.SweepResult:
            seed = int(self.rng.integers(2**63))
            result: _core.SweepResult = self.trainer.loop(
                core, self.round.weights, duals, some, active, shrunk, -np.inf, seed
            )
            return result

        found = self._loops(duals, rows, loop, rule)
        moved = from_core(duals, self.round.classes_of())
        block_of = self.round.blocks.block_of
        owners = block_of[self.problem.dataset.labels]
        parts = moved.by_pair(owners, block_of, [(b, b) for b in held] + met)
        self.round.own_duals.update({b: parts[b, b] for b in held})
        mutual.update({pair: parts[pair] for pair in met})
        return found
