"""``MulticlassSVCCV`` and ``MultinomialLogisticRegressionCV``: estimators that choose C."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from manyclass.estimators.costs import Costs
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.offsets import Offsets
from manyclass.estimators.parameters.documented import documented
from manyclass.estimators.probabilities import CalibrationMixin, ProbabilitiesMixin
from manyclass.estimators.svc import MulticlassSVC
from manyclass.model_selection.cv_fit import CrossValidationMixin
from manyclass.model_selection.folds import CV
from manyclass.model_selection.scorers import Scoring
from manyclass.problem.solution import Certificate, EpochRecord
from manyclass.utils.scikit_learn import suggests_parameters
from manyclass.utils.suggestions import OF_LOGISTIC, OF_SVC
from manyclass.utils.types import (
    ClassWeight,
    CostScaling,
    FormulationName,
    LossName,
    MergeColumns,
    SolverName,
    WeightsName,
)


@documented(like=MulticlassSVC)
class MulticlassSVCCV(CalibrationMixin, CrossValidationMixin):
    """Multi-class linear support vector machine with C chosen by cross-validation.

    Each fold is trained at ascending values of C with warm starts, first to a relative gap of 0.01.
    The search ends after two values that are significantly worse than the best one (corrected
    resampled t-test, 5 %). The values that are not significantly worse are then trained to `tol`,
    and the best of them is chosen.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative duality gap, as in ``MulticlassSVC``, to which the values of C that may be chosen
        and the final model are trained.
    n_jobs : int, default=None
        Threads (None = 1, -1 = all cores), which train different folds.
    verbose : int, default=0
        1: print a line for each C, and the epochs of the last fit.

    Attributes
    ----------
    C_ : float
        The chosen C.
    Cs_ : ndarray of shape (n_Cs,)
        Values of C, ascending; with "path", all values at which a fold was trained.
    scores_ : ndarray of shape (n_folds, n_Cs)
        Scores; NaN if a C was skipped because smaller C were significantly better.
    best_score_ : float
        Mean of the folds' scores at `C_`.
    gaps_ : ndarray of shape (n_folds, n_Cs)
        Proven relative gap of each fit: at most `tol` for the values among which C was chosen,
        0.01 for the others. With "path", at most `epsilon`.
    certificates_ : ndarray of shape (n_folds, n_Cs)
        Certificate of each fit, or None.
    fit_times_ : ndarray of shape (n_folds, n_Cs)
        Seconds of each fit; 0 if the model of a smaller C was reused.
    cv_results_ : dict
        Scores and times, as in ``GridSearchCV``.
    refit_time_ : float
        Seconds of the final fit.
    best_estimator_ : MulticlassSVC
        The fitted model.
    classes_, coef_, intercept_, n_iter_, certificate_, history_
        Attributes of ``best_estimator_``.
    temperature_ : float
        Divisor of the scores in ``predict_proba``, after ``calibrate``.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Only if X had string column names.

    See Also
    --------
    MulticlassSVC : The same model for a given C.
    c_path : Models for all C of a range.

    References
    ----------
    Nadeau, C., Bengio, Y.: Inference for the generalization error. Machine Learning 52, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import MulticlassSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVCCV(Cs=[0.01, 0.1, 1.0, 10.0], random_state=0).fit(X, y)
    >>> model.C_ in model.Cs_
    True
    >>> bool(model.best_score_ > 0.9)
    True
    """

    _model_class = MulticlassSVC
    certificate_: Certificate
    history_: list[EpochRecord]
    best_estimator_: MulticlassSVC

    def _set_temperature(self, temperature: float) -> None:
        self.temperature_ = self.best_estimator_.temperature_ = temperature

    @suggests_parameters(OF_SVC)
    def __init__(
        self,
        *,
        formulation: FormulationName = "crammer_singer",
        Cs: int | Literal["path"] | Iterable[float] = 10,
        C_range: tuple[float, float] = (0.01, 100.0),
        epsilon: float = 0.01,
        cv: CV = None,
        scoring: Scoring = None,
        refit: bool = True,
        one_standard_error: bool = False,
        loss: LossName = "hinge",
        solver: SolverName = "auto",
        tol: float = 1e-3,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: ClassWeight = None,
        costs: Costs | None = None,
        cost_scaling: CostScaling = "margin",
        class_offset: Offsets | None = None,
        max_iter: int = 1000,
        weights: WeightsName = "auto",
        merge_columns: MergeColumns = "auto",
        device: str | Sequence[str] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.formulation = formulation
        self.Cs = Cs
        self.C_range = C_range
        self.epsilon = epsilon
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.one_standard_error = one_standard_error
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.costs = costs
        self.cost_scaling = cost_scaling
        self.class_offset = class_offset
        self.max_iter = max_iter
        self.weights = weights
        self.merge_columns = merge_columns
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


@documented(like=MultinomialLogisticRegression)
class MultinomialLogisticRegressionCV(ProbabilitiesMixin, CrossValidationMixin):
    """Multinomial logistic regression with C chosen by cross-validation.

    Each fold is trained at ascending values of C with warm starts, first to a relative gap of 0.01.
    The search ends after two values that are significantly worse than the best one (corrected
    resampled t-test, 5 %). The values that are not significantly worse are then trained to `tol`,
    and the best of them is chosen.

    Parameters
    ----------
    scoring : str or callable, default=None
        A scorer of scikit-learn, or its name; None is the accuracy. "top_3_accuracy" as in
        ``MulticlassSVCCV``.
    n_jobs : int, default=None
        Threads (None = 1, -1 = all cores), which train different folds.
    verbose : int, default=0
        1: print a line for each C, and the epochs of the last fit.

    Attributes
    ----------
    C_ : float
        The chosen C.
    Cs_ : ndarray of shape (n_Cs,)
        Values of C, ascending; with "path", all values at which a fold was trained.
    scores_ : ndarray of shape (n_folds, n_Cs)
        Scores; NaN if a C was skipped because smaller C were significantly better.
    best_score_ : float
        Mean of the folds' scores at `C_`.
    gaps_ : ndarray of shape (n_folds, n_Cs)
        Proven relative gap of each fit: at most `tol` for the values among which C was chosen,
        0.01 for the others. With "path", at most `epsilon`.
    certificates_ : ndarray of shape (n_folds, n_Cs)
        Certificate of each fit, or None.
    fit_times_ : ndarray of shape (n_folds, n_Cs)
        Seconds of each fit; 0 if the model of a smaller C was reused.
    cv_results_ : dict
        Scores and times, as in ``GridSearchCV``.
    refit_time_ : float
        Seconds of the final fit.
    best_estimator_ : MultinomialLogisticRegression
        The fitted model.
    classes_, coef_, intercept_, n_iter_, certificate_, history_
        Attributes of ``best_estimator_``.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Only if X had string column names.

    See Also
    --------
    MultinomialLogisticRegression : The same model for a given C.
    c_path : Models for all C of a range.

    References
    ----------
    Nadeau, C., Bengio, Y.: Inference for the generalization error. Machine Learning 52, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import MultinomialLogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MultinomialLogisticRegressionCV(
    ...     Cs=[0.1, 1.0, 10.0], scoring="neg_log_loss", random_state=0
    ... ).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    loss = "log_loss"  # the loss gives probabilities
    _model_class = MultinomialLogisticRegression
    certificate_: Certificate
    history_: list[EpochRecord]
    best_estimator_: MultinomialLogisticRegression

    @suggests_parameters(OF_LOGISTIC)
    def __init__(
        self,
        *,
        Cs: int | Literal["path"] | Iterable[float] = 10,
        C_range: tuple[float, float] = (0.01, 100.0),
        epsilon: float = 0.01,
        cv: CV = None,
        scoring: Scoring = None,
        refit: bool = True,
        one_standard_error: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        regularize_intercept: bool = False,
        intercept_scaling: float = 1.0,
        class_weight: ClassWeight = None,
        class_offset: Offsets | None = None,
        max_iter: int = 1000,
        merge_columns: MergeColumns = "auto",
        device: str | Sequence[str] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.Cs = Cs
        self.C_range = C_range
        self.epsilon = epsilon
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.one_standard_error = one_standard_error
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.regularize_intercept = regularize_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.class_offset = class_offset
        self.max_iter = max_iter
        self.merge_columns = merge_columns
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
