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

    - C_i = C * sample_weight_i * class_weight_{y_i}: the cost of a unit of loss for example i.
    - mu_c(x, y): the margin of class c; relative, (w_y - w_c) . x, or absolute, -w_c . x for
      c != y and w_y . x for c = y.
    - T_i: the classes whose margins count: all but y_i, only y_i, or all.
    - agg: the sum or the maximum over these classes.
    - gamma_c: the required margin, 1 (for c = y_i in "reinforced", k - 1; with ``costs``, the
      cost).

    The formulation defines mu, T and agg. The default, Crammer-Singer, has the loss
    max(0, max_{c != y_i} 1 - (w_{y_i} - w_c) . x_i). The predicted class has the largest score
    w_c . x.

    Parameters
    ----------
    tol : float, default=1e-3
        With ``stopping="gap"``: relative duality gap (P - D) / min(P, P(0) - D) at which training
        stops, where P(0) is the objective of W = 0. The distance from the optimum is then proven to
        be at most a share ``tol`` of the objective, and of the improvement over W = 0, which is
        smaller if C is small. With "kkt": largest violation of the optimality conditions, in units
        of the score (epsilon in the papers, which use 0.1).
    class_weight : dict or "balanced", default=None
        Weight of each class; a class of weight 0 is left out. "balanced" weights class c by
        n / (k n_c). The weight of the true class multiplies all losses of a row: with
        formulation="one_vs_rest" and more than two classes, the loss of class c in row i costs
        C class_weight_{y_i}. LinearSVC and LIBLINEAR use C class_weight_c if y_i = c, else C.
    max_iter : int, default=1000
        Maximum number of epochs (per chunk of classes, if "one_vs_rest" with sparse weights trains
        the classes in chunks). An epoch consists of some loops over the examples that still change
        (the active set), and then one loop over all examples and classes. The former take at most
        as much work as five of the latter (ten with few classes, more after ten epochs). If
        examples far outnumber features, an epoch may be a round of Newton steps.
    warm_start : bool, default=False
        Whether the next fit starts from the dual variables of this one, for the rows that are there
        again, in any order; scaled if C has changed. Rows are matched by content and class. Other
        rows, classes and last columns may be added or removed. A fit that was stopped by Ctrl-C can
        then be resumed.
    n_jobs : int, default=None
        Threads (None = 1, -1 = all cores) for the groups of classes of "one_vs_rest", for sparse
        weights, dense rows, Newton steps, the certificate and prediction. Other updates use one
        thread. Fewer threads are used while other processes keep the cores busy, and in a joblib
        worker at most its share of the cores.
    communicator : mpi4py.MPI.Comm, default=None
        Processes that divide the classes, such as ``MPI.COMM_WORLD``; for all formulations except
        "adm" and "atm", which need ``split="rows"``. Every process (rank) calls ``fit`` with the
        same X, y and parameters, and gets the same fitted model; only rank 0 prints and warns. An
        error on one rank ends all ranks.
    split : {"rows"}, default=None
        How the processes of a communicator divide the problem. None: by class; every process has
        all rows. "rows": each process calls ``fit`` with its own rows, their y and weights, for
        data that do not fit one machine. The classes of all processes are combined; a process may
        have no rows. Supports all formulations with dense weights. Training uses consensus (ADMM),
        and Newton's method if W is small.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) when binary
        float32 for float32 X, else float64; a CSR array after sparse training or ``sparsify``. When
        binary, the weights of the second class minus the weights of the first.
    intercept_ : ndarray of shape (n_classes,), or (1,) when binary
    n_iter_ : int
        Number of epochs, summed over all chunks of classes.
    certificate_ : Certificate
        primal_objective, dual_objective, gap, relative_gap, max_violation at the returned weights,
        and zero_objective, P at W = 0. None after ``sparsify`` has changed the weights.
    sparsity_report_ : SparsityReport
        Effect of ``sparsify``, after a call.
    history_ : list of EpochRecord
        One record per epoch: seconds, estimates of the primal objective and the gap, violation,
        active share, and the numbers of stored weights and dual variables.
    temperature_ : float
        Divisor of the scores in ``predict_proba``, after ``calibrate``.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Only if X had string column names.

    Notes
    -----
    Binary problems: ``coef_`` is w_1 - w_0. For "one_vs_rest", it is w_1, because w_0 = -w_1.

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
            Training examples. float32 is trained in float32, any other dtype in float64. PyTorch
            tensors and CuPy arrays on a device are trained on that device. CSR without duplicate
            entries is not copied, nor is an array in C order (which may be memory-mapped) unless
            most of it is zero; other formats are copied.
        y : array-like of shape (n_samples,)
            Classes: numbers or strings, at least two of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. A weight of 2 equals two copies of the row; a weight of 0 leaves
            the row out.
        base_scores : array-like of shape (n_samples, n_classes) or (n_classes,), default=None
            Scores of a different model that are added to the scores during training, so that this
            model learns the rest. Columns are in the order of ``classes_``. ``decision_function``
            and all predictions do not include them: add the base scores of the rows to predict to
            ``decision_function``. Not for binary "one_vs_rest", and not with `communicator`.
            Called base_margin in XGBoost, init_score in LightGBM.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X or y have the wrong shape, hold NaN or infinity, there are fewer than two classes,
            a weight is negative, or ``base_scores`` do not fit X and y; if ``checkpoint`` contains
            checkpoints and ``resume`` is False, or contains none of the same problem and ``resume``
            is True.
        OSError
            If ``checkpoint`` is not a writable folder.
        FloatingPointError
            If the weights overflow.
        MemoryError
            If W does not fit into memory; raised before training if the size is known.
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
        """Check the parameters; several processes check them at a point where all can end."""
        if self.communicator is None and self.split is None:
            check_parameters(self)

    @property
    def _remedies(self) -> list[str]:
        other = "MultinomialLogisticRegression, whose predict takes costs"
        if self.costs is None:
            return ["costs with loss='squared_hinge'", other]
        # If classes overlap, costs change hinge losses little.
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
