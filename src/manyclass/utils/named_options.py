"""Types of named options. Has no slow imports, for the command line."""

from __future__ import annotations

from typing import Literal, TypeAlias

# Options of public signatures; tests compare them with the tables of implementations.
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
DEFAULT_SOLVERS = ("auto", "sequential_dual")  # solvers of all problems; others are for comparison
StoppingName: TypeAlias = Literal["gap", "kkt"]
CostScaling: TypeAlias = Literal["margin", "slack"]
WeightsName: TypeAlias = Literal["auto", "dense", "sparse"]
MergeColumns: TypeAlias = Literal["auto", False]
Threshold: TypeAlias = float | Literal["zero", "tuned"]
