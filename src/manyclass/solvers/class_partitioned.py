"""Weston-Watkins with its classes spread over ranks.

    max_z  D(z) = sum_ic z_ic - 1/2 ||W(z)||^2 [- sum_ic z_ic^2 / (4 C_i)]    s.t. 0 <= z_ic <= C_i

z_{i,c} reads and changes w_{y_i} and w_c alone. So where two bundles of classes meet, the z that
their examples have in their classes can move while other ranks move those of other bundles. In an
epoch W goes round the ranks, two bundles on each, until every pair has met. Where two meet, all
their examples are visited, against all classes of the other bundle and those of their own with
z > 0 (in the first round, against all of both), then those that still move until little of the
pair's gap is left. So every score is computed once in an epoch for those visits, and each of them
solves the z of an example in both bundles together. Each epoch has new bundles at random: with the
same ones in all epochs what is to move between bundles moves very slowly (measured on news20, two
ranks: 11 epochs to a gap of 1e-3, against more than 300). Between epochs each rank is told all z,
which are few numbers per example, and builds W of its next two bundles from them.

W is held dense, or, for very many classes, as one table per feature and bundle (weight_tables.hpp);
then of the classes that violate an example's conditions only those enter its list in one visit that
do so most (entering.hpp).

Given: x_i, y_i, C_i on every rank. Returned: W, z, and the certificate, the same on every rank: the
gap is a sum over examples and classes once w_{y_i} . x_i is known.
Converges: D rises with every visit, which solves a block of a smooth problem over a box exactly,
and every z is visited in every epoch (essentially cyclic; Bertsekas 1999, prop. 2.7.1).
Sources: Alber et al. 2017, algorithms 4 and 5 (there single classes meet, always in one order);
Keerthi et al. 2008 for the visits.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.parallel.communicator import Communicator
from manyclass.parallel.schedule import BUNDLES_PER_RANK, Schedule, work_of_classes
from manyclass.problem import Problem
from manyclass.solution import Certificate, EpochRecord, Start, relative
from manyclass.solvers.bundles import Bundles, GoingRound
from manyclass.solvers.core import trainer_arguments
from manyclass.solvers.entries import Entries, entries_of, from_core, to_core, together
from manyclass.solvers.sparse_dual import SHRUNK_LOOPS, dense_from
from manyclass.solvers.spread_weights import SpreadWeights
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.together import Findings, OfRanks, ending_all, gather_entries

# Shrunk loops at a meeting end at this share of the gap that the loop over all its examples found,
# or after so many such loops' worth of scores (with W in tables: of loops over all z > 0).
POLISHED = 0.1
EFFORT = 5


@dataclass(slots=True, eq=False)
class State:
    """Where training stands on this rank."""

    trainer: Any  # of the core
    schedule: Schedule
    work: NDArray[np.float64]  # of the classes
    round: GoingRound
    duals: Entries  # all z, as they were before this epoch
    # z of a bundle's examples in another, of all pairs that meet here.
    mutual: dict[tuple[int, int], Entries]
    filled: NDArray[np.bool_]  # whether x_i != 0
    began: float
    constant: float = 0.0  # loss of the examples with x_i = 0
    dual: float = 0.0
    epoch: int = 0
    full: Findings = field(default_factory=Findings)


class ClassPartitioned(OfRanks):
    """Solver for sums of losses of relative margins.

    Parameters
    ----------
    rng : numpy.random.Generator
        Orders the loops and draws the bundles; in the same state on every rank.
    communicator : Communicator, default=None
        One process alone when None.
    sparse : bool, default=False
        Whether W is held in tables, and returned as a CSR array.
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
        tables = dense_from(problem, n_ranks) if self.sparse else None
        going = GoingRound(self.communicator, schedule, data, tables)
        duals = entries_of(start, filled, data.dtype)
        state = State(trainer, schedule, work, going, duals, {}, filled, began)
        state.constant = float(problem.costs[~filled].sum()) * (data.n_classes - 1)
        state.dual = state.constant
        self._begin_epoch(problem, state)
        if start is not None:
            self.certify(problem, state)
        return state

    @ending_all
    def epoch(self, problem: Problem, state: State, rule: StoppingRule) -> EpochRecord:
        """Let every bundle meet every other."""
        here = Findings()
        state.round.run(lambda: here.add(self._train(problem, state, rule)))
        mine = together(
            [*state.mutual.values(), *state.round.own_duals.values()], problem.dataset.dtype
        )
        found = here.over(self.communicator)
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
            n_weights=self._n_weights(problem, state),
            n_duals=len(state.duals.rows),
        )

    def _n_weights(self, problem: Problem, state: State) -> int:
        """Count the numbers of W that all ranks hold together."""
        if not self.sparse:
            return (problem.dataset.n_features + 1) * problem.dataset.n_classes
        return int(self.communicator.all_sum(np.array([state.round.weights.n_slots]))[0])

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
        own_scores = np.zeros(len(labels), problem.dataset.dtype)
        rows = np.flatnonzero(labels >= 0).astype(np.int32)
        state.trainer.own_scores(core, state.round.weights, rows, own_scores)
        own_scores = self.communicator.all_sum(own_scores)  # every example's is known to one rank
        z = self._core_duals(state, state.duals)
        here = Findings()
        here.add(state.trainer.inspect(core, state.round.weights, z, own_scores))
        here.loss += 0.5 * state.round.squared_norm()
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

    def start(self, problem: Problem, state: State) -> Start:
        """Return z as it was when the last epoch ended, which every rank knows."""
        return Start(state.duals.matrix(problem.dataset.n_classes, len(state.filled)))

    def spread(self, problem: Problem, state: State) -> SpreadWeights:  # noqa: ARG002 (the solvers' verb)
        """Return W, shape (d + 1, k), as it is held."""
        return state.round.spread(sparse=self.sparse)

    def _begin_epoch(self, problem: Problem, state: State) -> None:
        """Draw bundles; take W and z of the first ones from all z."""
        bundles = Bundles.of(state.work, state.schedule.n_bundles, self.common)
        state.round.begin(bundles)
        labels = problem.dataset.labels
        z, dtype = state.duals, problem.dataset.dtype
        totals = np.bincount(z.rows, z.values, minlength=len(labels))
        ascends = Entries(np.arange(len(labels), dtype=np.int32), labels, totals.astype(dtype))
        steps = together([ascends, z._replace(values=-z.values)], dtype)
        core, _ = self._meeting(problem, state)
        state.trainer.add_rows(core, state.round.weights, self._core_duals(state, steps))
        own = [(b, b) for b in state.round.held]
        met = state.schedule.pairs_of(self.communicator.rank)
        parts = z.by_pair(bundles.bundle_of[labels], bundles.bundle_of, own + met)
        state.round.own_duals = {b: parts[b, b] for b in state.round.held}
        state.mutual = {pair: parts[pair] for pair in met}

    def _train(self, problem: Problem, state: State, rule: StoppingRule) -> Findings:
        """Visit all examples of what meets, then those that still move."""
        core, labels = self._meeting(problem, state)
        held, mutual = state.round.held, state.mutual
        z = [state.round.own_duals[b] for b in held]
        z += [mutual[pair] for pair in itertools.permutations(held, 2)]
        duals = self._core_duals(state, together(z, problem.dataset.dtype))
        found = Findings()
        rows = np.flatnonzero((labels >= 0) & state.filled).astype(np.int32)
        found.n_active = self._loops(state, core, duals, rows, rule, found)
        found.n_visited = float(len(rows))
        moved = from_core(duals, state.round.classes_of())
        bundle_of = state.round.bundles.bundle_of
        met = list(itertools.permutations(held, 2))
        owners = bundle_of[problem.dataset.labels]
        parts = moved.by_pair(owners, bundle_of, [(b, b) for b in held] + met)
        state.round.own_duals.update({b: parts[b, b] for b in held})
        mutual.update({pair: parts[pair] for pair in met})
        return found

    def _loops(
        self,
        state: State,
        core: Any,
        z: Any,
        rows: NDArray[np.int32],
        rule: StoppingRule,
        found: Findings,
    ) -> int:
        """One loop over everything, then shrunk ones; returns how many examples stay active."""
        active = np.empty_like(rows)

        def loop(some: NDArray[np.int32], *, shrunk: bool) -> _core.SweepResult:
            seed = int(self.rng.integers(2**63))
            result: _core.SweepResult = state.trainer.loop(
                core, state.round.weights, z, some, active, shrunk, -np.inf, seed
            )
            return result

        full = loop(rows, shrunk=False)
        found.add(full)
        gap, violation = rule.shrunk_goal()
        goal = max(POLISHED * full.gap, gap / state.schedule.n_meetings)
        n_active = int(full.n_active)
        budget = EFFORT * full.evaluations
        if self.sparse:
            budget = min(budget, SHRUNK_LOOPS * (z.count + n_active))
        while n_active and found.evaluations < full.evaluations + budget:
            some = loop(active[:n_active], shrunk=True)
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
        own_too = state.round.is_first
        return _core.Meeting(state.round.width, sizes[0], sizes[1], labels, own_too), labels

    def _core_duals(self, state: State, z: Entries) -> Any:
        """Return z of the classes that are held, as the core takes it."""
        return to_core(z, state.round.columns_of(), 2 * state.round.width, len(state.filled))
