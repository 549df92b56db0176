"""Type aliases that most modules use: arrays, rows of X, options, class weights, JSON objects."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from manyclass.utils.named_options import (
    CostScaling as CostScaling,
)
from manyclass.utils.named_options import (
    FormulationName as FormulationName,
)
from manyclass.utils.named_options import (
    LossName as LossName,
)
from manyclass.utils.named_options import (
    MergeColumns as MergeColumns,
)
from manyclass.utils.named_options import (
    SolverName as SolverName,
)
from manyclass.utils.named_options import (
    StochasticLossName as StochasticLossName,
)
from manyclass.utils.named_options import (
    StoppingName as StoppingName,
)
from manyclass.utils.named_options import (
    Threshold as Threshold,
)
from manyclass.utils.named_options import (
    WeightsName as WeightsName,
)

Array: TypeAlias = NDArray[Any]
DeviceArray: TypeAlias = Any  # an array of a namespace of the standard: PyTorch, CuPy or others
Numbers: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
CsrArray: TypeAlias = "sp.csr_array[Any]"
DType: TypeAlias = np.dtype[Any]
Rows: TypeAlias = "Array | CsrArray"  # of X, shape (n, d)
RowsLike: TypeAlias = "ArrayLike | sp.sparray | sp.spmatrix"  # X as given by users
Label: TypeAlias = Hashable
ClassWeight: TypeAlias = "Mapping[Label, float] | Literal['balanced'] | None"
Settings: TypeAlias = dict[str, Any]  # keyword arguments, attributes by name, a JSON object
