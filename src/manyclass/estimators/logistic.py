"""The estimator of multinomial logistic regression."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from manyclass.arrays.choice import check_on_device
from manyclass.estimators.coefficients import CallbackSupportMixin, with_callbacks
from manyclass.estimators.exact_fit import ExactClassifier, Training
from manyclass.estimators.offsets import base_of_offsets, refuse_several
from manyclass.estimators.parameters.documented import documented
from manyclass.estimators.probabilities import ProbabilitiesMixin
from manyclass.estimators.validation import check_parameters, input_restored
from manyclass.prediction.scoring import join_weights
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import LOGISTIC
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, EpochRecord, Solution, Start
from manyclass.solvers.logistic.engine import duals_fit, memory_of_duals
from manyclass.training.epoch_loop import Options
from manyclass.training.warm_start import WarmStart
from manyclass.utils.fingerprints import Facts
from manyclass.utils.lazy import load_entry_point
from manyclass.utils.machine import effective_n_jobs
from manyclass.utils.scikit_learn import fit_context, suggests_parameters
from manyclass.utils.suggestions import OF_LOGISTIC
from manyclass.utils.types import (
    Array,
    ClassWeight,
    Label,
    MergeColumns,
    Rows,
    RowsLike,
    Settings,
)


@documented()
class MultinomialLogisticRegression(ProbabilitiesMixin, CallbackSupportMixin, ExactClassifier):
    """Multinomial logistic regression, trained to a proven distance from its optimum.

    Solves, for the examples (x_i, y_i), i = 1..n, with W = (w_1, ..., w_k) and intercepts b,

        min_{W, b}  1/2 ||W||_F^2 + sum_i C_i (log sum_c exp(s_ic) - s_i,y_i),
        s_ic = w_c . x_i + b_c

    with C_i = C * sample_weight_i * class_weight_{y_i}: the problem of
    ``sklearn.linear_model.LogisticRegression`` at the same C. Training ends when the relative
    duality gap is at most ``tol``: the objective is then proven to be within a share ``tol`` of the
    optimum. With two classes there is one row of coefficients, for the binary problem.

    Parameters
    ----------
    tol : float, default=1e-4
        Relative duality gap (P - D) / min(P, P(0) - D) at which training stops, with the primal
        objective P, the dual objective D (a lower bound of the optimum), and P(0), the objective of
        W = 0 and, without `regularize_intercept`, the best intercepts.
    fit_intercept : bool, default=True
        Whether to train intercepts, the weights of a constant feature. They are regularized only
        with `regularize_intercept`.
    max_iter : int, default=1000
        Maximum number of epochs: loops over all examples, or Newton steps.
    warm_start : bool, default=False
        Whether the next fit starts from the result of this one: from the dual variables of the rows
        that occur again, in any order, or from the coefficients if classes and features are the
        same. A fit that was stopped by Ctrl-C can then be resumed.
    n_jobs : int, default=None
        Threads (None = 1, -1 = all cores) for prediction and training: the classes of dense rows,
        Newton steps and certificates.
    random_state : int, RandomState instance, default=None
        Seed of the random order of the updates. An int gives the same result every time, for any
        `n_jobs`.
    split : {"rows"}, default=None
        How the processes of a communicator divide the problem. "rows": each process calls ``fit``
        with its own rows, their y and weights. The classes of all ranks are combined; a rank may
        have no rows. Only Newton's method is used.
    resume : bool, default=False
        Whether to continue from the newest checkpoint in `checkpoint`, of the same problem.
        Training restarts from its weights, so it may take a few more epochs than without a break.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) when binary
        float32 for float32 X, else float64.
    intercept_ : ndarray of shape (n_classes,), or (1,) when binary
        Without `regularize_intercept`, the mean is 0 (with more than two classes).
    n_iter_ : int
        Number of epochs.
    certificate_ : Certificate
        primal_objective, dual_objective, gap and relative_gap at the returned weights;
        zero_objective, which is P(0); and max_violation, which is sqrt(2 gap), an upper bound of
        ||W - W*||.
    history_ : list of EpochRecord
        One record per epoch: seconds, primal objective and estimate of the gap.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Only if X had string column names.

    Notes
    -----
    Training begins with the sequential dual method, whose dual variables are a distribution over
    the classes for each example. If it is slow, Newton's method with conjugate gradients in the
    primal follows. The first method stores n_samples x n_classes numbers; if these exceed the
    memory, only Newton's method is used.

    See Also
    --------
    MulticlassSVC : Hinge losses; sparser dual variables; probabilities only after ``calibrate``.
    sklearn.linear_model.LogisticRegression : The same problem, without a certificate.

    References
    ----------
    H.-F. Yu, F.-L. Huang, C.-J. Lin: Dual coordinate descent methods for logistic regression and
    maximum entropy models. Machine Learning 85, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import MultinomialLogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MultinomialLogisticRegression(random_state=0).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-4
    True
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    loss = "log_loss"  # the loss gives probabilities
    certificate_: Certificate
    history_: list[EpochRecord]

    @suggests_parameters(OF_LOGISTIC)
    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        regularize_intercept: bool = False,
        intercept_scaling: float = 1.0,
        class_weight: ClassWeight = None,
        class_offset: str | ArrayLike | dict[Label, float] | None = None,
        max_iter: int = 1000,
        warm_start: bool = False,
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
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.regularize_intercept = regularize_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.class_offset = class_offset
        self.max_iter = max_iter
        self.warm_start = warm_start
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
            entries is not copied, nor is an array in C order unless most of it is zero; other
            formats are copied.
        y : array-like of shape (n_samples,)
            Classes: numbers or strings, at least two of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. A weight of 2 equals two copies of the row; a weight of 0 leaves
            the row out.
        base_scores : array-like of shape (n_samples, n_classes) or (n_classes,), default=None
            Scores of a different model, such as the logarithms of its probabilities, that are added
            to the scores during training, so that this model learns the rest. Columns are in the
            order of ``classes_``. ``decision_function`` and all predictions do not include them:
            add the base scores of the rows to predict to ``decision_function``. Not with
            `communicator`. Called base_margin in XGBoost, init_score in LightGBM.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X or y have the wrong shape, hold NaN or infinity, there are fewer than two classes,
            a weight is negative, or ``base_scores`` do not fit them.
        FloatingPointError
            If the weights overflow.
        MemoryError
            If W does not fit into memory.
        """
        with input_restored(self):
            if self.communicator is not None:
                refuse_several(base_scores, self.device)
                load_entry_point("rows")(self).run(X, y, sample_weight)
            else:
                Training(self, base_scores=base_scores).run(X, y, sample_weight)
        return self

    def _validate_params(self) -> None:
        """Check the parameters; several processes check them at a point where all can end."""
        if self.communicator is None:
            check_parameters(self)

    def __getstate__(self) -> Settings:
        """Drop the warm start, which holds a number for every example and class."""
        state: Settings = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_warm_start"}

    @property
    def _remedies(self) -> list[str]:
        return ["costs of predict", "a larger C"]

    def _dataset(
        self,
        X: Rows,
        y: Array,
        sample_weight: ArrayLike | None,
        *,
        keeps_dense: bool = True,
        classes: Array | None = None,
    ) -> tuple[Dataset, Array]:
        """Turn arguments into a data set; for free intercepts, empty classes get half a row."""
        given = X, y, sample_weight
        dataset, known = super()._dataset(*given, keeps_dense=keeps_dense, classes=classes)
        if self.fit_intercept and not self.regularize_intercept:
            dataset = with_half_rows(dataset)
        return dataset, known

    def _problem(self, dataset: Dataset, classes: Array) -> Problem:
        problem = logistic_problem(dataset, float(self.C))
        if self.class_offset is None:
            return problem
        return problem.with_base(base_of_offsets(self.class_offset, classes, dataset, None))

    def _options(self, problem: Problem, *, keeps_duals: bool) -> tuple[Options, str]:
        plan = ""
        if problem.dataset.lies_on_device:
            plan = check_on_device(problem, stopping="gap", solver="auto", weights="dense")
        options = Options(
            tol=float(self.tol),
            regularize_intercept=self.regularize_intercept,
            max_iter=self.max_iter,
            n_jobs=effective_n_jobs(self.n_jobs),
            keeps_duals=keeps_duals,
        )
        fits = problem.dataset.lies_on_device or duals_fit(problem)
        note = plan if fits else f"Newton's method alone: {memory_of_duals(problem)}"
        return options, note

    def _facts(self, problem: Problem, classes: Array) -> Facts:
        own = {"C": repr(float(self.C)), "regularize_intercept": str(self.regularize_intercept)}
        return {**super()._facts(problem, classes), **own}

    def _remembered(self) -> WarmStart | None:
        """Return the state of an earlier fit, or only its coefficients."""
        known = super()._remembered()
        if known is not None or not self.warm_start or not hasattr(self, "classes_"):
            return known
        return start_at_weights(self)

    def _proof(self, solution: Solution) -> tuple[Certificate, list[EpochRecord]]:
        """Return certificate and history; with two classes, for the binary problem."""
        if solution.weights.shape[1] > 2:
            return solution.certificate, solution.history
        return solution.certificate.times(2.0), [record.times(2.0) for record in solution.history]


def start_at_weights(model: MultinomialLogisticRegression) -> WarmStart:
    """Return a state with only the coefficients of a fitted model."""
    W = join_weights(model._coefficients, model.intercept_, model._bias)
    n_features, n_classes = W.shape[0] - 1, W.shape[1]
    start = replace(Start.at_zero(0, n_classes, W.dtype), weights=W)
    return WarmStart(start, model.classes_, LOGISTIC, model.loss, n_features)


def with_half_rows(dataset: Dataset) -> Dataset:
    """Return a data set with half a row of each class that has none.

    The half row has no features and half the mean weight of the rows: its loss depends on the
    intercepts only. Without it, an unregularized intercept would be minus infinity at the optimum.
    """
    missing = np.flatnonzero(np.bincount(dataset.labels, minlength=dataset.n_classes) == 0)
    if not len(missing):
        return dataset
    weights = np.full(len(missing), 0.5 * dataset.weights.mean())
    return dataset.with_blank_rows(missing.astype(np.int32), weights)


def logistic_problem(dataset: Dataset, C: float) -> Problem:
    """Return the problem of multinomial logistic regression, binary with two classes."""
    # With two rows of weights, -w/2 and w/2, the squared norm is half the squared norm of w.
    halves = 0.5 if dataset.n_classes == 2 else 1.0
    return Problem(dataset, LOGISTIC, halves * C, "log_loss")
