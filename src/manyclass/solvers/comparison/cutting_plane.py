"""Cutting planes on the sum of losses (one slack), with the line search of OCAS.

    min_W  1/2 ||W||^2 + R(W),   R(W) = sum_i C_i loss_i(W) >= b_j - <W(z_j), W> for every cut j

A cut is the z_j of the most violated constraint at some W (separation.hpp):
b_j = sum_ic gamma_c z_ic [- z_ic^2 / (4 C_i)]. The master problem over the cuts,
max_lambda b . lambda - 1/2 ||sum_j lambda_j W(z_j)||^2 with lambda >= 0, sum lambda <= 1
(simplex_qp.py), has the value D(sum_j lambda_j z_j) at most: that z is feasible, and proves the
gap.

Given: x_i, y_i, C_i; a formulation without sum-to-zero constraint, either loss. Returned: the W
with the lowest P so far, z, and the certificate. An epoch is one round: a cut, the master, the line
search, where the scores of all examples fit into memory. A cut with lambda_j = 0 for ``IDLE``
rounds is dropped. Converges: to a gap of epsilon in O(C / epsilon) rounds.
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
from manyclass.solvers.comparison.base import (
    ComparisonSolver,
    ComparisonState,
    LoopFindings,
    set_duals,
)
from manyclass.solvers.comparison.line_search import Line
from manyclass.solvers.comparison.simplex_qp import solve_simplex_qp
from manyclass.solvers.kernels import NO_COMMON
from manyclass.solvers.weights.dense import allocate_weights, squared_norm
from manyclass.utils.core_class import core_class
from manyclass.utils.memory import available_memory
from manyclass.utils.types import Array, CsrArray

IDLE = 50
# Cuts are taken at the best W plus this share of the way to the master's (OCAS).
AHEAD = 0.1
# The master's own gap, as a share of the gap between P and D.
MASTER_SHARE = 1e-3
RIDGE = 100  # last digits of the master's matrix that are noise
SCORES_AT_A_TIME = 1 << 22


@dataclass(slots=True, eq=False)
class Cut:
    """z of a cut, in COO, its b, and for how many rounds its lambda has been 0."""

    rows: NDArray[np.int32]
    labels: NDArray[np.int32]
    values: NDArray[np.float64]
    b: float
    idle: int = 0


class Master(NamedTuple):
    """The master problem and its solution; replaced as a whole, so that Ctrl-C finds it whole."""

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
        """Return it with one cut more, whose lambda is 0; ``products``: its row of G."""
        gram = np.pad(self.gram, (0, 1))
        gram[-1] = gram[:, -1] = products
        return Master([*self.cuts, cut], gram, np.append(self.weights, 0.0))

    def without_idle(self) -> Master:
        """Return it without the cuts whose lambda has been 0 for ``IDLE`` rounds."""
        for cut, weight in zip(self.cuts, self.weights, strict=True):
            cut.idle = 0 if weight > 0 else cut.idle + 1
        keep = np.array([cut.idle < IDLE for cut in self.cuts])
        cuts = [cut for cut, kept in zip(self.cuts, keep, strict=True) if kept]
        return Master(cuts, self.gram[np.ix_(keep, keep)], self.weights[keep])


NO_CUTS = Master([], np.zeros((0, 0)), np.zeros(0))


@dataclass(slots=True, eq=False)
class Cuts:
    """The master problem, and where the next cut is taken."""

    lists: _core.Duals64  # z of a new cut
    spare: Array  # W of a new cut, then the W where the next one is taken
    master: Master = NO_CUTS
    primal: float = np.inf  # of the best W
    scores: Array | None = None  # of the best W, where a line search is made


class CuttingPlane(ComparisonSolver[Cuts]):
    """Solver for formulations without sum-to-zero constraint.

    Parameters
    ----------
    rng, n_jobs
        As for all comparison solvers.
    line_search : bool, default=True
        Whether to search the line between the best W and the master's (OCAS), where the scores of
        all examples fit into memory; otherwise cuts are taken at the master's W (BMRM).
    """

    def __init__(
        self, rng: np.random.Generator, n_jobs: int = 1, *, line_search: bool = True
    ) -> None:
        super().__init__(rng, n_jobs)
        self.line_search = line_search

    def _begin(self, problem: Problem, state: ComparisonState, z: CsrArray | None) -> None:
        data = problem.dataset
        rows = data.n_features + 1
        lists = core_class("Duals", data.dtype)(data.n_examples, data.n_classes)
        own = state.own = Cuts(lists, allocate_weights(rows, data.n_classes, data.dtype)[1])
        state.best = allocate_weights(rows, data.n_classes, data.dtype)[1]
        stride = own.spare.shape[1]
        n_bytes = 4 * data.n_examples * stride * 8
        if self.line_search and n_bytes < available_memory() / 2:
            own.scores = allocate_weights(data.n_examples, data.n_classes, data.dtype)[1]
        if z is not None:  # any feasible z is a cut
            set_duals(problem, lists, z)
            self._add_cut(problem, state)
            own.master = own.master._replace(weights=np.ones(1))
            self._move_to_master(problem, state)
            np.copyto(own.spare, state.store.weights)
        own.primal = self._primal(problem, state, own.spare)
        np.copyto(state.best, own.spare)
        if own.scores is not None:
            state.kernels.scores(own.spare, own.scores, 0, data.n_examples)

    def _loop(self, problem: Problem, state: ComparisonState) -> LoopFindings:
        own, held = state.own, state.store
        found = state.kernels.separate(own.spare, own.lists)  # at the W of the last round
        self._add_cut(problem, state)
        tol = MASTER_SHARE * max(own.primal - held.dual, 1e-12 * abs(own.primal))
        ridge = RIDGE * float(np.finfo(problem.dataset.dtype).eps)
        master = own.master
        weights = solve_simplex_qp(master.gram, master.constants(), master.weights, tol, ridge)
        own.master = master._replace(weights=weights)
        self._move_to_master(problem, state)
        if own.scores is None:
            np.copyto(own.spare, held.weights)
            self._keep_best(problem, state)
        else:
            self._search(problem, state)
        own.master = own.master.without_idle()
        gap = max(own.primal - held.dual, 0.0)
        return LoopFindings(gap, np.inf, found.evaluations, len(own.master.cuts))

    def _put_duals(self, problem: Problem, state: ComparisonState) -> None:
        """Write sum_j lambda_j z_j."""
        data, master = problem.dataset, state.own.master
        used = [(cut, w) for cut, w in zip(master.cuts, master.weights, strict=True) if w > 0]
        shape = data.n_examples, data.n_classes
        none: NDArray[np.int32] = np.empty(0, np.int32)
        rows = np.concatenate([none, *(cut.rows for cut, _ in used)])
        labels = np.concatenate([none, *(cut.labels for cut, _ in used)])
        values = np.concatenate([np.empty(0), *(w * cut.values for cut, w in used)])
        set_duals(problem, state.store.z, sp.csr_array((values, (rows, labels)), shape=shape))

    def _add_cut(self, problem: Problem, state: ComparisonState) -> None:
        """Append the z of ``own.lists``: its b, and its row of the master's matrix."""
        own, held = state.own, state.store
        indptr, labels, values = own.lists.to_csr()
        rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
        keep = state.filled[rows]  # x_i = 0 adds a constant to P and D
        cut = Cut(rows[keep], labels[keep], values[keep].astype(np.float64), 0.0)
        cut.b = _constant_term(problem, cut)
        held.trainer.rebuild(own.spare, own.lists, NO_COMMON)
        products = self._products(problem, state, [*own.master.cuts, cut])
        own.master = own.master.with_cut(cut, products)

    def _products(
        self, problem: Problem, state: ComparisonState, cuts: list[Cut]
    ) -> NDArray[np.float64]:
        """<W(z_j), W> of cuts and a new one's W: sums of z_ic times the margin of (i, c) at W."""
        data, W = problem.dataset, state.own.spare
        totals = np.zeros(len(cuts))
        step = max(1, SCORES_AT_A_TIME // W.shape[1])
        _, scores = allocate_weights(min(step, data.n_examples), data.n_classes, data.dtype)
        for begin in range(0, data.n_examples, step):
            end = min(begin + step, data.n_examples)
            state.kernels.scores(W, scores[: end - begin], begin, end)
            margins = _margins(problem, scores[: end - begin, : data.n_classes], begin)
            for j, cut in enumerate(cuts):
                some = slice(*np.searchsorted(cut.rows, (begin, end)))
                at = margins[cut.rows[some] - begin, cut.labels[some]]
                totals[j] += float(cut.values[some] @ at)
        return totals

    def _move_to_master(self, problem: Problem, state: ComparisonState) -> None:
        """W <- W(z) of the master's z, and D."""
        own, held = state.own, state.store
        self._put_duals(problem, state)
        self.store.rebuild(problem, held)
        held.dual = held.constant + own.master.dual()

    def _primal(self, problem: Problem, state: ComparisonState, W: Array) -> float:
        """P at W; leaves z of the most violated constraint there in ``own.lists``."""
        loss = state.kernels.separate(W, state.own.lists).loss
        return 0.5 * squared_norm(W, problem.dataset.n_classes, apart=False) + float(loss)

    def _keep_best(self, problem: Problem, state: ComparisonState) -> None:
        """Keep the master's W if it is the best so far."""
        own = state.own
        primal = self._primal(problem, state, own.spare)
        if primal < own.primal:
            own.primal = primal
            assert state.best is not None
            np.copyto(state.best, own.spare)

    def _search(self, problem: Problem, state: ComparisonState) -> None:
        """Move the best W towards the master's; the next cut is taken a little further on."""
        own, best, data = state.own, state.best, problem.dataset
        assert own.scores is not None
        assert best is not None
        k = data.n_classes
        np.subtract(state.store.weights, best, out=own.spare)
        change = allocate_weights(data.n_examples, k, data.dtype)[1]
        state.kernels.scores(own.spare, change, 0, data.n_examples)
        cross = float(np.einsum("ij,ij->", best, own.spare, dtype=np.float64))
        squares = [squared_norm(W, k, apart=False) for W in (best, own.spare)]
        line = Line(problem, own.scores[:, :k], change[:, :k], (squares[0], cross, squares[1]))
        mu = line.best()
        own.primal = min(own.primal, line.objective(mu))
        best += best.dtype.type(mu) * own.spare
        own.scores += own.scores.dtype.type(mu) * change
        own.spare *= own.spare.dtype.type(AHEAD * (1 - mu))
        own.spare += best


def _margins(problem: Problem, scores: Array, begin: int) -> NDArray[np.float64]:
    """mu_ic of some examples, shape (m, k): (w_y - w_c) . x, or -w_c . x and w_y . x."""
    labels = problem.dataset.labels[begin : begin + len(scores)]
    at = np.arange(len(scores)), labels
    own = scores[at].astype(np.float64)
    if problem.formulation.is_relative:
        return np.asarray(own[:, None] - scores)
    margins = -scores.astype(np.float64)
    margins[at] = own
    return margins


def _constant_term(problem: Problem, cut: Cut) -> float:
    """B = sum_ic gamma_c z_ic [- z_ic^2 / (4 C_i)]."""
    data = problem.dataset
    gamma = np.ones(len(cut.rows))
    gamma[cut.labels == data.labels[cut.rows]] = problem.formulation.own_margin(data.n_classes)
    total = float(gamma @ cut.values)
    if problem.squared:
        total -= float((cut.values**2 / (4 * problem.costs[cut.rows])).sum())
    return total
