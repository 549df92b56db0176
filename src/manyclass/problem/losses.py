"""Losses of a slack xi, their dual variables, and the slacks that they are of.

                     loss(xi)          bounds         ridge R(z)      best z at xi
    hinge            max(0, xi)        0 <= z <= C    0               C where xi > 0
    squared_hinge    max(0, xi)^2      0 <= z         z^2 / (4 C)     2 C max(0, xi)

D has -R(z). Solvers know a loss by this file and ``cpp/data/loss.hpp`` alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line reads the names without NumPy
    from manyclass.utils.types import Array


@dataclass(frozen=True, slots=True)
class Loss:
    """A power of max(0, xi); costs C are broadcast.

    Attributes
    ----------
    power : {1, 2}
    """

    power: int

    @property
    def has_ridge(self) -> bool:
        """Whether D has a ridge R(z); z has no upper bound then."""
        return self.power == 2

    def of_positive(self, xi: Array) -> Array:
        """Return the loss of xi >= 0."""
        return xi if self.power == 1 else xi**2

    def slope(self, xi: Array) -> Array:
        """Return the derivative, that is the best z where C = 1."""
        return (xi > 0) * 1.0 if self.power == 1 else 2 * xi.clip(0)

    def upper(self, costs: Array) -> Array:
        """Return the upper bound of z."""
        return costs if self.power == 1 else costs + math.inf

    def ridge(self, z: Array, costs: Array) -> Array:
        """Return R(z)."""
        return 0.0 * z if self.power == 1 else z**2 / (4 * costs)

    def gradient(self, z: Array, xi: Array, costs: Array) -> Array:
        """Return dD/dz = xi - R'(z)."""
        return xi if self.power == 1 else xi - z / (2 * costs)


LOSSES = {"hinge": Loss(power=1), "squared_hinge": Loss(power=2)}
