"""Crammer-Singer with its classes spread over ranks: budgets that are traded where bundles meet.

    max_z  D(z) = sum_i sum_{c != y_i} z_ic - 1/2 ||W(z)||^2    s.t.  z_ic >= 0, sum_c z_ic = C_i

Here y_i, too, has a share of the budget C_i: what the other classes leave. Then every share
z_{i,c} reads and changes w_c alone, and lives where w_c does: bundles of classes go round the ranks
with their W and their shares. Where two meet, what an example has in their classes may move among
these, while other ranks move what it has elsewhere; so all sums stay C_i and nothing is stale.

Which classes an example without a share of theirs should buy into, is looked for where its home
is, the bundle in which it has its largest share of all when an epoch begins: all classes of what
the home meets. Elsewhere shares move only between classes that have one. If no class is better
than one of the home's, and no two of the example's classes differ, then it is at its optimum.

Given: x_i, y_i, C_i on every rank. Returned: W, z, and the certificate, the same on every rank.
Converges: D rises with every visit, by q_i / 2 times the square of the step at least, so steps
vanish; a home keeps a share of C_i / k or more, so in the end no class of any bundle can be better
than the home's (docs/distributed.md).
Sources: Keerthi et al. 2008, sec. 2, for the visits; Alber et al. 2017, algorithm 5, for who
meets when (there for Weston-Watkins, whose z need no budget).
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.parallel.communicator import Communicator
from manyclass.parallel.schedule import BUNDLES_PER_RANK, Schedule, work_of_classes
from manyclass.problem import Problem
from manyclass.solution import Certificate, EpochRecord, Start, Weights, relative
from manyclass.solvers.bundles import Bundles, GoingRound
from manyclass.solvers.core import trainer_arguments
from manyclass.solvers.entries import Entries, entries_of, from_core, to_core, together
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.together import Findings, OfRanks, ending_all, gather_entries
from manyclass.solvers.weights import squared_norm

# Shrunk loops at a meeting end at this share of the gap that the first loop found, or after so many
# such loops' worth of scores.
POLISHED = float(os.environ.get("POLISHED", "0.1"))
EFFORT = 5
MODE = os.environ.get("MODE", "home")
NONE = np.empty(0, np.uint8)


@dataclass(slots=True, eq=False)
class State:
    """Where training stands on this rank."""

    trainer: Any  # of the core
    schedule: Schedule
    work: NDArray[np.float64]  # of the classes
    round: GoingRound
    duals: Entries  # all z of c != y_i, as they were before this epoch
    filled: NDArray[np.bool_]  # whether x_i != 0
    began: float
    homes: NDArray[np.int32]  # bundle of each example's largest share, in this epoch
    constant: float = 0.0  # loss of the examples with x_i = 0
    dual: float = 0.0
    epoch: int = 0
    full: Findings = field(default_factory=Findings)


class SharedBudget(OfRanks):
    def __init__(
        self,
        rng: np.random.Generator,
        communicator: Communicator | None = None,
        *,
        sparse: bool = False,
    ) -> None:
        super().__init__(rng, communicator)
        self.sparse = sparse

    @ending_all
    def init(self, problem: Problem, start: Start | None) -> State:
        """Begin from z = 0, or where another training ended."""
        began = time.perf_counter()
        data = problem.dataset
        n_ranks = self.communicator.size
        schedule = Schedule.of(min(data.n_classes, BUNDLES_PER_RANK * n_ranks), n_ranks)
        single = data.dtype == np.float32
        trainer_of = _core.PairTrainer32 if single else _core.PairTrainer64
        trainer = trainer_of(**trainer_arguments(problem))
        norms = trainer.squared_norms()
        if not np.isfinite(norms).all():
            raise FloatingPointError("the square of a row of X overflows; scale the features")
        filled = norms > 0
        work = work_of_classes(data.labels, np.diff(data.indptr), data.n_classes)
        going = GoingRound(self.communicator, schedule, data)
        duals = entries_of(start, filled, data.dtype)
        homes = np.empty(data.n_examples, np.int32)
        state = State(trainer, schedule, work, going, duals, filled, began, homes)
        state.constant = float(problem.costs[~filled].sum())
        state.dual = state.constant
        self._begin_epoch(problem, state)
        if start is not None:
            self.certify(problem, state)
        return state

    @ending_all
    def epoch(self, problem: Problem, state: State, rule: StoppingRule) -> EpochRecord:
        """Let every bundle meet every other."""
        here = Findings()
        met: set[int] = set()
        state.round.run(lambda: here.add(self._train(problem, state, rule, met)))
        data = problem.dataset
        mine = together(list(state.round.own_duals.values()), data.dtype)
        found = here.over(self.communicator)
        mine = mine.of(mine.labels != data.labels[mine.rows])
        state.duals = gather_entries(self.communicator, mine)
        self._begin_epoch(problem, state)
        state.full = found
        state.dual += found.dual_gain
        state.epoch += 1
        primal = state.dual + found.gap
        rule.cool(found, primal)
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
            n_duals=len(state.duals.rows),
        )

    def promising(self, state: State, rule: StoppingRule) -> bool:
        """Whether the last epoch's estimates say that the rule may be met."""
        return rule.promising(state.full, state.dual + state.full.gap)

    def dual_objective(self, state: State) -> float:
        """Return D, kept by the gains of the visits."""
        return state.dual

    @ending_all
    def certify(self, problem: Problem, state: State) -> Certificate:
        """Judge z and W(z): each rank all examples, as far as they meet the classes that it holds.

        All w_{y_i} . x_i are exchanged first.
        """
        core, labels = self._meeting(problem, state)
        n = len(labels)
        W = state.round.weights
        own_scores = np.zeros(n, problem.dataset.dtype)
        rows = np.flatnonzero(labels >= 0).astype(np.int32)
        state.trainer.own_scores(core, W, rows, own_scores)
        own_scores = self.communicator.all_sum(own_scores)  # every example's is known to one rank
        z = self._core_duals(state, state.duals)
        largest, smallest, z_dot_xi = np.empty(n), np.empty(n), np.empty(n)
        state.trainer.survey(core, W, z, own_scores, largest, smallest, z_dot_xi)
        here = Findings(
            gap=-float(z_dot_xi[state.filled].sum()),
            loss=0.5 * squared_norm(W, 2 * state.round.width, apart=False),
        )
        found = here.over(self.communicator)
        losses = np.maximum(0, self.communicator.all_max(largest))
        smallest = -self.communicator.all_max(-smallest)
        loss = float((problem.costs * losses)[state.filled].sum())
        totals = np.bincount(state.duals.rows, state.duals.values, minlength=n)
        at_bound = totals >= problem.costs * (1 - (1e-6 if W.dtype == np.float32 else 1e-12))
        low = np.where(at_bound, smallest, np.minimum(smallest, 0))
        gap = found.gap + loss
        primal = found.loss + loss + state.constant
        state.dual = primal - gap  # free of the rounding of many small gains
        return Certificate(
            primal_objective=primal,
            dual_objective=state.dual,
            gap=gap,
            relative_gap=relative(gap, primal),
            max_violation=float(max(0.0, (losses - low)[state.filled].max(initial=0.0))),
        )

    def start(self, problem: Problem, state: State) -> Start:
        """Return z as it was when the last epoch ended, which every rank knows."""
        return Start(state.duals.matrix(problem.dataset.n_classes, len(state.filled)))

    @ending_all
    def weights(self, problem: Problem, state: State) -> Weights:  # noqa: ARG002 (the solvers' verb)
        """Return W, shape (d + 1, k), on every rank."""
        return state.round.gather(sparse=self.sparse)

    def finish(self, problem: Problem, state: State) -> Weights:
        """Return W, shape (d + 1, k), on every rank."""
        return self.weights(problem, state)

    def _begin_epoch(self, problem: Problem, state: State) -> None:
        """Draw bundles; take W and z of the first ones from all z."""
        bundles = Bundles.of(state.work, state.schedule.n_bundles, self.common)
        state.round.begin(bundles)
        data = problem.dataset
        labels, n = data.labels, data.n_examples
        z, dtype = state.duals, data.dtype
        totals = np.bincount(z.rows, z.values, minlength=n)
        over = totals > problem.costs
        if over.any():
            scale = np.where(over, problem.costs / np.maximum(totals, 1e-300), 1.0)
            z = state.duals = z._replace(values=(z.values * scale[z.rows]).astype(dtype))
            totals = np.bincount(z.rows, z.values, minlength=n)
        every = np.arange(n, dtype=np.int32)
        ascends = Entries(every, labels, totals.astype(dtype))
        steps = together([ascends, z._replace(values=-z.values)], dtype)
        core, _ = self._meeting(problem, state)
        state.trainer.add_rows(core, state.round.weights, self._core_duals(state, steps))
        left = (problem.costs - totals).astype(dtype)
        left[left < problem.costs * np.finfo(dtype).eps * 4] = 0
        rest = Entries(every, labels, left).of((left > 0) & state.filled)
        shares = together([rest, z], dtype)
        bundle = bundles.bundle_of[shares.labels]
        state.round.own_duals = {b: shares.of(bundle == b) for b in state.round.held}
        order = np.lexsort((shares.values, shares.rows))
        state.homes[shares.rows[order]] = bundle[order]

    def _train(
        self, problem: Problem, state: State, rule: StoppingRule, met: set[int]
    ) -> Findings:
        core, _ = self._meeting(problem, state)
        held = state.round.held
        shares = together([state.round.own_duals[b] for b in held], problem.dataset.dtype)
        lists = self._core_duals(state, shares)
        found = Findings()
        n = problem.dataset.n_examples
        at = state.round._at
        slots = state.round.slots
        mask = np.zeros(state.schedule.n_bundles, np.uint8)
        for b in held:
            if at == 0:
                mask[b] = sum(1 << slots[o] for o in held)
            elif len(held) == 2:
                other = held[1] if held[0] == b else held[0]
                mask[b] = 1 << slots[other]
        scored = mask[state.homes]
        if MODE == "all" and at == 0:
            scored[:] = 3
        elif MODE == "all":
            scored[:] = 3
        counts = np.bincount(shares.rows, minlength=n)
        rows = np.flatnonzero((counts > 1) | ((scored > 0) & (counts > 0))).astype(np.int32)
        found.n_visited = float(len(rows))
        found.n_active = self._loops(state, core, lists, rows, scored, rule, found)
        moved = from_core(lists, state.round.classes_of())
        bundle = state.round.bundles.bundle_of[moved.labels]
        for b in held:
            state.round.own_duals[b] = moved.of(bundle == b)
        return found

    def _loops(self, state, core, lists, rows, scored, rule, found) -> int:
        active = np.empty_like(rows)

        def loop(some: NDArray[np.int32], scored) -> _core.SweepResult:
            seed = int(self.rng.integers(2**63))
            return state.trainer.trade(
                core, state.round.weights, lists, some, active, scored, seed
            )

        full = loop(rows, scored)
        found.add(full)
        gap, violation = rule.shrunk_goal()
        goal = max(POLISHED * full.gap, gap / state.schedule.n_meetings)
        n_active = int(full.n_active)
        while n_active and found.evaluations < (1 + EFFORT) * full.evaluations:
            some = loop(active[:n_active], NONE)
            found.dual_gain += some.dual_gain
            found.evaluations += some.evaluations
            found.loops += 1
            n_active = some.n_active
            if some.gap <= goal or some.max_violation < violation:
                break
        return n_active

    def _meeting(self, problem: Problem, state: State) -> tuple[Any, NDArray[np.int32]]:
        """Tell the core which bundles are held; and the column of every y_i, -1 elsewhere."""
        sizes = [0, 0]
        for bundle, slot in state.round.slots.items():
            sizes[slot] = len(state.round.bundles.classes[bundle])
        labels = state.round.columns_of()[problem.dataset.labels]
        return _core.Meeting(state.round.width, sizes[0], sizes[1], labels), labels

    def _core_duals(self, state: State, z: Entries) -> Any:
        """Return z of the classes that are held, as the core takes it."""
        return to_core(z, state.round.columns_of(), 2 * state.round.width, len(state.filled))
