"""Consensus ADMM: support vector machines with rows in parts, with exact visits in each part.

    min  1/2 ||V||^2 + sum_r sum_{i in r} C_i loss_i(W_r)
    subject to  W_rj = V_j  for each part r and each feature j in the rows of r

In a round, every part continues its local problem (svm_rows.py), from A_r = V - U_r. Then, with
sums over the R_j parts that have feature j,

    V_j <- rho sum_r (What_rj + U_rj) / (1 + R_j rho),   What_r = alpha W_r + (1 - alpha) V_before,
    U_rj <- U_rj + What_rj - V_j,   so that rho sum_r U_rj = V_j.

For sparse rows in memory, the terms of the parts are rho/2 ||W_r - A_r||_M^2, M = diag(m_j),
because features with many or large numbers change more in a visit and need a larger penalty. With
g_j the mean of x_ij^2,

    m_j ~ g_j^p,  sum_j g_j / m_j ~ sum_j g_j (32 / R)^(1/4),  sqrt(m_j) a power of 2,

and m_j = 1 for the intercept.

Parts use X / sqrt(M) instead of X, sqrt(M) V instead of V and sqrt(M) W_r instead of W_r; their
W(z) is W(z) of X, divided by sqrt(M). This does not round; scores and z are the same as for X. In
the update of V_j above, rho becomes rho m_j, and rho m_j sum_r U_rj = V_j.

Input: R parts, and the problem of all rows, or without rows. Output: the V with the least P of all
rounds, and its certificate from the largest D, at the z of all parts, which are feasible together.
In each round (with the means subtracted from W and W(z) if they must sum to zero),

    P(V) - D(z) = 1/2 ||V - W(z)||^2 + sum_i [C_i loss_i(V) - sum_c z_ic xi_ic(V)].

R rho is 8 at first. It is doubled if the gap decreases slowly while the parts are further from V
than V moves, and if the gap does not decrease. Convergence is linear; slow if rows far outnumber
features.
The certificate depends on V and z only: it is correct for any U, which restarts at 0 in a lost
part. Source: Boyd et al. 2011, sec. 3.4.1, 3.4.3, 7.1.1 and, for features that some parts have,
7.2; M: 3.4.2; for Crammer-Singer Han & Zhang 2012.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from manyclass.distributed.rows.svm_rows import COUNTS, TERMS
from manyclass.estimators.svc import MulticlassSVC
from manyclass.problem.problem import Problem
from manyclass.problem.solution import (
    Certificate,
    EpochRecord,
    Start,
    Weights,
    exact_sum,
    relative,
    rounding_share,
    scale_of,
)
from manyclass.rows.parts import Parts
from manyclass.rows.questions import ConsensusRounds
from manyclass.solvers.engines import as_returned
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.weights.storage import antisymmetric, distance, squared_norm, subtract_means
from manyclass.training.epoch_loop import Options
from manyclass.utils.machine import effective_n_jobs
from manyclass.utils.named_options import DEFAULT_SOLVERS
from manyclass.utils.types import Array

LOG_LOSS = "log_loss"  # loss of the problems that Newton's method trains
UNIT = float(np.finfo(np.float64).eps)
RELAXATION = 1.8  # alpha
POWER, MANY = 0.3, 32.0  # p, and the number of parts for which m_j has factor 1; measured on news20
# Limits of |log2 sqrt(m_j)| and of the sums of x_ij^2, so that float32 does not overflow.
MOST_SCALE, HUGE = 8, 1e60
TOTAL_RHO = 8.0  # R rho at first: the terms of the parts relative to the regularizer
# rho is doubled if more than SLOW of the gap is left after SHORT rounds, and rho times the change
# of V in all parts is below MOST times ||What_r - V|| of all parts.
SHORT, SLOW, MOST = 5, 0.8, 3.0
# ... or if more than STILL of the gap is left after LONG rounds, as V and z oscillate at a large C.
LONG, STILL = 20, 0.95


class ConsensusAdmm:
    """Solver of an SVM whose rows are in parts, which are SvmRows.

    The problem has all rows or none; V begins at the W of a start.
    """

    is_exact = True

    def __init__(
        self,
        problem: Problem,
        parts: Parts,
        start: Start | None,
        *,
        seed: int = 0,
        began: float | None = None,
    ) -> None:
        self._began = time.perf_counter() if began is None else began
        self.problem, self.parts, self.seed = problem, parts, seed
        data = problem.dataset
        shape = data.n_features + 1, data.n_classes
        self.V = np.zeros(shape, data.dtype)
        if start is not None and start.weights is not None:
            self.V[:] = start.weights
        self.rho = power_of_two(TOTAL_RHO / parts.n_parts)
        self.dual = 0.0
        self._n_rounds = 0
        self._moved = math.inf  # rho ||V - V_before||, with V of all parts
        self._gaps: list[float] = []  # gaps since rho changed
        self.best = self.V  # the V with the least P
        self._of_duals = np.zeros(shape)  # W(z) of all parts
        self._at_best: Certificate | None = None
        self._found: Certificate | None = None
        self._marks = np.zeros(parts.n_parts)  # marks of z after the last round, one per part
        sizes, holders = np.zeros(2, np.int64), np.zeros(len(self.V), np.int64)
        zero = np.zeros(1)
        parts.add(ConsensusRounds.count, (), (sizes, holders, zero))
        parts.broadcast(zero)
        self.n_examples, self.zero_objective = int(sizes[0]), float(zero[0])
        self._holders = holders[:, None].astype(data.dtype)  # R_j
        self._scale = self._metric()  # sqrt(M), shape (d + 1, 1)

    def _metric(self) -> Array:
        """Return sqrt(m_j), the same in all processes."""
        data = self.problem.dataset
        squares = np.zeros(data.n_features)
        self.parts.add(ConsensusRounds.squares, (), (squares,))
        scale = np.ones((data.n_features + 1, 1), data.dtype)
        scale[:-1, 0] = scales(squares, self.parts.n_parts)
        self.parts.broadcast(scale)
        return scale

    def epoch(self, _rule: StoppingRule) -> EpochRecord:
        """Run one round."""
        R = self.parts.n_parts
        total, of_duals = np.zeros_like(self.V), np.zeros(self.V.shape)
        counts = np.zeros((R, COUNTS))
        self._n_rounds += 1
        scale, rho = self._scale, self.rho
        given = self._n_rounds, self.V * scale, scale, rho, RELAXATION, self.seed
        self.parts.add(ConsensusRounds.round, given, (total, of_duals, counts))
        before = self.V
        self.V = total * (rho * scale / (1 + self._holders * rho * scale**2))
        loops, evaluations, active, apart, rounding = counts[:, :-1].sum(axis=0).tolist()
        self._take(of_duals, counts[:, -1], rounding)
        found = self.certify()
        self._pace(relative(found.gap, found.primal_objective, math.inf), math.sqrt(apart))
        moves = (self.V - before) * (scale * np.sqrt(self._holders))
        self._moved = self.rho * math.sqrt(squared_norm(moves))
        return self._record(found.primal_objective, found.gap, active, loops, evaluations)

    def _take(
        self, of_duals: NDArray[np.float64], marks: NDArray[np.float64], rounding: float
    ) -> None:
        """Set W(z) from the scaled W(z) of the parts, and certify it with V."""
        of_duals *= self._scale
        if self.problem.formulation.centred:
            subtract_means(self.V)  # means that are due to rounding
            subtract_means(of_duals)
        if self.problem.is_antisymmetric:
            antisymmetric(self.V)
        self.parts.broadcast(self.V)
        self._of_duals, self._marks = of_duals, marks
        rounding *= float(self._scale.max())
        self._found = self._best_of(self._inspect(of_duals, rounding))

    def _record(
        self, primal: float, gap: float, active: float, loops: float, evaluations: float
    ) -> EpochRecord:
        return EpochRecord(
            epoch=self._n_rounds,
            seconds=time.perf_counter() - self._began,
            primal_estimate=primal,
            gap_estimate=gap,
            violation=0.0 if self._found is None else self._found.max_violation,
            active_share=active / max(1, self.n_examples),
            loops=int(loops),
            evaluations=int(evaluations),
            n_weights=self.V.size,
            n_duals=0,
            zero_objective=self.zero_objective,
        )

    def _pace(self, gap: float, apart: float) -> None:
        """Double rho if the gap decreases slowly; `apart`, ``_moved`` are of the previous round."""
        self._gaps.append(gap)
        if len(self._gaps) < SHORT:
            return
        slow = gap > SLOW * self._gaps[-SHORT] and self._moved < MOST * apart
        if slow or (len(self._gaps) >= LONG and gap > STILL * self._gaps[-LONG]):
            self.rho *= 2
            self._gaps.clear()

    def _best_of(self, found: Certificate) -> Certificate:
        """Return the certificate of all rounds: the V with the least P, and the largest D."""
        if self._at_best is None or found.primal_objective < self._at_best.primal_objective:
            self._at_best, self.best = found, self.V
        self.dual = max(self.dual, found.dual_objective)
        at, P = self._at_best, self._at_best.primal_objective
        gap = math.nextafter(P - self.dual, math.inf)
        told = relative(gap, P, self.zero_objective)
        return replace(at, dual_objective=P - gap, gap=gap, relative_gap=told)

    def _inspect(self, of_duals: NDArray[np.float64], rounding: float) -> Certificate:
        """Return the certificate of V and the z of all parts, with W(z) `of_duals`.

        `rounding` bounds the distance between `of_duals` and the sum of the parts' W(z).
        """
        at = as_returned(self.problem, self.V)
        n, k = self.n_examples, self.problem.dataset.n_classes
        terms = np.zeros((self.parts.n_parts, TERMS))
        V = self.V * self._scale
        scaled = as_returned(self.problem, V)  # for the scaled rows of the parts
        given = V, self._scale, scaled.common, scaled.norm
        self.parts.add(ConsensusRounds.inspect, given, (terms,))
        gap, loss, most_loss = (exact_sum(terms[:, i].tolist()) for i in range(3))
        if (terms[:, 4] != self._marks).any():
            gap = math.inf  # a part was lost after the round: its z has changed
        added = self.parts.n_parts * UNIT * math.sqrt(squared_norm(of_duals))
        away = distance(self.V, of_duals) + rounding + added
        apart = (1 + self.problem.dataset.bias_error) * away + at.moved
        return Certificate.from_gap(
            at.penalty + loss,
            gap + 0.5 * apart * apart,
            float(terms[:, 3].max(initial=0.0)),
            rounding_share(n, k),
            zero=self.zero_objective,
            penalty=at.penalty,
            loss=most_loss,
        )

    def promising(self, rule: StoppingRule) -> bool:
        """Whether the stopping criterion may be met."""
        found = self._found
        assert found is not None
        return rule.promising(found, self.scale_of(found))

    def scale_of(self, found: Certificate) -> float:
        """Return the denominator of the relative gap."""
        return scale_of(found.gap, found.primal_objective, self.zero_objective)

    def certify(self) -> Certificate:
        """Return the certificate of the last round."""
        if self._found is None:
            self._found = self._best_of(self._inspect(np.zeros(self.V.shape), 0.0))
        return self._found

    def start(self) -> Start:
        """Return the best V; every part keeps its own z."""
        data = self.problem.dataset
        zero = Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        return Start(zero.duals, self.best.copy())

    def weights(self) -> Weights:
        """Return the best V, a copy of shape (d + 1, k)."""
        return self.best.copy()

    def finish(self) -> Weights:
        """Return the best V, shape (d + 1, k)."""
        return self.best


def scales(squares: NDArray[np.float64], n_parts: int) -> NDArray[np.float64]:
    """Return sqrt(m_j), given the sums of x_ij^2, shape (d,); 1 where one is NaN or huge."""
    scale, held = np.ones(len(squares)), squares > 0
    if not held.any() or not squares.max() < HUGE:
        return scale
    g = squares[held] / squares.max()
    m = g**POWER
    m *= (n_parts / MANY) ** 0.25 * (g / m).sum() / g.sum()
    power = np.round(0.5 * np.log2(m)).clip(-MOST_SCALE, MOST_SCALE)
    scale[held] = np.exp2(power)
    return scale


def power_of_two(number: float) -> float:
    """Return the nearest power of 2, on a log scale."""
    return 2.0 ** round(math.log2(number))


def consensus_options(model: MulticlassSVC) -> Options:
    """Return how a problem is trained whose rows are in parts; refuse what is not."""
    if model.solver not in DEFAULT_SOLVERS:
        raise ValueError(
            f"solver={model.solver!r} trains in one process; with split='rows' use solver='auto'"
        )
    if model.weights == "sparse":
        raise ValueError("with split='rows' weights are dense; use weights='auto'")
    return Options(
        tol=float(model.tol),
        stopping=model.stopping,
        weights="dense",
        max_iter=model.max_iter,
        n_jobs=effective_n_jobs(model.n_jobs),
        keeps_duals=False,
    )
