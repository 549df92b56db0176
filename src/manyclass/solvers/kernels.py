"""The problem as the compiled core takes it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.losses import LOSSES
from manyclass.problem.problem import Problem
from manyclass.utils.core_class import core_class
from manyclass.utils.machine import instruction_set
from manyclass.utils.types import Settings

NO_COMMON = np.empty(0)  # nothing is taken off every class


def core_problem(problem: Problem) -> _core.Problem64:
    """Return the problem as the trainers of the compiled core share it: checked, with its norms."""
    return core_class("Problem", problem.dataset.dtype)(**problem_arguments(problem))


def problem_arguments(problem: Problem) -> Settings:
    """Return what the core's problem is made of."""
    data = problem.dataset
    return {
        "formulation": core_formulation(problem),
        "indptr": data.indptr,
        "indices": data.indices,
        "values": data.values,
        "n_features": data.n_features,
        "bias": data.bias,
        "labels": data.labels,
        "n_classes": data.n_classes,
        "costs": problem.costs,
        "instruction_set": instruction_set(),
    }


def core_formulation(problem: Problem) -> _core.Formulation:
    """Return the formulation as the compiled core takes it."""
    formulation = problem.formulation
    gamma, gamma_own = formulation.margins(problem.dataset.n_classes)
    return _core.Formulation(
        relative=formulation.is_relative,
        others=formulation.targets != "own",
        own=formulation.targets != "others",
        maximum=formulation.takes_maximum,
        centred=formulation.centred,
        loss=problem.loss if problem.loss in LOSSES else "hinge",  # log_loss: a trainer of its own
        gamma=gamma,
        gamma_own=gamma_own,
    )


def check_squared_norms(norms: NDArray[np.float64]) -> None:
    """Refuse rows of X whose square overflows.

    Raises
    ------
    FloatingPointError
    """
    if not np.isfinite(norms).all():
        raise FloatingPointError("the square of a row of X overflows; scale the features")
