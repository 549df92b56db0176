"""Base of the solvers on several ranks: reductions, gathering of z and W, collective errors."""

from __future__ import annotations

import itertools
import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cached_property, wraps
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.distributed.communicator import Communicator, Serial
from manyclass.distributed.consensus import abort_others
from manyclass.distributed.sharded_weights import ShardedWeights
from manyclass.distributed.solvers.coo_duals import CooDuals
from manyclass.problem.problem import Problem, zero_objective
from manyclass.problem.solution import UNIT, EpochRecord, Start, Weights, exact_sum, scale_of
from manyclass.solvers.engines import Findings, Found
from manyclass.solvers.stopping import StoppingRule

F = TypeVar("F", bound=Callable[..., object])


@dataclass(slots=True)
class PassTotals:
    """Sums over loops; for the violation and the number of loops, the maximum."""

    gap: float = 0.0
    loss: float = 0.0
    dual_gain: float = 0.0
    evaluations: float = 0.0
    n_active: float = 0.0
    n_duals: float = 0.0
    n_visited: float = 0.0
    max_violation: float = 0.0
    loops: float = 0.0

    def add(self, other: PassTotals | _core.SweepResult) -> None:
        """Add the totals of one more loop."""
        self.gap += other.gap
        self.loss += other.loss
        self.dual_gain += other.dual_gain
        self.evaluations += other.evaluations
        self.n_active += other.n_active
        self.max_violation = max(self.max_violation, other.max_violation)
        if isinstance(other, PassTotals):
            self.n_duals += other.n_duals
            self.n_visited += other.n_visited
            self.loops = max(self.loops, other.loops)

    def over(self, communicator: Communicator) -> PassTotals:
        """Return the totals of all ranks, bitwise the same on each."""
        total = PassTotals()
        for values in communicator.all_gather(np.array(astuple(self), np.float64)):
            total.add(PassTotals(*values.tolist()))
        return total


def aborts_all_ranks(method: F) -> F:
    """Abort all ranks if the method raises."""

    @wraps(method)
    def call(self: DistributedSolver, *args: object, **kwargs: object) -> object:
        with abort_others(self.communicator):
            # Interrupted between two methods, which the other ranks do not notice.
            if isinstance(sys.exception(), KeyboardInterrupt) and self.communicator.size > 1:
                raise KeyboardInterrupt
            return method(self, *args, **kwargs)

    return call  # type: ignore[return-value]  # the same signature


class DistributedSolver(ABC):
    """Base class of the solvers on several ranks, which have the same problem and `rng`.

    Every rank is given W in the end if ``gathers``; otherwise ``finish`` leaves it spread. Unless
    ``keeps_duals``, ``start`` may leave z out if ranks have shares of it. ``common`` draws the same
    numbers on every rank, ``rng`` others on each.
    """

    is_exact = False  # estimates are sums over visits while W changes

    def __init__(
        self,
        problem: Problem,
        start: Start | None,
        rng: np.random.Generator,
        communicator: Communicator | None = None,
        *,
        n_jobs: int = 1,
        sparse: bool = False,
        gathers: bool = True,
        keeps_duals: bool = True,
    ) -> None:
        self._began = time.perf_counter()
        self.problem = problem
        self.dual = 0.0  # D, as training keeps it
        self._n_epochs = 0
        self._full = PassTotals()  # of the last epoch
        self.n_jobs, self.sparse = n_jobs, sparse
        self.gathers, self.keeps_duals = gathers, keeps_duals
        self.communicator = Serial() if communicator is None else communicator
        seed = int(rng.integers(2**63))
        self.common = np.random.default_rng(seed)
        self.rng = np.random.default_rng([seed, self.communicator.rank])
        self._begin(start)

    @abstractmethod
    def _begin(self, start: Start | None) -> None:
        """Begin from z = 0, or where another training ended."""

    @property
    def primal(self) -> float:
        """Estimate of P from the last epoch."""
        return self.dual + self._full.gap

    @cached_property
    def zero_objective(self) -> float:
        """P(0)."""
        return zero_objective(self.problem)

    @property
    def scale(self) -> float:
        """Denominator of the relative gap, from the same estimates."""
        return scale_of(self._full.gap, self.primal, self.zero_objective)

    def promising(self, rule: StoppingRule) -> bool:
        """Whether the stopping criterion may be met, by the estimates of the last epoch."""
        return rule.promising(self._full, self.scale)

    def _gather_found(self, found: Findings | None) -> list[Found]:
        """Return the sums of all ranks for a certificate."""
        mine = Found(0.0, 0.0, 0.0, 0.0)
        if found is not None:
            mine = Found(found.gap, found.loss, found.most_loss, found.max_violation)
        everywhere = self.communicator.all_gather(np.array(mine))
        return [Found(*values.tolist()) for values in everywhere]

    def _gather_norm(self, square: float, distance: float) -> tuple[float, float]:
        """Return ||W||^2 and a bound of ||W - W(z)||, given both for this rank."""
        everywhere = self.communicator.all_gather(np.array([square, distance * distance]))
        squares, distances = np.array(everywhere).T.tolist()
        return exact_sum(squares), math.sqrt(exact_sum(distances))

    def _end_epoch(self, found: PassTotals, dual: float, n_weights: int) -> EpochRecord:
        """Store the totals of an epoch over all ranks, and D; return its record."""
        self._full, self.dual = found, dual
        self._n_epochs += 1
        return EpochRecord(
            epoch=self._n_epochs,
            seconds=time.perf_counter() - self._began,
            primal_estimate=self.primal,
            gap_estimate=found.gap,
            violation=found.max_violation,
            active_share=found.n_active / max(1.0, found.n_visited),
            loops=int(found.loops),
            evaluations=int(found.evaluations),
            n_weights=n_weights,
            n_duals=int(found.n_duals),
            zero_objective=self.zero_objective,
        )

    @abstractmethod
    def sharded(self) -> ShardedWeights:
        """Return W, shape (d + 1, k), in its sharded form."""

    @aborts_all_ranks
    def weights(self) -> Weights:
        """Return W, shape (d + 1, k), on every rank."""
        return self.sharded().gather()

    @aborts_all_ranks
    def finish(self) -> Weights | ShardedWeights:
        """Return W, shape (d + 1, k), on every rank, or sharded; the run ends."""
        W = self.sharded()
        return W.gather() if self.gathers else W


def slack_errors(problem: Problem, norms: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """Return bounds of the rounding errors of slacks, as gap.hpp; shape (n,).

    ``norms`` are the ||x_i||^2, ``norm`` is ||W||.
    """
    nnz = np.diff(problem.dataset.indptr)
    base = problem.base
    added = 0.0 if base is None else 2 * max(float(np.abs(part).max()) for _, part in base.parts())
    return np.asarray(UNIT * (nnz + 8) * (1 + added + math.sqrt(2) * norm * np.sqrt(norms)))


def gather_duals(communicator: Communicator, mine: CooDuals) -> CooDuals:
    """Gather the z of all ranks on every rank."""
    return CooDuals(*(np.concatenate(communicator.all_gather(part)) for part in mine))


def shares(n_classes: int, n_ranks: int) -> list[slice]:
    """Return the classes of each rank: contiguous, with equal numbers up to one."""
    ends = np.linspace(0, n_classes, n_ranks + 1).round().astype(int).tolist()
    return [slice(first, last) for first, last in itertools.pairwise(ends)]
