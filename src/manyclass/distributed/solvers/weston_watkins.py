"""Weston-Watkins with its classes partitioned over ranks.

    max_z  D(z) = sum_ic z_ic - 1/2 ||W(z)||^2 [- sum_ic z_ic^2 / (4 C_i)]    s.t. 0 <= z_ic <= C_i

z_{i,c} depends on and changes only w_{y_i} and w_c. So for a pair of class blocks, the z of their
examples in their classes can change while other ranks change the z of other pairs. In an epoch,
class blocks are exchanged round-robin, two on each rank, until every pair has occurred. For a pair,
all examples are visited, with all classes of the other class block and the classes of their own
block with z > 0 (in the first round, with all classes of both). Then the active examples are
visited until little of the pair's gap is left. So the first visits compute every score once in an
epoch, and each visit solves the z of an example in both class blocks together. Each epoch draws new
random class blocks: with the same blocks in all epochs, z moves between class blocks very slowly
(measured on news20, two ranks: more than 300 epochs to a gap of 1e-3, instead of 14). Between
epochs, z is all-gathered, a few numbers per example, and each rank builds W of its next two class
blocks from it.

W is dense, or, for very many classes, one hash table per feature and class block (hash_tables.hpp).
With tables, only the classes that violate an example's conditions most enter its list in a visit
(entering_classes.hpp).

Base scores of costs and offsets, 0 at y_i, are added to the scores of the classes on the rank. With
factors of losses (slack rescaling), the bounds are C_i Delta(y_i, c).

Input: x_i, y_i, C_i on every rank. Output: W, z, and the certificate, the same on every rank: the
gap is a sum over examples and classes once w_{y_i} . x_i is known.
Convergence: a visit increases D by at least q_i / 2 times its squared step, so steps vanish, and
every z is visited in every epoch, after which its slope points out of the box or is zero.
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
    """Solver for sums of losses of relative margins; parameters as in ClassPairSolver.

    ``round.own_duals`` has the z_ic with both y_i and c in one class block on this rank.
    """

    # z_ic with y_i and c in different class blocks, for all pairs visited on this rank.
    _mutual: dict[tuple[int, int], CooDuals]

    @aborts_all_ranks
    def certify(self) -> Certificate:
        """Compute the certificate: each rank visits all examples with its own classes.

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
        self.dual = proof.dual_objective  # without the rounding errors of many small gains
        return proof

    def _loss_of(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of examples from the losses of all classes."""
        return np.asarray(losses.sum(axis=-1))

    def _feasible(self, z: CooDuals) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return sum_c z_ic with each z clipped to its bound, as in the core."""
        problem = self.problem
        upper = np.asarray(problem.slack_loss.upper(problem.costs_of(z.rows, z.labels)))
        values = np.minimum(z.values.astype(np.float64), upper)
        n = len(problem.costs)
        totals = np.bincount(z.rows, values, minlength=n).astype(np.float64, copy=False)
        return totals, np.ones(n)

    def _share_out(self) -> None:
        """Keep z within the class blocks on this rank, and z of all their pairs."""
        block_of = self.round.blocks.block_of
        own = [(b, b) for b in self.round.held]
        met = self.schedule.pairs_of(self.communicator.rank)
        parts = self.duals.by_pair(block_of[self.problem.dataset.labels], block_of, own + met)
        self.round.own_duals = {b: parts[b, b] for b in self.round.held}
        self._mutual = {pair: parts[pair] for pair in met}

    def _moved(self) -> CooDuals:
        """Return the z of this rank at the end of an epoch; each z is on one rank."""
        parts = [*self._mutual.values(), *self.round.own_duals.values()]
        return concatenate(parts, self.problem.dataset.dtype)

    def _visit_pair(self, rule: StoppingRule) -> PassTotals:
        """Visit all examples of the pair, then the active ones."""
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
