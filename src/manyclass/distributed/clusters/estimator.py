"""Base of the estimators of all engines: parameters, lazy results, single-process estimator."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from manyclass.arrays.input_arrays import on_host
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.parameters.documented import documented
from manyclass.estimators.svc import MulticlassSVC
from manyclass.utils.scikit_learn import suggests_parameters
from manyclass.utils.suggestions import OF_LOGISTIC, OF_SVC, first_of, meant
from manyclass.utils.types import (
    Array,
    ClassWeight,
    CostScaling,
    FormulationName,
    LossName,
    Rows,
    Settings,
    StoppingName,
)

if TYPE_CHECKING:
    from manyclass.distributed.clusters.part import Model
    from manyclass.estimators.costs import Costs

# Rows, or results for rows: lazy collections of an engine, without types, or arrays.
Collection: TypeAlias = Any
# Parameters of the estimator for one process that have a fixed value here.
FIXED: Settings = {"merge_columns": False, "communicator": None, "split": None}
OF_SVM: Settings = {"solver": "auto", "weights": "dense", **FIXED}


class ClusterMixin:
    """Prediction methods of the estimators on clusters, by the estimator for one process."""

    plain: type[Model]
    get_params: Callable[..., Settings]
    intercept_: Array
    n_features_in_: int
    feature_columns_: list[str]

    def to_local(self) -> Model:
        """Return the same model as an estimator for one process, fitted if this one is.

        Returns
        -------
        MulticlassSVC or MultinomialLogisticRegression
            With the same parameters; the fitted arrays are shared.
        """
        params = self.get_params(deep=False)
        local = self.plain(**params)
        own = local.__dict__
        own.update({name: value for name, value in vars(self).items() if name not in own})
        return local

    def decision_function(self, X: Collection) -> Collection:
        """Compute the score of every class for every row; lazily if X is a collection.

        Parameters
        ----------
        X : collection, array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) when binary
        """
        return self._mapped("decision_function", X, {})

    def predict(self, X: Collection, **decision: object) -> Collection:
        """Predict the class of every row; lazily if X is a collection.

        Parameters
        ----------
        X : collection, array-like or sparse matrix of shape (n_samples, n_features)
        **decision
            Costs and rejection, as in ``MulticlassSVC.predict``.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._mapped("predict", X, decision)

    def predict_top_k(self, X: Collection, k: int) -> Collection:
        """Predict the k best classes of every row; lazily if X is a collection.

        Parameters
        ----------
        X : collection, array-like or sparse matrix of shape (n_samples, n_features)
        k : int

        Returns
        -------
        array of shape (n_samples, k)
        """
        return self._mapped("predict_top_k", X, {"k": k})

    def _mapped(self, method: str, X: Collection, options: Settings) -> Collection:
        """Return the result of a method of the estimator for one process for every row."""
        return getattr(self.to_local(), method)(self._features_of(X), **options)

    def _features_of(self, X: Collection) -> Collection:
        """Return the feature columns of a data frame, if `fit` took one with other columns."""
        if not (hasattr(self, "feature_columns_") and hasattr(X, "columns")):
            return X
        is_arrow = type(X).__module__.partition(".")[0] == "pyarrow"  # its columns are no names
        names = X.column_names if is_arrow else X.columns
        check_columns(self.feature_columns_, list(names), "features of the model")
        return X.select(self.feature_columns_) if is_arrow else X[self.feature_columns_]

    def _as_model(self) -> Model:
        """Return this estimator, typed as an estimator for one process."""
        assert isinstance(self, MulticlassSVC | MultinomialLogisticRegression)
        return self

    def _device(self) -> str | None:
        """Return the device that each worker trains on."""
        device = self._as_model().device
        assert device is None or isinstance(device, str)
        return device

    def _empty(self, method: str, options: Settings) -> Array:
        """Return the result of a method for an array without rows."""
        check_is_fitted(self)
        local = self.to_local()
        local.__dict__.pop("feature_names_in_", None)
        row = np.zeros((1, self.n_features_in_), self.intercept_.dtype)
        found: Array = getattr(local, method)(row, **options)
        return found[:0]


