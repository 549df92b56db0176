"""Rows in host memory, or memory-mapped, for training on a device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from manyclass.arrays.namespace import Place
from manyclass.utils.types import Array, DeviceArray, DType, Settings

BLANK = -1  # number of a row with all features 0


class HostRows:
    """Rows of an array, and the devices, each of which trains a part of them.

    Nothing is copied: a selection of rows is stored as row numbers (BLANK: a row of zeros) until it
    is read.
    """

    goes_to_device = True
    ndim = 2

    def __init__(
        self, X: Array, places: Sequence[Place], numbers: NDArray[np.int64] | None = None
    ) -> None:
        self.X, self.places, self.numbers = X, list(places), numbers
        n = len(X) if numbers is None else len(numbers)
        self.shape = n, int(X.shape[1])
        self.there: DeviceArray = None  # a copy on the device, once there is one

    def __len__(self) -> int:
        return self.shape[0]

    def __getstate__(self) -> Settings:
        """Return the state without the copy on the device."""
        return {**vars(self), "there": None}

    def __getitem__(self, some: slice | Array) -> HostRows:
        """Return some rows."""
        if self.numbers is None and isinstance(some, slice):
            return HostRows(self.X[some], self.places)
        all_rows = np.arange(len(self.X)) if self.numbers is None else self.numbers
        return HostRows(self.X, self.places, all_rows[some])

    @property
    def dtype(self) -> DType:
        """Type of the numbers."""
        return self.X.dtype

    @property
    def place(self) -> Place:
        """The first device."""
        return self.places[0]

    def with_blank_rows(self, m: int) -> HostRows:
        """Return these rows followed by rows with all features 0."""
        numbers = np.arange(len(self.X)) if self.numbers is None else self.numbers
        return HostRows(self.X, self.places, np.append(numbers, np.full(m, BLANK)))

    def read(self, some: slice | Array, out: Array | None = None) -> Array:
        """Return some rows as an array: a view if possible and without `out`."""
        if self.numbers is None:
            rows = self.X[some]
            if out is None:
                return rows
            np.copyto(out, rows)
            return out
        numbers = self.numbers[some]
        rows = np.take(self.X, np.maximum(numbers, 0), axis=0, out=out, mode="clip")
        rows[numbers == BLANK] = 0
        return rows

    def split(self) -> list[tuple[slice, HostRows]]:
        """Return the rows of each device."""
        bounds = np.linspace(0, len(self), len(self.places) + 1).astype(int).tolist()
        found = []
        for place, begin, end in zip(self.places, bounds[:-1], bounds[1:], strict=True):
            part = slice(begin, end)
            rows = self[part]
            found.append((part, HostRows(rows.X, [place], rows.numbers)))
        return [(part, rows) for part, rows in found if len(rows)]
