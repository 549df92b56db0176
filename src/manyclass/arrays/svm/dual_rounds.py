"""Dual visits in rounds: Crammer-Singer and Weston-Watkins (hinge) on a device.

    max D(z) = sum_ic gamma_ic z_ic - 1/2 ||W(z)||^2,   z feasible,
    gamma_ic = gamma + b_ic - b_i,y_i

A round takes m rows, scores them from one W by a product, solves the block of each row by itself
(row_visits.py), and takes of all steps together the length that is best:

    Delta W = sum_i x_i a(Delta_i)^T,   theta = min(1, sum Delta . xi / ||Delta W||^2)
    z <- z + theta Delta,   W <- W + theta Delta W

D never falls. All rows share the constant feature, and would move intercepts too far together: they
are solved at scores that are shifted by what their steps move them. m falls where theta is small,
since rows disturb one another there. An epoch is some loops over the rows with a z strictly between
its bounds (shrunk loops), then one over all rows. A score costs a device so little that shrunk
loops visit all classes of their rows.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.arrays.namespace import to_numpy
from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.svm.certificate import SvmCertificate, feasible
from manyclass.arrays.svm.kernel_choice import visits_of
from manyclass.arrays.svm.rounds import rounds_of
from manyclass.problem.problem import Problem, check_squared_norms, zero_objective
from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights, scale_of
from manyclass.solvers.stopping import Found, StoppingRule
from manyclass.utils.types import CsrArray, DeviceArray

# Rows of a round: so many at first, at least and at most, as a share of all; more where the mean
# theta is above HIGH, fewer where it is below LOW (counted on embeddings: mathematics, section 16).
SHARE, MOST_SHARE, LEAST_ROWS, FEWEST_ROWS, ROUNDS_OF_ALL = 0.01, 0.03, 256, 16, 40
HIGH, MORE, LOW, FEWER = 0.9, 1.1, 0.6, 0.7
ENOUGH = 0.3  # of the full loop's gap: shrunk loops end there
MOST_LOOPS, MOST_VISITS = 30, 1.5  # of an epoch: shrunk loops, and their visits of each row
# Steps towards the shift of the scores by intercepts, in a round; the share of bias^2 in the q of a
# row, beside the shift.
SHIFTS, OWN_SHARE = 8, 0.3
FAST_UNTIL = 0.05  # relative gap down to which products are in TF32
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
        visited = np.flatnonzero(host > 0)
        self.visited = self.place.asarray(visited)
        self.zero_objective = zero_objective(problem)
        self.certificate = SvmCertificate(rows, self.norms, self.zero_objective)
        self.gamma = problem.margins()[0]
        self.constant = self._constant_loss(np.setdiff1d(np.arange(rows.n), visited))
        shape = problem.dataset.n_features + 1, rows.k
        self.W = self.place.zeros(shape, rows.dtype)
        self.visits = visits_of(rows, self.norms - (1 - OWN_SHARE) * rows.bias**2)
        self._no_shift = self.place.zeros((rows.k,), rows.dtype)
        self._tiny = float(np.finfo(problem.dataset.dtype).tiny)
        self._n = n = len(visited)
        self._least = min(LEAST_ROWS, max(FEWEST_ROWS, n // ROUNDS_OF_ALL))
        self._m = max(self._least, int(SHARE * n))
        self.rounds = rounds_of(self.round, self.visits, rows)
        self._n_epochs, self._gap, self.dual = 0, math.inf, self.constant
        self.n_loops = 0  # shrunk ones of the last epoch
        self._free: DeviceArray = None  # rows with a free z, after the first full loop
        self._is_fast = self.place.is_gpu and rows.dtype == self.xp.float32
        if start is not None and start.duals.nnz:
            self._load(start.duals)

    def _constant_loss(self, none: NDArray[np.intp]) -> float:
        """Return the loss of these rows, which have no features: no W changes it."""
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

    def epoch(self, _rule: StoppingRule) -> EpochRecord:
        """Shrunk loops, unless it is the first epoch, then a loop over all rows."""
        is_first = self._free is None or not math.isfinite(self._gap)
        with self.place.current(), self.place.fast_products(self._is_fast):
            visits = 0 if is_first else self._shrunk_loops()
            self._gap = self._loop(self.visited)
        self.dual = self._dual()
        if self._is_fast and self._gap <= FAST_UNTIL * self.scale:
            self._use_exact_products()
        self._free = self._rows_with_free_duals()
        self._n_epochs += 1
        data, n_free = self.problem.dataset, self._free.shape[0]
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

    def _use_exact_products(self) -> None:
        """Leave TF32; W, which has its rounding, becomes W(z)."""
        self._is_fast = False
        self.rounds = rounds_of(self.round, self.visits, self.rows)
        of_duals, _ = self.certificate.weights_of(self._feasible)
        self.W[...] = self.xp.astype(of_duals, self.rows.dtype)

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
        self.visits.Z = None
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

    def _rows_with_free_duals(self) -> DeviceArray:
        """Return the rows with a z strictly between 0 and its bound."""
        xp, found = self.xp, []
        for part in self.rows.blocks():
            Z = self.visits.Z[part, :]
            caps = xp.astype(self.rows.costs[part] * AT_BOUND, Z.dtype)
            found.append(xp.any((Z > 0) & (caps[:, None] > Z), axis=1))
        return xp.nonzero(xp.concat(found))[0]

    # Loops

    def _shrunk_loops(self) -> int:
        """Visit the rows with a free z until little of the gap is left; return how often."""
        n, visits, self.n_loops = self._free.shape[0], 0, 0
        while n and self.n_loops < MOST_LOOPS and visits < MOST_VISITS * self._n:
            left = self._loop(self._free)
            visits, self.n_loops = visits + n, self.n_loops + 1
            if left < ENOUGH * self._gap:
                break
        return visits

    def _loop(self, some: DeviceArray) -> float:
        """Visit some rows in rounds, in random order; return their gap, just before each visit."""
        n_rows, begin = some.shape[0], 0
        self.rounds.begin(self.place.shuffled(some, self.rng))
        while begin < n_rows:
            n = min(self._m, n_rows - begin)
            thetas = self.rounds.run(begin, n, is_whole=n == self._m)
            begin += n
            for theta in thetas:
                self._adapt(theta)
        return self.rounds.end()

    def round(self, i: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        """Visit rows from one W; return the length of their steps that is best, and their gap."""
        xp, rows = self.xp, self.rows
        x = rows.features(i, rows.dtype)
        products = x @ self.W[:-1, :]
        shift = self._shift(products, i) if rows.bias else self._no_shift
        V, slope, gap = self.visits.visit(products, self.W, i, shift)
        change = rows.back(x, V)
        square = xp.sum(change * change)
        theta = xp.clip(slope / xp.clip(square, self._tiny, None), 0.0, 1.0)
        self.W += theta * change
        self.visits.store(i, V, theta)
        return theta, gap

    def _shift(self, products: DeviceArray, i: DeviceArray) -> DeviceArray:
        """Return by how much the steps of rows i move the scores of the classes by intercepts.

        All rows share the constant feature: at scores that did not move, their steps would be too
        long together. t = bias^2 sum_i v_i(t) is solved by steps t += F(t) / (1 + h), h_c = bias^2
        sum_i [v_ic != 0] / q_i.
        """
        xp, shift, squared = self.xp, self._no_shift, self.rows.bias**2
        inverse = squared / self.rows.of(self.visits.q, i)
        for _ in range(SHIFTS):
            V, _, _ = self.visits.visit(products, self.W, i, shift)
            slope = inverse @ xp.astype(V != 0, V.dtype)
            shift = shift + (squared * xp.sum(V, axis=0) - shift) / (1 + slope)
        return shift

    def _adapt(self, theta: float) -> None:
        """Choose the rows of the next rounds."""
        if theta < LOW:
            self._m = max(self._least, int(self._m * FEWER))
        elif theta > HIGH:
            most = max(self._least, int(MOST_SHARE * self._n))
            self._m = max(self._least, min(most, int(self._m * MORE) + 1))
