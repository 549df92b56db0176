"""Sums of losses of absolute margins, sum_c w_c = 0, with the classes partitioned over ranks.

    max_{z, m}  sum_ic gamma_c z_ic - 1/2 sum_c ||u_c(z) - m||^2 [- sum_ic z_ic^2 / (4 C_i)]
    s.t.        0 <= z_ic <= C_i;     w_c = u_c - m, at the optimum m = mean_c u_c

With m fixed, the classes are independent, so each rank visits a batch of examples for its own
classes; then all ranks set m to the mean of the u_c. The message for this is one number sigma_i per
visited example, since sum_c u_c = sum_i sigma_i x_i with sigma_i = sum_c v_ic z_ic (v = 1 for
c = y_i, else -1), and every rank has all x_i. So batches can be small. Along the features of a
batch, m moves beyond the mean of the u_c, by successive over-relaxation; at the end of an epoch, m
is the mean. In the first epoch, from z = 0, m may drift within visits instead.
Input: x_i, y_i, C_i on every rank. Output: W, z and the certificate, the same on every rank.
Convergence: after the first epoch, visits are exact block ascent steps for a smooth problem over a
box. The steps of m are ascent steps, too: along one feature D is a parabola, and increases by
(1 - (1 - r)^2) of the gain of an exact step, r < 2. Every block is visited in every epoch. The rate
depends on the batch: with m fixed, its examples move the classes as far as possible, so if they
share a direction, such as the intercept, a large batch gains little more than a small one.
Source: Alber et al. 2017, algorithm 1 (there the mean itself is sent, ten times in an epoch).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.distributed.sharded_weights import Block, ShardedWeights
from manyclass.distributed.solvers.base import (
    DistributedSolver,
    PassTotals,
    aborts_all_ranks,
    gather_duals,
    shares,
)
from manyclass.distributed.solvers.coo_duals import CooDuals
from manyclass.problem.problem import Problem, check_squared_norms, problem_arguments, problem_of
from manyclass.problem.solution import Certificate, EpochRecord, Start, start_of
from manyclass.solvers.engines import (
    Found,
    Returned,
    certificate_of,
    returned_intercepts,
    returned_square,
)
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.weights.storage import class_means
from manyclass.utils.machine import core_class
from manyclass.utils.types import Array

# Maximum number of shrunk loops.
SHRUNK_LOOPS = 10
# Factor of the step of m towards the mean of the u_c along a feature: successive over-relaxation.
# Without it, W would need many batches along the intercept and features that most examples have
# (measured on sector with an intercept, squared hinge, two ranks: 22 epochs to a gap of 1e-3 with
# 1, 5 with 1.9; C = 10: 123 and 31; 1.95 is as good).
RELAXATION = 1.9


class DistributedSumToZero(DistributedSolver):
    """Solver for sums of losses of absolute margins with weights that sum to zero.

    ``part`` is the problem of the classes here, None if there are none; ``W`` has their columns.
    ``sigma`` and ``active`` have sigma_i of these classes for every example, and whether its z_i
    may still move.
    """

    @aborts_all_ranks
    def _begin(self, start: Start | None) -> None:
        """Begin from z = 0, or from the end of an earlier training."""
        self._allocate()
        n = self.problem.dataset.n_examples
        here, norms = PassTotals(), np.zeros(n)
        if self.engine is not None:
            norms = self.core.squared_norms()
            here.loss += self.engine.constant_loss()
        norms = self.communicator.all_max(norms)  # for ranks without classes
        check_squared_norms(norms)
        self.rows = np.flatnonzero(norms > 0).astype(np.int32)
        self.dual = here.over(self.communicator).loss
        if start is not None:
            self._warm_start(start)
        else:
            self._drift(drift_from_zero(self.problem, norms, self._size()))

    def _allocate(self) -> None:
        """Set W = 0 and z = 0, for random classes of this rank."""
        data = self.problem.dataset
        names = self.common.permutation(data.n_classes)
        self.classes = [  # of every rank
            np.sort(names[some]) for some in shares(data.n_classes, self.communicator.size)
        ]
        mine = self.classes[self.communicator.rank]
        self.part = problem_of(self.problem, mine) if len(mine) else None
        # Examples that are visited before m moves.
        self.batch = batch_size(
            data.n_examples,
            len(data.values),
            data.n_classes,
            len(self.classes),
            has_intercept=data.bias != 0,
        )
        self.drift = 0.0  # of m within a visit, for a unit of the sum of its step
        self.sigma = np.zeros(data.n_examples)
        self.active = np.zeros(data.n_examples, np.uint8)
        self.engine: _core.MeanEngine | None = None
        self.W: Array = np.zeros((data.n_features + 1, 0), data.dtype)
        if self.part is not None:
            self.core = shifted_problem(self.problem, self.part)
            self.engine = _core.MeanEngine(self.core)
            assert self.engine.W is not None
            self.W = self.engine.W.matrix

    @aborts_all_ranks
    def epoch(self, rule: StoppingRule) -> EpochRecord:
        """Visit the active set until the inner stopping criterion is met, then all examples."""
        here = self._shrunk_loops(rule) if self._full.n_active else PassTotals()
        self.active[self.rows] = self.engine is not None
        full = self._loop(self.rows, shrunk=False)
        full.n_visited, full.n_active = float(len(self.rows)), float(self.active.sum())
        full.n_duals = 0.0 if self.engine is None else float(self.engine.n_duals)
        full.loops, full.evaluations = here.loops, full.evaluations + here.evaluations
        full.dual_gain += here.dual_gain
        if self.engine is not None:
            full.dual_gain += self.engine.settle_mean()
        found = full.over(self.communicator)
        if self.drift:
            self._drift(0.0)
        data = self.problem.dataset
        n_weights = (data.n_features + 1) * data.n_classes
        record = self._end_epoch(found, self.dual + found.dual_gain, n_weights)
        rule.cool(found, self.scale)
        return record

    def _drift(self, drift: float) -> None:
        """Set the drift of m within visits; with 0, steps are ascent steps of the whole problem."""
        self.drift = drift
        if self.engine is not None:
            self.engine.drift(drift)

    @aborts_all_ranks
    def certify(self) -> Certificate:
        """Rebuild W from z, then make one pass over all examples without updates."""
        at, distance = self._as_returned(self._rebuild())
        here = None
        if self.engine is not None:
            here = Found.sum_of(self.engine.gap_sums(at.common, at.norm))
        proof = certificate_of(
            self.problem, at, self._gather_found(here), distance, self.zero_objective
        )
        self.dual = proof.dual_objective
        return proof

    @aborts_all_ranks
    def start(self) -> Start:
        """Return z of all ranks."""
        data = self.problem.dataset
        if not self.keeps_duals:
            return Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        z = sp.coo_array((data.n_examples, 0), dtype=data.dtype)
        if self.engine is not None:
            indptr, labels, values = self.engine.export_duals()
            shape = (data.n_examples, self._size())
            z = sp.coo_array(sp.csr_array((values, labels, indptr), shape=shape))
        classes = self.classes[self.communicator.rank].astype(np.int32)
        mine = CooDuals(z.row.astype(np.int32), classes[z.col], z.data)
        everything = gather_duals(self.communicator, mine)
        return Start(everything.matrix(data.n_classes, data.n_examples))

    def sharded(self) -> ShardedWeights:
        """Return W, shape (d + 1, k), in its sharded form."""
        data, ranks = self.problem.dataset, self.communicator
        blocks = [
            Block(root, some, self.W if root == ranks.rank else None)
            for root, some in enumerate(self.classes)
            if len(some)
        ]
        return ShardedWeights(ranks, blocks, data.n_features + 1, data.dtype, sparse=False)

    def _shrunk_loops(self, rule: StoppingRule) -> PassTotals:
        """Visit the examples active on any rank, until the inner stopping criterion is met."""
        here = PassTotals()
        goal, violation = rule.shrunk_goal()
        while here.loops < SHRUNK_LOOPS:
            here.loops += 1
            anywhere = self.communicator.all_sum(self.active.astype(np.int32))
            rows = np.flatnonzero(anywhere).astype(np.int32)
            made = self._loop(rows, shrunk=True)
            here.evaluations += made.evaluations
            here.dual_gain += made.dual_gain
            found = made.over(self.communicator)
            if found.gap <= goal or found.max_violation < violation:
                break
        return here

    def _loop(self, rows: NDArray[np.int32], *, shrunk: bool) -> PassTotals:
        """Visit the active z of some examples, which are the same, in the same order, on all ranks.

        In the first epoch, the reduction also contains the dual gain of the last batch: as
        estimated in the visits, and after the step of m.
        """
        here, engine = PassTotals(), self.engine
        seed = int(self.common.integers(2**63))
        order = rows if engine is None else self.core.order(rows, seed)
        gains = np.zeros(2)
        for begin in range(0, len(order), self.batch):
            batch = order[begin : begin + self.batch]
            told = np.append(np.zeros(len(batch)), gains[: 2 if self._n_epochs == 0 else 0])
            moved, drift = told[: len(batch)], self.drift
            gains[:] = 0
            if engine is not None:
                found = engine.visit(batch, shrunk, self.active, self.sigma, moved)
                here.add(found)
                gains += found.dual_gain
            everywhere = self.communicator.all_sum(told)
            steps = everywhere[: len(batch)] / self.problem.dataset.n_classes
            if engine is not None:
                steps -= drift * moved  # m has moved already
                relaxation = 1.0 if drift else RELAXATION
                gains[1] += engine.follow_mean(batch, moved, steps, relaxation)
                here.dual_gain += gains[1] - gains[0]
            if drift and everywhere[-1] < TRUSTED * everywhere[-2]:
                self._drift(0.0)
        return here

    def _rebuild(self) -> float:
        """Set W to W(z); return an upper bound of the distance due to rounding."""
        assert not self.drift  # the drift ends with the first epoch
        steps = self.communicator.all_sum(self.sigma) / self.problem.dataset.n_classes
        rounding = 0.0
        if self.engine is not None:
            rounding = self.engine.rebuild_less(self.core.sum_of_rows(steps))
            self.engine.restart_mean(self._size() * class_means(self.W))
        return rounding

    def _as_returned(self, rounding: float) -> tuple[Returned, float]:
        """Return the final W, and a bound of ||W - W(z)|| for the given W, over all ranks."""
        data, W = self.problem.dataset, self.W
        common = self._means()[1]  # the part due to rounding
        intercepts = np.array([returned_intercepts(W[-1], data).sum()])
        common[-1] = self.communicator.all_sum(intercepts)[0] / data.n_classes
        square, moved = returned_square(_core.sum_of_squares(W), W[-1], data)
        square, distance = self._gather_norm(square, moved + rounding)
        return Returned.of(data.n_classes, square, 0.0, common), distance

    def _means(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the means of W over the classes of this rank and of all ranks, shape (d + 1,)."""
        size = self._size()
        here = np.zeros(len(self.W))
        if size:
            here += class_means(self.W)
        return here, self.communicator.all_sum(size * here) / self.problem.dataset.n_classes

    def _warm_start(self, start: Start) -> None:
        part = start_of(start, self.classes[self.communicator.rank])
        if self.engine is not None and part is not None:
            data = self.problem.dataset
            visited = np.zeros(data.n_examples, data.dtype)
            visited[self.rows] = 1
            z = sp.csr_array(sp.diags_array(visited) @ part.duals)
            z.eliminate_zeros()
            self.engine.set_duals(
                z.indptr.astype(np.int64), z.indices.astype(np.int32), z.data.astype(np.float64)
            )
            self.engine.row_sums(self.rows, self.sigma)
        self.certify()

    def _size(self) -> int:
        return len(self.classes[self.communicator.rank])


