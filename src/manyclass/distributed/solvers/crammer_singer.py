"""Crammer-Singer with its classes partitioned over ranks: the simplex is split by class block.

    max_z  D(z) = sum_i sum_{c != y_i} z_ic - 1/2 ||W(z)||^2    s.t.  z_ic >= 0, sum_c z_ic = C_i
    w_c(z) = sum_i (C_i [c = y_i] - z_ic) x_i,    dD / dz_ic = a_ic = [c != y_i] + w_c . x_i

Here z_{i,y_i} is the slack of sum_c z_ic <= C_i. So every z_{i,c} depends on and changes only w_c,
and is stored with w_c: class blocks move between ranks with their W and z. For a pair of class
blocks, a visit moves z among their classes at a constant sum, while other ranks do the same for
other pairs: all sums stay C_i, and no rank uses an outdated W.

The home block of an example is the class block with its largest sum of z at the start of an epoch.
If the home block is paired with a different block, a visit scores all classes of that block, like
a full visit; all other visits are restricted to the classes with z > 0. At an optimum, no class has
a larger gradient than the classes of the home block with z > 0. Each epoch draws new class blocks.

Base scores of costs and offsets, 0 at y_i, are added to a_ic.

Input: x_i, y_i, C_i on every rank. Output: W, z, and the certificate, the same on every rank.
Convergence: a visit increases D by at least q_i / 2 times its squared step, so steps vanish, and a
home block keeps a sum of about C_i / k: in the limit, no class has a larger gradient
(docs/development/class_partitioned_training.md).
Sources: Keerthi et al. 2008, sec. 2, for the visits (there alpha_i^c = C_i [c = y_i] - z_ic);
Alber et al. 2017, algorithm 5, for the schedule of pairs. The split of the simplex is new here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.distributed.solvers.base import PassTotals, aborts_all_ranks, slack_errors
from manyclass.distributed.solvers.class_pairs import ClassPairSolver
from manyclass.distributed.solvers.coo_duals import CooDuals, concatenate, from_core
from manyclass.problem.problem import Problem
from manyclass.problem.solution import UNIT, Certificate, exact_sum
from manyclass.solvers.engines import Found, certificate_of
from manyclass.solvers.stopping import StoppingRule

# Whether sum z is at its bound, within rounding (kernels.hpp).
AT_BOUND = {np.dtype(np.float32): _core.AT_BOUND32, np.dtype(np.float64): _core.AT_BOUND64}
NO_SLOTS = np.empty(0, np.uint8)


class DistributedCrammerSinger(ClassPairSolver):
    """Solver for the largest loss of relative margins; parameters as in ClassPairSolver.

    ``duals`` are all z for c != y_i; ``round.own_duals`` are the shares of a class block.
    """

    # Class block with each example's largest share, at the start of an epoch.
    _homes: NDArray[np.int32]

    @aborts_all_ranks
    def certify(self) -> Certificate:
        """Compute the certificate: each rank visits all examples with its own classes.

        All w_{y_i} . x_i are exchanged first, then the largest slacks.
        """
        largest, smallest, z_dot_xi = self._survey()
        problem = self.problem
        at, distance = self._as_returned()
        worst = self.communicator.all_max(largest)
        least = -self.communicator.all_max(-smallest)
        z_dot_xi = self.communicator.all_sum(z_dot_xi)
        e = slack_errors(problem, self.trainer.problem.squared_norms(), at.norm)
        gaps = self._gaps(worst, least, z_dot_xi, e)
        least = np.where(_at_bound(problem, self.duals), least, np.minimum(least, 0))
        violations = (np.maximum(0, worst) - least)[self.filled]
        losses, most_losses = problem.costs * np.maximum(0, [worst, worst + e])
        found = Found(
            exact_sum(gaps[self.filled].tolist()),
            exact_sum(losses.tolist()),
            exact_sum(most_losses.tolist()),
            float(violations.max(initial=0.0)),
        )
        proof = certificate_of(problem, at, [found], distance, self.zero_objective)
        self.dual = proof.dual_objective  # without the rounding errors of many small gains
        return proof

    def _gaps(
        self,
        worst: NDArray[np.float64],
        least: NDArray[np.float64],
        z_dot_xi: NDArray[np.float64],
        e: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return bounds of the terms of P - D of the examples, as in gap.hpp, shape (n,)."""
        totals, scale = self._feasible(self.duals)
        n_duals = np.bincount(self.duals.rows, minlength=len(totals))
        largest = np.where(totals > 0, np.maximum(np.abs(worst), np.abs(least)), 0)
        rounding = UNIT * (2 * n_duals + 8 + self.communicator.size) * totals * largest
        terms = self.problem.costs * np.maximum(0, worst + e) - scale * z_dot_xi + e * totals
        return np.asarray(np.maximum(0, terms + rounding))

    def _survey(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the extreme slacks and z . xi of each example over the classes of this rank."""
        own_scores = self._own_scores()
        core, _ = self._core_pair()
        z = self._core_duals(self.duals)
        largest, smallest, z_dot_xi = np.empty((3, len(own_scores)))
        self.trainer.survey(core, self.round.weights, z, own_scores, largest, smallest, z_dot_xi)
        return largest, smallest, z_dot_xi

    def _feasible(self, z: CooDuals) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return sum_c z_ic, with z scaled so that the sum is at most C_i, and the scale."""
        costs, totals = self.problem.costs, _totals(self.problem, z)
        scale = costs / np.maximum(costs, totals)
        return scale * totals, scale

    def _loss_of(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of examples from the losses of all classes."""
        return np.asarray(losses.max(axis=-1))

    def _begin_epoch(self) -> None:
        """Draw class blocks; compute W and the shares of the first ones from all z, within C_i."""
        self.duals = _within_budgets(self.problem, self.duals)
        super()._begin_epoch()

    def _share_out(self) -> None:
        """Keep the z of the class blocks on this rank, and every example's home block."""
        problem, data, z = self.problem, self.problem.dataset, self.duals
        left = (problem.costs - _totals(problem, z)).astype(data.dtype)
        rest = CooDuals(np.arange(data.n_examples, dtype=np.int32), data.labels, left)
        shares = concatenate([rest.select(self.filled & ~_at_bound(problem, z)), z], data.dtype)
        block = self.round.blocks.block_of[shares.labels]
        self.round.own_duals = {b: shares.select(block == b) for b in self.round.held}
        ascending = np.lexsort((shares.values, shares.rows))
        self._homes = np.zeros(data.n_examples, np.int32)
        self._homes[shares.rows[ascending]] = block[ascending]  # the last one counts

    def _moved(self) -> CooDuals:
        """Return the z of this rank at the end of an epoch; each z is on one rank."""
        shares = concatenate(list(self.round.own_duals.values()), self.problem.dataset.dtype)
        return shares.select(shares.labels != self.problem.dataset.labels[shares.rows])

    def _visit_pair(self, rule: StoppingRule) -> PassTotals:
        """Visit the examples with a share in the pair, then the active ones."""
        core, _ = self._core_pair()
        held, dtype = self.round.held, self.problem.dataset.dtype
        shares = concatenate([self.round.own_duals[b] for b in held], dtype)
        lists = self._core_duals(shares)
        scored = self._slots_to_score()
        numbers = np.bincount(shares.rows, minlength=len(scored))
        rows = np.flatnonzero((numbers > 1) | ((numbers > 0) & (scored > 0))).astype(np.int32)

        def loop(
            some: NDArray[np.int32], active: NDArray[np.int32], shrunk: bool
        ) -> _core.SweepResult:
            slots, seed = NO_SLOTS if shrunk else scored, int(self.rng.integers(2**63))
            result: _core.SweepResult = self.trainer.trade(
                core, self.round.weights, lists, some, active, slots, seed
            )
            return result

        found = self._loops(lists, rows, loop, rule)
        moved = from_core(lists, self.round.classes_of())
        block = self.round.blocks.block_of[moved.labels]
        self.round.own_duals.update({b: moved.select(block == b) for b in held})
        return found

    def _slots_to_score(self) -> NDArray[np.uint8]:
        """Return bits per example, shape (n,): bit s if a visit scores all classes of slot s.

        These are the block paired with the home block and, in the first round of an epoch, the home
        block.
        """
        slots = self.round.slots
        of_home = np.zeros(self.schedule.n_blocks, np.uint8)
        for home in slots:
            others = slots if self.round.is_first else slots.keys() - {home}
            of_home[home] = sum(1 << slots[b] for b in others)
        return of_home[self._homes]


def _totals(problem: Problem, z: CooDuals) -> NDArray[np.float64]:
    """Sum the shares of all classes except y_i, shape (n,)."""
    values = z.values.astype(np.float64)
    totals = np.bincount(z.rows, values, minlength=len(problem.costs))
    return totals.astype(np.float64, copy=False)


def _at_bound(problem: Problem, z: CooDuals) -> NDArray[np.bool_]:
    """Whether y_i has no share left, shape (n,)."""
    return _totals(problem, z) >= problem.costs * AT_BOUND[problem.dataset.dtype]


def _within_budgets(problem: Problem, z: CooDuals) -> CooDuals:
    """Scale sums that rounding has brought above C_i back to C_i."""
    scale = problem.costs / np.maximum(problem.costs, _totals(problem, z))
    return z._replace(values=(z.values * scale[z.rows]).astype(z.values.dtype))