@documented(like=MultinomialLogisticRegression)
class ClusterLogisticRegression(ClusterMixin, MultinomialLogisticRegression):
    """Base of multinomial logistic regression on the engines of clusters.

    Parameters
    ----------
    warm_start : bool, default=False
        Whether the next fit starts from the weights of this one.
    device : str, default=None
        Device of PyTorch that the workers train on, for example "cuda". Each worker copies its
        dense rows to the device; the workers of a machine use its devices in turn. None: the device
        of the rows if they are CuPy arrays or PyTorch tensors, else the CPU.
    n_jobs : int, default=None
        Threads of each worker.
    random_state : int, RandomState instance, default=None
        Not used, as training is not random.
    """

    plain = MultinomialLogisticRegression
    _parameter_constraints: ClassVar[Settings] = {"device": [str, None]}
    merge_columns, communicator, split = FIXED.values()

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
        max_iter: int = 1000,
        warm_start: bool = False,
        device: str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
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
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume
        self.verbose = verbose

    def predict_proba(self, X: Collection) -> Collection:
        """Compute the probability of every class for every row; lazily if X is a collection.

        Parameters
        ----------
        X : collection, array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._mapped("predict_proba", X, {})

    def predict_log_proba(self, X: Collection) -> Collection:
        """Return the logarithms of the class probabilities; lazily if X is a collection.

        Parameters
        ----------
        X : collection, array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._mapped("predict_log_proba", X, {})


@documented(like=MulticlassSVC)
class ClusterSVC(ClusterMixin, MulticlassSVC):
    """Base of support vector machines on the engines of clusters.

    Parameters
    ----------
    max_iter : int, default=1000
        Maximum number of rounds.
    warm_start : bool, default=False
        Whether the next fit starts from the weights of this one.
    device : str, default=None
        Device of PyTorch that the workers train on, for example "cuda", for Crammer-Singer,
        Weston-Watkins and one-vs-rest. Each worker copies its dense rows to the device; the workers
        of a machine use its devices in turn. None: the device of the rows if they are CuPy arrays
        or PyTorch tensors, else the CPU.
    n_jobs : int, default=None
        Threads of each worker.
    """

    plain = MulticlassSVC
    _parameter_constraints: ClassVar[Settings] = {"device": [str, None]}
    solver, weights, merge_columns, communicator, split = OF_SVM.values()

    @suggests_parameters(OF_SVC)
    def __init__(
        self,
        *,
        formulation: FormulationName = "crammer_singer",
        C: float = 1.0,
        loss: LossName = "hinge",
        tol: float = 1e-2,
        stopping: StoppingName = "gap",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: ClassWeight = None,
        costs: Costs | None = None,
        cost_scaling: CostScaling = "margin",
        max_iter: int = 1000,
        warm_start: bool = False,
        device: str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_minutes: float = 10.0,
        resume: bool = False,
        verbose: int = 0,
    ) -> None:
        self.formulation = formulation
        self.C = C
        self.loss = loss
        self.costs = costs
        self.cost_scaling = cost_scaling
        self.tol = tol
        self.stopping = stopping
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume
        self.verbose = verbose


def check_columns(wanted: Sequence[str], there: Sequence[str], what: str) -> None:
    """Raise ValueError if columns are missing."""
    known = set(there)
    missing = [name for name in wanted if name not in known]
    if missing:
        likely = meant(str(missing[0]), map(str, there)) or f"; it has {first_of(there)}"
        raise ValueError(f"X has no column for {what}: {first_of(missing)}{likely}")


def call_on_part(model: Model, method: str, X: Rows, options: Settings, empty: Array) -> Array:
    """Return the result of a method for a part, which may be empty."""
    found = getattr(model, method)(X, **options) if X.shape[0] else empty
    return np.asarray(found, empty.dtype)


def accuracy_sums(
    model: Model, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> tuple[float, float]:
    """Return the weight of the correctly predicted rows of a part, and of all its rows."""
    given = on_host(sample_weight, "sample_weight")
    weights = np.ones(X.shape[0]) if given is None else np.asarray(given, float)
    if not len(weights):
        return 0.0, 0.0
    return float(weights @ (model.predict(X) == np.asarray(on_host(y)))), float(weights.sum())
