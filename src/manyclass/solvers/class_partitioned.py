"""Weston-Watkins with its classes spread over ranks.

    max_z  D(z) = sum_ic z_ic - 1/2 ||W(z)||^2 [- sum_ic z_ic^2 / (4 C_i)]    s.t. 0 <= z_ic <= C_i

z_{i,c} reads and changes w_{y_i} and w_c alone. So where two bundles of classes meet, the z that
their examples have in their classes can move while other ranks move those of other bundles. In an
epoch W goes round the ranks, two bundles on each, until every pair has met. Where two meet, all
their examples are visited, against all classes of both, then those that still move until little of
the pair's gap is left. That each example also moves its z in its own bundle costs up to twice the
scores, and is needed: mass that must go from one bundle to another passes through it (else w_{y_i}
holds it back, the more the larger the bundles). Given: x_i, y_i, C_i on every rank. Returned: W, z,
and the certificate, the same on every rank: the gap is a sum over examples and classes, so over
pairs.
Converges: D rises with every visit, which solves a block of a smooth problem over a box exactly, and
every z is visited in every epoch (essentially cyclic; Bertsekas 1999, prop. 2.7.1).
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
from manyclass.solvers.bundles import Bundles, Entries, GoingRound
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
class State:
    """Where training stands on this rank."""

    trainer: Any  # of the core
    bundles: Bundles
    round: GoingRound
    mutual: dict[tuple[int, int], Entries]  # z of a bundle's examples in another, where they meet
    filled: NDArray[np.bool_]  # whether x_i != 0
    n_meetings: int
    began: float
    constant: float = 0.0  # loss of the examples with x_i = 0
    dual: float = 0.0
    epoch: int = 0
    full: Findings = field(default_factory=Findings)


@dataclass(slots=True, eq=False)
class Meeting:
    """What the core is told about the bundles that a rank holds."""

    held: tuple[int, ...]
    core: Any
    rows: NDArray[np.int32]  # examples of these bundles
    z: Any

    def arguments(self, state: State) -> tuple[Any, ...]:
        """Return what the core's loops take first."""
        return self.core, state.round.weights, self.z


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
        bundles = Bundles.of(data, n_bundles)
        single = data.dtype == np.float32
        trainer = (_core.PairTrainer32 if single else _core.PairTrainer64)(
            **trainer_arguments(problem)
        )
        filled = trainer.squared_norms() > 0
        going = GoingRound(self.communicator, schedule, bundles, data)
        n_meetings = sum(len(held) > 0 for round_ in schedule.rounds for held in round_)
        state = State(trainer, bundles, going, {}, filled, n_meetings, began)
        state.constant = float(problem.costs[~filled].sum()) * (data.n_classes - 1)
        state.dual = state.constant
        if start is not None:
            self._warm_start(problem, state, start)
        return state

    @ending_all
    def epoch(self, problem: Problem, state: State, rule: StoppingRule) -> EpochRecord:
        """Let every bundle meet every other."""
        if state.epoch and state.epoch % REBUILD_EVERY == 0:
            self._rebuild(state)
        here = Findings()
        state.round.run(lambda first: here.add(self._train(state, rule, first)))
        here.n_duals = float(sum(len(part.rows) for part in _all_entries(state)))
        found = state.full = here.over(self.communicator)
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
            active_share=found.n_active / max(1.0, found.n_visited),
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

        def inspect(first: bool) -> None:
            for own in [False, True] if first else [False]:
                met = self._meeting(state, own=own, other=not own, empty=True)
                arguments = met.arguments(state)
                here.add(state.trainer.inspect(*arguments, met.rows, own=own, other=not own))

        state.round.run(inspect)
        for bundle in state.round.held:
            W = state.round.columns(bundle)
            here.loss += 0.5 * squared_norm(W, W.shape[1], apart=False)
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
        parts = [(pair[1], part) for pair, part in state.mutual.items()]
        parts += list(state.round.own_duals.items())
        return Start(
            gather_duals(
                self.communicator,
                problem,
                [part.rows for _, part in parts],
                [state.bundles.classes[others][part.places] for others, part in parts],
                [part.values for _, part in parts],
            )
        )

    @ending_all
    def weights(self, problem: Problem, state: State) -> Weights:  # noqa: ARG002 (the solvers' verb)
        """Return W, shape (d + 1, k), on every rank."""
        return state.round.gather(sparse=self.sparse)

    def finish(self, problem: Problem, state: State) -> Weights:
        """Return W, shape (d + 1, k), on every rank."""
        return self.weights(problem, state)

    def _train(self, state: State, rule: StoppingRule, first: bool) -> Findings:
        """Visit all examples of what meets, then those that still move."""
        met = self._meeting(state)
        active = np.empty_like(met.rows)
        full = self._loop(state, met, met.rows, active, shrunk=False)
        found = Findings()
        found.add(full)
        found.n_visited = float(len(met.rows))
        goal, violation = rule.shrunk_goal()
        goal = max(POLISHED * full.gap, goal / state.n_meetings)
        n_active = full.n_active
        while n_active and found.evaluations < (1 + EFFORT) * full.evaluations:
            loop = self._loop(state, met, active[:n_active], active, shrunk=True)
            found.dual_gain += loop.dual_gain
            found.evaluations += loop.evaluations
            found.loops += 1
            n_active = loop.n_active
            if loop.gap <= goal or loop.max_violation < violation:
                break
        found.n_active = n_active
        self._put_back(state, met)
        return found

    def _loop(
        self,
        state: State,
        met: Meeting,
        rows: NDArray[np.int32],
        active: NDArray[np.int32],
        *,
        shrunk: bool,
    ) -> _core.SweepResult:
        seed = int(self.rng.integers(2**63))
        found: _core.SweepResult = state.trainer.loop(
            *met.arguments(state), rows, active, shrunk, -np.inf, seed
        )
        return found

    def _meeting(
        self, state: State, *, own: bool = True, other: bool = True, empty: bool = False
    ) -> Meeting:
        """The bundles that are held, with the z of their examples in their own and the other one."""
        bundles, held, slots = state.bundles, state.round.held, state.round.slots
        bases = np.zeros(len(bundles.classes), np.int32)
        sizes = [0, 0]
        for bundle in held:
            bases[bundle] = slots[bundle] * bundles.width
            sizes[slots[bundle]] = len(bundles.classes[bundle])
        bundle_of_row = bundles.bundle_of[bundles.labels]
        labels = bases[bundle_of_row] + bundles.place_of[bundles.labels]
        here = np.isin(bundle_of_row, held)
        rows = np.flatnonzero(here if empty else here & state.filled).astype(np.int32)
        core = _core.Meeting(bundles.width, sizes[0], sizes[1], labels)
        single = state.round.weights.dtype == np.float32
        z = (_core.Duals32 if single else _core.Duals64)(len(labels), 2 * bundles.width)
        met = Meeting(held, core, rows, z)
        self._take(state, met, bases, own=own, other=other)
        return met

    def _take(
        self, state: State, met: Meeting, bases: NDArray[np.int32], *, own: bool, other: bool
    ) -> None:
        """Give the core the z of a meeting."""
        parts = []
        for bundle in met.held:
            if own:
                parts.append((bundle, state.round.own_duals[bundle]))
            if other:
                parts += [
                    (others, state.mutual[bundle, others])
                    for others in met.held
                    if (bundle, others) in state.mutual
                ]
        rows = np.concatenate([np.empty(0, np.int32), *(part.rows for _, part in parts)])
        labels = [bases[bundle] + part.places for bundle, part in parts]
        values = [part.values for _, part in parts]
        shape = (len(state.bundles.labels), 2 * state.bundles.width)
        dtype = state.round.weights.dtype
        columns = np.concatenate([np.empty(0, np.int32), *labels])
        z = sp.csr_array(
            (np.concatenate([np.empty(0, dtype), *values]), (rows, columns)), shape=shape
        )
        met.z.from_csr(z.indptr.astype(np.int64), z.indices.astype(np.int32), z.data)

    def _put_back(self, state: State, met: Meeting) -> None:
        """Take the z of a meeting from the core."""
        indptr, columns, values = met.z.to_csr()
        rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
        bundles = state.bundles
        owner = bundles.bundle_of[bundles.labels[rows]]
        slot = columns // bundles.width
        for bundle in met.held:
            for others in met.held:
                some = (owner == bundle) & (slot == state.round.slots[others])
                places = columns[some] - state.round.slots[others] * bundles.width
                part = Entries(rows[some], places.astype(np.int32), values[some])
                if bundle == others:
                    state.round.own_duals[bundle] = part
                else:
                    state.mutual[bundle, others] = part

    def _rebuild(self, state: State) -> None:
        """W <- W(z)."""

        def add(first: bool) -> None:
            met = self._meeting(state, own=first)
            state.trainer.add_duals(*met.arguments(state), met.rows)

        state.round.weights.fill(0)
        state.round.run(add)

    def _warm_start(self, problem: Problem, state: State, start: Start) -> None:
        z = sp.coo_array(start.duals)
        bundles = state.bundles
        owner = bundles.bundle_of[bundles.labels[z.row]]
        others = bundles.bundle_of[z.col]
        useful = (z.data > 0) & state.filled[z.row]
        for pair in _pairs_met_here(state, self.communicator.rank):
            some = useful & (owner == pair[0]) & (others == pair[1])
            part = Entries(
                z.row[some].astype(np.int32),
                bundles.place_of[z.col[some]],
                z.data[some].astype(problem.dataset.dtype),
            )
            if pair[0] == pair[1]:
                state.round.own_duals[pair[0]] = part
            else:
                state.mutual[pair] = part
        self.certify(problem, state)


def _all_entries(state: State) -> list[Entries]:
    return [*state.mutual.values(), *state.round.own_duals.values()]


def _pairs_met_here(state: State, rank: int) -> list[tuple[int, int]]:
    """List the pairs whose z this rank has at the beginning."""
    pairs = [(bundle, bundle) for bundle in state.round.held]
    for held in state.round.schedule.rounds:
        if len(held[rank]) > 1:
            a, b = held[rank]
            pairs += [(a, b), (b, a)]
    return pairs
