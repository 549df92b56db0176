"""Base class of the comparison methods: dense W, z in lists, the common certificate.

A method implements ``_begin`` (its own arrays), ``_loop`` (one epoch) and ``_put_duals`` (its z).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights, scale_of
from manyclass.solvers.engines import Engine, of_examples
from manyclass.solvers.stopping import Findings, StoppingRule
from manyclass.solvers.weights.storage import allocate_weights
from manyclass.utils.machine import core_class
from manyclass.utils.types import Array, CsrArray


@dataclass(frozen=True, slots=True)
class LoopFindings:
    """Results of an epoch."""

    gap: float
    max_violation: float
    evaluations: int
    loops: int = 0
    active_share: float = 1.0


class ComparisonSolver(ABC):
    """Solver with dense W, in one process and on one thread.

    Parameters
    ----------
    problem : Problem
    start : Start or None
        Start from its z, as far as the method allows; None: the method's own start.
    rng : numpy.random.Generator
        Orders the loops.
    n_jobs : int, default=1
        Threads of the certificate.

    Attributes
    ----------
    dual : float
        D.
    engine : Engine
        W(z) and, once ``_put_duals`` has written it, z.
    kernels : ComparisonTrainer of the core
    filled : ndarray of shape (n,), bool
        Whether x_i != 0.
    best : Weights of the core, or None
        W with the lowest P so far, if it may differ from W(z).
    """

    is_exact = False  # estimates are sums over visits while W changes

    def __init__(
        self, problem: Problem, start: Start | None, rng: np.random.Generator, n_jobs: int = 1
    ) -> None:
        self._began = time.perf_counter()
        self.problem, self.rng = problem, rng
        self.engine = Engine(problem, n_jobs=n_jobs, storage="dense", lists=True)
        self.filled = self.engine.norms > 0
        self.rows = np.flatnonzero(self.filled).astype(np.int32)
        self.constant = self.engine.constant_loss()
        self.dual = 0.0
        kernels = core_class("ComparisonTrainer", problem.dataset.dtype)
        self.kernels = kernels(self.engine.core)
        self.best: _core.Weights | None = None
        self._returns_best = False
        self._full: Findings = _core.SweepResult()
        self._n_epochs = 0
        z = None
        if start is not None:
            z = of_examples(sp.csr_array(start.duals), self.filled)
        self._begin(z)
        self._full = self.certify()

    def epoch(self, rule: StoppingRule) -> EpochRecord:
        """Run one epoch of the method."""
        found = self._loop()
        self._n_epochs += 1
        primal = self.dual + found.gap
        self._full = found
        rule.cool(found, self._scale())
        return EpochRecord(
            epoch=self._n_epochs,
            seconds=time.perf_counter() - self._began,
            primal_estimate=primal,
            gap_estimate=found.gap,
            violation=found.max_violation,
            active_share=found.active_share,
            loops=found.loops,
            evaluations=found.evaluations,
            n_weights=self.engine.n_weights,
            n_duals=self.engine.n_duals,
            zero_objective=self.engine.zero_objective,
        )

    def promising(self, rule: StoppingRule) -> bool:
        """Whether the stopping criterion may be met, by the estimates of the last epoch."""
        return rule.promising(self._full, self._scale())

    def _scale(self) -> float:
        gap = self._full.gap
        return scale_of(gap, self.dual + gap, self.engine.zero_objective)

    def certify(self) -> Certificate:
        """Compute the certificate of z at W(z), and at the best W if it differs."""
        self._put_duals()
        rounding = self.engine.rebuild()
        # The best W first: it needs its distance from W(z), which the other certificate may change.
        best = None if self.best is None else self.engine.certify_near(self.best, rounding)
        found = self.engine.certify(rounding)
        self.dual = found.dual_objective
        self._returns_best = best is not None and best.primal_objective < found.primal_objective
        return best if best is not None and self._returns_best else found

    def start(self) -> Start:
        """Return z."""
        self._put_duals()
        return Start(self.engine.duals())

    def weights(self) -> Weights:
        """Return W, a copy of shape (d + 1, k)."""
        return self.engine.weights() if self.best is None else self.best.matrix.copy()

    def finish(self) -> Weights:
        """Return W, shape (d + 1, k); the run ends."""
        if self._returns_best and self.best is not None:
            self.engine.take(self.best)
        return self.engine.weights(releases=True)

    @abstractmethod
    def _begin(self, z: CsrArray | None) -> None:
        """Create the method's own arrays; begin at z if given."""

    @abstractmethod
    def _loop(self) -> LoopFindings:
        """Run one epoch; update W and D."""

    @abstractmethod
    def _put_duals(self) -> None:
        """Write z to the engine."""

    @property
    def W(self) -> Array:
        """W(z), in the layout of the kernels."""
        assert self.engine.W is not None
        return self.engine.W.padded

    def _scores_like(self, n_examples: int) -> Array:
        """Return zeros for the scores of a number of examples, padded like W."""
        return allocate_weights(
            n_examples, self.problem.dataset.n_classes, self.problem.dataset.dtype
        )[1]

    def _seed(self) -> int:
        return int(self.rng.integers(2**63))
