"""Cutting planes on the sum of losses (one slack), with the line search of OCAS.

    min_W  1/2 ||W||^2 + R(W),   R(W) = sum_i C_i loss_i(W) >= b_j - <W(z_j), W> for every cut j

A cut is the z_j of the most violated constraint at some W (separation.hpp):
b_j = sum_ic gamma_c z_ic [- z_ic^2 / (4 C_i)]. The master problem over the cuts,
max_lambda b . lambda - 1/2 ||sum_j lambda_j W(z_j)||^2 with lambda >= 0, sum lambda <= 1
(simplex_qp.py), has at most the value D(sum_j lambda_j z_j): this z is feasible, and proves the
gap.

Input: x_i, y_i, C_i; a formulation without sum-to-zero constraint, either loss. Output: the W with
the lowest P so far, z, and the certificate. An epoch is one round: a cut, the master problem, and
the line search, if the scores of all examples fit into memory. A cut with lambda_j = 0 for ``IDLE``
rounds is dropped. Convergence: to a gap of epsilon in O(C / epsilon) rounds.
Sources: Joachims et al. 2009; Teo et al. 2010 (BMRM); Franc and Sonnenburg 2009 (OCAS).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.solvers.comparison.base import (
    ComparisonSolver,
    LoopFindings,
)
from manyclass.solvers.comparison.line_search import Line
from manyclass.solvers.comparison.simplex_qp import solve_simplex_qp
from manyclass.solvers.weights.storage import squared_norm
from manyclass.utils.machine import available_memory, core_class
from manyclass.utils.types import Array, CsrArray

IDLE = 50
# Cuts are taken at the best W plus this share of the way to the master's W (OCAS).
AHEAD = 0.1
# Gap of the master problem, as a share of the gap between P and D.
MASTER_SHARE = 1e-3
RIDGE = 100  # rounding of the master's matrix, in units of the last digit
SCORES_AT_A_TIME = 1 << 22


@dataclass(slots=True, eq=False)
class Cut:
    """z of a cut in COO, its b, and the number of rounds with lambda = 0."""

    rows: NDArray[np.int32]
    labels: NDArray[np.int32]
    values: NDArray[np.float64]
    b: float
    idle: int = 0


class Master(NamedTuple):
    """The master problem and its solution; replaced at once, in case of Ctrl-C."""

    cuts: list[Cut]
    gram: NDArray[np.float64]
    weights: NDArray[np.float64]  # lambda

    def dual(self) -> float:
        """Return b . lambda - 1/2 lambda^T G lambda."""
        w = self.weights
        return float(self.constants() @ w - 0.5 * w @ self.gram @ w)

    def constants(self) -> NDArray[np.float64]:
        """Return b."""
        return np.array([cut.b for cut in self.cuts])

    def with_cut(self, cut: Cut, products: NDArray[np.float64]) -> Master:
        """Return the problem with one more cut, with lambda 0; ``products`` is its row of G."""
        gram = np.pad(self.gram, (0, 1))
        gram[-1] = gram[:, -1] = products
        return Master([*self.cuts, cut], gram, np.append(self.weights, 0.0))

    def without_idle(self) -> Master:
        """Return the problem without the cuts with lambda 0 for ``IDLE`` rounds."""
        for cut, weight in zip(self.cuts, self.weights, strict=True):
            cut.idle = 0 if weight > 0 else cut.idle + 1
        keep = np.array([cut.idle < IDLE for cut in self.cuts], bool)
        cuts = [cut for cut, kept in zip(self.cuts, keep, strict=True) if kept]
        return Master(cuts, self.gram[np.ix_(keep, keep)], self.weights[keep])


NO_CUTS = Master([], np.zeros((0, 0)), np.zeros(0))


class CuttingPlane(ComparisonSolver):
    """Solver for formulations without sum-to-zero constraint.

    Parameters
    ----------
    problem, start, rng, n_jobs
        See ``ComparisonSolver``.
    line_search : bool, default=True
        Whether to search the line between the best W and the master's W (OCAS), if the scores of
        all examples fit into memory; otherwise cuts are taken at the master's W (BMRM).
    """

    def __init__(
        self,
        problem: Problem,
        start: Start | None,
        rng: np.random.Generator,
        n_jobs: int = 1,
        *,
        line_search: bool = True,
    ) -> None:
        self.line_search = line_search
        super().__init__(problem, start, rng, n_jobs)

    def _begin(self, z: CsrArray | None) -> None:
        data, engine = self.problem.dataset, self.engine
        self._lists = core_class("Duals", data.dtype)(data.n_examples, data.n_classes)  # of a cut
        # W of a new cut, then the W of the next one.
        self._spare = engine.new_weights()
        self.best = engine.new_weights()
        self._master = NO_CUTS
        self._scores: Array | None = None  # scores of the best W, with a line search
        n_bytes = 4 * data.n_examples * self._spare.padded.shape[1] * 8
        if self.line_search and n_bytes < available_memory() / 2:
            self._scores = self._scores_like(data.n_examples)
        if z is not None:  # any feasible z is a cut
            dtype = data.dtype
            self._lists.from_csr(
                z.indptr.astype(np.int64), z.indices.astype(np.int32), z.data.astype(dtype)
            )
            self._add_cut()
            self._master = self._master._replace(weights=np.ones(len(self._master.cuts)))
            self._move_to_master()
            np.copyto(self._spare.matrix, engine.matrix)
        self._primal = self._primal_at(self._spare)  # P of the best W
        np.copyto(self.best.matrix, self._spare.matrix)
        if self._scores is not None:
            self.kernels.scores(self._spare.padded, self._scores, 0, data.n_examples)

    def _loop(self) -> LoopFindings:
        # The z of a new cut, at the W of the last round.
        found = self.kernels.separate(self._spare.padded, self._lists)
        self._add_cut()
        tol = MASTER_SHARE * max(self._primal - self.dual, 1e-12 * abs(self._primal))
        ridge = RIDGE * float(np.finfo(self.problem.dataset.dtype).eps)
        master = self._master
        weights = solve_simplex_qp(master.gram, master.constants(), master.weights, tol, ridge)
        self._master = master._replace(weights=weights)
        self._move_to_master()
        if self._scores is None:
            np.copyto(self._spare.matrix, self.engine.matrix)
            self._keep_best()
        else:
            self._search(self._scores)
        self._master = self._master.without_idle()
        gap = max(self._primal - self.dual, 0.0)
        return LoopFindings(gap, np.inf, found.evaluations, len(self._master.cuts))

    def _put_duals(self) -> None:
        """Write sum_j lambda_j z_j."""
        data, master = self.problem.dataset, self._master
        used = [(cut, w) for cut, w in zip(master.cuts, master.weights, strict=True) if w > 0]
        shape = data.n_examples, data.n_classes
        none: NDArray[np.int32] = np.empty(0, np.int32)
        rows = np.concatenate([none, *(cut.rows for cut, _ in used)])
        labels = np.concatenate([none, *(cut.labels for cut, _ in used)])
        values = np.concatenate([np.empty(0), *(w * cut.values for cut, w in used)])
        self.engine.load(sp.csr_array((values, (rows, labels)), shape=shape))

    def _add_cut(self) -> None:
        """Append the z of the lists as a cut: its b, and its row of the master's matrix."""
        indptr, labels, values = self._lists.to_csr()
        rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
        keep = self.filled[rows]  # x_i = 0 adds a constant to P and D
        cut = Cut(rows[keep], labels[keep], values[keep].astype(np.float64), 0.0)
        cut.b = _constant_term(self.problem, cut)
        self.kernels.rebuild(self._spare.padded, self._lists)
        products = self._products([*self._master.cuts, cut])
        if np.isfinite(products).all():  # otherwise W(z_j) overflows, and training stalls
            self._master = self._master.with_cut(cut, products)

    def _products(self, cuts: list[Cut]) -> NDArray[np.float64]:
        """Return <W(z_j), W> of cuts and a new W: sums of z_ic times the margin of (i, c) at W."""
        data, W = self.problem.dataset, self._spare.padded
        totals = np.zeros(len(cuts))
        step = max(1, SCORES_AT_A_TIME // W.shape[1])
        scores = self._scores_like(min(step, data.n_examples))
        for begin in range(0, data.n_examples, step):
            end = min(begin + step, data.n_examples)
            self.kernels.scores(W, scores[: end - begin], begin, end)
            margins = _margins(self.problem, scores[: end - begin, : data.n_classes], begin)
            for j, cut in enumerate(cuts):
                some = slice(*np.searchsorted(cut.rows, (begin, end)))
                at = margins[cut.rows[some] - begin, cut.labels[some]]
                totals[j] += float(cut.values[some] @ at)
        return totals

    def _move_to_master(self) -> None:
        """Set W to W(z) of the master's z, and update D."""
        self._put_duals()
        self.engine.rebuild()
        self.dual = self.constant + self._master.dual()

    def _primal_at(self, W: _core.Weights) -> float:
        """Return P at W; write z of the most violated constraint to the lists."""
        loss = self.kernels.separate(W.padded, self._lists).loss
        return 0.5 * squared_norm(W.matrix) + float(loss)

    def _keep_best(self) -> None:
        """Keep the master's W if it is the best so far."""
        primal = self._primal_at(self._spare)
        if primal < self._primal:
            self._primal = primal
            assert self.best is not None
            np.copyto(self.best.matrix, self._spare.matrix)

    def _search(self, scores: Array) -> None:
        """Move the best W towards the master's W; the next cut is taken slightly beyond it."""
        assert self.best is not None
        best, spare = self.best.matrix, self._spare.matrix
        n, k = self.problem.dataset.n_examples, self.problem.dataset.n_classes
        np.subtract(self.engine.matrix, best, out=spare)
        change = self._scores_like(n)
        self.kernels.scores(self._spare.padded, change, 0, n)
        cross = float(np.einsum("ij,ij->", best, spare, dtype=np.float64))
        squares = [squared_norm(W) for W in (best, spare)]
        line = Line(self.problem, scores[:, :k], change[:, :k], (squares[0], cross, squares[1]))
        mu = line.best()
        self._primal = min(self._primal, line.objective(mu))
        best += best.dtype.type(mu) * spare
        scores += scores.dtype.type(mu) * change
        spare *= spare.dtype.type(AHEAD * (1 - mu))
        spare += best


def _margins(problem: Problem, scores: Array, begin: int) -> NDArray[np.float64]:
    """Return mu_ic of some examples, shape (m, k): (w_y - w_c) . x, or -w_c . x and w_y . x."""
    labels = problem.dataset.labels[begin : begin + len(scores)]
    at = np.arange(len(scores)), labels
    own = scores[at].astype(np.float64)
    if problem.formulation.is_relative:
        return np.asarray(own[:, None] - scores)
    margins = -scores.astype(np.float64)
    margins[at] = own
    return margins


def _constant_term(problem: Problem, cut: Cut) -> float:
    """Return b = sum_ic gamma_c z_ic [- z_ic^2 / (4 C_i)]."""
    data = problem.dataset
    others, own = problem.formulation.margins(data.n_classes)
    gamma = np.where(cut.labels == data.labels[cut.rows], own, others)
    ridge = problem.slack_loss.ridge(cut.values, problem.costs[cut.rows])
    return float(gamma @ cut.values) - float(ridge.sum())
