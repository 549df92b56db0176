"""Parameters of exact training; many also belong to stochastic and multi-label training."""

from __future__ import annotations

import os
from collections.abc import Mapping
from numbers import Integral, Real
from typing import get_args

from manyclass.estimators.parameters.description import (
    BOOLEAN,
    Method,
    Names,
    Option,
    Parameter,
    Range,
    Scope,
    positive,
)
from manyclass.problem.formulations import FORMULATIONS, SHORT_NAMES
from manyclass.utils.named_options import (
    CostScaling,
    LossName,
    SolverName,
    StoppingName,
    WeightsName,
)


def _names(choices: object) -> Names:
    """Return the texts of a type."""
    return Names(tuple(get_args(choices)))


EXACT: Mapping[str, Parameter] = {
    "formulation": Parameter(
        (Names((*FORMULATIONS, *SHORT_NAMES)),),
        "str",
        """
        "crammer_singer", "weston_watkins", "lee_lin_wahba", "adm", "ats", "atm", "reinforced",
        "mmr" or "one_vs_rest"; see ``manyclass.problem.formulations``. Short names: "cs", "ww",
        "llw", "rm", "ovr". All predict the class with the largest score.
        """,
        Scope.PROBLEM,
    ),
    "C": Parameter(
        (positive(),),
        "float",
        "Cost of a unit of loss; a smaller value regularizes more.",
        Scope.PROBLEM,
    ),
    "loss": Parameter(
        (_names(LossName),),
        '{"hinge", "squared_hinge"}',
        """
        Loss of a margin. "squared_hinge" is for the formulations that add the losses (all but
        "crammer_singer", "adm" and "atm", which take the maximum).
        """,
        Scope.PROBLEM,
    ),
    "solver": Parameter(
        (_names(SolverName),),
        "str",
        """
        "auto": the sequential dual method, with a Newton phase and a stochastic start if they save
        time. "sequential_dual": only that method. The other three solvers are for comparison:
        "exponentiated_gradient" and "most_violating" (for "crammer_singer" and "weston_watkins"
        with hinge loss), "cutting_plane" (for these and "one_vs_rest", both losses). They train in
        one process, store a dense W and n_samples x n_classes further numbers, and are slower.
        """,
        Scope.RUN,
    ),
    "tol": Parameter(
        (positive(),),
        "float",
        """
        Relative duality gap (P - D) / min(P, P(0) - D) at which training stops, with the primal
        objective P, the dual objective D (a lower bound of the optimum), and P(0), the objective of
        W = 0.
        """,
    ),
    "stopping": Parameter(
        (_names(StoppingName),),
        '{"gap", "kkt"}',
        """
        Meaning of ``tol``: the relative duality gap, or the largest violation of the optimality
        conditions ("kkt").
        """,
        option=Option(
            "what the T of --tol means: gap (default): relative duality gap; kkt: largest "
            "violation of the optimality conditions"
        ),
    ),
    "fit_intercept": Parameter(
        BOOLEAN,
        "bool",
        """
        Whether to train intercepts, the weights of a constant feature. They are regularized like
        the other weights.
        """,
        Scope.PROBLEM,
        Option("leave out the constant feature", ("--no-intercept",)),
    ),
    "regularize_intercept": Parameter(
        BOOLEAN,
        "bool",
        """
        Whether intercepts are regularized like the weights of a feature whose value is
        `intercept_scaling`.
        """,
        Scope.PROBLEM,
        Option("with --formulation logistic: regularize the intercepts (SVMs always do)"),
    ),
    "intercept_scaling": Parameter(
        (positive(),),
        "float",
        """
        Value of the constant feature, rounded to the dtype of X. If intercepts are regularized, a
        larger value regularizes them less.
        """,
        Scope.PROBLEM,
        Option(
            "value of the constant feature (default 1; with --solver stochastic and sparse "
            "rows 0.1); 0 or less: no intercept",
            ("--bias",),
            "B",
        ),
    ),
    "class_weight": Parameter(
        (Names(("balanced",)), dict, None),
        'dict or "balanced"',
        """
        Weight of each class; a class of weight 0 is left out. "balanced" weights class c by
        n / (k n_c), where n is the number of rows, k of classes, and n_c of rows of class c (sums
        of `sample_weight`, if given).
        """,
        Scope.PROBLEM,
        Option(
            "multiply C by W for this class; may be given several times. balanced: give every "
            "class the same total weight",
            metavar="LABEL=W",
        ),
    ),
    "costs": Parameter(
        ("array-like", dict, "taxonomy", None),
        "array-like of shape (n_classes, n_classes), dict of dicts or Taxonomy",
        """
        Costs of mistakes, finite and at least 0. They are the margins required in training: the
        Crammer-Singer loss is max(0, max_{c != y_i} costs[y_i, c] - (w_{y_i} - w_c) . x_i). For
        all formulations except "mmr" and binary "one_vs_rest".

        - array: row j, column c for predicting ``classes_[c]`` if ``classes_[j]`` is true, with
          0 on the diagonal; up to 4,096 classes.
        - dict: ``costs[true][predicted]`` by label; missing pairs cost 1.
        - pandas DataFrame: by the labels of its index (true) and its columns (predicted).
        - ``Taxonomy``: the distances between its classes.
        """,
        Scope.PROBLEM,
        Option(
            "costs of mistakes: CSV with the predicted labels in the first line, and then a line "
            "for each true label: the label, and the cost of each prediction",
            metavar="FILE",
        ),
    ),
    "cost_scaling": Parameter(
        (_names(CostScaling),),
        '{"margin", "slack"}',
        """
        Effect of `costs`. "margin": costs are the required margins. "slack": margins are 1 and
        costs multiply the losses (Tsochantaridis et al. 2005), only for "weston_watkins":
        sum_{c != y_i} costs[y_i, c] loss(1 - (w_{y_i} - w_c) . x_i).
        """,
        Scope.PROBLEM,
        Option(
            "effect of --costs and --taxonomy: margin (default): costs are the required "
            "margins; slack: costs multiply the losses (weston_watkins only)"
        ),
    ),
    "class_offset": Parameter(
        (Names(("logit_adjustment",)), "array-like", dict, None),
        '"logit_adjustment", array-like of shape (n_classes,) or dict',
        """
        Numbers that are added to the scores of the classes in training, but not in prediction: a
        class with a smaller offset gets higher scores in prediction. "logit_adjustment": the
        logarithm of each class's share of the sample weights, which helps rare classes (Menon et
        al. 2021). An array is in the order of ``classes_``; a dict is by label, and missing classes
        have the offset 0. One-vs-rest with two classes does not support it.
        """,
        Scope.PROBLEM,
        Option(
            "add O to the scores of this class in training only, so that a negative O favors "
            "the class in prediction; may be given several times. logit_adjustment: the "
            "logarithm of each class's share of the rows",
            metavar="LABEL=O",
        ),
    ),
    "max_iter": Parameter(
        (positive(Integral),),
        "int",
        "Maximum number of epochs.",
        option=Option("maximum number of epochs (default 1000)", metavar="N"),
    ),
    "warm_start": Parameter(
        BOOLEAN,
        "bool",
        """
        Whether the next fit starts from the dual variables of this one, for the rows that occur
        again, in any order. A fit that was stopped by Ctrl-C can then be resumed.
        """,
    ),
    "weights": Parameter(
        (_names(WeightsName),),
        '{"auto", "dense", "sparse"}',
        """
        Storage of W during training. "dense": n_features x n_classes numbers. "sparse": a hash
        table of classes for every feature, for "crammer_singer", "weston_watkins" and "one_vs_rest"
        with thousands of classes; ``coef_`` is then sparse, too. "auto" chooses by the number of
        classes and the available memory; ``verbose`` shows the choice and its reason.
        """,
        option=Option(
            "storage of the weights; sparse suits thousands of classes (default auto: chosen by "
            "classes and memory)"
        ),
    ),
    "merge_columns": Parameter(
        (Names(("auto",)), False),
        '"auto" or False',
        """
        "auto": features with the same rows and proportional values are trained as one feature if
        that saves time, for example words that occur in one document only. The problem, ``coef_``
        and the certificate do not change. Not used for dense rows or with several processes; in
        ``MulticlassSVC`` also not for one-vs-rest with sparse weights or if `solver` is neither
        "auto" nor "sequential_dual".
        """,
        option=Option(
            "train equal or proportional features separately (default: merge them if that "
            "saves time)",
            ("--no-merge-columns",),
        ),
    ),
    "device": Parameter(
        (str, list, None),
        "str, list of str",
        """
        Device of PyTorch to train on, for example "cuda" or "cuda:1". X is copied to the device,
        or, if it does not fit, block by block. With several devices, each trains on a part of the
        rows (logistic regression, squared hinge). None: the device of X if X is a PyTorch tensor or
        CuPy array, else the CPU.
        """,
        Scope.RUN,
    ),
    "n_jobs": Parameter(
        (Integral, None),
        "int",
        "Threads (None = 1, -1 = all cores).",
        Scope.RUN,
        Option("threads; -1: all cores", ("--jobs",), "N"),
    ),
    "random_state": Parameter(
        ("random_state",),
        "int, RandomState instance",
        "Seed of the random order of the updates. An int gives the same result every time, "
        "for the same `n_jobs`.",
        option=Option("seed of the random order of the updates (default 0)", ("--seed",), "S"),
    ),
    "communicator": Parameter(
        (Method("Get_rank"), Method("send_receive"), None),
        "mpi4py.MPI.Comm",
        """
        Processes that train one model together, such as ``MPI.COMM_WORLD``. Every rank gets the
        same fitted model; only rank 0 prints and warns. An error on one rank ends all ranks.
        """,
        Scope.RUN,
    ),
    "split": Parameter(
        (Names(("rows",)), None),
        '{"rows"}',
        """
        How the processes of a communicator divide the problem. "rows": each process calls ``fit``
        with its own rows, their y and weights. The classes of all ranks are combined; a rank may
        have no rows.
        """,
        Scope.RUN,
    ),
    "checkpoint": Parameter(
        (str, os.PathLike, None),
        "str or path-like",
        """
        Folder for checkpoints of the training. After a crash, `resume` continues from the newest
        one. Rank 0 writes them, the last one at the end. Without `resume`, the folder must not hold
        checkpoints yet.
        """,
        Scope.RUN,
        Option(
            "save the state of training in this folder from time to time, on Ctrl-C, SIGTERM and "
            "at the end",
            metavar="DIR",
        ),
    ),
    "checkpoint_minutes": Parameter(
        (Range(Real, 0),),
        "float",
        """
        Minimum number of minutes between two checkpoints. They are written after an epoch, and on
        Ctrl-C.
        """,
        Scope.RUN,
        Option("minimum number of minutes between two checkpoints (default 10)", metavar="N"),
    ),
    "resume": Parameter(
        BOOLEAN,
        "bool",
        """
        Whether to continue from the newest checkpoint in `checkpoint`. X, y, sample and class
        weights, formulation, C, loss and intercept must be the same; other settings, such as the
        number of processes, may differ. ``history_`` continues; its epochs count for `max_iter`.
        """,
        Scope.RUN,
        Option(
            "resume from the last checkpoint in this folder and save more there: DATA, "
            "--formulation, -C, --loss, --class-weight and the intercept must be the same; other "
            "options may differ",
            metavar="DIR",
        ),
    ),
    "verbose": Parameter(
        ("verbose",),
        "int",
        """
        1: show the storage of the weights and the progress, as a bar in a terminal, else one line
        per epoch. 2: lines in a terminal, too.
        """,
        Scope.RUN,
    ),
}
