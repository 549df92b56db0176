"""Rows of a squared hinge on a device: its smooth sums, and the terms of its certificate.

With the best dual variables at W, z_ic = 2 C_i max(0, xi_ic), all terms of P - D but
1/2 ||W - W(z)||^2 vanish: answers to ``SquaredHingeTerms`` (rows/questions.py) have their rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.smooth.sums import SmoothRows
from manyclass.arrays.svm.certificate import Duals, PartCertificate, slacks
from manyclass.problem.problem import Problem, check_squared_norms, zero_objective
from manyclass.rows.questions import SquaredHingeTerms
from manyclass.solvers.engines import Found
from manyclass.utils.types import Array, DeviceArray

SIZES = 2  # of a part: the sum of the sizes of what is added to W(z), and how many numbers are


class SquaredHingeRows(SmoothRows, SquaredHingeTerms):
    """The rows of one-vs-rest or Weston-Watkins with the squared hinge."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        norms = self.squared_norms()
        check_squared_norms(norms)
        self._certificate = PartCertificate(self.in_double(), norms)

    def at_zero(self, total: NDArray[np.float64]) -> None:
        """Add up P(0)."""
        total += zero_objective(self.problem)

    def best_duals(
        self, W: Array, of_duals: NDArray[np.float64], sizes: NDArray[np.float64]
    ) -> None:
        """Add W(z); write what bounds its rounding in the place of this part."""
        found, *of_rounding = self._certificate.weights_of(_best_at(W))
        of_duals += found
        sizes[self.number] = of_rounding

    def prove(self, W: Array, norm: float, terms: NDArray[np.float64]) -> None:
        """Write ``Found`` at W and z in the place of this part."""
        found = self._certificate.found(W, _best_at(W), norm)
        terms[self.number] = Found.sum_of(found)


def _best_at(W: Array) -> Duals:
    """Return what finds the z of some rows at W."""
    wide = W.astype(np.float64)

    def duals(rows: ArrayRows, part: slice) -> DeviceArray:
        x, labels = rows.wide_factor(part), rows.of(rows.labels, part)
        xi = slacks(rows, rows.scores(x, part, rows.place.asarray(wide)), labels)
        return 2 * rows.costs[part][:, None] * rows.xp.clip(xi, 0, None)

    return duals
