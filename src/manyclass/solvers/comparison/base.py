"""The frame of a comparison method: dense W, z in lists, the common certificate.

A method brings ``_begin`` (its own arrays), ``_loop`` (one epoch) and ``_duals`` (its z).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights
from manyclass.solvers.dual.state import State
from manyclass.solvers.dual.weight_store import DenseStore
from manyclass.solvers.kernels import check_squared_norms, trainer_arguments
from manyclass.solvers.stopping import Findings, StoppingRule
from manyclass.solvers.weights.dense import distance
from manyclass.utils.core_class import core_class
from manyclass.utils.types import Array, CsrArray


@dataclass(slots=True, eq=False)
class ComparisonState:
    """State between two epochs: what the certificate needs, and a method's own."""

    store: State
    kernels: _core.ComparisonTrainer64
    filled: NDArray[np.bool_]  # whether x_i != 0
    own: Any = None
    best: Array | None = None  # W with the lowest P so far, where that may not be W(z)
    full: Findings = field(default_factory=_core.SweepResult)


@dataclass(frozen=True, slots=True)
class LoopFindings:
    """What an epoch found."""

    gap: float
    max_violation: float
    evaluations: int
    loops: int = 0
    active_share: float = 1.0


O = TypeVar("O")  # noqa: E741 (a method's own arrays)


class ComparisonSolver(ABC, Generic[O]):
    """Solver with dense W, in one process and on one thread.

    Parameters
    ----------
    rng : numpy.random.Generator
        Orders the loops.
    n_jobs : int, default=1
        Threads of the certificate.
    """

    def __init__(self, rng: np.random.Generator, n_jobs: int = 1) -> None:
        self.rng = rng
        self.n_jobs = n_jobs
        self.store = DenseStore(lanes=False)

    def init(self, problem: Problem, start: Start | None) -> ComparisonState:
        """Begin from the method's first point, or from the z of another training."""
        held = self.store.begin(problem, self.rng, self.n_jobs)
        norms = held.trainer.squared_norms()
        check_squared_norms(norms)
        held.rows = np.flatnonzero(norms > 0).astype(np.int32)
        held.constant = self.store.constant_loss(problem, held, np.flatnonzero(norms == 0))
        kernels = core_class("ComparisonTrainer", problem.dataset.dtype)
        state = ComparisonState(held, kernels(**trainer_arguments(problem)), norms > 0)
        z = None
        if start is not None:
            held.earlier_epochs = len(start.history)
            z = sp.csr_array(sp.diags_array(state.filled.astype(float)) @ start.duals)
            z.eliminate_zeros()
        self._begin(problem, state, z)
        state.full = self.certify(problem, state)
        return state

    def epoch(self, problem: Problem, state: ComparisonState, rule: StoppingRule) -> EpochRecord:
        """Run one epoch of the method."""
        held = state.store
        found = self._loop(problem, state)
        held.epoch += 1
        primal = held.dual + found.gap
        state.full = found
        rule.cool(found, primal)
        return EpochRecord(
            epoch=held.epoch,
            seconds=time.perf_counter() - held.began,
            primal_estimate=primal,
            gap_estimate=found.gap,
            violation=found.max_violation,
            active_share=found.active_share,
            loops=found.loops,
            evaluations=found.evaluations,
            n_weights=self.store.n_weights(problem, held),
            n_duals=held.z.count,
        )

    def promising(self, state: ComparisonState, rule: StoppingRule) -> bool:
        """Whether the last epoch's estimates say that the rule may be met."""
        return rule.promising(state.full, state.store.dual + state.full.gap)

    def dual_objective(self, state: ComparisonState) -> float:
        """Return D."""
        return state.store.dual

    def certify(self, problem: Problem, state: ComparisonState) -> Certificate:
        """Compute the certificate of z at W(z), and at the best W where there is another."""
        held = state.store
        self._put_duals(problem, state)
        rounding = self.store.rebuild(problem, held)
        found = self.store.certificate(problem, held, held.weights, rounding, self.n_jobs)
        held.dual = found.dual_objective
        held.returned = None
        if state.best is not None:
            apart = distance(state.best, held.weights, problem.dataset.n_classes) + rounding
            other = self.store.certificate(problem, held, state.best, apart, self.n_jobs)
            if other.primal_objective < found.primal_objective:
                held.returned, found = state.best, other
        return found

    def start(self, problem: Problem, state: ComparisonState) -> Start:
        """Return z."""
        self._put_duals(problem, state)
        return Start(self.store.duals(problem, state.store))

    def weights(self, problem: Problem, state: ComparisonState) -> Weights:
        """Return W, a copy of shape (d + 1, k)."""
        best = state.store.weights if state.best is None else state.best
        return self.store.matrix(problem, state.store, best)

    def finish(self, problem: Problem, state: ComparisonState) -> Weights:
        """Return W, shape (d + 1, k); the state has none afterwards."""
        return self.store.release(problem, state.store)

    @abstractmethod
    def _begin(self, problem: Problem, state: ComparisonState, z: CsrArray | None) -> None:
        """Set ``state.own``; begin at z where it is given."""

    @abstractmethod
    def _loop(self, problem: Problem, state: ComparisonState) -> LoopFindings:
        """Run one epoch; update W, and D in ``state.store.dual``."""

    @abstractmethod
    def _put_duals(self, problem: Problem, state: ComparisonState) -> None:
        """Write z to ``state.store.z``."""

    def _seed(self) -> int:
        return int(self.rng.integers(2**63))


def set_duals(problem: Problem, lists: _core.Duals64, z: CsrArray) -> None:
    """Write z, shape (n, k), to the lists of the core."""
    dtype = problem.dataset.dtype
    lists.from_csr(z.indptr.astype(np.int64), z.indices.astype(np.int32), z.data.astype(dtype))
