"""Sums over rows on a device for other processes: W and the sums are ndarrays.

The rows are on a worker of a cluster. W is on its device for one call; sums are copied from the
device in the dtypes of their computation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyclass.arrays.namespace import to_numpy
from manyclass.arrays.smooth.sums import SmoothRows
from manyclass.arrays.svm.squared_hinge import SquaredHingeRows
from manyclass.problem.problem import Problem
from manyclass.utils.types import Array, DeviceArray


class RemoteRows(SmoothRows):
    """Rows of a smooth loss; parameters as in ``SmoothRows``. W may be padded."""

    def gradient(
        self, W: Array, class_major: bool, gradient: Array, loss: NDArray[np.float64]
    ) -> None:
        """Add up the losses and their gradient."""
        total = self._zeros_like_weights()
        super().gradient(self._there(W), class_major, total, loss)
        _add(gradient, total)

    def curvature(self, W: Array, along: Array, class_major: bool, product: Array) -> None:
        """Add the product of the losses' Hessian at W with a matrix like W."""
        total = self._zeros_like_weights()
        super().curvature(self._there(W), self._there(along), class_major, total)
        _add(product, total)

    def squares(self, total: Array) -> None:
        """Add up C_i x_ij^2, with the appended feature last."""
        there = self._zeros(total)
        super().squares(there)
        _add(total, there)

    def moments(
        self, W: Array, class_major: bool, total: Array, trace: NDArray[np.float64]
    ) -> None:
        """Add up C_i S_i and C_i t_i."""
        there = self._zeros(total)
        super().moments(self._there(W), class_major, there, trace)
        _add(total, there)

    def variances(
        self,
        W: Array,
        class_major: bool,
        n_all: int,
        wanted: int,
        total: Array,
        weight: NDArray[np.float64],
    ) -> None:
        """Add up the diagonal of C_i S_i, and C_i, over some rows."""
        there = self._zeros(total)
        super().variances(self._there(W), class_major, n_all, wanted, there, weight)
        _add(total, there)

    def gram(
        self, W: Array, class_major: bool, n_all: int, wanted: int, scale: float, total: Array
    ) -> None:
        """Add up C_i t_i x_i x_i^T over the sample, with scaled C_i."""
        there = self._zeros(total)
        super().gram(self._there(W), class_major, n_all, wanted, scale, there)
        _add(total, there)

    def _there(self, W: Array) -> DeviceArray:
        """Return W of shape (d + 1, k) on the device."""
        own = np.ascontiguousarray(W[: self.problem.dataset.n_features + 1, : self.k])
        return self.place.asarray(own, self.dtype)

    def _zeros_like_weights(self) -> DeviceArray:
        return self.place.zeros((self.problem.dataset.n_features + 1, self.k), self.dtype)

    def _zeros(self, total: Array) -> DeviceArray:
        return self.place.zeros(total.shape, self.place.wide)


class RemoteSquaredHingeRows(RemoteRows, SquaredHingeRows):
    """Rows of a squared hinge; parameters as in ``SquaredHingeRows``."""


def remote_rows(problem: Problem) -> RemoteRows:
    """Return the rows of a problem of a ``DeviceDataset`` with a smooth loss."""
    is_log_loss = problem.loss == "log_loss"
    return RemoteRows(problem) if is_log_loss else RemoteSquaredHingeRows(problem)


def _add(into: Array, total: DeviceArray) -> None:
    """Add sums on a device to an array, which may be padded."""
    numbers = to_numpy(total)
    into[tuple(slice(n) for n in numbers.shape)] += numbers
