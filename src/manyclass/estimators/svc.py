"""scikit-learn estimators."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from manyclass.arrays.choice import check_on_device
from manyclass.estimators.coefficients import CallbackSupportMixin, with_callbacks
from manyclass.estimators.costs import (
    Costs,
    base_of_costs,
    factors_of_costs,
)
from manyclass.estimators.exact_fit import Training
from manyclass.estimators.offsets import Offsets, base_of_offsets, checked_base, refuse_several
from manyclass.estimators.parameters.documented import documented
from manyclass.estimators.probabilities import CalibrationMixin
from manyclass.estimators.sparsify import SparsifyMixin
from manyclass.estimators.validation import check_parameters, input_restored
from manyclass.prediction.scoring import split_weights
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import named
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Weights
from manyclass.problem.tree_scores import TreeScores
from manyclass.solvers.weights.storage import Choice, choose_weights
from manyclass.training.epoch_loop import Options
from manyclass.training.train import check_solver
from manyclass.utils.lazy import load_entry_point
from manyclass.utils.machine import effective_n_jobs
from manyclass.utils.named_options import DEFAULT_SOLVERS
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


@documented()
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
    tol : float, default=1e-3
        With ``stopping="gap"``: relative duality gap (P - D) / min(P, P(0) - D) at which training
        stops, where P(0) is the objective of W = 0. The objective is then proven to be within a
        share ``tol`` of the optimum, and of the improvement over W = 0, which is the smaller number
        if C is small. With "kkt": largest violation of the optimality conditions, in units of the
        score (the papers' epsilon; they use 0.1).
    class_weight : dict or "balanced", default=None
        Weight of each class; a class of weight 0 is left out. "balanced" weights class c by
        n / (k n_c). The weight of a row's own class multiplies all its losses: with
        formulation="one_vs_rest" and more than two classes, the loss of class c in row i costs
        C class_weight_{y_i}. LinearSVC and LIBLINEAR use C class_weight_c if y_i = c, else C.
    max_iter : int, default=1000
        Epochs at most (of each part, where "one_vs_rest" with sparse weights trains some classes
        after the other). An epoch is one loop over all examples and classes, preceded by loops
        over those that still move, of at most the effort of five such loops (ten with few classes,
        more after ten epochs); or, where examples far outnumber features, a round of Newton steps.
    warm_start : bool, default=False
        Whether the next fit starts where this one ended: with the dual variables of the rows that
        are there again, in whatever order, scaled when C changed. Rows are compared by content and
        class; other rows, classes and columns at the end may come and go. Also makes a fit that
        Ctrl-C stopped resumable.
    n_jobs : int, default=None
        Threads (None = 1, -1 = all cores) for the groups of classes of "one_vs_rest", for sparse
        weights, dense rows, Newton steps, the certificate and prediction. Otherwise visits are made
        by one thread. Fewer are used while other processes keep the cores busy. In a worker of
        joblib no more than its share of the cores.
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
        device: str | Sequence[str] | None = None,
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
        self.device = device
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
        """Fit the model to the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Examples; float32 trains in float32, all else in float64. Tensors of PyTorch and arrays
            of CuPy that lie on a device are trained on there. CSR without duplicate entries
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
                refuse_several(base_scores, self.device)
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
        if problem.dataset.lies_on_device:
            how = {"stopping": self.stopping, "solver": self.solver, "weights": self.weights}
            plan = check_on_device(problem, **how)
            given = float(self.tol), "gap", self.solver
            return Options(*given, max_iter=self.max_iter, keeps_duals=keeps_duals), plan
        check_solver(self.solver, problem, stopping=self.stopping, weights=self.weights)
        n_jobs = effective_n_jobs(self.n_jobs)
        weights = self.weights if self.solver in DEFAULT_SOLVERS else "dense"
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
