"""Names of types that most modules use: an array of any element type, CSR, an element type."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
CsrArray: TypeAlias = "sp.csr_array[Any]"
DType: TypeAlias = np.dtype[Any]
