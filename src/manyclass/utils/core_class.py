"""Classes of the compiled core by name and type of number."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np

from manyclass import _core
from manyclass.utils.types import DType


@overload
def core_class(name: Literal["Problem"], dtype: DType) -> type[_core.Problem64]: ...
@overload
def core_class(name: Literal["PairTrainer"], dtype: DType) -> type[_core.PairTrainer64]: ...
@overload
def core_class(
    name: Literal["StochasticTrainer"], dtype: DType
) -> type[_core.StochasticTrainer64]: ...
@overload
def core_class(
    name: Literal["ComparisonTrainer"], dtype: DType
) -> type[_core.ComparisonTrainer64]: ...
@overload
def core_class(name: Literal["LogisticTrainer"], dtype: DType) -> type[_core.LogisticTrainer64]: ...
@overload
def core_class(name: Literal["Duals"], dtype: DType) -> type[_core.Duals64]: ...
@overload
def core_class(name: Literal["ShardedWeights"], dtype: DType) -> type[_core.ShardedWeights64]: ...
@overload
def core_class(name: Literal["PairTables"], dtype: DType) -> type[_core.PairTables64]: ...
@overload
def core_class(name: Literal["SparseWeights"], dtype: DType) -> type[_core.SparseWeights64]: ...
@overload
def core_class(name: Literal["Predictor"], dtype: DType) -> type[_core.Predictor64]: ...
def core_class(name: str, dtype: DType) -> type:
    """Return the class for float32 or float64; in types, that for float64 stands for both.

    Parameters
    ----------
    name : str
        Without its suffix: ``"Problem"`` stands for ``Problem32`` and ``Problem64``.
    dtype : dtype
        float32 or float64.
    """
    found: type = getattr(_core, f"{name}{8 * np.dtype(dtype).itemsize}")
    return found
