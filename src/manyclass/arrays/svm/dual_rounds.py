"""Dual visits in rounds: Crammer-Singer and Weston-Watkins (hinge) on a device.

    max D(z) = sum_ic gamma_ic z_ic - 1/2 ||W(z)||^2,   z feasible,
    gamma_ic = gamma + b_ic - b_i,y_i

A round takes m rows, scores them with the same W by a product, solves the block of each row
separately (row_visits.py), and chooses the best common length of all steps:

    Delta W = sum_i x_i a(Delta_i)^T,   theta = min(1, sum Delta . xi / ||Delta W||^2)
    z <- z + theta Delta,   W <- W + theta Delta W

D never decreases. All rows share the constant feature, and would move intercepts too far together:
blocks are solved at scores that are shifted by the effect of the steps on the intercepts. m
decreases if theta is small, because the steps of the rows then interfere. An epoch is some shrunk
loops over the rows with a z strictly between its bounds, then a full loop over all rows. Scores are
so cheap on a device that shrunk loops visit all classes of their rows.

If X or z is in host memory, a region is a block of rows: its full loop and its shrunk loops run
while it is on the device. Otherwise all rows are one region.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.svm.certificate import feasible
from manyclass.arrays.svm.hinge_solver import HingeSolver
from manyclass.arrays.svm.regions import Region, rows_with_free_duals
from manyclass.problem.problem import Problem, zero_objective
from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights, scale_of
from manyclass.solvers.stopping import StoppingRule
from manyclass.utils.types import Array, CsrArray, DeviceArray

# Rows per round: the first and the largest number, as shares of all rows; the least number is
# n / ROUNDS_OF_ALL, between FEWEST_ROWS and LEAST_ROWS. More rows if the mean theta is above HIGH,
# fewer if it is below LOW (measured on embeddings).
SHARE, MOST_SHARE, LEAST_ROWS, FEWEST_ROWS, ROUNDS_OF_ALL = 0.01, 0.03, 256, 16, 40
HIGH, MORE, LOW, FEWER = 0.9, 1.1, 0.6, 0.7
ENOUGH = 0.3  # share of the full loop's gap at which shrunk loops end
MOST_LOOPS, MOST_VISITS = 30, 1.5  # shrunk loops of an epoch, and their visits per row
OWN_SHARE = 0.3  # share of bias^2 in the q of a row, in addition to the shift
FAST_UNTIL = 0.05  # relative gap down to which products are fast (products.py)


class DualRounds(HingeSolver):
    """The solver, from z = 0 or from the z of a start.

    For ``round_from`` alone, also of one-vs-rest.
    """

    def __init__(
        self,
        problem: Problem,
        start: Start | None,
        rng: np.random.Generator,
        *,
        keeps_duals: bool = True,
    ) -> None:
        super().__init__(problem, keeps_duals=keeps_duals)
        self.rng, rows = rng, self.rows
        self.gamma = problem.margins()[0]
        self.constant = self._constant_loss(np.flatnonzero(self.norms == 0))
        self.Z = rows.numbers()
        self._visited_norms = self.norms - (1 - OWN_SHARE) * rows.bias**2
        self._whole: Region | None = None  # region of all rows, if they are on the device
        self._n = n = int(np.count_nonzero(self.norms))
        self._least = min(LEAST_ROWS, max(FEWEST_ROWS, n // ROUNDS_OF_ALL))
        self._m = max(self._least, int(SHARE * n))
        self._gap, self.dual = math.inf, self.constant
        self.n_loops = self._n_duals = 0  # shrunk loops of the last epoch; z > 0
        self._free: DeviceArray = None  # rows with a free z, if all rows are one region
        if start is not None and start.duals.nnz:
            self._load(start.duals)

    def _constant_loss(self, none: NDArray[np.intp]) -> float:
        """Return the loss of these rows without features, which does not depend on W."""
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

    # Interface of the training loop

    @property
    def gap(self) -> float:
        """P - D from the visits of the last epoch."""
        return self._gap

    @property
    def scale(self) -> float:
        """Denominator of the relative gap, from the estimates of the last epoch."""
        return scale_of(self._gap, self.dual + self._gap, self.zero_objective)

    def epoch(self, _rule: StoppingRule) -> EpochRecord:
        """Run shrunk loops, except in the first epoch, then a loop over all rows.

        By regions, the full loop comes first: its gap is for rows at a W that other rows have
        moved.
        """
        visits, n_free = self._visit_all()
        self.dual = self._dual()
        if self._is_fast and self._gap <= FAST_UNTIL * self.scale:
            self._use_exact_products()
        data = self.problem.dataset
        return self.record(
            self.dual + self._gap,
            active_share=n_free / max(1, data.n_examples),
            loops=self.n_loops,
            evaluations=(visits + data.n_examples) * data.n_classes,
            n_duals=self._n_duals,
        )

    def round_from(self, W: Array) -> tuple[int, int]:
        """Visit all rows from a W that differs from W(z), for the regularizer 1/2 ||W - A||^2.

        Products are exact. Return the visits of shrunk loops, and the rows with a free z.
        """
        self._is_fast = False
        self.W[...] = self.place.asarray(W, self.rows.dtype)
        return self._visit_all()

    def _visit_all(self) -> tuple[int, int]:
        """Visit all regions; return the visits of shrunk loops, and the rows with a free z."""
        self.n_loops = 0
        with self.place.current(), self.place.exact_products():
            found = [self._visit(region) for region in self._regions()]
        self._gap = math.fsum(gap for gap, _, _ in found)
        visits, n_free = (sum(count) for count in list(zip(*found, strict=True))[1:])
        return visits, n_free

    def _visit(self, region: Region) -> tuple[float, int, int]:
        """Visit a region; return its gap, the visits of shrunk loops, and its free rows."""
        visits, has_gap = 0, math.isfinite(self._gap)
        if region is self._whole and has_gap and self._free is not None:
            visits = self._shrunk_loops(region, self._free, self._gap)
        gap = self._loop(region, region.visited)
        free = rows_with_free_duals(region.rows, region.visits.Z)
        if region is self._whole:
            self._free = free
        else:
            visits = self._shrunk_loops(region, free, gap)
        return gap, visits, free.shape[0]

    def _use_exact_products(self) -> None:
        """Switch to exact products; W, which has rounding of fast products, becomes W(z)."""
        self._is_fast = False
        self._whole = None
        of_duals, _ = self.certificate.weights_of(self.duals)
        self.W[...] = self.place.asarray(of_duals, self.rows.dtype)

    def _chosen(self, of_duals: NDArray[np.float64]) -> Array:
        return of_duals.astype(self.problem.dataset.dtype)

    def _take(self, W: DeviceArray, found: Certificate) -> None:
        self.W[:, :] = W
        self.dual, self._gap = found.dual_objective, found.gap

    def finish(self) -> Weights:
        """Return W."""
        self._whole = None
        del self.Z
        return self.weights()

    # z

    def duals(self, rows: ArrayRows, part: slice) -> DeviceArray:
        """Return feasible z of some rows, in float64."""
        return feasible(rows, self.Z.of(part), rows.costs[part])

    def _all_duals(self) -> CsrArray:
        """Return z without rounding, as rounded z would differ from the certified z."""
        parts = [self.place.csr(self.Z.of(part)) for part in self.rows.blocks()]
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _load(self, duals: CsrArray) -> None:
        """Set z and W(z)."""
        for part in self.rows.blocks():
            z = sp.csr_array(duals[part]).toarray().astype(self.problem.dataset.dtype)
            z[self.norms[part] == 0] = 0
            self.Z.put(part, self.place.asarray(z))
        of_duals, _ = self.certificate.weights_of(self.duals)
        self.W[:, :] = self.place.asarray(of_duals, self.rows.dtype)

    def _dual(self) -> float:
        """Return D at the stored z and W."""
        xp, wide, total, self._n_duals = self.xp, self.place.wide, self.constant, 0
        for part in self.rows.blocks():
            Z, labels = self.Z.of(part), self.rows.of(self.rows.labels, part)
            total += self.gamma * float(xp.sum(Z, dtype=wide))
            if self.rows.has_base:
                base = self.rows.base(part)
                apart = base - self.rows.pick(base, labels)
                Z = xp.astype(Z, wide)
                total += float(xp.sum(xp.where(Z > 0, Z * apart, 0 * Z)))
            self._n_duals += int(xp.sum(xp.astype(Z > 0, xp.int64)))
        return total - 0.5 * float(xp.sum(self.W * self.W, dtype=wide))

    # Loops

    def _regions(self) -> Iterator[Region]:
        """Yield the regions; store the z of each afterwards."""
        if self.rows.is_whole:
            self._whole = self._whole or self._region(slice(0, self.rows.n), self.rows)
            yield self._whole
            return
        for part in self.rows.blocks():
            region = self._region(part, self.rows.local(part))
            yield region
            self.Z.put(part, region.visits.Z)

    def _region(self, part: slice, rows: ArrayRows) -> Region:
        norms = self.norms[part], self._visited_norms[part]
        return Region(part, rows, *norms, self.Z.of(part), self.W, is_fast=self._is_fast)

    def _shrunk_loops(self, region: Region, free: DeviceArray, gap: float) -> int:
        """Visit the rows with a free z until little of the gap is left; return the visits."""
        n, visits, n_loops = free.shape[0], 0, 0
        while n and n_loops < MOST_LOOPS and visits < MOST_VISITS * region.visited.shape[0]:
            left = self._loop(region, free)
            visits, n_loops = visits + n, n_loops + 1
            if left < ENOUGH * gap:
                break
        self.n_loops = max(self.n_loops, n_loops)
        return visits

    def _loop(self, region: Region, some: DeviceArray) -> float:
        """Visit some rows in rounds, in random order; return their gap before each visit."""
        n_rows, begin = some.shape[0], 0
        region.rounds.begin(self.place.shuffled(some, self.rng))
        while begin < n_rows:
            n = min(self._m, n_rows - begin)
            is_whole = n == min(self._m, region.rows.n)
            thetas = region.rounds.run(begin, n, is_whole=is_whole)
            begin += n
            for theta in thetas:
                self._adapt(theta)
        return region.rounds.end()

    def _adapt(self, theta: float) -> None:
        """Adjust the number of rows of the next rounds."""
        if theta < LOW:
            self._m = max(self._least, int(self._m * FEWER))
        elif theta > HIGH:
            most = max(self._least, int(MOST_SHARE * self._n))
            self._m = max(self._least, min(most, int(self._m * MORE) + 1))
