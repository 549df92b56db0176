"""Base of the solvers of hinge losses on a device: rows, certificate, records of epochs."""

from __future__ import annotations

import math
import time
from abc import abstractmethod

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.arrays.namespace import to_numpy
from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.svm.certificate import SvmCertificate
from manyclass.problem.problem import Problem, check_squared_norms, zero_objective
from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights
from manyclass.solvers.stopping import Found, StoppingRule
from manyclass.utils.types import Array, CsrArray, DeviceArray


class HingeSolver:
    """A solver with a z for each row and class; ``start`` returns z if it ``keeps_duals``."""

    is_exact = False

    def __init__(self, problem: Problem, *, keeps_duals: bool) -> None:
        self._began = time.perf_counter()
        self.problem, self.keeps_duals = problem, keeps_duals
        self.rows = rows = ArrayRows(problem)
        self.xp, self.place = rows.xp, rows.place
        self.norms = rows.squared_norms()  # q_i
        check_squared_norms(self.norms)
        self.zero_objective = zero_objective(problem)
        self.certificate = SvmCertificate(problem, [rows], self.norms, self.zero_objective)
        shape = problem.dataset.n_features + 1, rows.k
        self.W: DeviceArray = self.place.zeros(shape, rows.dtype)  # W of the last epoch
        self._n_epochs = 0
        self._is_fast = self.place.is_gpu and rows.dtype == self.xp.float32

    @property
    @abstractmethod
    def scale(self) -> float:
        """Denominator of the relative gap, from the estimates."""

    @property
    @abstractmethod
    def gap(self) -> float:
        """Estimate of P - D."""

    @abstractmethod
    def epoch(self, rule: StoppingRule) -> EpochRecord:
        """Run one epoch."""

    @abstractmethod
    def duals(self, rows: ArrayRows, part: slice) -> DeviceArray:
        """Return feasible z of some rows, in float64, on the device of `rows`."""

    @abstractmethod
    def _chosen(self, of_duals: NDArray[np.float64]) -> Array:
        """Return the W to certify, given W(z)."""

    @abstractmethod
    def _take(self, W: DeviceArray, found: Certificate) -> None:
        """Set W, and use its certificate as the estimates."""

    def record(
        self, primal: float, *, active_share: float, loops: int, evaluations: int, n_duals: int
    ) -> EpochRecord:
        """Count an epoch; return its record."""
        self._n_epochs += 1
        data = self.problem.dataset
        return EpochRecord(
            epoch=self._n_epochs,
            seconds=time.perf_counter() - self._began,
            primal_estimate=primal,
            gap_estimate=self.gap,
            violation=_distance(self.gap),
            active_share=active_share,
            loops=loops,
            evaluations=evaluations,
            n_weights=(data.n_features + 1) * data.n_classes,
            n_duals=n_duals,
            zero_objective=self.zero_objective,
        )

    def promising(self, rule: StoppingRule) -> bool:
        """Whether the stopping criterion may be met, by the estimates."""
        return rule.promising(Found(self.gap, _distance(self.gap)), self.scale)

    def certify(self) -> Certificate:
        """Compute P at W and D at z, in float64."""
        of_duals, rounding = self.certificate.weights_of(self.duals)
        W = self._chosen(of_duals)
        found = self.certificate.at(W, self.duals, of_duals, rounding)
        self._take(self.place.asarray(W), found)
        return found

    @property
    def returned(self) -> DeviceArray:
        """The W that training returns."""
        return self.W

    def weights(self) -> Weights:
        """Return W, shape (d + 1, k), an ndarray."""
        return to_numpy(self.returned).copy(order="F")

    def start(self) -> Start:
        """Return z, and W if it differs from W(z), to continue training."""
        data = self.problem.dataset
        if not self.keeps_duals:
            return Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        return self._start(self._all_duals().astype(data.dtype))

    def _start(self, duals: CsrArray) -> Start:
        return Start(duals)

    def _all_duals(self) -> CsrArray:
        rows = self.certificate.parts[0].rows
        parts = [rows.place.csr(self.duals(rows, part)) for part in rows.blocks()]
        return sp.csr_array(sp.vstack(parts, format="csr"))


def _distance(gap: float) -> float:
    """Return the bound of the distance from the optimum, for a gap."""
    return math.sqrt(2 * max(0.0, gap))
