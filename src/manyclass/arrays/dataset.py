"""Training examples whose X lies on a device; labels and weights are those of ``Dataset``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from manyclass.arrays.namespace import Place, dtype_name, namespace_of, spans, to_numpy
from manyclass.problem.dataset import Dataset
from manyclass.utils.types import DeviceArray, DType, IntArray, Rows

NUMBERS_AT_A_TIME = 1 << 25
# Types of X; training widens the narrow ones block by block.
TYPES = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float32,
    "bfloat16": np.float32,
}


@dataclass(frozen=True, slots=True, eq=False)
class DeviceDataset(Dataset):
    """Examples, classes and weights; ``values`` of the core is empty.

    Attributes
    ----------
    X : array of shape (n, d)
        On its device, in float64, float32, float16 or bfloat16.
    """

    X: DeviceArray = None
    lies_on_device: ClassVar[bool] = True

    def rows(self, some: slice | NDArray[np.intp]) -> Rows:
        """Return some rows of X, on the device."""
        if isinstance(some, slice):
            rows: Rows = self.X[some, :]
            return rows
        found: Rows = Place(self.X).rows_of(self.X, some)
        return found

    def matrix(self) -> Rows:
        """Return X as an ndarray, copied from the device."""
        return to_numpy(self.X)

    def with_blank_rows(self, labels: NDArray[np.int32], weights: NDArray[np.float64]) -> Dataset:
        """Return these examples and, behind them, some whose features are all 0."""
        place, m = Place(self.X), len(labels)
        blank = place.zeros((m, self.n_features), self.X.dtype)
        return replace(
            self,
            X=place.xp.concat([self.X, blank], axis=0),
            labels=np.append(self.labels, labels),
            weights=np.append(self.weights, weights),
        )

    @classmethod
    def from_array(
        cls,
        X: DeviceArray,
        labels: IntArray,
        weights: NDArray[np.float64],
        *,
        n_classes: int,
        bias: float,
    ) -> DeviceDataset:
        """Return the examples of a validated X.

        Parameters
        ----------
        X : array of shape (n, d)
        labels : ndarray of shape (n,), integers
        weights : ndarray of shape (n,)
            Positive.
        n_classes : int
        bias : float
            Value of the appended feature.
        """
        return cls(
            indptr=np.zeros(1, np.int64),
            indices=np.zeros(1, np.int32),  # as of any dense X: other than the values
            values=np.zeros(0, TYPES[dtype_name(X)]),
            labels=np.ascontiguousarray(labels, np.int32),
            weights=np.ascontiguousarray(weights, np.float64),
            n_features=int(X.shape[1]),
            n_classes=n_classes,
            bias=float(bias),
            X=X,
        )


def finite_and_largest(X: DeviceArray) -> tuple[bool, float]:
    """Return whether all numbers of X are finite, and the size of the largest one."""
    xp, largest, finite = namespace_of(X), 0.0, True
    for rows in spans(X.shape[0], max(1, NUMBERS_AT_A_TIME // X.shape[1])):
        part = X[rows, :]
        finite = finite and bool(xp.all(xp.isfinite(part)))
        largest = max(largest, float(xp.max(part)), -float(xp.min(part)))
    return finite, largest


def training_type(X: DeviceArray) -> DType:
    """Return the type in which training takes place: that of W."""
    return np.dtype(TYPES[dtype_name(X)])
