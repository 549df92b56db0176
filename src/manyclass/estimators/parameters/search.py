"""Parameters of searches, and of multi-label training."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real

from manyclass.estimators.parameters.description import (
    BOOLEAN,
    Names,
    Option,
    Parameter,
    Range,
    Scope,
    positive,
)

SEARCH: Mapping[str, Parameter] = {
    "Cs": Parameter(
        (positive(Integral), Names(("path",)), "array-like"),
        'int, array-like or "path"',
        """
        Values of C to compare. An int: so many between 1e-4 and 1e4, evenly on a log scale. "path":
        all of `C_range`, each fold by a certified path (see ``c_path``).
        """,
    ),
    "C_range": Parameter(
        (tuple, list),
        "(float, float)",
        'With ``Cs="path"``: C_min and C_max.',
        option=Option("of C, with --path (default 0.01 100)", ("--C-range",)),
    ),
    "epsilon": Parameter(
        (positive(),),
        "float",
        """
        With ``Cs="path"``: relative distance from the optimum to which the models of the folds are
        proven.
        """,
        option=Option("of --path: distance from P* (default 0.01)", metavar="E"),
    ),
    "cv": Parameter(
        ("cv_object",),
        "int, splitter or iterable",
        "Folds: None for 5 stratified ones, an int for so many, or (train, test) pairs.",
    ),
    "scoring": Parameter(
        (str, callable, None),
        "str or callable",
        """
        As in scikit-learn; None is the accuracy, "cost" minus the mean cost of mistakes, by
        `costs`. "top_3_accuracy", or another number: the share of the rows whose label is among
        the 3 best classes, also if a fold lacks classes.
        """,
    ),
    "refit": Parameter(
        BOOLEAN,
        "bool",
        """
        Whether to train on all rows with the chosen C. Otherwise the weights are the mean of the
        folds' weights, and ``certificate_`` is None.
        """,
    ),
    "one_standard_error": Parameter(
        BOOLEAN,
        "bool",
        "Whether to choose the smallest C whose mean score is within one standard error of the "
        "best.",
        option=Option("choose the smallest C within one standard error of the best score"),
    ),
}
MULTILABEL: Mapping[str, Parameter] = {
    "threshold": Parameter(
        (Names(("zero", "tuned")), Range(Real, closed="neither")),
        '{"zero", "tuned"} or float',
        """
        Score above which a label is predicted: 0, a number, or for each label the threshold with
        the best cross-validated F1. "tuned" trains `n_folds` times more.
        """,
        Scope.PROBLEM,
        Option(
            "score above which a label is predicted (default 0); tuned: by cross-validation, for "
            "each label",
            metavar="T",
        ),
    ),
    "n_folds": Parameter(
        (Range(Integral, 2),),
        "int",
        """
        Folds of the cross-validation of ``threshold="tuned"``, drawn at random. Labels of fewer
        rows than that keep the threshold 0.
        """,
    ),
    "prune": Parameter(
        (Range(Real, 0),),
        "float",
        """
        Weights of a smaller size are left out as a group of labels ends; ``certificate_`` is None
        then. With very many labels the rest may fit into memory only so: 0.01 is usual.
        """,
        option=Option(
            "leave out smaller weights, for very many labels; nothing is proven then", metavar="P"
        ),
    ),
}
