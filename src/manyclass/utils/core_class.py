"""Classes of the compiled core by name and type of number."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np

from manyclass import _core
from manyclass.utils.types import DType


@overload
def core_class(name: Literal["Trainer", "LaneTrainer"], dtype: DType) -> type[_core._Trainer]: ...
@overload
def core_class(name: Literal["RowTrainer"], dtype: DType) -> type[_core._RowTrainer]: ...
@overload
def core_class(name: Literal["SparseTrainer"], dtype: DType) -> type[_core._SparseTrainer]: ...
@overload
def core_class(name: Literal["PairTrainer"], dtype: DType) -> type[_core._PairTrainer]: ...
@overload
def core_class(
    name: Literal["StochasticTrainer"], dtype: DType
) -> type[_core._StochasticTrainer]: ...
@overload
def core_class(
    name: Literal["ComparisonTrainer"], dtype: DType
) -> type[_core._ComparisonTrainer]: ...
@overload
def core_class(name: Literal["LogisticTrainer"], dtype: DType) -> type[_core._LogisticTrainer]: ...
@overload
def core_class(name: Literal["Duals"], dtype: DType) -> type[_core._DualLists]: ...
@overload
def core_class(name: Literal["LaneDuals"], dtype: DType) -> type[_core._Duals]: ...
@overload
def core_class(name: Literal["WeightTables"], dtype: DType) -> type[_core._WeightTables]: ...
@overload
def core_class(name: Literal["PairTables"], dtype: DType) -> type[_core._PairTables]: ...
@overload
def core_class(name: Literal["SparseWeights"], dtype: DType) -> type[_core._SparseWeights]: ...
@overload
def core_class(name: Literal["Predictor"], dtype: DType) -> type[_core._Predictor]: ...
def core_class(name: str, dtype: DType) -> type:
    """Return the class for float32 or float64.

    Parameters
    ----------
    name : str
        Without its suffix: ``"Trainer"`` stands for ``Trainer32`` and ``Trainer64``.
    dtype : dtype
        float32 or float64.
    """
    found: type = getattr(_core, f"{name}{8 * np.dtype(dtype).itemsize}")
    return found
