"""Sums of losses of absolute margins, sum_c w_c = 0, with the classes partitioned over ranks.

    max_{z, m}  sum_ic gamma_c z_ic - 1/2 sum_c ||u_c(z) - m||^2 [- sum_ic z_ic^2 / (4 C_i)]
    s.t.        0 <= z_ic <= C_i;     w_c = u_c - m, at the optimum m = mean_c u_c

With m fixed the classes are independent, so each rank visits a batch of examples for its own ones;
then all ranks set m to the mean of the u_c. The message for that is one number for each
example that was visited, sigma_i, since sum_c u_c = sum_i sigma_i x_i with sigma_i = sum_c v_ic
z_ic (v = 1 for c = y_i, else -1), and every rank has all x_i. So batches can be small. Along the
features of a batch m goes further than the mean of the u_c, by successive over-relaxation; at the
end of an epoch it is that mean. In the first epoch, from z = 0, m may drift within visits instead
(mean_drift.py).
Given: x_i, y_i, C_i on every rank. Returned: W, z and the certificate, the same on every rank.
Converges: after the first epoch, wherever that ends, visits are exact steps of ascent in blocks of
a smooth problem over a box, and m's are steps of ascent, too: along one feature D is a parabola,
and goes up by (1 - (1 - r)^2) of what an exact step would bring, r < 2. Every block comes in every
epoch. How fast depends on the batch: with m fixed, its examples move the classes as far as they may
go, so where they share a direction, such as the intercept's, a large batch brings little more than
a small one.
Source: Alber et al. 2017, algorithm 1 (there the mean itself is sent, ten times in an epoch).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.problem import Problem, problem_of
from manyclass.problem.solution import Certificate, EpochRecord, Start, start_of
from manyclass.solvers.certificates import (
    Returned,
    certificate_of,
    returned_intercepts,
    returned_square,
)
from manyclass.solvers.distributed.base import (
    DistributedSolver,
    DistributedState,
    PassTotals,
    aborts_all_ranks,
    gather_duals,
    shares,
)
from manyclass.solvers.distributed.batches import batch_size
from manyclass.solvers.distributed.coo_duals import CooDuals
from manyclass.solvers.distributed.mean_drift import TRUSTED, drift_from_zero, drifting_trainer
from manyclass.solvers.kernels import NO_COMMON, check_squared_norms, core_classes
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.weights.dense import allocate_weights, class_means
from manyclass.solvers.weights.sharded import Block, ShardedWeights
from manyclass.utils.types import Array

# Loops over the shrunk problem, at most.
SHRUNK_LOOPS = 10
# How many times as far as it is behind the mean of the u_c m goes along a feature: successive
# over-relaxation. Along the intercept, and features that most examples have, W would need many
# batches otherwise (measured on sector with an intercept, squared hinge, two ranks: 22 epochs to a
# gap of 1e-3 with 1, 5 with 1.9; C = 10: 123 and 31; 1.95 is as good).
RELAXATION = 1.9


@dataclass(slots=True, eq=False)
class State(DistributedState):
    """State of training on this rank."""

    classes: list[NDArray[np.int64]]  # of every rank
    problem: Problem | None  # of the classes here; None where there are none
    weights: Array  # of these classes, and a last column that is taken off all of them
    mean: _core.MeanFollower
    batch: int  # examples
    drift: float = 0.0  # of m within a visit, for a unit of what its step sums to
    trainer: Any = None  # of the core, with the z that it takes
    z: Any = None
    rows: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))  # x_i != 0
    # Of every example, as far as the classes here go: sigma_i, and whether z_i may still move.
    sigma: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    active: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))


class DistributedSumToZero(DistributedSolver):
    """Solver for sums of losses of absolute margins whose weights sum to zero.

    Parameters
    ----------
    rng : numpy.random.Generator
        Orders the loops and spreads the classes; in the same state on every rank.
    communicator : Communicator, default=None
        One process alone when None.
    """

    @aborts_all_ranks
    def init(self, problem: Problem, start: Start | None) -> State:
        """Begin from z = 0, or where another training ended."""
        state = self._begin(problem)
        n = problem.dataset.n_examples
        here, norms = PassTotals(), np.zeros(n)
        if state.problem is not None:
            norms = state.trainer.squared_norms()
            for i in np.flatnonzero(norms == 0).tolist():
                found = state.trainer.inspect(state.weights, state.z, NO_COMMON, 0.0, i, i + 1)
                here.loss += found.loss
        norms = self.communicator.all_max(norms)  # for ranks without classes
        check_squared_norms(norms)
        state.rows = np.flatnonzero(norms > 0).astype(np.int32)
        state.dual = here.over(self.communicator).loss
        if start is not None:
            self._warm_start(problem, state, start)
        else:
            self._drift(problem, state, drift_from_zero(problem, norms, self._size(state)))
        return state

    def _begin(self, problem: Problem) -> State:
        """W = 0 and z = 0, for a share of the classes at random."""
        began = time.perf_counter()
        data = problem.dataset
        names = self.common.permutation(data.n_classes)
        classes = [np.sort(names[some]) for some in shares(data.n_classes, self.communicator.size)]
        mine = classes[self.communicator.rank]
        _, W = allocate_weights(data.n_features + 1, len(mine) + 1, data.dtype)
        part = problem_of(problem, mine) if len(mine) else None
        batch = batch_size(
            data.n_examples,
            len(data.values),
            data.n_classes,
            len(classes),
            has_intercept=data.bias != 0,
        )
        mean = _core.MeanFollower(data.n_features)
        state = State(classes, part, W, mean, batch, began=began)
        state.sigma = np.zeros(data.n_examples)
        state.active = np.zeros(data.n_examples, np.uint8)
        if part is not None:
            _, duals_of = core_classes(part, shifted=True)
            state.trainer = drifting_trainer(problem, part, 0.0)
            state.z = duals_of(data.n_examples, len(mine), shifted=True)
        return state

    @aborts_all_ranks
    def epoch(self, problem: Problem, state: State, rule: StoppingRule) -> EpochRecord:
        """Visit what still moves until the inner stopping criterion is met, then all examples."""
        here = self._shrunk_loops(problem, state, rule) if state.full.n_active else PassTotals()
        state.active[state.rows] = state.trainer is not None
        full = self._loop(problem, state, state.rows, shrunk=False)
        full.n_visited, full.n_active = float(len(state.rows)), float(state.active.sum())
        full.n_duals = 0.0 if state.z is None else float(state.z.count)
        full.loops, full.evaluations = here.loops, full.evaluations + here.evaluations
        full.dual_gain += here.dual_gain
        if state.trainer is not None:
            full.dual_gain += state.trainer.settle_mean(state.weights, state.z, state.mean)
        found = full.over(self.communicator)
        if state.drift:
            self._drift(problem, state, 0.0)
        n_weights = (problem.dataset.n_features + 1) * problem.dataset.n_classes
        record = self._end_epoch(state, found, state.dual + found.dual_gain, n_weights)
        rule.cool(found, state.primal)
        return record

    def _drift(self, problem: Problem, state: State, drift: float) -> None:
        """Let m drift within visits; without, their steps are steps of ascent for all."""
        state.drift = drift
        if state.problem is not None:
            state.trainer = drifting_trainer(problem, state.problem, drift)

    @aborts_all_ranks
    def certify(self, problem: Problem, state: State) -> Certificate:
        """Rebuild W from z, then one pass over all examples that changes nothing."""
        n, k = problem.dataset.n_examples, problem.dataset.n_classes
        rounding = self._rebuild(problem, state)
        at, distance = self._as_returned(problem, state, rounding)
        here = None
        if state.problem is not None:
            look = state.trainer.inspect
            here = look(state.weights, state.z, at.common, at.norm(k), 0, n)
        proof = certificate_of(problem, at, self._gather_found(here), distance)
        state.dual = proof.dual_objective
        return proof

    @aborts_all_ranks
    def start(self, problem: Problem, state: State) -> Start:
        """Return z of all ranks."""
        data = problem.dataset
        if not self.keeps_duals:
            return Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        z: Any = sp.coo_array((data.n_examples, 0), dtype=data.dtype)
        if state.z is not None:
            indptr, labels, values = state.z.to_csr()
            shape = (data.n_examples, self._size(state))
            z = sp.coo_array(sp.csr_array((values, labels, indptr), shape=shape))
        classes = state.classes[self.communicator.rank].astype(np.int32)
        mine = CooDuals(z.row.astype(np.int32), classes[z.col], z.data)
        everything = gather_duals(self.communicator, mine)
        return Start(everything.matrix(data.n_classes, data.n_examples))

    def spread(self, problem: Problem, state: State) -> ShardedWeights:
        """Return W, shape (d + 1, k), as it is held."""
        data, ranks = problem.dataset, self.communicator
        blocks = [
            Block(root, some, state.weights[:, : len(some)] if root == ranks.rank else None)
            for root, some in enumerate(state.classes)
            if len(some)
        ]
        return ShardedWeights(ranks, blocks, data.n_features + 1, data.dtype, sparse=False)

    def _shrunk_loops(self, problem: Problem, state: State, rule: StoppingRule) -> PassTotals:
        """Visit what is active on some rank, until the inner stopping criterion is met."""
        here = PassTotals()
        goal, violation = rule.shrunk_goal()
        while here.loops < SHRUNK_LOOPS:
            here.loops += 1
            anywhere = self.communicator.all_sum(state.active.astype(np.int32))
            rows = np.flatnonzero(anywhere).astype(np.int32)
            made = self._loop(problem, state, rows, shrunk=True)
            here.evaluations += made.evaluations
            here.dual_gain += made.dual_gain
            found = made.over(self.communicator)
            if found.gap <= goal or found.max_violation < violation:
                break
        return here

    def _loop(
        self, problem: Problem, state: State, rows: NDArray[np.int32], *, shrunk: bool
    ) -> PassTotals:
        """Visit what is active here of some examples; they and their order are every rank's.

        In the first epoch the reduction also carries the dual gain of the last batch: as visits
        estimated it, and after the step of m.
        """
        here, core = PassTotals(), state.trainer
        seed = int(self.common.integers(2**63))
        order = rows if core is None else core.order(rows, seed)
        gains = np.zeros(2)
        for begin in range(0, len(order), state.batch):
            batch = order[begin : begin + state.batch]
            told = np.append(np.zeros(len(batch)), gains[: 2 if state.epoch == 0 else 0])
            moved, drift = told[: len(batch)], state.drift
            gains[:] = 0
            if state.trainer is not None:
                found = state.trainer.visit(
                    state.weights, state.z, batch, shrunk, state.active, state.sigma, moved
                )
                here.add(found)
                gains += found.dual_gain
            everywhere = self.communicator.all_sum(told)
            steps = everywhere[: len(batch)] / problem.dataset.n_classes
            if state.trainer is not None:
                steps -= drift * moved  # m is there already
                relaxation = 1.0 if drift else RELAXATION
                gains[1] += state.trainer.follow_mean(
                    state.weights, state.z, batch, moved, steps, relaxation, state.mean
                )
                here.dual_gain += gains[1] - gains[0]
            if drift and everywhere[-1] < TRUSTED * everywhere[-2]:
                self._drift(problem, state, 0.0)
        return here

    def _rebuild(self, problem: Problem, state: State) -> float:
        """Set W from z; return an upper bound of the distance that rounding leaves."""
        assert not state.drift  # it ends with the first epoch
        steps = self.communicator.all_sum(state.sigma) / problem.dataset.n_classes
        state.weights.fill(0)
        rounding = 0.0
        if state.problem is not None:
            mean = state.trainer.sum_of_rows(steps)
            rounding = state.trainer.rebuild(state.weights, state.z, mean)
        state.mean.restart(self._size(state) * self._means(problem, state)[0])
        return rounding

    def _as_returned(
        self, problem: Problem, state: State, rounding: float
    ) -> tuple[Returned, float]:
        """Return W as users have it, and how far the given W is from W(z) at most; of all ranks."""
        data, W = problem.dataset, state.weights[:, : self._size(state)]
        common = self._means(problem, state)[1]  # what rounding leaves of it
        intercepts = np.array([returned_intercepts(W[-1], data.bias).sum()])
        common[-1] = self.communicator.all_sum(intercepts)[0] / data.n_classes
        square, moved = returned_square(_core.sum_of_squares(W), W[-1], data.bias)
        square, distance = self._gather_norm(square, moved + rounding)
        return Returned(common, square, 0.0), distance

    def _means(
        self, problem: Problem, state: State
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean of W over the classes here and over those of all ranks, shape (d + 1,)."""
        size = self._size(state)
        here = np.zeros(len(state.weights))
        if size:
            here += class_means(state.weights, size)
        return here, self.communicator.all_sum(size * here) / problem.dataset.n_classes

    def _warm_start(self, problem: Problem, state: State, start: Start) -> None:
        part = start_of(start, state.classes[self.communicator.rank])
        if state.problem is not None and part is not None:
            visited = np.zeros(problem.dataset.n_examples, problem.dataset.dtype)
            visited[state.rows] = 1
            z = sp.csr_array(sp.diags_array(visited) @ part.duals)
            z.eliminate_zeros()
            dtype = problem.dataset.dtype
            state.z.from_csr(
                z.indptr.astype(np.int64), z.indices.astype(np.int32), z.data.astype(dtype)
            )
            state.trainer.row_sums(state.z, state.rows, state.sigma)
        self.certify(problem, state)

    def _size(self, state: State) -> int:
        return len(state.classes[self.communicator.rank])
