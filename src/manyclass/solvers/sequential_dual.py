"""The sequential dual method with shrinking and cooling.

Solves the dual of every formulation of the catalogue (formulations.py). Given: x_i, y_i, C_i and a
stopping rule. Returned: W, z, and a certificate of the gap. An epoch is some loops over the
shrunk problem (the examples whose z may still move, and of each only its non-zero z), then one loop
over all examples and classes; every loop in a new random order, every visit solving the block of
one example exactly. Where that is slow and features are few, the Newton phase (newton.py) goes on.
Where it saves time, z = 0 is left by stochastic steps (stochastic_start.py).
Source: Keerthi et al. 2008, algorithms 2.1 and 3.1 and sec. 2.3.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem import Problem
from manyclass.solution import Certificate, EpochRecord, Start
from manyclass.solvers.core import (
    NO_COMMON,
    as_returned,
    core_classes,
    in_lanes,
    mean_apart,
    rows_per_call,
    trainer_arguments,
)
from manyclass.solvers.dual_state import State
from manyclass.solvers.newton_rounds import LANE_TRAINERS, NewtonRounds
from manyclass.solvers.stochastic_start import is_worthwhile, stochastic_start
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.weights import (
    allocate_weights,
    antisymmetric,
    classes_of,
    distance,
    pack,
    squared_norm,
    subtract_means,
)

# Shrunk loops end after this effort, in full loops' worth of scores (Keerthi et al. 2008).
SHRUNK_EFFORT = 5
# After this many epochs the effort grows with the epochs: the last digits take many shrunk loops,
# and full loops between them gain little (measured: sector, Weston-Watkins, 3e-5 in float32: 37
# epochs instead of 66, a quarter less time).
LONG_RUN = 10
# In the shrunk loops an example waits for the next full loop once its gap is below this many times
# an active example's part of the gap that they aim at: most of the effort then goes where most is
# to be gained (measured: a third less time on sector, a tenth on news20). But only while every
# epoch divides the gap by FAST or more: slow problems advance by many steps that each gain next to
# nothing.
NEGLIGIBLE = 3
FAST = 1.5
# In the full loops of a maximum formulation an example is looked at but left as it is while its gap
# is below SKIPPED times its part of the gap that the shrunk loops aim at. Only where examples share
# few features: elsewhere each step changes every score, and what was looked at is soon out of date
# (measured: a quarter less time on news20, a fifth on sector; a tenth more on letter and dna; no
# gain for sums of losses).
SKIPPED = 1
# W is rebuilt from z after so many epochs, before rounding has moved it away from W(z).
REBUILD_EVERY = 16


class SequentialDual(NewtonRounds):
    """Solver for every formulation.

    Parameters
    ----------
    rng : numpy.random.Generator
        Orders the loops.
    n_jobs : int, default=1
        Threads of the Newton phase, and of the passes that only read.

    Attributes
    ----------
    keeps_duals : bool
        Whether somebody goes on from z, which may be n x k numbers; z = 0 is returned otherwise.
    """

    keeps_duals = True

    def __init__(self, rng: np.random.Generator, n_jobs: int = 1) -> None:
        self.rng = rng
        self.n_jobs = n_jobs

    def init(self, problem: Problem, start: Start | None) -> State:
        """Begin from z = 0, or where another training ended."""
        state = self._begin(problem)
        norms = state.trainer.squared_norms()
        if not np.isfinite(norms).all():
            raise FloatingPointError("the square of a row of X overflows; scale the features")
        state.rows = np.flatnonzero(norms > 0).astype(np.int32)
        state.active = np.empty(len(state.rows), np.int32)
        state.constant = self._constant(problem, state, np.flatnonzero(norms == 0))
        state.dual = state.constant
        if start is not None:
            self._warm_start(problem, state, start)
        elif isinstance(state.trainer, LANE_TRAINERS):
            state.steps_first = is_worthwhile(problem, norms)
        return state

    def _begin(self, problem: Problem) -> State:
        """W = 0 and z = 0."""
        began = time.perf_counter()
        data = problem.dataset
        trainer_of, duals_of = core_classes(problem)
        columns = data.n_classes + mean_apart(problem)
        buffer, weights = allocate_weights(data.n_features + 1, columns, data.dtype)
        trainer = trainer_of(**trainer_arguments(problem))
        z = duals_of(data.n_examples, data.n_classes)
        return State(trainer, z, buffer, weights, began)

    def _constant(self, problem: Problem, state: State, empty: NDArray[np.intp]) -> float:  # noqa: ARG002 (of sparse weights)
        """D(0): what the examples with x_i = 0 add, whose loss is constant."""
        look = state.trainer.inspect  # W = 0
        at = empty.tolist()
        return float(sum(look(state.weights, state.z, NO_COMMON, 0.0, i, i + 1).loss for i in at))

    def epoch(self, problem: Problem, state: State, rule: StoppingRule) -> EpochRecord:
        """One of descent, or a round of the Newton phase."""
        if state.refuted is not None:
            primal = state.refuted.primal_objective
            state.pace.correct(rule.distance(state.refuted, primal))
            state.full, state.refuted = state.refuted, None
        phase = self._newton(problem, state)
        if phase is not None:
            return self._newton_round(problem, state, phase, rule)
        return self._descent(problem, state, rule)

    def _descent(self, problem: Problem, state: State, rule: StoppingRule) -> EpochRecord:
        """Shrunk loops until the rule is content or the effort is spent, then one full loop."""
        if state.epoch and state.epoch % REBUILD_EVERY == 0:
            self._rebuild(problem, state)
        made = self._stochastic_start(problem, state) if state.steps_first else 0
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
            n_weights=self._n_weights(problem, state),
            n_duals=state.z.count,
        )

    def _stochastic_start(self, problem: Problem, state: State) -> int:
        """Leave z = 0 by stochastic steps; return the scores that they computed."""
        state.steps_first = False
        try:
            z = stochastic_start(problem, state.rows, state.weights, self.rng)
        except OverflowError:
            return 0  # descent makes shorter steps
        state.z.from_csr(z.indptr.astype(np.int64), z.indices.astype(np.int32), z.data)
        norm = squared_norm(state.weights, problem.dataset.n_classes, apart=False)
        state.dual += float(z.sum(dtype=np.float64)) - 0.5 * norm
        return len(state.rows) * problem.dataset.n_classes

    def _n_weights(self, problem: Problem, state: State) -> int:  # noqa: ARG002 (of sparse weights)
        return (problem.dataset.n_features + 1) * problem.dataset.n_classes

    def promising(self, state: State, rule: StoppingRule) -> bool:
        """Whether the last full loop's estimates say that the rule may be met."""
        return rule.promising(state.full, state.dual + state.full.gap)

    def dual_objective(self, state: State) -> float:
        """Return D, kept by the gains of the visits."""
        return state.dual

    def certify(self, problem: Problem, state: State) -> Certificate:
        """Rebuild W from z, then one pass over all examples and classes that changes nothing.

        A second pass judges the W of the Newton phase; that of the two with the lower P is
        returned.
        """
        rounding = self._rebuild(problem, state)
        certificate = state.refuted = self._judge(problem, state, state.weights, rounding)
        state.dual = certificate.dual_objective  # free of the rounding of many small gains
        state.returned = None
        if state.newton is not None and math.isfinite(state.newton.primal):
            W = state.newton.weights
            if problem.formulation.centred:
                subtract_means(W, problem.dataset.n_classes)
            apart = distance(W, state.weights, problem.dataset.n_classes)
            other = self._judge(problem, state, W, apart + rounding)
            if other.primal_objective < certificate.primal_objective:
                state.returned = W
                return other
        return certificate

    def _judge(self, problem: Problem, state: State, weights: Any, apart: float) -> Certificate:
        """P at some W, D at z; ``apart`` is an upper bound of ||W - W(z)||.

        Where W is to sum to zero, what rounding leaves of its mean is taken off first. Of two
        classes, the estimator keeps the difference.
        """
        if problem.dataset.n_classes == 2 and problem.formulation.sum_to_zero != "no":
            apart += antisymmetric(weights)
        common, square, moved = as_returned(problem, weights)
        apart += moved

        def inspect(part: tuple[int, int]) -> _core.SweepResult:
            found: _core.SweepResult = state.trainer.inspect(
                weights, state.z, common, math.sqrt(square), *part
            )
            return found

        found = list(self._map(inspect, list(self._ranges(problem))))
        k = problem.dataset.n_classes
        return Certificate.from_gap(
            0.5 * (square - k * float(common @ common)) + sum(part.loss for part in found),
            sum(part.gap for part in found) + 0.5 * apart * apart,
            max((part.max_violation for part in found), default=0.0),
        )

    def _duals(self, problem: Problem, state: State) -> sp.csr_array[Any]:
        """Return z, shape (n, k)."""
        indptr, labels, values = state.z.to_csr()
        shape = (problem.dataset.n_examples, problem.dataset.n_classes)
        return sp.csr_array((values, labels, indptr), shape=shape)

    def weights(self, problem: Problem, state: State) -> NDArray[Any]:
        """Return W, a copy of shape (d + 1, k): that of the Newton phase if it seems better."""
        k, apart = problem.dataset.n_classes, mean_apart(problem)
        W = self._apart(state)
        return classes_of(state.weights if W is None else W, k, apart=apart).copy()

    def start(self, problem: Problem, state: State) -> Start:
        """Return z, and W if it is not W(z)."""
        if not self.keeps_duals:
            data = problem.dataset
            return Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        W = None if self._apart(state) is None else self.weights(problem, state)
        return Start(self._duals(problem, state), W)

    def _apart(self, state: State) -> NDArray[Any] | None:
        """Return the W of the Newton phase, if it seems better than W(z)."""
        phase = state.newton
        if phase is None or not math.isfinite(phase.primal):
            return None
        better = phase.primal + state.constant < state.dual + state.full.gap
        return phase.weights if phase.running or better else None

    def finish(self, problem: Problem, state: State) -> NDArray[Any]:
        """Return W, shape (d + 1, k), packed where it lies; the state has none afterwards."""
        rows = problem.dataset.n_features + 1
        k, apart = problem.dataset.n_classes, mean_apart(problem)
        if state.returned is not None:
            np.copyto(state.weights, state.returned)
        packed = pack(state.buffer, state.weights, k, apart=apart)
        state.weights = state.buffer = np.empty((0, 0), problem.dataset.dtype)
        state.newton = state.returned = None
        # No array but `packed` still refers to the memory that is given back.
        packed.resize(rows * k, refcheck=False)
        return packed.reshape(rows, k)

    def _warm_start(self, problem: Problem, state: State, start: Start) -> None:
        dtype = problem.dataset.dtype
        visited = np.zeros(problem.dataset.n_examples, dtype=bool)
        visited[state.rows] = True
        z = sp.csr_array(sp.diags_array(visited.astype(dtype)) @ start.duals)
        z.eliminate_zeros()
        state.z.from_csr(
            z.indptr.astype(np.int64), z.indices.astype(np.int32), z.data.astype(dtype)
        )
        at_z = self.certify(problem, state)
        phase = None if start.weights is None else self._new_phase(problem, state)
        if phase is None or start.weights is None:
            return
        phase.weights[:, : problem.dataset.n_classes] = start.weights
        primal = self._judge(problem, state, phase.weights, 0.0).primal_objective
        if primal < at_z.primal_objective:
            phase.resume(at_z.gap, primal - state.constant)
            state.newton = phase

    def _rebuild(self, problem: Problem, state: State) -> float:
        """W <- W(z); return an upper bound of the distance that rounding leaves."""
        common = NO_COMMON
        if problem.formulation.centred:
            n = problem.dataset.n_examples
            sigma = np.zeros(n)
            state.trainer.row_sums(state.z, np.arange(n, dtype=np.int32), sigma)
            common = state.trainer.sum_of_rows(sigma / problem.dataset.n_classes)
        return float(state.trainer.rebuild(state.weights, state.z, common))

    def _shrunk_loops(self, problem: Problem, state: State, rule: StoppingRule) -> tuple[int, int]:
        budget = self._shrunk_effort(problem, state)
        gap, violation = rule.shrunk_goal()
        min_gap = NEGLIGIBLE * gap / max(1, state.n_active) if state.fast else 0.0
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

    def _shrunk_effort(self, problem: Problem, state: State) -> int:
        """Scores that the shrunk loops may compute."""
        effort = SHRUNK_EFFORT * (1 + in_lanes(problem)) * max(1.0, state.epoch / LONG_RUN)
        return int(effort * len(state.rows) * problem.dataset.n_classes)

    def _full_loop(self, problem: Problem, state: State, rule: StoppingRule) -> _core.SweepResult:
        gap_before = state.full.gap if state.epoch else np.inf
        goal, _ = rule.shrunk_goal()
        skips = (
            state.epoch and problem.formulation.aggregation == "max" and problem.dataset.is_sparse
        )
        min_gap = SKIPPED * goal / max(1, len(state.rows)) if skips else -np.inf
        full: _core.SweepResult = state.trainer.full_loop(
            state.weights, state.z, state.rows, state.active, min_gap, self._seed()
        )
        state.full = full
        state.dual += full.dual_gain
        state.n_active = full.n_active
        state.fast = FAST * state.full.gap <= gap_before
        return full

    def _seed(self) -> int:
        return int(self.rng.integers(2**63))

    def _ranges(self, problem: Problem) -> Iterator[tuple[int, int]]:
        n = problem.dataset.n_examples
        size = min(rows_per_call(problem), -(-n // self.n_jobs))
        return ((begin, min(begin + size, n)) for begin in range(0, n, size))

    def _map(
        self,
        call: Callable[[tuple[int, int]], _core.SweepResult],
        parts: list[tuple[int, int]],
    ) -> Iterator[_core.SweepResult]:
        if self.n_jobs == 1:
            yield from map(call, parts)
            return
        with ThreadPoolExecutor(self.n_jobs) as threads:
            yield from threads.map(call, parts)
