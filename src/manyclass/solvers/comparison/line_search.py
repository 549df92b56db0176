"""The exact line search of OCAS: the best W between the best W so far and the master's W.

    min_mu  1/2 ||W + mu V||^2 + sum_i C_i loss_i(S + mu T),   S = X W, T = X V

Input: S and T, n x k numbers each, and three inner products. Output: mu >= 0. The objective is
convex and its derivative monotone; Brent's method finds the root. Source: Franc and Sonnenburg 2009
(JMLR 10:2157), sec. 3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from manyclass.problem.problem import Problem
from manyclass.utils.types import Array

LARGEST = 1e6
DIGITS = 1e-8


class Line:
    """The objective along W + mu V.

    Parameters
    ----------
    problem : Problem
    scores, change : ndarray of shape (n, k)
        S and T.
    products : tuple of float
        ||W||^2, <W, V>, ||V||^2.
    """

    def __init__(
        self,
        problem: Problem,
        scores: Array,
        change: Array,
        products: tuple[float, float, float],
    ) -> None:
        self.problem = problem
        self.scores, self.change = scores, change
        self.products = products
        self._own = np.arange(problem.dataset.n_examples), problem.dataset.labels

    def objective(self, mu: float) -> float:
        """Return P."""
        square, product, other = self.products
        problem = self.problem
        xi = np.maximum(0, self._slacks(self.scores + mu * self.change))
        together = np.max if problem.formulation.takes_maximum else np.sum
        loss = together(problem.slack_loss.of_positive(xi), axis=1)
        return 0.5 * square + mu * product + 0.5 * mu * mu * other + float(problem.costs @ loss)

    def derivative(self, mu: float) -> float:
        """Return a derivative of P."""
        _, product, other = self.products
        problem = self.problem
        xi = self._slacks(self.scores + mu * self.change)
        slopes = self._slopes()
        if problem.formulation.takes_maximum:
            at = np.arange(len(xi)), xi.argmax(axis=1)
            slope = np.where(xi[at] > 0, slopes[at], 0)
        else:
            slope = (problem.slack_loss.slope(xi) * slopes).sum(axis=1)
        return product + mu * other + float(problem.costs @ slope)

    def best(self) -> float:
        """Return the mu >= 0 with the lowest P."""
        if self.derivative(0.0) >= 0:
            return 0.0
        high = 1.0
        while self.derivative(high) < 0 and high < LARGEST:
            high *= 2
        if high >= LARGEST:
            return 1.0
        return float(brentq(self.derivative, 0.0, high, xtol=DIGITS, rtol=DIGITS))

    def _slacks(self, scores: Array) -> NDArray[np.float64]:
        """Return xi, shape (n, k); -1 if a class is not a target."""
        problem = self.problem
        gamma, gamma_own = problem.formulation.margins(problem.dataset.n_classes)
        own = scores[self._own].astype(np.float64)
        if problem.formulation.is_relative:
            xi = gamma + scores - own[:, None]
            xi[self._own] = -1
        else:
            xi = gamma + scores.astype(np.float64)
            xi[self._own] = gamma_own - own
        return np.asarray(xi, np.float64)

    def _slopes(self) -> NDArray[np.float64]:
        """Return the derivatives of xi, shape (n, k)."""
        own = self.change[self._own].astype(np.float64)
        if self.problem.formulation.is_relative:
            return np.asarray(self.change - own[:, None], np.float64)
        slopes = self.change.astype(np.float64)
        slopes[self._own] = -own
        return slopes
