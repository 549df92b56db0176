"""Multinomial logistic regression: descent in the dual, then Newton's method in the primal.

Problem, dual and gap: logistic/kernels.hpp. Each epoch of descent maximises D over the u of every
example in turn (logistic/visits.hpp). Its gap falls linearly; where that would take too many
epochs, training goes on in the primal (newton.py). Without room for v = log u, an n x k array, it
begins there.

Intercepts that are not regularised are multipliers of sum_i C_i (e_{y_i} - u_i) = 0: visits treat
them as regularised towards their value at the epoch's beginning, and after an epoch they move by
what is left of that sum (proximal method of multipliers; Rockafellar 1976).
"""

from __future__ import annotations

import math
import time

import numpy as np

from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights, relative
from manyclass.solvers.logistic import newton
from manyclass.solvers.logistic.certificate import certify, rebuild, returned
from manyclass.solvers.logistic.state import (
    State,
    as_matrix,
    bias_of,
    class_counts,
    duals_fit,
    new_state,
)
from manyclass.solvers.stopping import StoppingRule

# Newton's method begins when descent seems to need more epochs than this, seen after a few. A step
# costs tens of them, hundreds where its preconditioner is diagonal (measured on mnist, usps,
# covtype100k; news20 and sector at C = 100).
MOST_EPOCHS, MOST_BESIDE_DIAGONAL, SEEN = 120, 1000, 4
# ... or when its estimates have met the rule so often, and certificates have not: then intercepts
# that are not regularised lag behind.
MOST_CERTIFICATES = 2
NO_LOG = -1000  # v behind the classes, as the kernels have it
# What is asked of the gradient, when a certificate has not met the rule.
TIGHTER = 0.3


