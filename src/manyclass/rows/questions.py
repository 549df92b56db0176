"""Interfaces of sums over rows, which solvers call.

The sums are added to the last arguments, so that rows may be in parts, which are called one after
the other or in parallel (parts.py). Rows are in the memory of this process, memory-mapped, on a
different rank or on a worker of a cluster; each place has a class with these methods.

    SmoothLossSums      of a smooth loss: gradient, Hessian, terms of the gap (logistic_sums.py)
    SquaredHingeTerms   of the certificate of a squared hinge (arrays/svm/squared_hinge.py)
    ProximalResponse    of the proximal problem of Newton's method (proximal_response.py)
    ConsensusRounds     updates of z in rounds, terms of the gap (distributed/rows/svm_rows.py)

Sequential updates, and the terms of their certificates, are in the engines (solvers/engines.py),
because they need all of W.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from manyclass.utils.types import Array


class SmoothLossSums(Protocol):
    """Sums of a smooth loss for minimizing the primal, with W in the layout of the kernels."""

    def count(self, sizes: NDArray[np.int64], costs: NDArray[np.float64]) -> None:
        """Add the numbers of rows and values of X, and the sums of C_i, in total and by class."""

    def gradient(
        self, W: Array, class_major: bool, gradient: Array, loss: NDArray[np.float64]
    ) -> None:
        """Add up the losses and their gradient."""

    def curvature(self, W: Array, along: Array, class_major: bool, product: Array) -> None:
        """Add the product of the losses' Hessian at W with a matrix like W."""

    def inspect(
        self,
        wide: NDArray[np.float64],
        largest: NDArray[np.float64],
        leaves: NDArray[np.float64],
        enters: NDArray[np.float64],
        class_major: bool,
        sums: NDArray[np.float64],
        left: NDArray[np.float64],
        terms: NDArray[np.float64],
    ) -> None:
        """Add up the terms of the gap at a W in float64 and the u of its scores."""

    def squares(self, total: NDArray[np.float64]) -> None:
        """Add up C_i x_ij^2."""

    def variances(
        self,
        W: Array,
        class_major: bool,
        n_all: int,
        wanted: int,
        total: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> None:
        """Add up the variance of each class, and C_i, over this part's share of the sample."""

    def moments(
        self, W: Array, class_major: bool, total: NDArray[np.float64], trace: NDArray[np.float64]
    ) -> None:
        """Add up C_i S_i and C_i t_i."""

    def sampled_cost(self, n_all: int, wanted: int, total: NDArray[np.float64]) -> None:
        """Add up C_i over this part's share of the sample."""

    def gram(
        self,
        W: Array,
        class_major: bool,
        n_all: int,
        wanted: int,
        scale: float,
        total: NDArray[np.float64],
    ) -> None:
        """Add up C_i t_i x_i x_i^T over this part's share of the sample."""

    def hessian(
        self,
        W: Array,
        class_major: bool,
        n_all: int,
        wanted: int,
        scale: float,
        total: NDArray[np.float64],
    ) -> None:
        """Add up the Hessian over this part's share of the sample."""


class SquaredHingeTerms(Protocol):
    """Terms of the certificate of a squared hinge, with z_ic = 2 C_i max(0, xi_ic) at W."""

    def at_zero(self, total: NDArray[np.float64]) -> None:
        """Add up P(0)."""

    def best_duals(
        self, W: Array, of_duals: NDArray[np.float64], sizes: NDArray[np.float64]
    ) -> None:
        """Add W(z); write the terms of its rounding bound to the row of this part."""

    def prove(self, W: Array, norm: float, terms: NDArray[np.float64]) -> None:
        """Write the terms of the gap at W and z to the row of this part."""


class ProximalResponse(Protocol):
    """Sums around zbar, with epsilon."""

    def squared_duals(self, total: NDArray[np.float64]) -> None:
        """Add ||zbar||^2."""

    def respond(
        self,
        W: NDArray[np.float64],
        epsilon: float,
        total: NDArray[np.float64],
        terms: NDArray[np.float64],
    ) -> None:
        """Add W(z) of the response z to W, and its terms."""

    def slopes(
        self,
        W: NDArray[np.float64],
        step: NDArray[np.float64],
        epsilon: float,
        lengths: NDArray[np.float64],
        total: NDArray[np.float64],
    ) -> None:
        """Add the slopes at W + t step for some lengths t."""

    def hessian(self, W: NDArray[np.float64], epsilon: float, blocks: NDArray[np.float64]) -> None:
        """Add the blocks of the Hessian."""


class ConsensusRounds(Protocol):
    """Rounds of consensus over the z of each part, and the terms of their certificate."""

    def count(
        self, sizes: NDArray[np.int64], holders: NDArray[np.int64], zero: NDArray[np.float64]
    ) -> None:
        """Add the numbers of rows and values of X, 1 for each feature of its rows, and P(0)."""

    def squares(self, total: NDArray[np.float64]) -> None:
        """Add sum_i x_ij^2; NaN if rows are not scaled."""

    def round(
        self,
        number: float,
        V: Array,
        scale: Array,
        rho: float,
        relaxation: float,
        seed: float,
        total: Array,
        of_duals: NDArray[np.float64],
        counts: NDArray[np.float64],
    ) -> None:
        """Continue the local problem; add its W and W(z)."""

    def inspect(
        self,
        V: Array,
        scale: Array,
        common: NDArray[np.float64],
        norm: float,
        terms: NDArray[np.float64],
    ) -> None:
        """Write the terms of the gap at V and z to the row of this part."""

    def move_duals(
        self,
        number: float,
        W: NDArray[np.float64],
        scale: Array,
        epsilon: float,
        length: float,
        of_duals: NDArray[np.float64],
        counts: NDArray[np.float64],
    ) -> None:
        """Move z towards the response to W; add W(z)."""
