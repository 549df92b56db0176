"""One-vs-rest with its classes partitioned over ranks, which communicate by reductions only.

Given: as for one_vs_rest.py, which trains the classes of a rank; x_i, y_i, C_i on every rank.
Returned: W, z and the certificate, the same on every rank; P, D and the gap are sums over ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyclass.parallel.communicator import Communicator
from manyclass.parallel.consensus import any_of
from manyclass.problem.problem import Problem, problem_of
from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights, start_of
from manyclass.solvers.distributed.base import (
    DistributedSolver,
    DistributedState,
    PassTotals,
    aborts_all_ranks,
    gather_duals,
    shares,
)
from manyclass.solvers.distributed.coo_duals import CooDuals
from manyclass.solvers.dual.one_vs_rest import Groups, OneVsRest
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.weights.sharded import ShardedWeights, blocks_of


@dataclass(slots=True, eq=False)
class State(DistributedState):
    """State of the classes of this rank, and the findings of all ranks."""

    problem: Problem | None = None  # of the classes here; None where there are none
    groups: Groups | None = None


class DistributedOneVsRest(DistributedSolver):
    """Solver for formulations whose classes are independent.

    Parameters
    ----------
    rng : numpy.random.Generator
        Orders the loops.
    communicator : Communicator, default=None
        One process alone when None.
    n_jobs : int, default=1
        Threads of each rank.
    sparse : bool, default=False
        Whether W is returned as a CSR array.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        communicator: Communicator | None = None,
        n_jobs: int = 1,
        *,
        sparse: bool = False,
        gathers: bool = True,
        keeps_duals: bool = True,
    ) -> None:
        super().__init__(rng, communicator, gathers=gathers, keeps_duals=keeps_duals)
        self.here = OneVsRest(self.rng, n_jobs)
        self.sparse = sparse

    @aborts_all_ranks
    def init(self, problem: Problem, start: Start | None) -> State:
        """Begin from z = 0, or where another training ended."""
        state = State()
        classes = self._classes(problem)[self.communicator.rank]
        overflow = None
        if classes.stop > classes.start:
            state.problem = problem_of(problem, classes)
            try:
                state.groups = self.here.init(state.problem, start_of(start, classes))
            except FloatingPointError as error:
                overflow = error
        if any_of(self.communicator, overflow is not None):  # ranks without classes see none
            raise overflow or FloatingPointError(
                "the square of a row of X overflows; scale the features"
            )
        state.dual = self._sum_of_duals(state)
        return state

    @aborts_all_ranks
    def epoch(self, problem: Problem, state: State, rule: StoppingRule) -> EpochRecord:
        """One epoch of the classes of every rank."""
        here = PassTotals()
        if state.problem is not None and state.groups is not None:
            record = self.here.epoch(state.problem, state.groups, rule)
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
        n_weights = (problem.dataset.n_features + 1) * problem.dataset.n_classes
        return self._end_epoch(state, found, self._sum_of_duals(state), n_weights)

    @aborts_all_ranks
    def certify(self, problem: Problem, state: State) -> Certificate:  # noqa: ARG002 (part of the Solver protocol)
        """Certify the classes of every rank; the sums hold for all."""
        part = Certificate.sum_of([])
        if state.problem is not None and state.groups is not None:
            part = self.here.certify(state.problem, state.groups)
        parts = self.communicator.all_gather(np.array(astuple(part)))
        return Certificate.sum_of([Certificate(*values.tolist()) for values in parts])

    @aborts_all_ranks
    def start(self, problem: Problem, state: State) -> Start:
        """Return z of all ranks, and the W of all if one of them has a W that is not W(z)."""
        data = problem.dataset
        if not self.keeps_duals:
            return Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        z: Any = sp.coo_array((data.n_examples, 0), dtype=data.dtype)
        apart = False
        if state.problem is not None and state.groups is not None:
            here = self.here.start(state.problem, state.groups)
            z, apart = sp.coo_array(here.duals), here.weights is not None
        W = None
        if any_of(self.communicator, apart):
            W = self._spread(problem, state, self.here.weights, sparse=False).gather()
        first = self._classes(problem)[self.communicator.rank].start
        mine = CooDuals(z.row.astype(np.int32), (z.col + first).astype(np.int32), z.data)
        everything = gather_duals(self.communicator, mine)
        return Start(everything.matrix(data.n_classes, data.n_examples), W)

    def spread(self, problem: Problem, state: State) -> ShardedWeights:
        """Return W, shape (d + 1, k), as it is held."""
        return self._spread(problem, state, self.here.weights, sparse=self.sparse)

    @aborts_all_ranks
    def finish(self, problem: Problem, state: State) -> Weights | ShardedWeights:
        """Return W, shape (d + 1, k), on every rank, or spread; the state ends."""
        W = self._spread(problem, state, self.here.finish, sparse=self.sparse)
        return W.gather() if self.gathers else W

    def _spread(
        self,
        problem: Problem,
        state: State,
        take: Callable[[Problem, Groups], Weights],
        *,
        sparse: bool,
    ) -> ShardedWeights:
        W: Any = None
        if state.problem is not None and state.groups is not None:
            W = take(state.problem, state.groups)
            W = sp.csr_array(W) if sparse else W  # other parts follow (one_vs_rest_chunked.py)
        data, ranks = problem.dataset, self.communicator
        blocks = blocks_of(self._classes(problem), ranks.rank, W)
        return ShardedWeights(ranks, blocks, data.n_features + 1, data.dtype, sparse=sparse)

    def _classes(self, problem: Problem) -> list[slice]:
        return shares(problem.dataset.n_classes, self.communicator.size)

    def _sum_of_duals(self, state: State) -> float:
        here = 0.0 if state.groups is None else self.here.dual_objective(state.groups)
        return PassTotals(dual_gain=here).over(self.communicator).dual_gain
