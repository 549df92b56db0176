"""A part of the rows of a support vector machine with the hinge loss, on a device.

The local problem of consensus (svm_rows.py) is visited in rounds (arrays/svm/dual_rounds.py) with
exact products. W(z) of each round and the terms of the certificate are sums in float64. Rows are
not divided by sqrt(M). Newton's method, for few weights, uses the rows in host memory.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from manyclass.arrays.choice import on_host
from manyclass.arrays.svm.dual_rounds import DualRounds
from manyclass.distributed.rows.svm_rows import SvmRows
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.solvers.engines import Findings
from manyclass.utils.types import Array, CsrArray, Settings


class DeviceSvmRows(SvmRows):
    """Rows of a part on a device, their z, and U; `problem` is of a ``DeviceDataset``."""

    _rounds: DualRounds | None = None
    _sums: tuple[NDArray[np.float64], float] | None = None  # W(z), and a bound of its rounding

    def __init__(self, problem: Problem, number: int) -> None:
        super().__init__(problem, number=number)

    def squares(self, total: NDArray[np.float64]) -> None:
        """Add NaN, as rows are not scaled."""
        total += np.nan

    def duals(self) -> CsrArray:
        """Return z of these rows for the problem of all rows, shape (n, k)."""
        if self._rounds is None:
            return super().duals()
        z = self._rounds.start().duals
        z.data *= self._rho
        return z

    def __getstate__(self) -> Settings:
        """Return the state with z and the state of the loops instead of the solver."""
        return {**super().__getstate__(), "_rounds": None, "_sums": None}

    @cached_property
    def _absent(self) -> NDArray[np.intp]:
        """Return no features as missing, because dense rows have all of them."""
        return np.empty(0, np.intp)

    def _scale_by(self, scale: Array) -> None:
        """Do nothing, as rows are not scaled."""

    def _problem_here(self) -> Problem:
        return on_host(self.problem)

    def _of_duals(self, rho: float) -> NDArray[np.float64]:
        self._rounds_for(rho)
        assert self._sums is not None
        return rho * self._sums[0]

    def _gap_terms(self, V: Array, _common: NDArray[np.float64], norm: float) -> Sequence[Findings]:
        rounds = self._rounds_for(self._rho)
        return rounds.certificate.parts[0].found(V, rounds.duals, norm)

    def _take(self, z: CsrArray) -> None:
        self._rounds, self._z, self._rho = None, z.astype(self.problem.dataset.dtype), 1.0
        self._rounds_for(1.0)

    def _visit(self, A: Array, rho: float) -> Array:
        """Visit the rows from A + W(z); return A + W(z)."""
        self._around = None
        rounds = self._rounds_for(rho)
        assert self._sums is not None
        visits, n_free = rounds.round_from(A + self._sums[0])
        n, k = self.problem.dataset.n_examples, self.problem.dataset.n_classes
        self._counts[:3] = rounds.n_loops, (visits + n) * k, n_free
        self._sum_up(rounds)
        return np.asarray(A + self._sums[0].astype(A.dtype))

    def _rounds_for(self, rho: float) -> DualRounds:
        """Return the solver of the local problem for a rho; z is kept, in different units."""
        if self._rounds is not None and self._rho == rho:
            return self._rounds
        z = self.duals()
        z.data /= rho
        self._rounds = None
        gc.collect()  # regions of rows have reference cycles; z must not be stored twice
        local = replace(self.problem, C=self.problem.C / rho)
        rng = np.random.default_rng([self._seed, self.number, max(0, self._round)])
        self._rounds, self._z, self._rho = DualRounds(local, Start(z), rng), None, rho
        self._sum_up(self._rounds)
        return self._rounds

    def _sum_up(self, rounds: DualRounds) -> None:
        """Compute W(z)."""
        self._sums = rounds.certificate.weights_of(rounds.duals)
        self._counts[4] = self._rho * self._sums[1]
