"""What trained models prove about every other C.

With P_C(W) = N(W) + C L(W), N the penalty and L the sum of weighted losses, a model j that was
trained at C_j bounds the optimum P*(C) at every C:

    P*(C) <= min_j N_j + C L_j                        an upper envelope of lines
    P*(C) >= the chord between neighbours (C_j, D_j)   since P* is concave, D_j <= P*(C_j)
    P*(C) >= max_{C_j <= C} D_j                        since P* does not fall

P* is a minimum of lines in C with slopes L >= 0, for every formulation and loss here, so it is
concave and does not fall; P*(0) = 0. The model with the lowest line at C is then proven to be
within (upper - lower) of the optimum there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """The bounds from some models, ascending in C.

    Attributes
    ----------
    Cs, penalties, losses, dual_objectives : ndarray of shape (n_models,)
        C_j, N_j, L_j, D_j.
    """

    Cs: Numbers
    penalties: Numbers
    losses: Numbers
    dual_objectives: Numbers

    def best(self, C: ArrayLike) -> NDArray[np.intp]:
        """Return the model with the lowest objective at each C."""
        return np.asarray(np.argmin(self._lines(C), axis=0))

    def upper(self, C: ArrayLike) -> Numbers:
        """Return that model's objective."""
        return np.asarray(self._lines(C).min(axis=0))

    def lower(self, C: ArrayLike) -> Numbers:
        """Return a lower bound of the optimum at each C."""
        wanted = np.asarray(C, np.float64)
        highest = np.maximum.accumulate(self.dual_objectives)
        Cs, bounds = np.append(0.0, self.Cs), np.append(0.0, highest)
        return np.asarray(np.interp(wanted, Cs, np.maximum(bounds, 0.0)))

    def gap(self, C: ArrayLike) -> Numbers:
        """Return (upper - lower) / lower at each C."""
        upper, lower = self.upper(C), self.lower(C)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(upper > lower, (upper - lower) / lower, 0.0))

    def widest(self, low: float, high: float) -> tuple[float, float]:
        """Return the C of a range with the largest gap, and that gap.

        Between two C of models, upper and lower bound are linear but where lines cross; the ratio
        of two linear functions has its extremes at the ends.
        """
        rises = self.penalties[None] - self.penalties[:, None]
        falls = self.losses[:, None] - self.losses[None]
        with np.errstate(divide="ignore", invalid="ignore"):
            crossings = (rises / falls)[np.triu_indices(len(self.Cs), 1)]
        inside = crossings[(crossings > low) & (crossings < high)]
        candidates = np.concatenate([[low, high], self.Cs, inside])
        candidates = candidates[(candidates >= low) & (candidates <= high)]
        gaps = self.gap(candidates)
        worst = int(np.argmax(gaps))
        return float(candidates[worst]), float(gaps[worst])

    def _lines(self, C: ArrayLike) -> Numbers:
        wanted = np.asarray(C, np.float64)
        column = (slice(None), *[None] * wanted.ndim)
        return np.asarray(self.penalties[column] + self.losses[column] * wanted)
