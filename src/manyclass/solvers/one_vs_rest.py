"""One-vs-rest: the classes are independent, so small groups are trained separately, in threads.

    min_w  1/2 ||w_c||^2 + sum_i C_i max(0, 1 -+ w_c . x_i)     for each class c

Input: as for the sequential dual method, which solves each group. Output: the same as with one
thread, except for the random order of the visits; the objective, the gap and the certificate are
sums over the groups. Source: Lin 2008 (the visits are equivalent to dual coordinate descent).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from manyclass.problem.problem import Problem, problem_of
from manyclass.problem.solution import (
    Certificate,
    EpochRecord,
    Start,
    Weights,
    scale_of,
    start_of,
)
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.stopping import Found, StoppingRule
from manyclass.solvers.weights.storage import BLOCK_BYTES, classes_in_group
from manyclass.utils.types import Array

R = TypeVar("R")


@dataclass(slots=True, eq=False)
class Group:
    """Some adjacent classes, and their training."""

    classes: slice
    solver: SequentialDual
    rule: StoppingRule | None = None
    record: EpochRecord | None = None


class OneVsRest:
    """Solver for formulations with independent classes.

    Parameters
    ----------
    problem : Problem
    start : Start or None
    rng : numpy.random.Generator
        Orders the loops; each group has its own generator.
    n_jobs : int, default=1
        Threads; there are at least as many groups, if each fills a block.
    ascent_only : bool, default=False
        See ``SequentialDual``.
    """

    is_exact = False  # estimates are sums over visits while W changes

    def __init__(
        self,
        problem: Problem,
        start: Start | None,
        rng: np.random.Generator,
        n_jobs: int = 1,
        *,
        ascent_only: bool = False,
    ) -> None:
        self.problem = problem
        data = problem.dataset
        k = data.n_classes
        per_block = BLOCK_BYTES // data.dtype.itemsize
        n_groups = max(-(-k // classes_in_group(data.dtype)), min(n_jobs, -(-k // per_block)))
        bounds = np.linspace(0, k, n_groups + 1).round().astype(int)
        self._groups: list[Group] = []
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            part = slice(first, last)
            solver = SequentialDual(
                problem_of(problem, part),
                start_of(start, part),
                np.random.default_rng(rng.integers(2**63)),
                max(1, n_jobs // n_groups),
                ascent_only=ascent_only,
            )
            self._groups.append(Group(part, solver))
        self._n_threads = min(n_jobs, n_groups)
        self._threads = ThreadPoolExecutor(self._n_threads)  # starts threads when it is used
        self._records: list[EpochRecord] = []
        self._n_epochs = 0

    @property
    def dual(self) -> float:
        """D."""
        return sum(group.solver.dual for group in self._groups)

    def epoch(self, rule: StoppingRule) -> EpochRecord:
        """Run one epoch of every group that has not converged, in parallel."""

        def train(group: Group) -> EpochRecord:
            if group.rule is None:
                group.rule = copy.copy(rule)  # each group has its own cooling
            return group.solver.epoch(group.rule)

        # Not the groups that would meet the rule alone, by the last epoch's estimates.
        todo = [g for g in self._groups if g.rule is None or not g.solver.promising(g.rule)]
        todo = todo or self._groups
        trained = self._map(train, todo)
        self._n_epochs += 1
        for group, record in zip(todo, trained, strict=True):
            group.record = record
        records = self._records = [group.record for group in self._groups if group.record]
        return EpochRecord(
            epoch=self._n_epochs,
            seconds=max(record.seconds for record in records),
            primal_estimate=sum(record.primal_estimate for record in records),
            gap_estimate=sum(record.gap_estimate for record in records),
            violation=max(record.violation for record in records),
            active_share=float(np.mean([record.active_share for record in records])),
            loops=max(record.loops for record in trained),
            evaluations=sum(record.evaluations for record in trained),
            n_weights=sum(record.n_weights for record in records),
            n_duals=sum(record.n_duals for record in records),
            zero_objective=sum(record.zero_objective for record in records),
        )

    def promising(self, rule: StoppingRule) -> bool:
        """Whether the stopping criterion may be met, by the estimates of the last epoch."""
        gap, primal, zero = (
            sum(getattr(record, name) for record in self._records)
            for name in ("gap_estimate", "primal_estimate", "zero_objective")
        )
        found = Found(gap, max(record.violation for record in self._records))
        return rule.promising(found, scale_of(gap, primal, zero))

    def certify(self) -> Certificate:
        """Certify every group; the sums hold for all."""
        return Certificate.sum_of(self._map(lambda group: group.solver.certify(), self._groups))

    def start(self) -> Start:
        """Return z, and W of all groups if W differs from W(z) in one of them."""
        parts = [group.solver.start() for group in self._groups]
        apart = any(part.weights is not None for part in parts)
        z = sp.csr_array(sp.hstack([part.duals for part in parts], format="csr"))
        return Start(z, self.weights() if apart else None)

    def weights(self) -> Array:
        """Return W, a copy of shape (d + 1, k)."""
        return self._gather(SequentialDual.weights)

    def finish(self) -> Array:
        """Return W, shape (d + 1, k); the memory of each group is released after copying it."""
        self._threads.shutdown()
        return self._gather(SequentialDual.finish)

    def _gather(self, take: Callable[[SequentialDual], Weights]) -> Array:
        data = self.problem.dataset
        W = np.empty((data.n_features + 1, data.n_classes), data.dtype)
        for group in self._groups:
            W[:, group.classes] = take(group.solver)
        return W

    def _map(self, call: Callable[[Group], R], groups: list[Group]) -> list[R]:
        """Call a function for groups in parallel; on Ctrl-C, all end between two visits."""
        if self._n_threads == 1:
            return [call(group) for group in groups]
        try:
            futures = [self._threads.submit(call, group) for group in groups]
            return [future.result() for future in futures]
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        """End all threads, even if Ctrl-C is pressed again: they write to shared arrays."""
        while True:
            try:
                for group in self._groups:
                    group.solver.stop()
                self._threads.shutdown()
            except KeyboardInterrupt:
                continue
            return
