"""Training examples with X on a device; labels and weights are as in ``Dataset``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from manyclass.arrays.namespace import Place, dtype_name, to_numpy
from manyclass.arrays.places.host_rows import HostRows
from manyclass.problem.dataset import Dataset
from manyclass.problem.problem import ELSEWHERE
from manyclass.utils.types import DeviceArray, DType, IntArray, Rows

# Types of X; training converts the narrow ones by blocks.
TYPES = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float32,
    "bfloat16": np.float32,
}


@dataclass(frozen=True, slots=True, eq=False)
class DeviceDataset(Dataset):
    """Examples, classes and weights; ``values`` for the core is empty.

    X, shape (n, d), lies on its device, in float64, float32, float16 or bfloat16, or in host
    memory. The indicator, shape (n, k), has the classes of every example, of one-vs-rest where
    examples have several, or none; labels are all ELSEWHERE then.
    """

    X: DeviceArray = None
    indicator: NDArray[np.bool_] | None = None
    lies_on_device: ClassVar[bool] = True

    def rows(self, some: slice | NDArray[np.intp]) -> Rows:
        """Return some rows of X, without moving them."""
        if isinstance(self.X, HostRows):
            return self.X.read(some)
        if isinstance(some, slice):
            rows: Rows = self.X[some, :]
            return rows
        found: Rows = Place(self.X).rows_of(self.X, some)
        return found

    def matrix(self) -> Rows:
        """Return X as an ndarray, copied from the device."""
        return self.X.read(slice(None)) if isinstance(self.X, HostRows) else to_numpy(self.X)

    def on_host(self) -> Dataset:
        """Return the same examples for the core, with X copied from the device."""
        X = np.asarray(self.matrix(), self.dtype)
        return Dataset.from_matrix(
            X, self.labels, n_classes=self.n_classes, weights=self.weights, bias=self.bias
        )

    def with_blank_rows(self, labels: NDArray[np.int32], weights: NDArray[np.float64]) -> Dataset:
        """Return these examples followed by examples with all features 0."""
        return replace(
            self,
            X=self._with_blank_rows(len(labels)),
            labels=np.append(self.labels, labels),
            weights=np.append(self.weights, weights),
        )

    def _with_blank_rows(self, m: int) -> DeviceArray:
        if isinstance(self.X, HostRows):
            return self.X.with_blank_rows(m)
        place = Place(self.X)
        blank = place.zeros((m, self.n_features), self.X.dtype)
        return place.xp.concat([self.X, blank], axis=0)

    def with_sets(self, indicator: NDArray[np.bool_]) -> DeviceDataset:
        """Return the same rows with label sets, shape (n, k)."""
        labels = np.full(self.n_examples, ELSEWHERE, np.int32)
        return replace(self, labels=labels, n_classes=indicator.shape[1], indicator=indicator)

    def part(self, some: slice, X: DeviceArray) -> DeviceDataset:
        """Return some examples, given their rows."""
        sets = None if self.indicator is None else self.indicator[some]
        labels, weights = self.labels[some], self.weights[some]
        return replace(self, X=X, labels=labels, weights=weights, indicator=sets)

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
        """Return the examples of a validated X; weights are positive."""
        return cls(
            indptr=np.zeros(1, np.int64),
            indices=np.zeros(1, np.int32),  # as for any dense X, unlike the values
            values=np.zeros(0, TYPES[dtype_name(X)]),
            labels=np.ascontiguousarray(labels, np.int32),
            weights=np.ascontiguousarray(weights, np.float64),
            n_features=int(X.shape[1]),
            n_classes=n_classes,
            bias=float(bias),
            X=X,
        )


def training_type(X: DeviceArray) -> DType:
    """Return the dtype of training and of W."""
    return np.dtype(TYPES[dtype_name(X)])
