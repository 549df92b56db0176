"""Base class of the solvers that exchange class blocks between ranks.

An epoch is a round robin: each rank holds two class blocks, and every pair of blocks is visited
once, on one rank. Each epoch draws new random class blocks. Between epochs, all z (a few numbers
per example) are gathered on every rank, and each rank rebuilds W of its next two class blocks from
them, so that W never drifts from W(z).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.distributed.sharded_weights import ShardedWeights
from manyclass.distributed.solvers.base import (
    DistributedSolver,
    PassTotals,
    aborts_all_ranks,
    gather_duals,
)
from manyclass.distributed.solvers.class_blocks import ClassBlocks, ClassBlockStore
from manyclass.distributed.solvers.coo_duals import CooDuals, start_duals, to_core
from manyclass.distributed.solvers.round_robin import BLOCKS_PER_RANK, Schedule, work_of_classes
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.problem import check_squared_norms, core_problem
from manyclass.problem.solution import Certificate, EpochRecord, Start
from manyclass.solvers.engines import Returned, returned_square
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.weights.tables import dense_from
from manyclass.utils.machine import core_class

# Shrunk loops of a pair end at this share of the gap of its first loop, or after the effort of this
# number of first loops, in scores (with W in tables: of loops over all z > 0). They are skipped if
# the first loop gains this share; the first pair of each epoch measures that.
POLISHED = 0.5
EFFORT = 5
# With W in tables, they also end after this number of loops over all of z.
SHRUNK_LOOPS = 10

# Visits some rows, with all scored classes or (shrunk) only z > 0; rows that are still active are
# moved to the front of the second array.
Loop: TypeAlias = Callable[[NDArray[np.int32], NDArray[np.int32], bool], _core.SweepResult]


class ClassPairSolver(DistributedSolver):
    """Frame of a solver for relative margins; W is in tables, and returned as CSR, if `sparse`."""

    @aborts_all_ranks
    def _begin(self, start: Start | None) -> None:
        """Begin from z = 0, or from the end of an earlier training."""
        problem, data = self.problem, self.problem.dataset
        n_ranks = self.communicator.size
        self.schedule = Schedule.from_counts(
            min(data.n_classes, BLOCKS_PER_RANK * n_ranks), n_ranks
        )
        self.trainer = core_class("PairTrainer", data.dtype)(core_problem(problem))
        norms = self.trainer.problem.squared_norms()
        check_squared_norms(norms)
        self.filled = norms > 0  # whether x_i != 0
        self._work = work_of_classes(data.labels, np.diff(data.indptr), data.n_classes)
        tables = dense_from(problem, n_ranks) if self.sparse else None
        self.round = ClassBlockStore(self.communicator, self.schedule, data, tables)
        # All z, as they were before this epoch.
        self.duals = start_duals(start, self.filled, data.dtype)
        # Loss of the examples with x_i = 0.
        self.constant = self._constant_loss()
        self.dual = self.constant
        self._rounding = 0.0  # bound of ||W - W(z)|| at the start of an epoch
        self._polishes = True  # whether shrunk loops save time
        self._begin_epoch()
        if start is not None:
            self.certify()

    @aborts_all_ranks
    def epoch(self, rule: StoppingRule) -> EpochRecord:
        """Visit every pair of class blocks."""
        here = PassTotals()
        self.round.run(lambda: here.add(self._visit_pair(rule)))
        found = here.over(self.communicator)
        self.duals = gather_duals(self.communicator, self._moved())
        self._begin_epoch()
        found.n_duals = len(self.duals.rows)
        record = self._end_epoch(found, self.dual + found.dual_gain, self._n_weights())
        rule.cool(found, self.scale)
        return record

    @abstractmethod
    def certify(self) -> Certificate:
        """Compute the certificate: each rank visits all examples with its own classes.

        All w_{y_i} . x_i are exchanged first.
        """

    def start(self) -> Start:
        """Return z at the end of the last epoch, which every rank has."""
        return Start(self.duals.matrix(self.problem.dataset.n_classes, len(self.filled)))

    def sharded(self) -> ShardedWeights:
        """Return W, shape (d + 1, k), in its sharded form."""
        return self.round.sharded(sparse=self.sparse)

    @abstractmethod
    def _loss_of(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of examples from the losses of all classes, shape (..., k), 0 for y_i."""

    def _constant_loss(self) -> float:
        """Return the loss of the examples with x_i = 0, times their costs."""
        problem, data, base = self.problem, self.problem.dataset, self.problem.base
        k, of_positive = data.n_classes, problem.slack_loss.of_positive
        costs = problem.costs[~self.filled]
        if base is None and problem.factors is None:
            ones = np.append(np.ones(k - 1), 0.0)
            return float(costs.sum()) * float(self._loss_of(of_positive(ones)))
        xi = np.maximum(0, 1 + base.table) if isinstance(base, BaseScores) else np.ones((k, k))
        np.fill_diagonal(xi, 0)
        losses = np.asarray(of_positive(xi))
        if problem.factors is not None:
            losses = losses * problem.factors
        return float(costs @ self._loss_of(losses)[data.labels[~self.filled]])

    @abstractmethod
    def _feasible(self, z: CooDuals) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return sum_c z_ic within the constraints, and the factor of z for it; shape (n,)."""

    @abstractmethod
    def _share_out(self) -> None:
        """Keep the z that this rank may change at the start of an epoch."""

    @abstractmethod
    def _visit_pair(self, rule: StoppingRule) -> PassTotals:
        """Visit the examples whose z may change for the pair of class blocks on this rank."""

    @abstractmethod
    def _moved(self) -> CooDuals:
        """Return the z of this rank at the end of an epoch; each z is on one rank."""

    def _begin_epoch(self) -> None:
        """Draw class blocks; compute W and z of the first ones from all z."""
        blocks = ClassBlocks.from_work(self._work, self.schedule.n_blocks, self.common)
        self.round.begin(blocks)
        core, _ = self._core_pair()
        totals, scale = self._feasible(self.duals)
        z = self._core_duals(self.duals)
        self._rounding = self.trainer.rebuild(core, self.round.weights, z, totals, scale)
        self._share_out()

    def _loops(
        self, z: _core.Duals64, rows: NDArray[np.int32], loop: Loop, rule: StoppingRule
    ) -> PassTotals:
        """Run one full loop, then shrunk loops."""
        active = np.empty_like(rows)
        first = loop(rows, active, False)
        found = PassTotals(n_visited=float(len(rows)))
        found.add(first)
        if not (self._polishes or self.round.is_first):
            return found
        n_active = int(first.n_active)
        gap, violation = rule.shrunk_goal()
        goal = max(POLISHED * first.gap, gap / self.schedule.n_pairs)
        budget = EFFORT * first.evaluations
        if self.sparse:
            budget = min(budget, SHRUNK_LOOPS * (z.count + n_active))
        while n_active and found.evaluations < first.evaluations + budget:
            some = loop(active[:n_active], active, True)
            found.dual_gain += some.dual_gain
            found.evaluations += some.evaluations
            found.loops += 1
            if self.round.is_first and found.loops == 1:
                self._polishes = some.gap > POLISHED * first.gap
            n_active = some.n_active
            if some.gap <= goal or some.max_violation < violation:
                break
        found.n_active = n_active
        return found

    def _own_scores(self) -> NDArray[np.float64]:
        """Exchange w_{y_i} . x_i, shape (n,); each is computed on one rank."""
        core, labels = self._core_pair()
        scores = np.zeros(len(labels))
        rows = np.flatnonzero(labels >= 0).astype(np.int32)
        self.trainer.own_scores(core, self.round.weights, rows, scores)
        return self.communicator.all_sum(scores)

    def _as_returned(self) -> tuple[Returned, float]:
        """Return the final W, and a bound of ||W - W(z)|| for the given W, over all ranks."""
        held = self.round.squared_norm(), self.round.intercepts()
        square, moved = returned_square(*held, self.problem.dataset)
        square, distance = self._gather_norm(square, moved + self._rounding)
        return Returned.of(self.problem.dataset.n_classes, square, 0.0), distance

    def _core_pair(self) -> tuple[_core.ClassPair, NDArray[np.int32]]:
        """Return the pair of class blocks on this rank, and the column of every y_i or -1."""
        sizes = [0, 0]
        for block, slot in self.round.slots.items():
            sizes[slot] = len(self.round.blocks.classes[block])
        labels = self.round.columns_of()[self.problem.dataset.labels]
        own_too = self.round.is_first
        has_columns = self.problem.base is not None or self.problem.factors is not None
        classes = self.round.classes_of() if has_columns else None
        pair = _core.ClassPair(self.round.width, sizes[0], sizes[1], labels, own_too, classes)
        return pair, labels

    def _core_duals(self, z: CooDuals) -> _core.Duals64:
        """Return z of the classes on this rank, in the format of the core."""
        return to_core(z, self.round.columns_of(), 2 * self.round.width, len(self.filled))

    def _n_weights(self) -> int:
        """Count the stored numbers of W over all ranks."""
        if not self.sparse:
            return (self.problem.dataset.n_features + 1) * self.problem.dataset.n_classes
        tables = self.round.weights
        assert not isinstance(tables, np.ndarray)
        return int(self.communicator.all_sum(np.array([tables.n_slots]))[0])
