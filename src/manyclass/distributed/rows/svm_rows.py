"""A part of the rows of a support vector machine: its local problem of consensus (admm.py).

    min_W  sum_{i in part} C_i loss_i(W) + rho/2 ||W - A||^2,   A = V - U

has the solution W = A + W(z), with z of the dual problem for costs C_i / rho and W that begins at
A. It is solved by visits of the sequential dual method on the engine's W, to which A is added. rho
z is feasible for all rows together. rho is a power of 2, so that scaling by it does not round. U
and What are 0 at features that do not occur in the rows of the part. Sparse rows are divided by
sqrt(M), and W, A, V and U are multiplied by sqrt(M) (admm.py), which is also a power of 2.

Newton's method (newton_phase.py) computes sums around z, which ``move_duals`` changes.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.problem.dataset import SAMPLE, is_mapped
from manyclass.problem.problem import Problem, zero_objective
from manyclass.problem.solution import Start, exact_sum
from manyclass.rows.proximal_response import ProximalRows
from manyclass.rows.questions import ConsensusRounds, ProximalResponse
from manyclass.solvers.engines import Findings
from manyclass.solvers.sequential_dual import Active, SequentialDual
from manyclass.solvers.stopping import GapRule
from manyclass.solvers.weights.storage import squared_norm
from manyclass.utils.types import Array, CsrArray, Settings

GAP_SUMS = ("gap", "loss", "most_loss")
TERMS = len(GAP_SUMS) + 2  # terms of a part; the last two: the largest violation, the mark of its z
# Numbers of a part: loops, computed scores, active examples; ||What_r - V||^2 of the previous
# round; a bound of the rounding error of the stored W(z); the mark of its z: a number that
# identifies z, with 0 for z = 0.
COUNTS = 6
# State of a part after the rounds, besides its rows.
STATE = ("_z", "_active", "_rho", "_round", "_seed", "_U", "_relaxed", "_counts", "_scale")
ONE = np.ones(1)  # sqrt(M) before it is known


class SvmRows(ConsensusRounds, ProximalResponse):
    """Rows of a part, perhaps none, their z, and U.

    `first` is the number of the first row among all, `number` that of the part.
    """

    def __init__(self, problem: Problem, n_jobs: int = 1, first: int = 0, number: int = 0) -> None:
        self.problem, self.n_jobs, self.first, self.number = problem, n_jobs, first, number
        self.begin()

    def begin(self) -> None:
        """Reset the state of the rounds: z = U = 0."""
        self._visits: SequentialDual | None = None
        self._z: CsrArray | None = None  # for the problem of all rows, if there is no solver
        self._active: Active | None = None  # state of the loops, likewise
        self._rho, self._round, self._seed = 1.0, -1, 0
        self._U = self._relaxed = np.empty((0, 0))  # _relaxed: What_r of the last round
        self._counts, self._scale = np.zeros(COUNTS), ONE
        self._scaled: Problem | None = None  # with rows divided by _scale; created on first use
        self._around: ProximalRows | None = None  # rows around z; created on first use

    def state(self) -> Settings:
        """Return the state of the rounds, without the rows."""
        kept = self.__getstate__()
        return {name: kept[name] for name in STATE}

    def resume(self, state: Settings) -> None:
        """Set the state of the rounds, from the same rows."""
        vars(self).update({**state, "_visits": None, "_around": None, "_scaled": None})

    def count(
        self, sizes: NDArray[np.int64], holders: NDArray[np.int64], zero: NDArray[np.float64]
    ) -> None:
        """Add the numbers of rows and values of X, 1 for each feature of its rows, and P(0)."""
        sizes += self.problem.dataset.n_examples, len(self.problem.dataset.values)
        holders += 1
        holders[self._absent] -= 1
        zero += zero_objective(self.problem)

    def squares(self, total: NDArray[np.float64]) -> None:
        """Add sum_i x_ij^2, shape (d,); NaN if rows stay as they are: mapped, or not sparse."""
        data = self.problem.dataset
        if data.n_examples and (not data.is_sparse or is_mapped(data.values)):
            total += np.nan
            return
        for begin in range(0, len(data.values), SAMPLE):
            some = slice(begin, begin + SAMPLE)
            squares = np.square(data.values[some], dtype=np.float64)
            total += np.bincount(data.indices[some], squares, data.n_features)

    def round(
        self,
        number: float,
        V: Array,
        scale: Array,
        rho: float,
        relaxation: float,
        seed: float,
        total: Array,
        of_duals: NDArray[np.float64],
        counts: NDArray[np.float64],
    ) -> None:
        """Continue the local problem; add What_r + U_r and W(z) of this part, shape (d + 1, k).

        A repeated call for the same round gives the same result.
        """
        self._scale_by(scale)
        if self._round != number:
            self._update_multipliers(V, rho)
            A, self._seed = V - self._U, int(seed)
            W = self._visit(A, rho) if self.problem.dataset.n_examples else A
            self._relaxed = relaxation * W + (1 - relaxation) * V
            self._relaxed[self._absent] = 0
            self._rho, self._round = rho, int(number)
            self._counts[5] = secrets.randbits(53) if self.problem.dataset.n_examples else 0
        total += self._relaxed
        total += self._U
        if self.problem.dataset.n_examples:
            of_duals += self._of_duals(rho)
        counts[self.number] = self._counts

    def inspect(
        self,
        V: Array,
        scale: Array,
        common: NDArray[np.float64],
        norm: float,
        terms: NDArray[np.float64],
    ) -> None:
        """Write the terms of the gap at V and z, and of P(V), to the row of this part."""
        if not self.problem.dataset.n_examples:
            return
        self._scale_by(scale)
        found = self._gap_terms(V, common, norm)
        sums = [exact_sum(getattr(one, name) for one in found) for name in GAP_SUMS]
        terms[self.number, : len(sums)] = self._rho * np.array(sums)
        most = max(one.max_violation for one in found)
        terms[self.number, len(sums) :] = most, self._counts[5]

    def squared_duals(self, total: NDArray[np.float64]) -> None:
        """Add ||z||^2."""
        self._proximal().squared_duals(total)

    def respond(
        self,
        W: NDArray[np.float64],
        epsilon: float,
        total: NDArray[np.float64],
        terms: NDArray[np.float64],
    ) -> None:
        """Add the response to W, and its terms (``ProximalRows.respond``)."""
        self._proximal().respond(W, epsilon, total, terms)

    def slopes(
        self,
        W: NDArray[np.float64],
        step: NDArray[np.float64],
        epsilon: float,
        lengths: NDArray[np.float64],
        total: NDArray[np.float64],
    ) -> None:
        """Add the slopes at W + t step (``ProximalRows.slopes``)."""
        self._proximal().slopes(W, step, epsilon, lengths, total)

    def hessian(self, W: NDArray[np.float64], epsilon: float, blocks: NDArray[np.float64]) -> None:
        """Add the blocks of the Hessian (``ProximalRows.hessian``)."""
        self._proximal().hessian(W, epsilon, blocks)

    def move_duals(
        self,
        number: float,
        W: NDArray[np.float64],
        scale: Array,
        epsilon: float,
        length: float,
        of_duals: NDArray[np.float64],
        counts: NDArray[np.float64],
    ) -> None:
        """Move z towards the response to W by a step; add W(z), as ``round`` does."""
        self._scale_by(scale)
        if self._round != number:
            self._round = int(number)
            if self.problem.dataset.n_examples:
                self._take(sp.csr_array(self._proximal().moved(W, epsilon, length)))
                self._counts[5] = secrets.randbits(53)
                self._around = None
        if self.problem.dataset.n_examples:
            of_duals += self._of_duals(1.0)
        counts[self.number] = self._counts

    def duals(self) -> CsrArray:
        """Return z of these rows for the problem of all rows, shape (n, k)."""
        if self._visits is None:
            data = self.problem.dataset
            zero = Start.at_zero(data.n_examples, data.n_classes, data.dtype).duals
            return zero if self._z is None else self._z.copy()
        z = self._visits.engine.duals()
        z.data *= self._rho
        return z

    def __sizeof__(self) -> int:
        """Return the bytes of U, What_r, W(z), z, and of the arrays of Newton's method."""
        engine = 0 if self._visits is None else self._visits.engine.n_duals * 8 + self._U.nbytes
        around = 0 if self._around is None else self._around.n_bytes
        scaled = 0
        if self._scaled is not None and self._scaled is not self.problem:
            scaled = self._scaled.dataset.values.nbytes
        return int(self._U.nbytes + self._relaxed.nbytes + engine + around + scaled)

    def __getstate__(self) -> Settings:
        """Return the state with z and the state of the loops instead of the solver."""
        active = self._active if self._visits is None else self._visits.active()
        made = {"_visits": None, "_around": None, "_z": self.duals(), "_active": active}
        return {**vars(self), **made, "_scaled": None}

    @cached_property
    def _absent(self) -> NDArray[np.intp]:
        """Return the features that do not occur in these rows."""
        return np.flatnonzero(~self.problem.dataset.used_features())

    def _scale_by(self, scale: Array) -> None:
        """Divide the rows by sqrt(M), shape (d + 1, 1), unless they are; z does not change."""
        if np.array_equal(self._scale, scale):
            return
        z, active = self.duals(), self._active
        if self._visits is not None:
            active = self._visits.active()
        self._visits, self._z, self._active = None, z, active
        self._scale, self._scaled = scale.copy(), None

    def _problem_for(self, rho: float) -> Problem:
        """Return the local problem: rows divided by sqrt(M), costs divided by rho."""
        problem = self._scaled
        if problem is None:
            problem, data = self.problem, self.problem.dataset
            if (self._scale != 1).any():
                values = data.values / self._scale[data.indices, 0]
                problem = replace(problem, dataset=replace(data, values=values))
            self._scaled = problem
        return replace(problem, C=problem.C / rho)

    def _proximal(self) -> ProximalRows:
        """Return the rows around their z."""
        if self._around is None:
            z = self.duals().toarray().astype(np.float64)
            self._around = ProximalRows(self._problem_here(), z)
        return self._around

    def _problem_here(self) -> Problem:
        """Return the problem with its rows in the memory of this process."""
        return self.problem

    def _update_multipliers(self, V: Array, rho: float) -> None:
        """Move U by What_r - V of the last round; scale it to the new rho."""
        if self._round < 0:
            self._U, self._relaxed = np.zeros_like(V), np.zeros_like(V)
            return
        change = self._relaxed - V
        change[self._absent] = 0
        self._counts[3] = squared_norm(change)
        self._U += change
        if rho != self._rho:
            self._U *= self._rho / rho

    def _visit(self, A: Array, rho: float) -> Array:
        """Run an epoch of visits from A + W(z); return A + W(z)."""
        self._around = None
        visits = self._visits_for(rho)
        W = _matrix(visits)
        W += A
        record = visits.epoch(GapRule(0.0))
        active = record.active_share * self.problem.dataset.n_examples
        self._counts[:3] = record.loops, record.evaluations, active
        self._counts[4] = rho * visits.engine.rebuild()
        return np.asarray(A + W)

    def _of_duals(self, rho: float) -> NDArray[np.float64]:
        """Return W(z) of this part, for z of the problem of all rows."""
        return rho * _matrix(self._visits_for(rho)).astype(np.float64)

    def _gap_terms(self, V: Array, common: NDArray[np.float64], norm: float) -> Sequence[Findings]:
        """Return the terms of the gap at V and z, for z of the local problem."""
        engine = self._visits_for(self._rho).engine
        at = engine.new_weights()
        at.matrix[:, : V.shape[1]] = V
        return engine.gap_sums(common, norm, at)

    def _take(self, z: CsrArray) -> None:
        """Set z, given for the problem of all rows."""
        engine = self._visits_for(1.0).engine
        engine.load(z)
        self._counts[4] = engine.rebuild()

    def _visits_for(self, rho: float) -> SequentialDual:
        """Return the solver of the local problem for a rho; z is kept, in different units."""
        if self._visits is not None and self._rho == rho:
            return self._visits
        local = self._problem_for(rho)
        rng = np.random.default_rng([self._seed, self.number, max(0, self._round)])
        visits = SequentialDual(local, None, rng, self.n_jobs, ascent_only=True, rebuilds=False)
        active = self._active if self._visits is None else self._visits.active()
        if active is not None:
            z = self.duals()
            z.data /= rho
            self._counts[4] = rho * visits.resume(z, active)
        self._visits, self._z, self._active, self._rho = visits, None, None, rho
        return visits


def _matrix(visits: SequentialDual) -> Array:
    """Return the engine's W: W(z) between two rounds."""
    return visits.engine.matrix[:, : visits.problem.dataset.n_classes]
