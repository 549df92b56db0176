"""The sequential dual method, with shrinking and an inner tolerance that falls with the gap.

Solves the dual of every formulation of the catalogue (formulations.py). Given: x_i, y_i, C_i and a
stopping rule. Returned: W, z, and a certificate of the gap. An epoch is some loops over the
shrunk problem (the examples whose z may still move, and of each only its non-zero z), then one loop
over all examples and classes; every loop in a new random order, every visit solving the block of
one example exactly. Where that is slow and features are few, the Newton phase (proximal_newton.py)
goes on. Where it saves time, the first z comes from stochastic steps (stochastic_init.py).
Source: Keerthi et al. 2008, algorithms 2.1 and 3.1 and sec. 2.3.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights
from manyclass.solvers.dual.class_major_store import ClassMajorStore
from manyclass.solvers.dual.newton_switch import LANE_TRAINERS, new_phase, newton_round, next_phase
from manyclass.solvers.dual.state import State
from manyclass.solvers.dual.stochastic_init import is_worthwhile, stochastic_start
from manyclass.solvers.dual.table_weights import TableStore
from manyclass.solvers.dual.weight_store import DenseStore, WeightStore
from manyclass.solvers.kernels import check_squared_norms
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.weights.dense import distance, squared_norm, subtract_means
from manyclass.solvers.weights.layout import in_batches
from manyclass.utils.types import Array

# In the shrunk loops an example waits for the next full loop once its gap is below the store's
# `negligible` times an active example's part of the gap that they aim at: most of the effort then
# goes where most is to be gained. But only while every epoch divides the gap by FAST or more: slow
# problems advance by many steps that each gain next to nothing.
FAST = 1.5
# In the full loops of a maximum formulation an example is looked at but left as it is while its gap
# is below SKIPPED times its part of the gap that the shrunk loops aim at. Only where examples share
# few features: elsewhere each step changes every score, and what was looked at is soon out of date
# (measured: a quarter less time on news20, a fifth on sector; a tenth more on letter and dna; no
# gain for sums of losses).
SKIPPED = 1
# W is rebuilt from z after so many epochs, before rounding has moved it away from W(z).
REBUILD_EVERY = 16

Storage = Literal["dense", "class_major", "tables"]
STORES: dict[Storage, Callable[[], WeightStore]] = {
    "dense": DenseStore,
    "class_major": ClassMajorStore,
    "tables": TableStore,
}


class SequentialDual:
    """Solver for every formulation.

    Parameters
    ----------
    rng : numpy.random.Generator
        Orders the loops.
    n_jobs : int, default=1
        Threads of the Newton phase, and of the passes that only read.
    storage : {"dense", "class_major", "tables"}, default=None
        How W is stored; "tables" (hash tables) for formulations with relative margins. None:
        class-major where dense rows are to be visited in batches, else dense.
    keeps_duals : bool, default=True
        Whether z is kept for a warm start, which may be n x k numbers; z = 0 is returned otherwise.
    ascent_only : bool, default=False
        Whether coordinate ascent is all: no Newton phase, and no stochastic steps before it.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        n_jobs: int = 1,
        *,
        storage: Storage | None = None,
        keeps_duals: bool = True,
        ascent_only: bool = False,
    ) -> None:
        self.storage = storage
        self.store: WeightStore
        self.rng = rng
        self.n_jobs = n_jobs
        self.keeps_duals = keeps_duals
        self.ascent_only = ascent_only

    def init(self, problem: Problem, start: Start | None) -> State:
        """Begin from z = 0, or where another training ended."""
        self.store = self._store_for(problem)
        state = self.store.begin(problem, self.rng, self.n_jobs)
        norms = state.trainer.squared_norms()
        check_squared_norms(norms)
        state.rows = np.flatnonzero(norms > 0).astype(np.int32)
        state.active = np.empty(len(state.rows), np.int32)
        state.constant = self.store.constant_loss(problem, state, np.flatnonzero(norms == 0))
        state.dual = state.constant
        if start is not None:
            state.earlier_epochs = len(start.history)
            self._warm_start(problem, state, start)
        elif isinstance(state.trainer, LANE_TRAINERS) and not self.ascent_only:
            state.use_sgd_init = is_worthwhile(problem, norms)
        return state

    def _store_for(self, problem: Problem) -> WeightStore:
        storage = self.storage or ("class_major" if in_batches(problem) else "dense")
        return STORES[storage]()

    def epoch(self, problem: Problem, state: State, rule: StoppingRule) -> EpochRecord:
        """Run one epoch of coordinate ascent, or one round of the Newton phase."""
        if state.failed_certificate is not None:
            primal = state.failed_certificate.primal_objective
            state.pace.correct(rule.distance(state.failed_certificate, primal))
            state.full, state.failed_certificate = state.failed_certificate, None
        phase = None if self.ascent_only else next_phase(problem, state, self.n_jobs)
        record = None
        if phase is not None:
            n_weights = self.store.n_weights(problem, state)
            record = newton_round(problem, state, phase, self.store.rebuild, n_weights)
        return record or self._ascent(problem, state, rule)

    def _ascent(self, problem: Problem, state: State, rule: StoppingRule) -> EpochRecord:
        """Shrunk loops until the inner tolerance or the budget is reached, then one full loop."""
        if state.epoch and state.epoch % REBUILD_EVERY == 0:
            self.store.rebuild(problem, state)
        made = self._stochastic_start(problem, state) if state.use_sgd_init else 0
        loops, evaluations = self._shrunk_loops(problem, state, rule)
        full = self._full_loop(problem, state, rule)
        state.epoch += 1
        primal = state.dual + state.full.gap
        rule.cool(full, primal)
        evaluations += made + full.evaluations
        scores = problem.dataset.n_examples * problem.dataset.n_classes
        state.pace.add(rule.distance(full, primal), evaluations / scores)
        return EpochRecord(
            epoch=state.epoch,
            seconds=time.perf_counter() - state.began,
            primal_estimate=primal,
            gap_estimate=state.full.gap,
            violation=state.full.max_violation,
            active_share=state.n_active / problem.dataset.n_examples,
            loops=loops,
            evaluations=evaluations,
            n_weights=self.store.n_weights(problem, state),
            n_duals=state.z.count,
        )

    def _stochastic_start(self, problem: Problem, state: State) -> int:
        """Leave z = 0 by stochastic steps; return the scores that they computed."""
        state.use_sgd_init = False
        try:
            z = stochastic_start(problem, state.rows, state.weights, self.rng)
        except OverflowError:
            return 0  # descent makes shorter steps
        state.z.from_csr(z.indptr.astype(np.int64), z.indices.astype(np.int32), z.data)
        norm = squared_norm(state.weights, problem.dataset.n_classes, apart=False)
        state.dual += float(z.sum(dtype=np.float64)) - 0.5 * norm
        return len(state.rows) * problem.dataset.n_classes

    def promising(self, state: State, rule: StoppingRule) -> bool:
        """Whether the last full loop's estimates say that the rule may be met."""
        return rule.promising(state.full, state.dual + state.full.gap)

    def dual_objective(self, state: State) -> float:
        """Return D, kept by the gains of the visits."""
        return state.dual

    def certify(self, problem: Problem, state: State) -> Certificate:
        """Rebuild W from z, then one pass over all examples and classes that changes nothing.

        A second pass certifies the W of the Newton phase; that of the two with the lower P is
        returned.
        """
        rounding = self.store.rebuild(problem, state)
        certificate = self._certificate(problem, state, state.weights, rounding)
        state.failed_certificate = certificate
        state.dual = certificate.dual_objective  # free of the rounding of many small gains
        state.returned = None
        if state.newton is not None and math.isfinite(state.newton.primal):
            W = state.newton.weights
            if problem.formulation.centred:
                subtract_means(W, problem.dataset.n_classes)
            apart = distance(W, state.weights, problem.dataset.n_classes)
            other = self._certificate(problem, state, W, apart + rounding)
            if other.primal_objective < certificate.primal_objective:
                state.returned = W
                return other
        return certificate

    def weights(self, problem: Problem, state: State) -> Weights:
        """Return W, a copy of shape (d + 1, k): that of the Newton phase if it seems better."""
        W = self._apart(state)
        return self.store.matrix(problem, state, state.weights if W is None else W)

    def start(self, problem: Problem, state: State) -> Start:
        """Return z, and W if it is not W(z)."""
        if not self.keeps_duals:
            data = problem.dataset
            return Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        newton = self._apart(state)
        W = None if newton is None else self.store.matrix(problem, state, newton)
        return Start(self.store.duals(problem, state), W)

    def _apart(self, state: State) -> Array | None:
        """Return the W of the Newton phase, if it seems better than W(z)."""
        phase = state.newton
        if phase is None or not math.isfinite(phase.primal):
            return None
        better = phase.primal + state.constant < state.dual + state.full.gap
        return phase.weights if phase.running or better else None

    def finish(self, problem: Problem, state: State) -> Weights:
        """Return W, shape (d + 1, k); the state has none afterwards."""
        return self.store.release(problem, state)

    def _warm_start(self, problem: Problem, state: State, start: Start) -> None:
        dtype = problem.dataset.dtype
        visited = np.zeros(problem.dataset.n_examples, dtype=bool)
        visited[state.rows] = True
        given = self.store.stored(state, sp.csr_array(start.duals))
        z = sp.csr_array(sp.diags_array(visited.astype(dtype)) @ given)
        z.eliminate_zeros()
        state.z.from_csr(
            z.indptr.astype(np.int64), z.indices.astype(np.int32), z.data.astype(dtype)
        )
        at_z = self.certify(problem, state)
        if start.weights is None or self.ascent_only:
            return
        phase = new_phase(problem, state, self.n_jobs)
        if phase is None:
            return
        phase.weights[:, : problem.dataset.n_classes] = start.weights
        primal = self._certificate(problem, state, phase.weights, 0.0).primal_objective
        if primal < at_z.primal_objective:
            phase.resume(at_z.gap, primal - state.constant)
            state.newton = phase

    def _shrunk_loops(self, problem: Problem, state: State, rule: StoppingRule) -> tuple[int, int]:
        budget = self.store.shrunk_effort(problem, state)
        gap, violation = rule.shrunk_goal()
        min_gap = self.store.negligible * gap / max(1, state.n_active) if state.fast else 0.0
        result = state.trainer.shrunk_loops(
            state.weights,
            state.z,
            state.active,
            state.n_active,
            _core.ShrunkGoal(gap, violation, budget, max(0.0, min_gap)),
            self._seed(),
        )
        state.dual += result.dual_gain
        state.n_active = result.n_active
        return result.loops, result.evaluations

    def _full_loop(self, problem: Problem, state: State, rule: StoppingRule) -> _core.SweepResult:
        gap_before = state.full.gap if state.epoch else np.inf
        goal, _ = rule.shrunk_goal()
        skips = state.epoch and problem.formulation.takes_maximum and problem.dataset.is_sparse
        min_gap = SKIPPED * goal / max(1, len(state.rows)) if skips else -np.inf
        full: _core.SweepResult = state.trainer.full_loop(
            state.weights, state.z, state.rows, state.active, min_gap, self._seed()
        )
        state.full = full
        state.dual += full.dual_gain
        state.n_active = full.n_active
        state.fast = FAST * state.full.gap <= gap_before
        return full

    def _certificate(
        self, problem: Problem, state: State, weights: Any, distance: float
    ) -> Certificate:
        return self.store.certificate(problem, state, weights, distance, self.n_jobs)

    def _seed(self) -> int:
        return int(self.rng.integers(2**63))