BATCH_WORK = 1 << 22
BATCHES = {False: 160, True: 400}


def batch_size(
    n_examples: int, n_nonzero: int, n_classes: int, n_ranks: int, *, has_intercept: bool
) -> int:
    """Return the number of examples that are visited between two updates of the mean.

    A loop has ``BATCHES`` batches if there are enough examples; more with an intercept, along which
    all examples move the classes. A batch takes a rank at most ``BATCH_WORK`` multiply-adds, about
    a millisecond.
    """
    per_example = (n_nonzero / n_examples + 1) * max(1, n_classes // n_ranks)
    batches = BATCHES[has_intercept]
    return max(1, int(min(BATCH_WORK / per_example, n_examples / batches)))


# The largest C_i ||x_i||^2 with which m drifts: a few visits then move a z from 0 to C_i. With
# larger values, all z that increase together would reach C_i and would have to decrease again.
DRIFTS_TO = 4.0
# m drifts while the gain of a batch is at least this share of the estimate in its visits.
TRUSTED = 0.5


def drift_from_zero(problem: Problem, norms: NDArray[np.float64], n_here: int) -> float:
    """Return the drift of m per unit of a step; 0 if m does not drift.

    The steps of the classes on other ranks are assumed to resemble the steps of the `n_here`
    classes on this rank; if only y_i is a target, no other class changes.
    """
    if problem.slack_loss.has_ridge or (problem.costs * norms).max() > DRIFTS_TO:
        return 0.0
    alone = problem.formulation.targets == "own"
    return 1 / (problem.dataset.n_classes if alone else max(1, n_here))


def shifted_problem(problem: Problem, part: Problem) -> _core.Problem64:
    """Return the core's problem of the classes of a rank, which are independent except for m."""
    formulation = problem.formulation
    gamma, gamma_own = formulation.margins(problem.dataset.n_classes)
    of_core = _core.Formulation(
        relative=False,
        others=formulation.targets != "own",
        own=formulation.targets != "others",
        maximum=False,
        centred=False,
        loss=problem.loss,
        gamma=gamma,
        gamma_own=gamma_own,
    )
    arguments = problem_arguments(part) | {"formulation": of_core}
    return core_class("Problem", part.dataset.dtype)(**arguments)
