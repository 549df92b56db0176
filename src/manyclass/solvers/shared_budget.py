"""Crammer-Singer with its classes spread over ranks: budgets are shares that classes trade.

    max_z  D(z) = sum_i sum_{c != y_i} z_ic - 1/2 ||W(z)||^2    s.t.  z_ic >= 0, sum_c z_ic = C_i
    w_c(z) = sum_i (C_i [c = y_i] - z_ic) x_i,    dD / dz_ic = a_ic = [c != y_i] + w_c . x_i

Here y_i, too, has a share of the budget C_i: what the others leave. So every z_{i,c} reads and
changes w_c alone, and lives where w_c does: bundles of classes go round the ranks with their W and
their shares. Where two meet, what an example has in their classes may move among these, while other
ranks move what it has elsewhere: all sums stay C_i, and nothing that is read is stale.

Each example has a home, the bundle of its largest share when an epoch begins. Where the home meets
another bundle, all classes of that one are looked at, as on a full visit; everywhere else shares
move among the classes that have one. At an optimum no class is better than the home's, and no two
of the example's classes differ. Bundles are drawn anew for each epoch.

Given: x_i, y_i, C_i on every rank. Returned: W, z, and the certificate, the same on every rank.
Converges: a visit raises D by q_i / 2 times its squared step or more, so steps vanish, and a home
keeps a share of about C_i / k: in the end no class can be better (docs/distributed.md).
Sources: Keerthi et al. 2008, sec. 2, for the visits (there alpha_i^c = C_i [c = y_i] - z_ic);
Alber et al. 2017, algorithm 5, for who meets when. How the simplex is split is ours.
"""

from __future__ import annotations

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

# Shrunk loops at a meeting end at this share of the gap that its first loop found, or after so many
# such loops' worth of scores.
POLISHED = 0.1
EFFORT = 5
# Whether sum z is at its bound, within rounding (kernels.hpp).
AT_BOUND = {np.dtype(np.float32): 1 - 1e-6, np.dtype(np.float64): 1 - 1e-12}
NO_SLOTS = np.empty(0, np.uint8)


@dataclass(slots=True, eq=False)
class State:
    """Where training stands on this rank."""

    trainer: Any  # of the core
    schedule: Schedule
    work: NDArray[np.float64]  # of the classes
    round: GoingRound  # its own_duals: the shares of a bundle's classes
    duals: Entries  # all z of c != y_i, as they were before this epoch
    homes: NDArray[np.int32]  # bundle of each example's largest share, as of then
    filled: NDArray[np.bool_]  # whether x_i != 0
    began: float
    constant: float = 0.0  # loss of the examples with x_i = 0
    dual: float = 0.0
    epoch: int = 0
    full: Findings = field(default_factory=Findings)


