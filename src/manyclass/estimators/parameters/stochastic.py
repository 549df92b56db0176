"""Parameters of stochastic training alone."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real

from manyclass.estimators.parameters.description import (
    BOOLEAN,
    Option,
    Parameter,
    Range,
    Scope,
    positive,
)

STOCHASTIC: Mapping[str, Parameter] = {
    "alpha": Parameter(
        (positive(),),
        "float",
        "Strength of the regularization, and inverse length of the steps; lambda in the source.",
        Scope.PROBLEM,
        Option("regularization (default 0.0001)", metavar="A"),
    ),
    "batch_size": Parameter(
        (positive(Integral),),
        "int",
        'Rows in a step; "log_loss" keeps as many times n_classes numbers.',
        option=Option("rows in a step (default 1)", metavar="R"),
    ),
    "max_steps": Parameter(
        (positive(Integral), None),
        "int",
        "Steps of ``fit`` at most; with ``warm_start``, earlier steps count.",
        option=Option("steps at most (default: no limit)", metavar="N"),
    ),
    "n_iter_no_change": Parameter(
        (positive(Integral),),
        "int",
        "Epochs without improvement by `tol` after which training ends.",
    ),
    "early_stopping": Parameter(
        BOOLEAN,
        "bool",
        "Whether training ends by the accuracy on rows that are held out.",
        option=Option("hold out a tenth of the rows, and stop when their accuracy stops improving"),
    ),
    "validation_fraction": Parameter(
        (Range(Real, 0, 1, "neither"),),
        "float",
        "Share of the rows that are held out; every class keeps one row for training.",
    ),
    "average": Parameter(
        ("boolean", Range(Integral, 0)),
        "bool or int",
        """
        Whether the coefficients are a mean over the steps. True: step t has weight t^2. A positive
        int: the steps after so many examples (of weight 1), all with the same weight (suffix
        average). It takes a second array like W.
        """,
        option=Option("average the weights of the steps"),
    ),
    "shuffle": Parameter(
        BOOLEAN,
        "bool",
        "Whether each epoch takes the rows in a new random order, else in their own.",
    ),
    "compute_objective": Parameter(
        BOOLEAN,
        "bool",
        "Whether ``fit`` computes ``objective_``, in one more pass.",
    ),
}
