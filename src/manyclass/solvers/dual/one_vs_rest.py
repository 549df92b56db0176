"""One-vs-rest: its classes are independent, so small groups of them train separately, in threads.

    min_w  1/2 ||w_c||^2 + sum_i C_i max(0, 1 -+ w_c . x_i)     for each class c

Given: as for the sequential dual method, which solves each group. Returned: the same as from one
thread, up to the random order of the visits; the objective, the gap and the certificate are sums
over the groups. Source: Lin 2008 (the dual coordinate descent that the visits amount to).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from manyclass.problem.problem import Problem, problem_of
from manyclass.problem.solution import Certificate, EpochRecord, Start, start_of
from manyclass.solvers.dual.coordinate_ascent import SequentialDual
from manyclass.solvers.dual.state import State
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.weights.layout import BLOCK_BYTES, classes_in_group
from manyclass.utils.types import Array

R = TypeVar("R")


@dataclass(slots=True, eq=False)
class Group:
    """Some neighbouring classes: their problem and the state of its training."""

    classes: slice
    problem: Problem
    solver: SequentialDual
    state: State
    rule: StoppingRule | None = None
    record: EpochRecord | None = None

    def has_converged(self) -> bool:
        """Whether these classes alone would meet the rule, by the last epoch's estimates."""
        return self.rule is not None and self.solver.promising(self.state, self.rule)


@dataclass(slots=True, eq=False)
class Groups:
    """State of all groups, and the threads that train them."""

    members: list[Group]
    threads: ThreadPoolExecutor
    records: list[EpochRecord] = field(default_factory=list)
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class PooledFindings:
    """Findings of the full loops of all groups."""

    gap: float
    max_violation: float


class OneVsRest:
    """Solver for formulations whose classes are independent.

    Parameters
    ----------
    rng : numpy.random.Generator
        Orders the loops; each group has a generator of its own.
    n_jobs : int, default=1
        Threads; no fewer groups than that, where they fill a block each.
    ascent_only : bool, default=False
        As for the sequential dual method.
    """

    def __init__(
        self, rng: np.random.Generator, n_jobs: int = 1, *, ascent_only: bool = False
    ) -> None:
        self.rng = rng
        self.n_jobs = n_jobs
        self.ascent_only = ascent_only

    def init(self, problem: Problem, start: Start | None) -> Groups:
        """Begin from z = 0, or where another training ended."""
        data = problem.dataset
        k = data.n_classes
        per_block = BLOCK_BYTES // data.dtype.itemsize
        n_groups = max(-(-k // classes_in_group(data.dtype)), min(self.n_jobs, -(-k // per_block)))
        bounds = np.linspace(0, k, n_groups + 1).round().astype(int)
        members = []
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            part = slice(first, last)
            some = problem_of(problem, part)
            rng = np.random.default_rng(self.rng.integers(2**63))
            n_jobs = max(1, self.n_jobs // n_groups)
            solver = SequentialDual(rng, n_jobs, ascent_only=self.ascent_only)
            members.append(Group(part, some, solver, solver.init(some, start_of(start, part))))
        return Groups(members, ThreadPoolExecutor(min(self.n_jobs, len(members))))

    def epoch(self, problem: Problem, state: Groups, rule: StoppingRule) -> EpochRecord:  # noqa: ARG002 (solve passes it; groups have their own)
        """Run one epoch of every group that has not converged, in parallel."""

        def train(group: Group) -> EpochRecord:
            if group.rule is None:
                group.rule = copy.copy(rule)  # each group has its own cooling
            return group.solver.epoch(group.problem, group.state, group.rule)

        todo = [group for group in state.members if not group.has_converged()] or state.members
        trained = self._map(state, train, todo)
        state.epoch += 1
        for group, record in zip(todo, trained, strict=True):
            group.record = record
        state.records = [group.record for group in state.members if group.record]
        records = state.records
        return EpochRecord(
            epoch=state.epoch,
            seconds=max(record.seconds for record in records),
            primal_estimate=sum(record.primal_estimate for record in records),
            gap_estimate=sum(record.gap_estimate for record in records),
            violation=max(record.violation for record in records),
            active_share=float(np.mean([record.active_share for record in records])),
            loops=max(record.loops for record in trained),
            evaluations=sum(record.evaluations for record in trained),
            n_weights=sum(record.n_weights for record in records),
            n_duals=sum(record.n_duals for record in records),
        )

    def promising(self, state: Groups, rule: StoppingRule) -> bool:
        """Whether the last epoch's estimates say that the rule may be met."""
        found = PooledFindings(
            sum(record.gap_estimate for record in state.records),
            max(record.violation for record in state.records),
        )
        return rule.promising(found, sum(record.primal_estimate for record in state.records))

    def dual_objective(self, state: Groups) -> float:
        """Return D."""
        return sum(group.state.dual for group in state.members)

    def certify(self, problem: Problem, state: Groups) -> Certificate:  # noqa: ARG002 (part of the Solver protocol)
        """Certify every group; the sums hold for all."""
        parts = self._map(
            state, lambda group: group.solver.certify(group.problem, group.state), state.members
        )
        return Certificate.sum_of(parts)

    def start(self, problem: Problem, state: Groups) -> Start:
        """Return z, and the W of all groups if one of them has a W that is not W(z)."""
        parts = [group.solver.start(group.problem, group.state) for group in state.members]
        apart = any(part.weights is not None for part in parts)
        z = sp.csr_array(sp.hstack([part.duals for part in parts], format="csr"))
        return Start(z, self.weights(problem, state) if apart else None)

    def weights(self, problem: Problem, state: Groups) -> Array:
        """Return W, a copy of shape (d + 1, k)."""
        return self._gather(problem, state, SequentialDual.weights)

    def finish(self, problem: Problem, state: Groups) -> Array:
        """Return W, shape (d + 1, k); the groups' memory goes as it is copied."""
        state.threads.shutdown()
        return self._gather(problem, state, SequentialDual.finish)

    def _gather(self, problem: Problem, state: Groups, take: Callable[..., Any]) -> Array:
        data = problem.dataset
        W = np.empty((data.n_features + 1, data.n_classes), data.dtype)
        for group in state.members:
            W[:, group.classes] = take(group.solver, group.problem, group.state)
        return W

    def _map(self, state: Groups, call: Callable[[Group], R], groups: list[Group]) -> list[R]:
        """Call for groups at once; on Ctrl-C all end between two visits."""
        try:
            futures = [state.threads.submit(call, group) for group in groups]
            return [future.result() for future in futures]
        except BaseException:
            self._stop(state)
            raise

    def _stop(self, state: Groups) -> None:
        """End all threads, even if Ctrl-C is pressed again: they write to shared arrays."""
        while True:
            try:
                for group in state.members:
                    group.state.trainer.stop()
                state.threads.shutdown()
            except KeyboardInterrupt:
                continue
            return
