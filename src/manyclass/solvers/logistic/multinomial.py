"""Multinomial logistic regression: descent in the dual, then Newton's method in the primal.

Problem, dual and gap: logistic/kernels.hpp. Each epoch of descent maximizes D over the u of every
example in turn (logistic/visits.hpp). The gap decreases linearly. If this would take too many
epochs, training continues in the primal (newton.py); if v = log u, an n x k array, does not fit
into memory, training begins in the primal.

Unregularized intercepts are multipliers of sum_i C_i (e_{y_i} - u_i) = 0: visits treat them as
regularized towards their values at the start of the epoch, and after an epoch they move by the
residual of that sum (proximal method of multipliers; Rockafellar 1976).
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, Start, Weights
from manyclass.solvers.logistic.certificate import certify
from manyclass.solvers.logistic.engine import LogisticEngine, PrimalEngine, duals_fit
from manyclass.solvers.logistic.newton import NewtonLogistic, found_of
from manyclass.solvers.logistic.preconditioners import is_factorized, is_sampled
from manyclass.solvers.stopping import StoppingRule

# Newton's method begins when descent seems to need more epochs than this, estimated after a few. A
# Newton step costs tens of epochs, hundreds with a diagonal preconditioner (measured on mnist,
# usps, covtype100k; news20 and sector at C = 100).
MOST_EPOCHS, MOST_BESIDE_DIAGONAL, SEEN = 120, 1000, 4
# ... or when its estimates, but not the certificates, have met the stopping criterion this often:
# then unregularized intercepts converge too slowly.
MOST_CERTIFICATES = 2


class MultinomialLogistic(NewtonLogistic):
    """The solver, from W = 0 and u_i = e_{y_i}, or from a given W with v or its softmax.

    Parameters
    ----------
    problem : Problem
    start : Start or None
    rng : numpy.random.Generator
        Orders the visits.
    n_jobs : int, default=1
        Threads.
    regularize_intercept : bool
    tol : float
        Relative gap to which Newton steps are solved.
    """

    engine: LogisticEngine

    def __init__(
        self,
        problem: Problem,
        start: Start | None,
        rng: np.random.Generator,
        n_jobs: int = 1,
        *,
        regularize_intercept: bool,
        tol: float,
    ) -> None:
        began = time.perf_counter()
        engine = LogisticEngine(
            problem,
            n_jobs,
            regularize_intercept=regularize_intercept,
            keeps_duals=duals_fit(problem),
        )
        super().__init__(engine, start, tol=tol, began=began)
        self.rng = rng
        self._gaps: list[float] = []  # gaps of the epochs of descent

    @property
    def n_duals(self) -> int:
        """Number of stored entries of u."""
        data = self.problem.dataset
        return 0 if self.engine.log_u is None else data.n_examples * data.n_classes

    def loop(self, rule: StoppingRule) -> tuple[int, int]:
        """Run one loop of descent, or one Newton step."""
        if self.engine.log_u is not None and self._is_slow(rule):
            self.engine.log_u = None
        return super().loop(rule) if self.engine.log_u is None else self._descend()

    def proof(self) -> Certificate:
        """Compute the certificate of W."""
        return certify(self.engine)

    def start(self) -> Start:
        """Return W and v, to continue training."""
        data, engine = self.problem.dataset, self.engine
        v = None
        if engine.log_u is not None and not engine.is_fresh:
            v = engine.log_u[:, : data.n_classes]
        return replace(super().start(), log_u=v)

    def finish(self) -> Weights:
        """Return W."""
        self.engine.log_u = None
        return super().finish()

    def _descend(self) -> tuple[int, int]:
        found = self.engine.visit(int(self.rng.integers(2**63)))
        with self.engine.regularized(self.engine.W) as W:
            self._primal, self._gap = found.loss + 0.5 * _core.sum_of_squares(W), found.gap
        self._gaps.append(self._gap)
        return 1, int(found.evaluations)

    def _is_slow(self, rule: StoppingRule) -> bool:
        """Whether descent needs too many more epochs."""
        if self._n_certificates > MOST_CERTIFICATES:
            return True
        if self.engine.is_free and lags(self.engine):
            return True
        gaps = self._gaps
        if len(gaps) < SEEN or not self._primal > 0 or not min(gaps) > 0:
            return False
        left = max(0.0, rule.distance(found_of(gaps[-1]), self.scale))
        is_good = is_factorized(self.engine) or is_sampled(self.engine)
        most = MOST_EPOCHS if is_good else MOST_BESIDE_DIAGONAL
        return left > most * max(rate_of(gaps), 0.0)


def rate_of(gaps: list[float]) -> float:
    """Return the decrease of the logarithm of the gap per epoch, from the last few."""
    window = max(SEEN, len(gaps) // 3)
    logs = np.log(gaps[-window:])
    half = window // 2
    return float(np.mean(logs[:half]) - np.mean(logs[-half:])) / (window - half)


def lags(engine: PrimalEngine) -> bool:
    """Whether the costs are so small that visits hardly change intercepts."""
    return float(engine.class_costs.max()) * engine.problem.dataset.bias**2 < 1
