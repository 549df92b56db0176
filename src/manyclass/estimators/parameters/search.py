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
        Values of C to compare. An int: the number of values between 1e-4 and 1e4, evenly spaced on
        a log scale. "path": all values in `C_range`, with a certified path per fold (see
        ``c_path``).
        """,
    ),
    "C_range": Parameter(
        (tuple, list),
        "(float, float)",
        'C_min and C_max for ``Cs="path"``.',
        option=Option("range of C for --path (default 0.01 100)", ("--C-range",)),
    ),
    "epsilon": Parameter(
        (positive(),),
        "float",
        """
        Proven relative distance of the folds' models from the optimum, for ``Cs="path"``.
        """,
        option=Option(
            "for --path: proven relative distance from the optimum (default 0.01)", metavar="E"
        ),
    ),
    "cv": Parameter(
        ("cv_object",),
        "int, splitter or iterable",
        """
        Folds. None: 5 stratified folds. An int: the number of stratified folds. Otherwise a
        splitter or an iterable of (train, test) pairs.
        """,
    ),
    "scoring": Parameter(
        (str, callable, None),
        "str or callable",
        """
        A scorer of scikit-learn, or its name; None is the accuracy. "cost": the negative mean cost
        of mistakes, by `costs`. "top_3_accuracy" (or a different number): the fraction of rows
        whose label is among the 3 best classes, also if a fold lacks classes.
        """,
    ),
    "refit": Parameter(
        BOOLEAN,
        "bool",
        """
        Whether to train on all rows with the chosen C. If False, the weights are the mean over the
        folds, and ``certificate_`` is None.
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
        Score above which a label is predicted. "zero": 0. "tuned": for each label, the threshold
        with the best cross-validated F1; this trains `n_folds` more models.
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
        Number of random folds for ``threshold="tuned"``. Labels with fewer rows than folds keep the
        threshold 0.
        """,
    ),
    "prune": Parameter(
        (Range(Real, 0),),
        "float",
        """
        Weights of a smaller magnitude are removed after each group of labels; ``certificate_`` is
        then None. With very many labels, the weights may fit into memory only if small ones are
        removed; 0.01 is usual.
        """,
        option=Option(
            "remove weights smaller than P, to save memory with very many labels; there is "
            "then no certificate",
            metavar="P",
        ),
    ),
}
