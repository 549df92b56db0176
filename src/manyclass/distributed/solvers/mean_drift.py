"""Extrapolation of the mean of a sum-to-zero W during visits on ranks, and its trainer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.solvers.kernels import core_classes, problem_arguments
from manyclass.utils.core_class import core_class

# The largest C_i ||x_i||^2 with which m drifts: few visits bring a z from 0 to C_i anyway. With
# larger ones all z that rise alike would go to C_i and have to come back.
DRIFTS_TO = 4.0
# m drifts while the gain of a batch is at least this share of its visits' estimate.
TRUSTED = 0.5


def drift_from_zero(problem: Problem, norms: NDArray[np.float64], n_here: int) -> float:
    """Return by how much m moves for a unit of a step, if it may drift; 0 if not.

    Parameters
    ----------
    problem : Problem
    norms : ndarray of shape (n,), float64
        ||x_i||^2.
    n_here : int
        Classes on this rank. The steps of the other ranks' classes count as like theirs; where y_i
        alone is a target, no other class moves.
    """
    if not problem.slack_loss.is_bounded or (problem.costs * norms).max() > DRIFTS_TO:
        return 0.0
    alone = problem.formulation.targets == "own"
    return 1 / (problem.dataset.n_classes if alone else max(1, n_here))


def drifting_trainer(problem: Problem, part: Problem, drift: float) -> _core.Trainer64:
    """Return the core's trainer for the classes of a rank, which are independent but for m."""
    formulation = problem.formulation
    gamma, gamma_own = formulation.margins(problem.dataset.n_classes)
    of_core = _core.Formulation(
        relative=False,
        others=formulation.targets != "own",
        own=formulation.targets != "others",
        maximum=False,
        centred=False,
        loss=problem.loss,
        gamma=gamma,
        gamma_own=gamma_own,
        shifted=True,
        drift=drift,
    )
    trainer_of, _ = core_classes(part, shifted=True)
    arguments = problem_arguments(part) | {"formulation": of_core}
    return trainer_of(core_class("Problem", part.dataset.dtype)(**arguments))
