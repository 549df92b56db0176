"""One-vs-rest with its classes partitioned over ranks, which communicate only by reductions.

Input: as in one_vs_rest.py, which trains the classes of a rank; x_i, y_i, C_i on every rank.
Output: W, z and the certificate, the same on every rank; P, D and the gap are sums over ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple

import numpy as np
import scipy.sparse as sp

from manyclass.distributed.consensus import any_of
from manyclass.distributed.sharded_weights import ShardedWeights, weight_blocks
from manyclass.distributed.solvers.base import (
    DistributedSolver,
    PassTotals,
    aborts_all_ranks,
    gather_duals,
    shares,
)
from manyclass.distributed.solvers.coo_duals import CooDuals
from manyclass.problem.problem import problem_of
from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights, start_of
from manyclass.solvers.one_vs_rest import OneVsRest
from manyclass.solvers.stopping import StoppingRule


class DistributedOneVsRest(DistributedSolver):
    """Solver for formulations whose classes are independent; W is returned as CSR if `sparse`."""

    _here: OneVsRest | None = None  # of the classes here; None where there are none

    @aborts_all_ranks
    def _begin(self, start: Start | None) -> None:
        """Begin from z = 0, or where another training ended."""
        classes = self._classes()[self.communicator.rank]
        overflow = None
        if classes.stop > classes.start:
            part = problem_of(self.problem, classes)
            try:
                self._here = OneVsRest(part, start_of(start, classes), self.rng, self.n_jobs)
            except FloatingPointError as error:
                overflow = error
        # Ranks without classes do not compute the norms.
        if any_of(self.communicator, overflow is not None):
            raise overflow or FloatingPointError(
                "the square of a row of X overflows; scale the features"
            )
        self.dual = self._sum_of_duals()

    @aborts_all_ranks
    def epoch(self, rule: StoppingRule) -> EpochRecord:
        """Run one epoch on every rank, each with its own classes."""
        here = PassTotals()
        if self._here is not None:
            record = self._here.epoch(rule)
            here = PassTotals(
                gap=record.gap_estimate,
                evaluations=record.evaluations,
                n_active=record.active_share,
                n_duals=record.n_duals,
                n_visited=1,
                max_violation=record.violation,
                loops=record.loops,
            )
        found = here.over(self.communicator)
        data = self.problem.dataset
        return self._end_epoch(found, self._sum_of_duals(), (data.n_features + 1) * data.n_classes)

    @aborts_all_ranks
    def certify(self) -> Certificate:
        """Certify the classes of every rank; the sums hold for all."""
        part = Certificate.sum_of([]) if self._here is None else self._here.certify()
        parts = self.communicator.all_gather(np.array(astuple(part)))
        return Certificate.sum_of([Certificate(*values.tolist()) for values in parts])

    @aborts_all_ranks
    def start(self) -> Start:
        """Return z of all ranks, and W of all ranks if W differs from W(z) on one of them."""
        data = self.problem.dataset
        if not self.keeps_duals:
            return Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        z = sp.coo_array((data.n_examples, 0), dtype=data.dtype)
        apart = False
        if self._here is not None:
            here = self._here.start()
            z, apart = sp.coo_array(here.duals), here.weights is not None
        W = None
        if any_of(self.communicator, apart):
            W = self._sharded(OneVsRest.weights, sparse=False).gather()
        first = self._classes()[self.communicator.rank].start
        mine = CooDuals(z.row.astype(np.int32), (z.col + first).astype(np.int32), z.data)
        everything = gather_duals(self.communicator, mine)
        return Start(everything.matrix(data.n_classes, data.n_examples), W)

    def sharded(self) -> ShardedWeights:
        """Return W, shape (d + 1, k), in its sharded form."""
        return self._sharded(OneVsRest.weights, sparse=self.sparse)

    @aborts_all_ranks
    def finish(self) -> Weights | ShardedWeights:
        """Return W, shape (d + 1, k), on every rank, or sharded; the run ends."""
        W = self._sharded(OneVsRest.finish, sparse=self.sparse)
        return W.gather() if self.gathers else W

    def _sharded(self, take: Callable[[OneVsRest], Weights], *, sparse: bool) -> ShardedWeights:
        W: Weights | None = None
        if self._here is not None:
            W = take(self._here)
            W = sp.csr_array(W) if sparse else W  # other chunks follow (class_chunks.py)
        data, ranks = self.problem.dataset, self.communicator
        blocks = weight_blocks(self._classes(), ranks.rank, W)
        return ShardedWeights(ranks, blocks, data.n_features + 1, data.dtype, sparse=sparse)

    def _classes(self) -> list[slice]:
        """Return the classes of each rank; two classes share a rank, so that w_0 = -w_1 exactly."""
        k, size = self.problem.dataset.n_classes, self.communicator.size
        return [slice(0, 2), *[slice(2, 2)] * (size - 1)] if k == 2 else shares(k, size)

    def _sum_of_duals(self) -> float:
        here = 0.0 if self._here is None else self._here.dual
        return PassTotals(dual_gain=here).over(self.communicator).dual_gain
