"""Names of types that most modules use: arrays, rows of X, options, class weights, JSON objects."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]
Numbers: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
CsrArray: TypeAlias = "sp.csr_array[Any]"
DType: TypeAlias = np.dtype[Any]
Rows: TypeAlias = "Array | CsrArray"  # of X, shape (n, d)
RowsLike: TypeAlias = "ArrayLike | sp.sparray | sp.spmatrix"  # X as users give it
Label: TypeAlias = Hashable
ClassWeight: TypeAlias = "Mapping[Label, float] | Literal['balanced'] | None"
Settings: TypeAlias = dict[str, Any]  # keyword arguments, attributes by name, a JSON object

# Options of public signatures; tests compare them with the tables of what there is.
FormulationName: TypeAlias = Literal[
    "crammer_singer",
    "weston_watkins",
    "one_vs_rest",
    "lee_lin_wahba",
    "adm",
    "ats",
    "atm",
    "reinforced",
    "mmr",
    "cs",
    "ww",
    "ovr",
    "llw",
    "rm",
]
LossName: TypeAlias = Literal["hinge", "squared_hinge"]
StochasticLossName: TypeAlias = Literal["hinge", "log_loss", "perceptron"]
SolverName: TypeAlias = Literal[
    "auto", "sequential_dual", "exponentiated_gradient", "cutting_plane", "most_violating"
]
StoppingName: TypeAlias = Literal["gap", "kkt"]
CostScaling: TypeAlias = Literal["margin", "slack"]
WeightsName: TypeAlias = Literal["auto", "dense", "sparse"]
MergeColumns: TypeAlias = Literal["auto", False]
Threshold: TypeAlias = float | Literal["zero", "tuned"]