class SharedBudget(OfRanks):
    """Solver for the largest loss of relative margins.

    Parameters
    ----------
    rng : numpy.random.Generator
        Orders the loops and draws the bundles; in the same state on every rank.
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
        homes = np.zeros(data.n_examples, np.int32)
        state = State(trainer, schedule, work, going, duals, homes, filled, began)
        state.dual = state.constant = float(problem.costs[~filled].sum())
        self._begin_epoch(problem, state)
        if start is not None:
            self.certify(problem, state)
        return state

    @ending_all
    def epoch(self, problem: Problem, state: State, rule: StoppingRule) -> EpochRecord:
        """Let every bundle meet every other."""
        here = Findings()
        state.round.run(lambda: here.add(self._meet(problem, state, rule)))
        found = here.over(self.communicator)
        data = problem.dataset
        shares = together(list(state.round.own_duals.values()), data.dtype)
        mine = shares.of(shares.labels != data.labels[shares.rows])
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

        All w_{y_i} . x_i are exchanged first, then the largest slacks.
        """
        largest, smallest, here = self._survey(problem, state)
        found = here.over(self.communicator)
        worst = np.maximum(0, self.communicator.all_max(largest))
        least = -self.communicator.all_max(-smallest)
        least = np.where(self._at_bound(problem, state.duals), least, np.minimum(least, 0))
        loss = float((problem.costs * worst)[state.filled].sum())
        gap = loss + found.gap
        primal = loss + found.loss + state.constant
        state.dual = primal - gap  # free of the rounding of many small gains
        return Certificate(
            primal_objective=primal,
            dual_objective=state.dual,
            gap=gap,
            relative_gap=relative(gap, primal),
            max_violation=float((worst - least)[state.filled].max(initial=0.0)),
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

    def _survey(
        self, problem: Problem, state: State
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], Findings]:
        """Return what the classes here say: extreme slacks of each example, and sums."""
        core, labels = self._meeting(problem, state)
        W, n = state.round.weights, len(labels)
        own_scores = np.zeros(n, problem.dataset.dtype)
        rows = np.flatnonzero(labels >= 0).astype(np.int32)
        state.trainer.own_scores(core, W, rows, own_scores)
        own_scores = self.communicator.all_sum(own_scores)  # every example's is known to one rank
        largest, smallest, z_dot_xi = np.empty((3, n))
        z = self._core_duals(state, state.duals)
        state.trainer.survey(core, W, z, own_scores, largest, smallest, z_dot_xi)
        squares = squared_norm(W, 2 * state.round.width, apart=False)
        return largest, smallest, Findings(gap=-float(z_dot_xi.sum()), loss=0.5 * squares)

    def _at_bound(self, problem: Problem, z: Entries) -> NDArray[np.bool_]:
        """Whether y_i has no share left, shape (n,)."""
        totals = np.bincount(z.rows, z.values, minlength=len(problem.costs))
        return totals >= problem.costs * AT_BOUND[problem.dataset.dtype]

    def _begin_epoch(self, problem: Problem, state: State) -> None:
        """Draw bundles; take W and the shares of the first ones, and the homes, from all z."""
        bundles = Bundles.of(state.work, state.schedule.n_bundles, self.common)
        state.round.begin(bundles)
        state.duals = z = _within_budgets(problem, state.duals)
        data = problem.dataset
        every = np.arange(data.n_examples, dtype=np.int32)
        totals = np.bincount(z.rows, z.values, minlength=len(every))
        ascends = Entries(every, data.labels, totals.astype(data.dtype))
        steps = together([ascends, z._replace(values=-z.values)], data.dtype)
        core, _ = self._meeting(problem, state)
        state.trainer.add_rows(core, state.round.weights, self._core_duals(state, steps))
        left = ascends._replace(values=(problem.costs - totals).astype(data.dtype))
        shares = together([left.of(state.filled & ~self._at_bound(problem, z)), z], data.dtype)
        bundle = bundles.bundle_of[shares.labels]
        state.round.own_duals = {b: shares.of(bundle == b) for b in state.round.held}
        ascending = np.lexsort((shares.values, shares.rows))
        state.homes[shares.rows[ascending]] = bundle[ascending]  # the last one stays

    def _meet(self, problem: Problem, state: State, rule: StoppingRule) -> Findings:
        """Visit the examples with a share in what meets, then those that still move."""
        core, _ = self._meeting(problem, state)
        held, dtype = state.round.held, problem.dataset.dtype
        shares = together([state.round.own_duals[b] for b in held], dtype)
        lists = self._core_duals(state, shares)
        scored = self._slots_to_score(state)
        numbers = np.bincount(shares.rows, minlength=len(scored))
        rows = np.flatnonzero((numbers > 1) | ((numbers > 0) & (scored > 0))).astype(np.int32)
        found = Findings(n_visited=float(len(rows)))
        found.n_active = self._loops(state, core, lists, rows, scored, rule, found)
        moved = from_core(lists, state.round.classes_of())
        bundle = state.round.bundles.bundle_of[moved.labels]
        for b in held:
            state.round.own_duals[b] = moved.of(bundle == b)
        return found

    def _slots_to_score(self, state: State) -> NDArray[np.uint8]:
        """Return bit s of an example where it looks at all classes of slot s, shape (n,).

        Those that its home meets; in the first round of an epoch also the home's own.
        """
        slots = state.round.slots
        of_home = np.zeros(state.schedule.n_bundles, np.uint8)
        for home in slots:
            others = slots if state.round.is_first else slots.keys() - {home}
            of_home[home] = sum(1 << slots[b] for b in others)
        return of_home[state.homes]

    def _loops(
        self,
        state: State,
        core: Any,
        shares: Any,
        rows: NDArray[np.int32],
        scored: NDArray[np.uint8],
        rule: StoppingRule,
        found: Findings,
    ) -> int:
        """One loop over everything, then shrunk ones; returns how many examples stay active."""
        active = np.empty_like(rows)

        def loop(some: NDArray[np.int32], slots: NDArray[np.uint8]) -> _core.SweepResult:
            seed = int(self.rng.integers(2**63))
            result: _core.SweepResult = state.trainer.trade(
                core, state.round.weights, shares, some, active, slots, seed
            )
            return result

        first = loop(rows, scored)
        found.add(first)
        gap, violation = rule.shrunk_goal()
        goal = max(POLISHED * first.gap, gap / state.schedule.n_meetings)
        n_active = int(first.n_active)
        while n_active and found.evaluations < (1 + EFFORT) * first.evaluations:
            some = loop(active[:n_active], NO_SLOTS)
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


def _within_budgets(problem: Problem, z: Entries) -> Entries:
    """Scale what rounding has brought above a budget back to it."""
    totals = np.bincount(z.rows, z.values, minlength=len(problem.costs))
    scale = problem.costs / np.maximum(problem.costs, totals)
    return z._replace(values=(z.values * scale[z.rows]).astype(z.values.dtype))
