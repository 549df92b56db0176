"""Weston-Watkins with its classes spread over ranks.

    max_z  D(z) = sum_ic z_ic - 1/2 ||W(z)||^2 [- sum_ic z_ic^2 / (4 C_i)]    s.t. 0 <= z_ic <= C_i

z_{i,c} reads and changes w_{y_i} and w_c alone. So the z of two bundles of classes (the examples of
each against the classes of the other) can move while other ranks move those of other bundles. In an
epoch W goes round the ranks, two bundles on each, until every bundle has met every other and
itself. Where two meet, all their examples are visited, then those that still move until little of
the pair's gap is left. Given: x_i, y_i, C_i on every rank. Returned: W, z, and the certificate, the
same on every rank: the gap is a sum over examples and classes, so over pairs.
Converges: D rises with every visit, which solves a block of a smooth problem over a box exactly, and
every block is visited in every epoch (essentially cyclic; Bertsekas 1999, prop. 2.7.1).
Sources: Alber et al. 2017, algorithms 4 and 5; Keerthi et al. 2008 for the visits.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.parallel.communicator import Communicator, Serial
from manyclass.parallel.schedule import BUNDLES_PER_RANK, Schedule
from manyclass.problem import Problem
from manyclass.solution import Certificate, EpochRecord, Start, Weights, relative
from manyclass.solvers.bundles import Bundle, GoingRound, bundles_of
from manyclass.solvers.core import trainer_arguments
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.together import Findings, ending_all, gather_duals
from manyclass.solvers.weights import squared_norm

# W is rebuilt from z after so many epochs, before rounding has moved it away from W(z).
REBUILD_EVERY = 10
# Shrunk loops at a meeting end at this share of the gap that the loop over all its examples and
# classes found, or after so many such loops' worth of scores.
POLISHED = 0.1
EFFORT = 5


@dataclass(slots=True, eq=False)
class Side:
    """The examples of one bundle against the classes of another, on the rank where they meet."""

    own: int
    others: int
    z: Any  # of the core
    rows: NDArray[np.int32]  # with x_i != 0
    active: NDArray[np.int32]
    n_active: int = 0


@dataclass(slots=True, eq=False)
class State:
    """Where training stands on this rank."""

    bundles: list[Bundle]
    trainers: list[Any]
    sides: dict[tuple[int, int], Side]
    round: GoingRound
    n_meetings: int
    began: float
    constant: float = 0.0  # loss of the examples with x_i = 0
    dual: float = 0.0
    epoch: int = 0
    full: Findings = field(default_factory=Findings)


class ClassPartitioned:
    """Solver for sums of losses of relative margins.

    Parameters
    ----------
    rng : numpy.random.Generator
        Orders the loops; in the same state on every rank.
    communicator : Communicator, default=None
        One process alone when None.
    sparse : bool, default=False
        Whether W is returned as a CSR array.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        communicator: Communicator | None = None,
        *,
        sparse: bool = False,
    ) -> None:
        self.communicator = Serial() if communicator is None else communicator
        self.rng = np.random.default_rng([int(rng.integers(2**63)), self.communicator.rank])
        self.sparse = sparse

    @ending_all
    def init(self, problem: Problem, start: Start | None) -> State:
        """Begin from z = 0, or where another training ended."""
        began = time.perf_counter()
        data = problem.dataset
        n_ranks = self.communicator.size
        n_bundles = min(data.n_classes, BUNDLES_PER_RANK * n_ranks)
        schedule = Schedule.of(n_bundles, n_ranks)
        bundles = bundles_of(problem, n_bundles)
        single = data.dtype == np.float32
        trainer_of = _core.PairTrainer32 if single else _core.PairTrainer64
        duals_of = _core.Duals32 if single else _core.Duals64
        trainers = [trainer_of(**trainer_arguments(bundle.problem)) for bundle in bundles]
        filled = [np.flatnonzero(t.squared_norms() > 0).astype(np.int32) for t in trainers]
        sides = {}
        for own, others in _met_here(schedule, self.communicator.rank):
            z = duals_of(len(bundles[own].rows), len(bundles[others].classes))
            rows = filled[own]
            sides[own, others] = Side(own, others, z, rows, np.empty_like(rows))
        going = GoingRound(self.communicator, schedule, bundles)
        n_meetings = n_bundles * (n_bundles + 1) // 2
        state = State(bundles, trainers, sides, going, n_meetings, began)
        for bundle, trainer in zip(bundles, trainers, strict=True):
            empty = trainer.squared_norms() == 0
            state.constant += float(bundle.problem.costs[empty].sum()) * (data.n_classes - 1)
        state.dual = state.constant
        if start is not None:
            self._warm_start(problem, state, start)
        return state

    @ending_all
    def epoch(self, problem: Problem, state: State, rule: StoppingRule) -> EpochRecord:
        """Let every bundle meet every other, and itself."""
        if state.epoch and state.epoch % REBUILD_EVERY == 0:
            self._rebuild(state)
        here = Findings()
        state.round.run(lambda met: here.add(self._train(state, rule, met)))
        found = here.over(self.communicator)
        state.full = found
        state.dual += found.dual_gain
        state.epoch += 1
        primal = state.dual + found.gap
        rule.cool(found, primal)
        data = problem.dataset
        return EpochRecord(
            epoch=state.epoch,
            seconds=time.perf_counter() - state.began,
            primal_estimate=primal,
            gap_estimate=found.gap,
            violation=found.max_violation,
            active_share=found.n_active / (data.n_examples * len(state.bundles)),
            loops=int(found.loops),
            evaluations=int(found.evaluations),
            n_weights=(data.n_features + 1) * data.n_classes,
            n_duals=int(found.n_duals),
        )

    def promising(self, state: State, rule: StoppingRule) -> bool:
        """Whether the last epoch's estimates say that the rule may be met."""
        return rule.promising(state.full, state.dual + state.full.gap)

    def dual_objective(self, state: State) -> float:
        """Return D, kept by the gains of the visits."""
        return state.dual

    @ending_all
    def certify(self, problem: Problem, state: State) -> Certificate:  # noqa: ARG002 (the solvers' verb)
        """Rebuild W from z, then let all bundles meet once more and change nothing."""
        self._rebuild(state)
        here = Findings()

        def inspect(met: tuple[int, ...]) -> None:
            for side in _sides(state, met):
                here.add(state.trainers[side.own].inspect(*self._weights_of(state, side), side.z))

        state.round.run(inspect)
        for bundle, W in state.round.weights.items():
            k = len(state.bundles[bundle].classes)
            here.loss += 0.5 * squared_norm(W, k, apart=False)
        found = here.over(self.communicator)
        primal = found.loss
        state.dual = primal - found.gap  # free of the rounding of many small gains
        return Certificate(
            primal_objective=primal,
            dual_objective=state.dual,
            gap=found.gap,
            relative_gap=relative(found.gap, primal),
            max_violation=found.max_violation,
        )

    @ending_all
    def start(self, problem: Problem, state: State) -> Start:
        """Return z of all ranks."""
        rows, labels, values = [], [], []
        for side in state.sides.values():
            indptr, classes, z = side.z.to_csr()
            rows.append(np.repeat(state.bundles[side.own].rows, np.diff(indptr)))
            labels.append(state.bundles[side.others].classes[classes])
            values.append(z)
        return Start(gather_duals(self.communicator, problem, rows, labels, values))

    @ending_all
    def weights(self, problem: Problem, state: State) -> Weights:  # noqa: ARG002 (the solvers' verb)
        """Return W, shape (d + 1, k), on every rank."""
        return state.round.gather(sparse=self.sparse)

    def finish(self, problem: Problem, state: State) -> Weights:
        """Return W, shape (d + 1, k), on every rank."""
        return self.weights(problem, state)

    def _train(self, state: State, rule: StoppingRule, met: tuple[int, ...]) -> Findings:
        """Visit all examples of what meets, then those that still move."""
        sides = _sides(state, met)
        found = Findings()
        for side in sides:
            found.add(self._loop(state, side, shrunk=False))
        goal, violation = rule.shrunk_goal()
        goal = max(POLISHED * found.gap, goal / state.n_meetings)
        budget = (1 + EFFORT) * found.evaluations
        while found.evaluations < budget and any(side.n_active for side in sides):
            loop = Findings()
            for side in sides:
                loop.add(self._loop(state, side, shrunk=True))
            found.dual_gain += loop.dual_gain
            found.evaluations += loop.evaluations
            found.loops += 1
            if loop.gap <= goal or loop.max_violation < violation:
                break
        found.n_active = sum(side.n_active for side in sides)
        found.n_duals = sum(side.z.count for side in sides)
        return found

    def _loop(self, state: State, side: Side, *, shrunk: bool) -> _core.SweepResult:
        rows = side.active[: side.n_active] if shrunk else side.rows
        found: _core.SweepResult = state.trainers[side.own].loop(
            *self._weights_of(state, side),
            side.z,
            rows,
            side.active,
            shrunk,
            -np.inf,
            int(self.rng.integers(2**63)),
        )
        side.n_active = found.n_active
        return found

    def _rebuild(self, state: State) -> None:
        """W <- W(z)."""

        def add(met: tuple[int, ...]) -> None:
            for side in _sides(state, met):
                state.trainers[side.own].add_duals(*self._weights_of(state, side), side.z)

        for W in state.round.weights.values():
            W.fill(0)
        state.round.run(add)

    def _warm_start(self, problem: Problem, state: State, start: Start) -> None:
        z = sp.csr_array(start.duals)
        for side in state.sides.values():
            own, others = state.bundles[side.own], state.bundles[side.others]
            visited = np.zeros(len(own.rows), problem.dataset.dtype)
            visited[side.rows] = 1
            part = sp.csr_array(sp.diags_array(visited) @ z[own.rows][:, others.classes])
            part.eliminate_zeros()
            side.z.from_csr(
                part.indptr.astype(np.int64),
                part.indices.astype(np.int32),
                part.data.astype(problem.dataset.dtype),
            )
        self.certify(problem, state)

    def _weights_of(self, state: State, side: Side) -> tuple[NDArray[Any], NDArray[Any]]:
        return state.round.weights[side.own], state.round.weights[side.others]


def _met_here(schedule: Schedule, rank: int) -> list[tuple[int, int]]:
    """List the sides of all meetings of a rank."""
    sides = [(bundle, bundle) for bundle in schedule.rounds[0][rank]]
    for held in schedule.rounds:
        if len(held[rank]) > 1:
            a, b = held[rank]
            sides += [(a, b), (b, a)]
    return sides


def _sides(state: State, met: tuple[int, ...]) -> list[Side]:
    pairs = [(met[0], met[0])] if len(met) == 1 else [(met[0], met[1]), (met[1], met[0])]
    return [state.sides[pair] for pair in pairs]