class MultinomialLogistic:
    """The solver.

    Parameters
    ----------
    rng : numpy.random.Generator
        Orders the visits.
    regularize_intercept : bool
    tol : float
        The relative gap that is asked for.
    n_jobs : int, default=1
        Threads.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        *,
        regularize_intercept: bool,
        tol: float,
        n_jobs: int = 1,
    ) -> None:
        self.rng = rng
        self.n_jobs = n_jobs
        self.regularize_intercept = regularize_intercept
        self.tol = tol
        self._phase: newton.NewtonPhase | None = None

    def init(self, problem: Problem, start: Start | None) -> State:
        """Begin at W = 0 and u_i = e_{y_i}, or at a W and v or the softmax of its scores."""
        self._phase = None
        state = new_state(problem, keeps_duals=duals_fit(problem), n_jobs=self.n_jobs)
        if self._free(problem):
            state.left = np.zeros(problem.dataset.n_classes)
        if start is None or start.weights is None:
            return state
        W = as_matrix(state.weights, problem, class_major=state.class_major)
        W[:] = start.weights
        if state.log_u is not None:
            if start.log_u is None:
                state.trainer.log_softmax(state.weights, state.log_u, state.class_major)
            else:
                state.log_u[:] = NO_LOG
                state.log_u[:, : problem.dataset.n_classes] = start.log_u
            state.fresh = False
            free = self._free(problem)
            left = np.zeros(problem.dataset.n_classes if free else 0)
            rebuild(problem, state, left, keeps_bias=free)
            if free:
                state.left = left
        return state

    def epoch(self, problem: Problem, state: State, rule: StoppingRule) -> EpochRecord:  # noqa: ARG002 (part of the Solver protocol)
        """One loop of descent, or one Newton step."""
        state.epoch += 1
        loops = 1
        if state.log_u is not None and self._is_slow(problem, state):
            state.log_u = None
        if state.log_u is not None:
            evaluations = self._descend(problem, state)
        else:
            loops, evaluations = self._newton_step(problem, state)
        data = problem.dataset
        return EpochRecord(
            epoch=state.epoch,
            seconds=time.perf_counter() - state.began,
            primal_estimate=state.primal,
            gap_estimate=state.gap,
            violation=math.sqrt(2 * max(0.0, state.gap)),
            active_share=1.0,
            loops=loops,
            evaluations=evaluations,
            n_weights=(data.n_features + 1) * data.n_classes,
            n_duals=0 if state.log_u is None else data.n_examples * data.n_classes,
        )

    def promising(self, state: State, rule: StoppingRule) -> bool:  # noqa: ARG002 (part of the Solver protocol)
        """Whether the last epoch's estimates say that the rule may be met."""
        return relative(state.gap, state.primal) <= self.tol

    def dual_objective(self, state: State) -> float:
        """Return D, as it is estimated."""
        return state.primal - state.gap

    def certify(self, problem: Problem, state: State) -> Certificate:
        """Return the certificate of W."""
        found = certify(problem, state, regularize_intercept=self.regularize_intercept)
        state.primal, state.gap = found.primal_objective, found.gap
        state.certificates += 1
        return found

    def weights(self, problem: Problem, state: State) -> Weights:
        """Return W, a copy of shape (d + 1, k); the mean of free intercepts is 0."""
        return returned(problem, state, regularize_intercept=self.regularize_intercept)

    def start(self, problem: Problem, state: State) -> Start:
        """Return W and v, from which training can go on."""
        data = problem.dataset
        zero = Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        v = None if state.log_u is None or state.fresh else state.log_u[:, : data.n_classes]
        return Start(zero.duals, np.asarray(self.weights(problem, state)), log_u=v)

    def finish(self, problem: Problem, state: State) -> Weights:
        """Return W."""
        state.log_u = None
        return self.weights(problem, state)

    def _free(self, problem: Problem) -> bool:
        return bool(problem.dataset.bias) and not self.regularize_intercept

    def _descend(self, problem: Problem, state: State) -> int:
        assert state.log_u is not None
        bias = bias_of(state.weights, problem, class_major=state.class_major)
        before = bias.astype(np.float64)
        found = state.trainer.visit(
            state.weights,
            state.log_u,
            state.fresh,
            state.class_major,
            int(self.rng.integers(2**63)),
        )
        state.fresh = False
        if state.left is not None:
            # Visits have added bias times the change of what is left.
            state.left += (bias - before) / problem.dataset.bias
            bias += (problem.dataset.bias * state.left).astype(bias.dtype)
        W = newton.regularised(problem, state, state.weights, self.regularize_intercept)
        state.loss, state.gap = found.loss, found.gap
        state.primal = found.loss + 0.5 * newton.dot(W, W)
        state.gaps.append(state.gap)
        return int(found.evaluations)

    def _newton_step(self, problem: Problem, state: State) -> tuple[int, int]:
        free = self._free(problem)
        if self._phase is None:
            self._phase = newton.begin(
                problem, state, regularize_intercept=self.regularize_intercept or not free
            )
        tol = TIGHTER**state.certificates * math.sqrt(2 * self.tol * abs(self._phase.primal))
        with np.errstate(over="ignore", invalid="ignore"):  # of lengths that are too large
            n_products = newton.step(
                problem, state, self._phase, regularize_intercept=not free, tol=tol
            )
        state.primal, state.gap = self._phase.primal, 0.5 * self._phase.size**2
        data = problem.dataset
        return n_products, (2 * n_products + 1) * data.n_examples * data.n_classes

    def _is_slow(self, problem: Problem, state: State) -> bool:
        """Whether descent needs too many epochs to the end."""
        if state.certificates > MOST_CERTIFICATES:
            return True
        if self._free(problem) and lags(problem):
            return True
        if len(state.gaps) < SEEN or not state.primal > 0 or not min(state.gaps) > 0:
            return False
        left = math.log(max(1.0, state.gaps[-1] / (self.tol * state.primal)))
        most = MOST_EPOCHS if newton.is_factorised(problem) else MOST_BESIDE_DIAGONAL
        return left > most * max(rate_of(state.gaps), 0.0)


def rate_of(gaps: list[float]) -> float:
    """Return by how much the logarithm of the gap falls in an epoch, from the last few."""
    window = max(SEEN, len(gaps) // 3)
    logs = np.log(gaps[-window:])
    half = window // 2
    return float(np.mean(logs[:half]) - np.mean(logs[-half:])) / (window - half)


def lags(problem: Problem) -> bool:
    """Whether the costs are so small that visits hardly move intercepts."""
    return float(class_counts(problem).max()) * problem.dataset.bias**2 < 1
