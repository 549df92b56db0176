"""The sequential dual method, with shrinking and an inner tolerance that decreases with the gap.

Solves the dual of every formulation (formulations.py). Input: x_i, y_i, C_i and a stopping
criterion. Output: W, z, and a certificate of the gap. An epoch consists of shrunk loops (over the
active examples, with only their non-zero z), then one full loop over all examples and classes.
Every loop has a new random order, and every visit solves the block of one example exactly. If this
is slow and features are few, the Newton phase (newton_phase.py) continues. If it saves time, the
first z comes from stochastic steps (stochastic_init.py). Source: Keerthi et al. 2008, algorithms
2.1 and 3.1 and sec. 2.1.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.free_duals import has_free
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights, scale_of
from manyclass.solvers import newton_phase
from manyclass.solvers.engines import Engine, Storage, of_examples
from manyclass.solvers.newton import newton_on_lists
from manyclass.solvers.newton.newton_on_lists import NewtonOnLists
from manyclass.solvers.newton.steps_on_parts import length_on_parts
from manyclass.solvers.newton_phase import NewtonPhase, Pace
from manyclass.solvers.stochastic_init import is_worthwhile, stochastic_start
from manyclass.solvers.stopping import Findings, Found, StoppingRule
from manyclass.utils.types import CsrArray

# In shrunk loops, an example waits for the next full loop once its gap is below the engine's
# `negligible` times an active example's share of their goal, so that most effort is spent where
# most can be gained. But only while every epoch divides the gap by FAST or more: slow problems
# advance by many steps with tiny gains.
FAST = 1.5
# In full loops of formulations with a maximum, an example is scored but not updated while its gap
# is below SKIPPED times its share of the goal of the shrunk loops. Only if examples share few
# features: otherwise each step changes every score, and scores are soon outdated (measured: a
# quarter less time on news20, a fifth on sector; a tenth more on letter and dna; no gain for sums
# of losses).
SKIPPED = 1
# After rows have changed, most of the gap in a full loop comes from a few rows, and its visits
# remove it: a certificate is tried at this multiple of the requested gap, and shrunk loops have
# this multiple of their goal (measured: sector, Crammer-Singer, 0.1 % of the rows replaced: 13
# passes instead of 18; 1 % removed: 16 instead of 22).
CHANGED_SLACK, CHANGED_GOAL = 2.0, 3.0
# With more classes than a vector has lanes, small gaps are most of the remaining gap, so that
# examples do not wait for the next full loop: in the first epochs if examples share few features,
# otherwise always, with a different goal (measured with 1 % replaced, Crammer-Singer, passes as a
# share of a cold start's: sector 0.40 instead of 0.57, sentence embeddings 0.35 instead of 0.72).
CLOSE_EPOCHS, CLOSE_GOAL = 2, 2.0
# W is rebuilt from z after this number of epochs, before rounding moves it away from W(z).
REBUILD_EVERY = 16


# Of an epoch: the largest violation, active examples, loops or Newton steps, scores computed.
Visits: TypeAlias = tuple[float, int, int, int]


class Active(NamedTuple):
    """Number of epochs so far, and the active examples."""

    n_epochs: int
    examples: NDArray[np.int32]


class SequentialDual:
    """Solver for every formulation: a training run from z = 0 or from a start.

    Parameters
    ----------
    problem : Problem
    start : Start or None
    rng : numpy.random.Generator
        Orders the loops.
    n_jobs : int, default=1
        Threads of the Newton phase, and of passes without updates.
    storage : {"dense", "class_major", "tables"}, default=None
        Storage of W (engines.py); "tables" for formulations with relative margins.
    keeps_duals : bool, default=True
        Whether z, which may be n x k numbers, is kept for a warm start; otherwise z = 0 is
        returned.
    ascent_only : bool, default=False
        Whether to use only coordinate ascent, without Newton phase and stochastic start.
    rebuilds : bool, default=True
        Whether W is rebuilt from z regularly; False if the caller adds an array to W(z).

    Attributes
    ----------
    dual : float
        D, updated by the gains of the visits.
    """

    is_exact = False  # estimates are sums over visits while W changes

    def __init__(
        self,
        problem: Problem,
        start: Start | None,
        rng: np.random.Generator,
        n_jobs: int = 1,
        *,
        storage: Storage | None = None,
        keeps_duals: bool = True,
        ascent_only: bool = False,
        rebuilds: bool = True,
    ) -> None:
        self._began = time.perf_counter()
        self.problem, self.rng = problem, rng
        self.keeps_duals, self.ascent_only, self.rebuilds = keeps_duals, ascent_only, rebuilds
        self.engine = Engine(problem, rng, n_jobs, storage=storage)
        self._rows = np.flatnonzero(self.engine.norms > 0).astype(np.int32)
        self._active, self._n_active = np.empty(len(self._rows), np.int32), 0
        self._constant = self.dual = self.engine.constant_loss()
        self._n_epochs = self._n_earlier = 0  # epochs of this run, and of earlier runs
        self._is_fast = True  # whether the last epoch divided the gap by FAST
        self._full: Findings = _core.SweepResult()
        self._pace = Pace()
        self._failed: Certificate | None = None  # corrects the estimates of the loops
        self._phase: NewtonPhase | None = None  # once it has begun
        self._returns_phase = False  # whether its W has the better certificate
        self._begins_stochastic = False
        self._at_start: Certificate | None = None  # until the first epoch
        self._new_rows: NDArray[np.int32] | None = None  # until they have been visited
        self._rows_changed = False  # changed since z was optimal
        if start is not None:
            self._n_earlier = len(start.history)
            self._warm_start(start)
        elif self.engine.few_classes and not ascent_only:
            self._begins_stochastic = is_worthwhile(problem, self.engine.norms)

    @property
    def primal(self) -> float:
        """Estimate of P from the last full loop."""
        return self.dual + self._full.gap

    @property
    def scale(self) -> float:
        """Denominator of the relative gap, from the same estimates."""
        return scale_of(self._full.gap, self.primal, self.engine.zero_objective)

    def epoch(self, rule: StoppingRule) -> EpochRecord:
        """Run one epoch of coordinate ascent, or one round of the Newton phase."""
        self._at_start = None
        if self._failed is not None:
            self._full, self._failed = self._failed, None
            self._pace.correct(rule.distance(self._full, self.scale))
        phase = None if self.ascent_only else self._due_phase()
        found = None if phase is None else self._newton_round(phase)
        violation, n_active, loops, evaluations = found or self._ascent(rule)
        self._n_epochs += 1
        return EpochRecord(
            epoch=self._n_epochs,
            seconds=time.perf_counter() - self._began,
            primal_estimate=self.primal,
            gap_estimate=self._full.gap,
            violation=violation,
            active_share=n_active / self.problem.dataset.n_examples,
            loops=loops,
            evaluations=evaluations,
            n_weights=self.engine.n_weights,
            n_duals=self.engine.n_duals,
            zero_objective=self.engine.zero_objective,
        )

    def promising(self, rule: StoppingRule) -> bool:
        """Whether the stopping criterion may be met, by the estimates of the last full loop."""
        full = self._full
        if self._rows_changed:
            full = Found(full.gap / CHANGED_SLACK, full.max_violation)
        return rule.promising(full, self.scale)

    def certify(self) -> Certificate:
        """Rebuild W from z, then make one pass over all examples and classes without updates.

        A second pass certifies the W of the Newton phase; the certificate with the lower P is
        returned.
        """
        if self._at_start is not None and self._phase is None:
            return self._at_start
        rounding = self.engine.rebuild()
        phase, other = self._phase, None
        # The phase's W first: it needs its distance from W(z), which the other certificate may
        # change.
        if phase is not None and math.isfinite(phase.primal):
            other = self.engine.certify_near(phase.weights, rounding)
        found = self._failed = self.engine.certify(rounding)
        self.dual = found.dual_objective  # without the rounding errors of many small gains
        self._returns_phase = other is not None and other.primal_objective < found.primal_objective
        return other if other is not None and self._returns_phase else found

    def weights(self) -> Weights:
        """Return W, a copy of shape (d + 1, k): the W of the Newton phase if it seems better."""
        phase = self._better_phase()
        return self.engine.weights() if phase is None else phase.weights.matrix.copy()

    def start(self) -> Start:
        """Return z, and W if it differs from W(z)."""
        if not self.keeps_duals:
            data = self.problem.dataset
            return Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        phase = self._better_phase()
        W = None if phase is None else phase.weights.matrix.copy()
        return Start(self.engine.duals(), W)

    def finish(self) -> Weights:
        """Return the certified W, shape (d + 1, k); the run ends."""
        if self._returns_phase and self._phase is not None:
            self.engine.take(self._phase.weights)
        self._phase = None
        return self.engine.weights(releases=True)

    def active(self) -> Active:
        """Return the state of the shrunk loops, for a later run with this z."""
        return Active(self._n_earlier + self._n_epochs, self._active[: self._n_active].copy())

    def resume(self, z: CsrArray, active: Active) -> float:
        """Continue from the state of an earlier run; return the bound of ||W - W(z)||."""
        self._n_earlier, self._n_active = active.n_epochs, len(active.examples)
        self._active[: self._n_active] = active.examples
        self.engine.load(z)
        return self.engine.rebuild()

    def stop(self) -> None:
        """End the loop of a different thread, between two visits."""
        self.engine.stop()

    def _warm_start(self, start: Start) -> None:
        z = of_examples(sp.csr_array(start.duals), self.engine.norms > 0)
        self.engine.load(z)
        if start.new_rows is not None:
            self.engine.rebuild()
            self.dual += self.engine.dual_objective(z)
            self._rows_changed = True
            self._new_rows = start.new_rows[self.engine.norms[start.new_rows] > 0]
            rows = np.flatnonzero(has_free(self.problem, z)).astype(np.int32)
            self._n_active = len(rows)  # those with a z inside its bounds
            self._active[: len(rows)] = rows
            return
        at_z = self._at_start = self.certify()
        if start.weights is None or self.ascent_only:
            return
        phase = self._new_phase()
        if phase is None:
            return
        phase.weights.matrix[:] = start.weights
        primal = self.engine.certify(0.0, phase.weights).primal_objective
        if primal < at_z.primal_objective:
            phase.begin(at_z.gap, primal=primal - self._constant)
            self._phase = phase

    # Coordinate ascent

    def _ascent(self, rule: StoppingRule) -> Visits:
        """Run shrunk loops to the inner tolerance or the budget, then one full loop."""
        if self.rebuilds and self._n_epochs and self._n_epochs % REBUILD_EVERY == 0:
            self.engine.rebuild()
        data, made = self.problem.dataset, 0
        if self._begins_stochastic:
            self._begins_stochastic = False
            gain = stochastic_start(self.engine, self._rows, self.rng)
            if gain is not None:
                self.dual += gain
                made = len(self._rows) * data.n_classes
        if self._new_rows is not None:
            made += self._visit_new_rows(self._new_rows, rule)
            self._new_rows = None
        loops, evaluations = self._shrunk_loops(rule)
        full = self._full_loop(rule)
        rule.cool(full, self.scale)
        evaluations += made + full.evaluations
        passes = evaluations / (data.n_examples * data.n_classes)
        self._pace.add(rule.distance(full, self.scale), passes)
        return full.max_violation, self._n_active, loops, evaluations

    def _visit_new_rows(self, rows: NDArray[np.int32], rule: StoppingRule) -> int:
        """Visit new rows, and rows with a free z, before all rows; return the computed scores.

        New rows alone would move the intercepts; the other rows prevent this.
        """
        some = np.union1d(rows, self._active[: self._n_active]).astype(np.int32)
        found = self.engine.full_loop(some, self._active, -np.inf, int(self.rng.integers(2**63)))
        self.dual += found.dual_gain
        self._full, self._n_active = found, found.n_active
        rule.cool(found, self.scale)
        return int(found.evaluations)

    def _shrunk_loops(self, rule: StoppingRule) -> tuple[int, int]:
        gap, violation = rule.shrunk_goal()
        is_close, is_sparse = False, self.problem.dataset.is_sparse
        if self._rows_changed:
            is_close = not (
                self.engine.few_classes or (is_sparse and self._n_epochs >= CLOSE_EPOCHS)
            )
            gap *= CLOSE_GOAL if is_close and not is_sparse else CHANGED_GOAL
        negligible = self.engine.negligible * gap / max(1, self._n_active)
        min_gap = max(0.0, negligible if self._is_fast and not is_close else 0.0)
        n_epochs = self._n_earlier + self._n_epochs
        effort = self.engine.effort(len(self._rows), self._n_active, n_epochs)
        goal = _core.ShrunkGoal(gap, violation, effort, min_gap)
        seed = int(self.rng.integers(2**63))
        found = self.engine.shrunk_loops(self._active, self._n_active, goal, seed)
        self.dual += found.dual_gain
        self._n_active = found.n_active
        return found.loops, found.evaluations

    def _full_loop(self, rule: StoppingRule) -> _core.SweepResult:
        gap_before = self._full.gap if self._n_epochs else np.inf
        goal, _ = rule.shrunk_goal()
        problem = self.problem
        skips = self._n_epochs and problem.formulation.takes_maximum and problem.dataset.is_sparse
        min_gap = SKIPPED * goal / max(1, len(self._rows)) if skips else -np.inf
        seed = int(self.rng.integers(2**63))
        full = self.engine.full_loop(self._rows, self._active, min_gap, seed)
        self._full = full
        self.dual += full.dual_gain
        self._n_active = full.n_active
        self._is_fast = FAST * full.gap <= gap_before
        return full

    # The Newton phase

    def _due_phase(self) -> NewtonPhase | None:
        """Return the Newton phase if the next epoch is one of its rounds, possibly the first."""
        phase = self._phase
        if phase is not None and phase.running:
            return phase
        if phase is not None and not phase.may_begin():
            return None
        share, epochs = newton_phase.beginning(self.problem)
        near = self._n_epochs > 0 and self._full.gap < share * self.primal
        if not (near or self._n_epochs >= epochs):
            return None
        lists = not self.engine.few_classes
        passes = newton_on_lists.passes(self.problem) if lists else newton_phase.NEWTON_PASSES
        if not self._pace.is_slow(passes):
            return None
        phase = self._phase = phase or self._new_phase()
        if phase is None:
            return None
        phase.begin(self._full.gap, self._pace.rate())
        return phase if phase.running else None

    def _new_phase(self) -> NewtonPhase | None:
        """Return a new Newton phase, if one is allowed."""
        engine = self.engine
        try:
            if engine.few_classes and newton_phase.is_allowed(self.problem):
                return NewtonPhase(engine, engine.newton())
            if newton_on_lists.is_allowed(engine):
                return NewtonPhase(engine, NewtonOnLists(engine), length_on_parts)
        except MemoryError:  # coordinate ascent does not need more
            pass
        return None

    def _newton_round(self, phase: NewtonPhase) -> Visits | None:
        """Run one round; return None and end the phase for good if it does not fit into memory."""
        try:
            found = phase.round()
        except MemoryError:  # z has not changed
            phase.end(for_good=True)
            self.engine.rebuild()
            return None
        self.dual = found.primal + self._constant - found.gap
        self._full = found
        if not phase.running:
            self.engine.rebuild()  # for coordinate ascent
            self._n_active = 0  # the next full loop finds the active examples
        return found.max_violation, found.n_zone, found.steps, found.evaluations

    def _better_phase(self) -> NewtonPhase | None:
        """Return the Newton phase if its W seems better than W(z)."""
        phase = self._phase
        if phase is None or not math.isfinite(phase.primal):
            return None
        better = phase.primal + self._constant < self.primal
        return phase if phase.running or better else None
