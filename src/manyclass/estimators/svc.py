"""scikit-learn estimators."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import HasMethods, Interval

from manyclass.estimators.coefficients import CallbackSupportMixin, split_weights, with_callbacks
from manyclass.estimators.costs import (
    COST_SCALINGS,
    Costs,
    base_of_costs,
    factors_of_costs,
)
from manyclass.estimators.exact_fit import Training
from manyclass.estimators.offsets import Offsets, base_of_offsets, checked_base, refuse_several
from manyclass.estimators.probabilities import CalibrationMixin
from manyclass.estimators.sparsify import SparsifyMixin
from manyclass.estimators.validation import NEVER, check_parameters, input_restored, one_of
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS, SHORT_NAMES, named
from manyclass.problem.losses import LOSSES
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Weights
from manyclass.problem.taxonomy import Taxonomy
from manyclass.problem.tree_scores import TreeScores
from manyclass.solvers.stopping import RULES
from manyclass.solvers.weights.storage_choice import Choice, choose_weights
from manyclass.training.options import Options
from manyclass.training.solver_choice import DEFAULT, SOLVERS, check_solver
from manyclass.utils.lazy import load_entry_point
from manyclass.utils.machine import effective_n_jobs
from manyclass.utils.scikit_learn import fit_context, suggests_parameters
from manyclass.utils.suggestions import OF_SVC
from manyclass.utils.types import (
    Array,
    ClassWeight,
    CostScaling,
    FormulationName,
    LossName,
    MergeColumns,
    Numbers,
    RowsLike,
    Settings,
    SolverName,
    StoppingName,
    WeightsName,
)


class MulticlassSVC(CalibrationMixin, SparsifyMixin, CallbackSupportMixin):
    """Multi-class linear support vector machine, trained to a proven distance from its optimum.

    Solves, for the examples (x_i, y_i), i = 1..n, and weights W = (w_1, ..., w_k) of k classes,

        min_W  1/2 ||W||_F^2 + sum_i C_i agg_{c in T_i} max(0, gamma_c - mu_c(x_i, y_i))

    by the sequential dual method, until the relative duality gap is at most ``tol``.

    - C_i = C * sample_weight_i * class_weight_{y_i}: the cost of a unit of loss of example i.
    - mu_c(x, y): the margin of class c; relative, (w_y - w_c) . x, or absolute, -w_c . x for
      c != y and w_y . x for c = y.
    - T_i: the classes whose margins count: the others than y_i, y_i alone, or all.
    - agg: their sum or their maximum.
    - gamma_c: the margin required, 1 (c = y_i of "reinforced": k - 1; with ``costs``, the cost).

    The formulation chooses mu, T and agg. The loss of the default, Crammer-Singer, is
    max(0, max_{c != y_i} 1 - (w_{y_i} - w_c) . x_i). The class of the largest score
    w_c . x is predicted.

    Parameters
    ----------
    formulation : str, default="crammer_singer"
        "crammer_singer", "weston_watkins", "lee_lin_wahba", "adm", "ats", "atm", "reinforced",
        "mmr" or "one_vs_rest"; see ``manyclass.problem.formulations``. Short names: "cs", "ww",
        "llw", "rm", "ovr". All predict the class of the largest score.
    C : float, default=1.0
        Cost of a unit of loss; smaller regularises more.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of a margin; "squared_hinge" for the formulations that add losses (not
        "crammer_singer", "adm" and "atm", which take their maximum).
    solver : str, default="auto"
        "auto": the sequential dual method, with a Newton phase and a stochastic start where they
        save time. "sequential_dual": that method alone. For comparison: "exponentiated_gradient"
        and "most_violating" (for "crammer_singer" and "weston_watkins" with hinge loss),
        "cutting_plane" (for these and "one_vs_rest", both losses). They train in one process, hold
        a dense W and n_samples x n_classes further numbers, and are slower.
    tol : float, default=1e-3
        With ``stopping="gap"``, relative duality gap (P - D) / min(P, P(0) - D) at which training
        stops, P(0) the objective of W = 0: the objective is then proven to be within a share
        ``tol`` of the optimum, and to have all but that share of what there was to gain, which is
        less than P where C is small. With "kkt", the
        largest violation of the optimality conditions, in units of the score (the papers' epsilon;
        they use 0.1).
    stopping : {"gap", "kkt"}, default="gap"
        What ``tol`` means.
    fit_intercept : bool, default=True
        Whether to append a constant feature; its weights are regularised like the others.
    intercept_scaling : float, default=1.0
        Value of that feature, rounded to the type of X. A larger one regularises the intercept
        less.
    class_weight : dict or "balanced", default=None
        Weight of each class; a class of weight 0 is left out. "balanced" weights class c by
        n / (k n_c). It weighs a row by its own class in all its losses: with
        formulation="one_vs_rest" and more than two classes, the losses of class c have the cost
        C class_weight_{y_i} in row i. LinearSVC and LIBLINEAR have C class_weight_c where y_i = c,
        else C.
    costs : array-like of shape (n_classes, n_classes), dict of dicts or Taxonomy, default=None
        Costs of mistakes: row j, column c for predicting ``classes_[c]`` where ``classes_[j]`` is
        true, finite and at least 0, and 0 on the diagonal. Of a dict, ``costs[true][predicted]`` by
        label; pairs that it lacks cost 1. Of a pandas DataFrame, by the labels of its index (true)
        and its columns. Of a ``Taxonomy``, the distances of its
        classes. They are the margins that training asks for: the loss is
        max(0, max_{c != y_i} costs[y_i, c] - (w_{y_i} - w_c) . x_i) of Crammer-Singer. For all
        formulations but "mmr", and binary "one_vs_rest"; a table has up to 4,096 classes.
    cost_scaling : {"margin", "slack"}, default="margin"
        What `costs` do: "margin": they are the margins that training asks for. "slack": margins
        are 1, and costs multiply the losses (Tsochantaridis et al. 2005), for "weston_watkins":
        sum_{c != y_i} costs[y_i, c] loss(1 - (w_{y_i} - w_c) . x_i).
    class_offset : "logit_adjustment", array-like of shape (n_classes,) or dict, default=None
        Numbers that training adds to the scores of the classes, and prediction does not: a class
        with a smaller one ends with higher scores. "logit_adjustment": the logarithm of the share
        of each class in the weights of the rows, which helps rare classes (Menon et al. 2021). An
        array in the order of ``classes_``; a dict by label, 0 for classes that it lacks. Not for
        binary "one_vs_rest".
    max_iter : int, default=1000
        Epochs at most (of each part, where "one_vs_rest" with sparse weights trains some classes
        after the other). An epoch is one loop over all examples and classes, preceded by loops
        over those that still move, of at most the effort of five such loops (ten with few classes,
        more after ten epochs); or, where examples far outnumber features, a round of Newton steps.
    warm_start : bool, default=False
        Whether the next fit on the same rows and classes starts where this one ended: from its dual
        variables, scaled when C or the weights changed, and from its W where that is not theirs.
        Also makes a fit that Ctrl-C stopped resumable.
    weights : {"auto", "dense", "sparse"}, default="auto"
        How W is held in memory. "dense": n_features x n_classes numbers. "sparse": a table of
        classes for every feature, for "crammer_singer", "weston_watkins" and "one_vs_rest" with
        thousands of classes; ``coef_`` is then sparse too. "auto" chooses by the number of classes
        and the memory that the machine, or a limit on the process, leaves; ``verbose`` shows what
        was chosen, and why.
    merge_columns : "auto" or False, default="auto"
        "auto": features with the same rows and proportional values are trained as one feature,
        where that pays: equal words, words of one document. Problem, ``coef_`` and certificate
        are those of the given X. Not for dense rows, one-vs-rest with sparse weights, the
        solvers for comparison, nor with `communicator`.
    n_jobs : int, default=None
        Threads (None = 1, -1 = all cores) for the groups of classes of "one_vs_rest", for sparse
        weights, dense rows, Newton steps, the certificate and prediction. Otherwise visits are made
        by one thread. Fewer are used while other processes keep the cores busy. In a worker of
        joblib no more than its share of the cores.
    random_state : int, RandomState instance, default=None
        Orders the visits. An int gives the same result every time, for the same `n_jobs`.
    communicator : mpi4py.MPI.Comm, default=None
        Processes among which the classes are spread, such as ``MPI.COMM_WORLD``; for all
        formulations but "adm" and "atm", which several processes train with ``split="rows"``
        alone. Every rank calls ``fit`` with the same X, y and
        parameters, and has the same fitted model afterwards; rank 0 alone prints and warns. An
        error on one rank ends all of them.
    split : {"rows"}, default=None
        What the processes of a communicator share out. None: the classes, and every process has
        all rows. "rows": each calls ``fit`` with rows of its own, their y and weights; classes are
        those of all processes, which may have no row. For rows that do not fit one machine; all
        formulations, with dense weights, by consensus, and by Newton's method where the weights are
        few.
    checkpoint : str or path-like, default=None
        Folder for checkpoints of the training, from which it resumes after a crash, with `resume`;
        rank 0 writes them. The last one is of the end. Must hold none yet, unless with `resume`.
    checkpoint_minutes : float, default=10.0
        Between two checkpoints, at least; they are written after an epoch, and on Ctrl-C.
    resume : bool, default=False
        Whether to continue from the newest checkpoint in `checkpoint`, which must be of the same X,
        y, weights, formulation, C, loss and intercept; all else, such as the number of processes,
        may differ. ``history_`` continues, and its epochs count for `max_iter`.
    verbose : int, default=0
        1 shows the progress: a bar in a terminal, else one line per epoch; and before
        it how large weights are held, and why.
        2: lines in a terminal, too.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) when binary
        float32 for float32 X, else float64; a CSR array after sparse training or ``sparsify``. When
        binary, the difference of the two classes' weights.
    intercept_ : ndarray of shape (n_classes,), or (1,) when binary
    n_iter_ : int
        Epochs, of all parts together.
    certificate_ : Certificate
        primal_objective, dual_objective, gap, relative_gap, max_violation at the returned weights,
        and zero_objective, P at W = 0; None once ``sparsify`` has changed them.
    sparsity_report_ : SparsityReport
        After ``sparsify``: what it cost.
    history_ : list of EpochRecord
        One record per epoch: seconds, primal and gap estimates, violation, active share, numbers
        of W and z that are held.
    temperature_ : float
        Of a calibrated model: what ``predict_proba`` divides the scores by.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        When X had string column names.

    Notes
    -----
    Binary problems: ``coef_`` is w_1 - w_0, for "one_vs_rest" w_1 alone (of the two machines that
    it trains, each the other's negative).

    See Also
    --------
    sklearn.svm.LinearSVC : With ``multi_class="crammer_singer"``, the same problem.

    References
    ----------
    S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin: A sequential dual method
    for large scale multi-class linear SVMs. KDD 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import MulticlassSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVC(tol=1e-4, random_state=0).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-4
    True
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "formulation": [one_of([*FORMULATIONS, *SHORT_NAMES])],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "loss": [one_of(LOSSES)],
        "solver": [one_of(SOLVERS)],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "stopping": [one_of(RULES)],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [one_of(["balanced"]), dict, None],
        "costs": ["array-like", dict, Taxonomy, None],
        "cost_scaling": [one_of(COST_SCALINGS)],
        "class_offset": [one_of(["logit_adjustment"]), "array-like", dict, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "weights": [one_of(["auto", "dense", "sparse"])],
        "merge_columns": [one_of(["auto"]), NEVER],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "communicator": [HasMethods("Get_rank"), HasMethods("send_receive"), None],
        "split": [one_of(["rows"]), None],
        "checkpoint": [str, os.PathLike, None],
        "checkpoint_minutes": [Interval(Real, 0.0, None, closed="left")],
        "resume": ["boolean"],
        "verbose": ["verbose"],
    }

    @suggests_parameters(OF_SVC)
    def __init__(
        self,
        *,
        formulation: FormulationName = "crammer_singer",
        C: float = 1.0,
        loss: LossName = "hinge",
        solver: SolverName = "auto",
        tol: float = 1e-3,
        stopping: StoppingName = "gap",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: ClassWeight = None,
        costs: Costs | None = None,
        cost_scaling: CostScaling = "margin",
        class_offset: Offsets | None = None,
        max_iter: int = 1000,
        warm_start: bool = False,
        weights: WeightsName = "auto",
        merge_columns: MergeColumns = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        communicator: object = None,
        split: Literal["rows"] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_minutes: float = 10.0,
        resume: bool = False,
        verbose: int = 0,
    ) -> None:
        self.formulation = formulation
        self.C = C
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.stopping = stopping
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.costs = costs
        self.cost_scaling = cost_scaling
        self.class_offset = class_offset
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.weights = weights
        self.merge_columns = merge_columns
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.communicator = communicator
        self.split = split
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume
        self.verbose = verbose

    @with_callbacks
    @fit_context
    def fit(
        self,
        X: RowsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        base_scores: ArrayLike | None = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Examples; float32 trains in float32, all else in float64. CSR without duplicate entries
            is not copied, nor is an array in C order (which may be mapped from a file)
            unless most of it is zero; anything else is copied.
        y : array-like of shape (n_samples,)
            Classes: numbers or strings, at least two of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative; a weight of 2 equals two copies, of 0 no row.
        base_scores : array-like of shape (n_samples, n_classes) or (n_classes,), default=None
            Scores of another model, which training adds to its own: this one learns what the other
            leaves. Columns in the order of ``classes_``. ``decision_function`` and all
            predictions are without them: add those of the rows to predict to
            ``decision_function``. Not for binary "one_vs_rest"; in one process.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X or y have the wrong shape, hold NaN or infinity, there are fewer than two classes,
            a weight is negative, or ``base_scores`` do not fit them; if ``checkpoint`` and
            ``resume`` do not fit what is there.
        OSError
            If ``checkpoint`` is no folder that can be written to.
        FloatingPointError
            If the weights overflow.
        MemoryError
            If W does not fit into memory, before training if that can be known.
        """
        several = self.communicator is not None or self.split is not None
        with input_restored(self):
            if several:
                refuse_several(base_scores)
                make = load_entry_point("communicator" if self.split is None else "rows")
                make(self).run(X, y, sample_weight)
            else:
                Training(self, base_scores=base_scores).run(X, y, sample_weight)
        self.__dict__.pop("temperature_", None)
        return self

    def _validate_params(self) -> None:
        """Check the parameters; several processes do so where all of them can end."""
        if self.communicator is None and self.split is None:
            check_parameters(self)

    @property
    def _remedies(self) -> list[str]:
        other = "MultinomialLogisticRegression, whose predict takes costs"
        if self.costs is None:
            return ["costs with loss='squared_hinge'", other]
        # Where classes overlap, costs move hinge losses little.
        slack = "formulation='weston_watkins' with cost_scaling='slack'"
        return [f"{slack} or loss='squared_hinge'", other]

    def _problem(self, dataset: Dataset, classes: Array) -> Problem:
        formulation = named(self.formulation)
        base: BaseScores | TreeScores | None = None
        factors: Numbers | None = None
        if self.costs is not None:
            given = self.costs, classes, dataset.labels, formulation
            if self.cost_scaling == "slack":
                base, factors = factors_of_costs(*given)
            else:
                base = base_of_costs(*given)
        if self.class_offset is not None:
            base = base_of_offsets(self.class_offset, classes, dataset, base)
        problem = Problem(dataset, formulation, float(self.C), self.loss, base, factors)
        return problem if base is None else checked_base(problem)

    def _options(self, problem: Problem, *, keeps_duals: bool) -> tuple[Options, Choice | str]:
        check_solver(self.solver, problem, stopping=self.stopping, weights=self.weights)
        n_jobs = effective_n_jobs(self.n_jobs)
        weights = self.weights if self.solver in DEFAULT else "dense"
        choice = choose_weights(problem, weights, n_jobs, keeps_duals=keeps_duals)
        options = Options(
            tol=float(self.tol),
            stopping=self.stopping,
            solver=self.solver,
            weights=choice.kind,
            max_iter=self.max_iter,
            n_jobs=n_jobs,
            keeps_duals=keeps_duals,
        )
        return options, choice

    def _attributes(self, W: Weights, classes: Array) -> Settings:
        separate = named(self.formulation).is_separable
        coef, intercept = split_weights(W, self._bias, one_is_enough=separate)
        return {"classes_": classes, "coef_": coef, "intercept_": intercept}
