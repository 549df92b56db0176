"""Multinomial logistic regression: descent in the dual, then Newton's method in the primal.

Problem, dual and gap: logistic/kernels.hpp. Each epoch of descent maximises D over the u of every
example in turn (logistic/visits.hpp). Its gap falls linearly; where that would take too many
epochs, training continues in the primal (logistic_newton.py), and begins there without room for
v = log u, an n x k array.

Intercepts that are not regularised are multipliers of sum_i C_i (e_{y_i} - u_i) = 0: visits treat
them as regularised towards their value at the epoch's beginning, and after an epoch they move by
what is left of that sum (proximal method of multipliers; Rockafellar 1976).
"""

from __future__ import annotations

import math
import time

import numpy as np

from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights
from manyclass.solvers.logistic_certificate import certify
from manyclass.solvers.logistic_engine import LogisticEngine, class_counts, dot, duals_fit
from manyclass.solvers.logistic_newton import LogisticNewton
from manyclass.solvers.preconditioners import is_factorised, is_sampled
from manyclass.solvers.stopping import Found, StoppingRule

# Newton's method begins when descent seems to need more epochs than this, seen after a few. A step
# costs tens of them, hundreds where its preconditioner is diagonal (measured on mnist, usps,
# covtype100k; news20 and sector at C = 100).
MOST_EPOCHS, MOST_BESIDE_DIAGONAL, SEEN = 120, 1000, 4
# ... or when its estimates have met the rule so often, and certificates have not: then intercepts
# that are not regularised lag behind.
MOST_CERTIFICATES = 2
# What is asked of the gradient, when a certificate has not met the rule.
TIGHTER = 0.3


class MultinomialLogistic:
    """The solver, from W = 0 and u_i = e_{y_i}, or from a W and v or the softmax of its scores.

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
        The relative gap to which Newton steps are solved.
    """

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
        self._began = time.perf_counter()
        self.problem, self.rng, self.tol = problem, rng, tol
        self.engine = LogisticEngine(
            problem,
            n_jobs,
            regularize_intercept=regularize_intercept,
            keeps_duals=duals_fit(problem),
        )
        self._phase: LogisticNewton | None = None
        self._n_epochs = self._n_certificates = 0
        self._primal = self._gap = math.inf  # estimates of the last epoch
        self._gaps: list[float] = []  # of the epochs of descent
        if start is not None and start.weights is not None:
            self.engine.load(start)

    @property
    def dual(self) -> float:
        """D, as it is estimated."""
        return self._primal - self._gap

    def epoch(self, rule: StoppingRule) -> EpochRecord:
        """One loop of descent, or one Newton step."""
        self._n_epochs += 1
        if self.engine.log_u is not None and self._is_slow(rule):
            self.engine.log_u = None
        if self.engine.log_u is not None:
            loops, evaluations = self._descend()
        else:
            loops, evaluations = self._newton_round()
        data = self.problem.dataset
        return EpochRecord(
            epoch=self._n_epochs,
            seconds=time.perf_counter() - self._began,
            primal_estimate=self._primal,
            gap_estimate=self._gap,
            violation=_found(self._gap).max_violation,
            active_share=1.0,
            loops=loops,
            evaluations=evaluations,
            n_weights=(data.n_features + 1) * data.n_classes,
            n_duals=0 if self.engine.log_u is None else data.n_examples * data.n_classes,
        )

    @property
    def is_exact(self) -> bool:
        """Whether the last epoch was a Newton step, whose P and gap are those of its W."""
        return self._phase is not None

    def promising(self, rule: StoppingRule) -> bool:
        """Whether the last epoch's estimates say that the rule may be met."""
        return rule.promising(_found(self._gap), self._primal)

    def certify(self) -> Certificate:
        """Return the certificate of W."""
        found = certify(self.engine)
        self._primal, self._gap = found.primal_objective, found.gap
        self._n_certificates += 1
        return found

    def weights(self) -> Weights:
        """Return W, a copy of shape (d + 1, k); the mean of free intercepts is 0."""
        return self.engine.weights()

    def start(self) -> Start:
        """Return W and v, from which training can continue."""
        data, engine = self.problem.dataset, self.engine
        zero = Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        v = None
        if engine.log_u is not None and not engine.is_fresh:
            v = engine.log_u[:, : data.n_classes]
        return Start(zero.duals, engine.weights(), log_u=v)

    def finish(self) -> Weights:
        """Return W."""
        self.engine.log_u = None
        return self.engine.weights()

    def _descend(self) -> tuple[int, int]:
        found = self.engine.visit(int(self.rng.integers(2**63)))
        W = self.engine.regularised(self.engine.W)
        self._primal, self._gap = found.loss + 0.5 * dot(W, W), found.gap
        self._gaps.append(self._gap)
        return 1, int(found.evaluations)

    def _newton_round(self) -> tuple[int, int]:
        if self._phase is None:
            self._phase = LogisticNewton(self.engine)
            self._n_certificates = 0  # those of descent say nothing of Newton steps
        tol = TIGHTER**self._n_certificates * math.sqrt(2 * self.tol * abs(self._phase.primal))
        found = self._phase.round(tol)
        self._primal, self._gap = found.primal, found.gap
        return found.steps, found.evaluations

    def _is_slow(self, rule: StoppingRule) -> bool:
        """Whether descent needs too many epochs to the end."""
        if self._n_certificates > MOST_CERTIFICATES:
            return True
        if self.engine.is_free and lags(self.problem):
            return True
        gaps = self._gaps
        if len(gaps) < SEEN or not self._primal > 0 or not min(gaps) > 0:
            return False
        left = max(0.0, rule.distance(_found(gaps[-1]), self._primal))
        is_good = is_factorised(self.problem) or is_sampled(self.problem)
        most = MOST_EPOCHS if is_good else MOST_BESIDE_DIAGONAL
        return left > most * max(rate_of(gaps), 0.0)


def _found(gap: float) -> Found:
    """Return a gap and the distance to the optimum that it bounds."""
    return Found(gap, math.sqrt(2 * max(0.0, gap)))


def rate_of(gaps: list[float]) -> float:
    """Return by how much the logarithm of the gap falls in an epoch, from the last few."""
    window = max(SEEN, len(gaps) // 3)
    logs = np.log(gaps[-window:])
    half = window // 2
    return float(np.mean(logs[:half]) - np.mean(logs[-half:])) / (window - half)


def lags(problem: Problem) -> bool:
    """Whether the costs are so small that visits hardly move intercepts."""
    return float(class_counts(problem).max()) * problem.dataset.bias**2 < 1
