"""Dual visits in rounds: Crammer-Singer and Weston-Watkins (hinge) on a device.

    max D(z) = sum_ic gamma_ic z_ic - 1/2 ||W(z)||^2,   z feasible,   gamma_ic = gamma + b_ic - b_i,y_i

A round takes m rows, scores them from one W by a product, solves the block of each row by itself
(row_problems.py), and takes of all steps together the length that is best (mathematics: visits in
parallel):

    Delta W = sum_i x_i a(Delta_i)^T,   theta = min(1, sum Delta . xi / ||Delta W||^2)
    z <- z + theta Delta,   W <- W + theta Delta W

D never falls. m follows theta: where rows disturb one another it is short, and m falls. An epoch is
some loops over the rows with a z strictly between its bounds (shrunk loops), then one over all
rows. A score costs a device so little that shrunk loops visit all classes of their rows.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.arrays.namespace import DeviceArray, to_numpy
from manyclass.arrays.row_visits import visits_of
from manyclass.arrays.rounds import rounds_of
from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.svm_certificate import SvmCertificate, feasible
from manyclass.problem.problem import Problem, check_squared_norms
from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights, scale_of
from manyclass.problem.zero_objective import zero_objective
from manyclass.solvers.stopping import Found, StoppingRule
from manyclass.utils.types import Array, CsrArray

# Rows of a round: so many at first, at least and at most, as a share of all; more where the mean
# theta is above HIGH, fewer where it is below LOW (counted on embeddings: mathematics, section 16).
SHARE, MOST_SHARE, LEAST_ROWS, ROUNDS_OF_ALL = 0.01, 0.03, 256, 40
HIGH, MORE, LOW, FEWER = 0.9, 1.1, 0.6, 0.7
ENOUGH = 0.3  # of the full loop's gap: shrunk loops end there
MOST_LOOPS = 30  # shrunk loops of an epoch
AT_BOUND = 1 - 1e-6


class DualRounds:
    """The solver, from z = 0 or from the z of a start.

    Parameters
    ----------
    problem : Problem
        Of a ``DeviceDataset``: Crammer-Singer or Weston-Watkins with the hinge loss.
    start : Start or None
    rng : numpy.random.Generator
        Orders the rows.
    keeps_duals : bool, default=True
        Whether ``start`` returns z.

    Raises
    ------
    FloatingPointError
        If the square of a row overflows.
    """

    is_exact = False

    def __init__(
        self,
        problem: Problem,
        start: Start | None,
        rng: np.random.Generator,
        *,
        keeps_duals: bool = True,
    ) -> None:
        self._began = time.perf_counter()
        self.problem, self.rng, self.keeps_duals = problem, rng, keeps_duals
        self.rows = rows = ArrayRows(problem)
        self.xp, self.place = rows.xp, rows.place
        self.norms = rows.squared_norms()
        host = to_numpy(self.norms)
        check_squared_norms(host)
        self.visited = np.flatnonzero(host > 0)
        self.zero_objective = zero_objective(problem)
        self.certificate = SvmCertificate(rows, self.norms, self.zero_objective)
        self.gamma = problem.margins()[0]
        self.constant = self._constant_loss()
        shape = problem.dataset.n_features + 1, rows.k
        self.W = self.place.zeros(shape, rows.dtype)
        self.visits = visits_of(rows, self.norms)
        self._tiny = float(np.finfo(problem.dataset.dtype).tiny)
        n = len(self.visited)
        self._least = min(LEAST_ROWS, max(1, n // ROUNDS_OF_ALL))
        self._m = max(self._least, int(SHARE * n))
        self.rounds = rounds_of(self.round, self.visits, rows)
        self._n_epochs, self._gap, self.dual = 0, math.inf, self.constant
        self.n_loops = 0  # shrunk ones of the last epoch
        self._free: DeviceArray = None  # rows with a free z, after the first full loop
        if start is not None and start.duals.nnz:
            self._load(start.duals)

    def _constant_loss(self) -> float:
        """Return the loss of rows without features, which no W changes."""
        rows = self.rows
        none = np.setdiff1d(np.arange(rows.n), self.visited)
        if not len(none):
            return 0.0
        data = self.problem.dataset
        some = replace(
            self.problem,
            dataset=replace(data, labels=data.labels[none], weights=data.weights[none]),
            base=None,
        )
        if self.problem.base is None:
            return zero_objective(some)
        base = self.problem.base.of(none)
        own = base[np.arange(len(none)), data.labels[none]]
        xi = self.gamma + base - own[:, None]
        xi[np.arange(len(none)), data.labels[none]] = 0
        over = np.maximum(xi, 0)
        losses = over.max(axis=1) if self.problem.formulation.takes_maximum else over.sum(axis=1)
        return float(self.problem.costs[none] @ losses)

    # What the training loop asks

    @property
    def scale(self) -> float:
        """What the gap is measured against, by the estimates of the last epoch."""
        return scale_of(self._gap, self.dual + self._gap, self.zero_objective)

    def epoch(self, rule: StoppingRule) -> EpochRecord:
        """Shrunk loops, unless it is the first epoch, then a loop over all rows."""
        is_first = self._free is None or not math.isfinite(self._gap)
        visits = 0 if is_first else self._shrunk_loops()
        self._gap = self._full_loop()
        self.dual = self._dual()
        self._free = self._rows_with_free_duals()
        self._n_epochs += 1
        data, n_free = self.problem.dataset, len(self._free)
        return EpochRecord(
            epoch=self._n_epochs,
            seconds=time.perf_counter() - self._began,
            primal_estimate=self.dual + self._gap,
            gap_estimate=self._gap,
            violation=math.sqrt(2 * max(0.0, self._gap)),
            active_share=n_free / max(1, data.n_examples),
            loops=self.n_loops,
            evaluations=(visits + data.n_examples) * data.n_classes,
            n_weights=(data.n_features + 1) * data.n_classes,
            n_duals=self._n_duals,
            zero_objective=self.zero_objective,
        )

    def promising(self, rule: StoppingRule) -> bool:
        """Whether the last loop's estimates say that the rule may be met."""
        return rule.promising(Found(self._gap, math.sqrt(2 * max(0.0, self._gap))), self.scale)

    def certify(self) -> Certificate:
        """Compute W(z) in float64, round it to the type of W, and certify it."""
        of_duals, rounding = self.certificate.weights_of(self._feasible)
        W = to_numpy(self.xp.astype(of_duals, self.rows.dtype)).copy()
        found = self.certificate.at(W, self._feasible, of_duals, rounding)
        self.W[:, :] = self.place.asarray(W)
        self.dual, self._gap = found.dual_objective, found.gap
        return found

    def weights(self) -> Weights:
        """Return W, shape (d + 1, k), an ndarray."""
        return to_numpy(self.W).copy(order="F")

    def start(self) -> Start:
        """Return z, from which training can continue."""
        data = self.problem.dataset
        if not self.keeps_duals:
            return Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        return Start(self._duals())

    def finish(self) -> Weights:
        """Return W."""
        self.rounds = self.visits.Z = None
        return self.weights()

    # z

    def _feasible(self, part: slice) -> DeviceArray:
        return feasible(self.rows, self.visits.Z[part, :], self.rows.costs[part])

    def _duals(self) -> CsrArray:
        parts = [sp.csr_array(to_numpy(self.visits.Z[part, :])) for part in self.rows.blocks()]
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _load(self, duals: CsrArray) -> None:
        """Take over z, and W(z)."""
        for part in self.rows.blocks():
            z = sp.csr_array(duals[part]).toarray().astype(self.problem.dataset.dtype)
            z[to_numpy(self.norms[part]) == 0] = 0
            self.visits.Z[part, :] = self.place.asarray(z)
        of_duals, _ = self.certificate.weights_of(self._feasible)
        self.W[:, :] = self.xp.astype(of_duals, self.rows.dtype)
        self._free = self._rows_with_free_duals()
        self._gap = math.inf

    def _dual(self) -> float:
        """Return D, of z and W as they are held."""
        xp, total, self._n_duals = self.xp, self.constant, 0
        for part in self.rows.blocks():
            Z, labels = self.visits.Z[part, :], self.rows.labels[part]
            total += self.gamma * float(xp.sum(Z, dtype=xp.float64))
            if self.rows.has_base:
                base = self.rows.base(part)
                apart = base - self.rows.pick(base, labels)
                Z = xp.astype(Z, xp.float64)
                total += float(xp.sum(xp.where(Z > 0, Z * apart, 0 * Z)))
            self._n_duals += int(xp.sum(xp.astype(Z > 0, xp.int64)))
        return total - 0.5 * float(xp.sum(self.W * self.W, dtype=xp.float64))

    def _free_of(self, some: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return those of some rows that have a z strictly between 0 and its bound."""
        found, step = [], self.rows.rows_of_block
        for begin in range(0, len(some), step):
            i = self.place.asarray(some[begin : begin + step])
            Z, caps = self.xp.take(self.visits.Z, i, axis=0), self.rows.of(self.rows.costs, i)
            free = (Z > 0) & (Z < caps[:, None] * AT_BOUND)
            found.append(to_numpy(self.xp.any(free, axis=1)))
        return some[np.concatenate(found)]

    def _rows_with_free_duals(self) -> NDArray[np.intp]:
        """Return the rows with a z strictly between 0 and its bound."""
        found = []
        for part in self.rows.blocks():
            Z = self.visits.Z[part, :]
            free = (Z > 0) & (Z < self.rows.costs[part][:, None] * AT_BOUND)
            found.append(to_numpy(self.xp.any(free, axis=1)))
        return np.flatnonzero(np.concatenate(found))

    # Loops

    def _full_loop(self) -> float:
        """Visit all rows in rounds; return the gap, each term just before its visit."""
        return self._loop(self.visited)

    def _shrunk_loops(self) -> int:
        """Visit the rows with a free z until little of the gap is left; return how often."""
        active, visits, self.n_loops = self._free, 0, 0
        while len(active) and self.n_loops < MOST_LOOPS:
            left = self._loop(active)
            visits, self.n_loops = visits + len(active), self.n_loops + 1
            if left < ENOUGH * self._gap:
                break
            active = self._free_of(active)
        return visits

    def _loop(self, some: NDArray[np.intp]) -> float:
        """Visit some rows in rounds, in random order."""
        self.rounds.begin(self.rng.permutation(some))
        begin = 0
        while begin < len(some):
            n = min(self._m, len(some) - begin)
            thetas = self.rounds.run(begin, n, is_whole=n == self._m)
            begin += n
            for theta in thetas:
                self._adapt(theta)
        return self.rounds.end()

    def round(self, i: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        """Visit rows from one W, and take the best length of their steps; return it, and the gap."""
        xp, rows = self.xp, self.rows
        x = rows.features(i, rows.dtype)
        V, slope, gap = self.visits.visit(x @ self.W[:-1, :], self.W, i)
        change = rows.back(x, V)
        square = xp.sum(change * change)
        theta = xp.clip(slope / xp.clip(square, self._tiny, None), 0.0, 1.0)
        self.W += theta * change
        self.visits.store(i, V, theta)
        return theta, gap

    def _adapt(self, theta: float) -> None:
        """Choose the rows of the next rounds."""
        if theta < LOW:
            self._m = max(self._least, int(self._m * FEWER))
        elif theta > HIGH:
            most = max(self._least, int(MOST_SHARE * len(self.visited)))
            self._m = max(self._least, min(most, int(self._m * MORE) + 1))
