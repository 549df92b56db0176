"""Parameters of stochastic training only."""

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
        """
        Strength of the regularization (lambda in the reference). Also sets the length of the
        steps, 1/(alpha t).
        """,
        Scope.PROBLEM,
        Option("regularization (default 0.0001)", metavar="A"),
    ),
    "batch_size": Parameter(
        (positive(Integral),),
        "int",
        'Rows per step. "log_loss" stores batch_size x n_classes numbers.',
        option=Option("rows in a step (default 1)", metavar="R"),
    ),
    "max_steps": Parameter(
        (positive(Integral), None),
        "int",
        "Maximum number of steps of ``fit``; with ``warm_start``, earlier steps count.",
        option=Option("steps at most (default: no limit)", metavar="N"),
    ),
    "n_iter_no_change": Parameter(
        (positive(Integral),),
        "int",
        "Training ends after this number of epochs without an improvement by `tol`.",
    ),
    "early_stopping": Parameter(
        BOOLEAN,
        "bool",
        "Whether to stop by the accuracy on held-out rows instead of the mean loss.",
        option=Option("hold out a tenth of the rows, and stop when their accuracy stops improving"),
    ),
    "validation_fraction": Parameter(
        (Range(Real, 0, 1, "neither"),),
        "float",
        "Fraction of the rows that are held out; every class keeps at least one row for training.",
    ),
    "average": Parameter(
        ("boolean", Range(Integral, 0)),
        "bool or int",
        """
        Whether the coefficients are an average over the steps. True: step t has weight t^2. A
        positive int: the average of all steps after this number of examples (of weight 1), with
        equal weights (suffix average). Needs a second array of the size of W.
        """,
        option=Option("average the weights of the steps"),
    ),
    "shuffle": Parameter(
        BOOLEAN,
        "bool",
        "Whether each epoch uses a new random order of the rows. If False, rows keep their order.",
    ),
    "compute_objective": Parameter(
        BOOLEAN,
        "bool",
        "Whether ``fit`` computes ``objective_``, in an additional pass over the data.",
    ),
}
