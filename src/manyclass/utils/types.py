"""Names of types that most modules use: arrays, rows of X, class weights, JSON objects."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Numbers: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
CsrArray: TypeAlias = "sp.csr_array[Any]"
DType: TypeAlias = np.dtype[Any]
Rows: TypeAlias = "Array | CsrArray"  # of X, shape (n, d)
Label: TypeAlias = Hashable
ClassWeight: TypeAlias = "Mapping[Label, float] | str | None"
Settings: TypeAlias = dict[str, Any]  # keyword arguments, attributes by name, a JSON object
