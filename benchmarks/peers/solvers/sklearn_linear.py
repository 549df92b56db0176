"""scikit-learn's linear classifiers."""

from __future__ import annotations

import importlib
import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from benchmarks.peers.problems import Problem
from benchmarks.peers.solvers.base import (
    EPOCHS,
    BaseSolver,
    few_rows,
    one_two_five,
    weights_from_coef,
)
from measuring.datasets.base import sklearn_rows

_ONE_VS_REST = ("one_vs_rest", "one_vs_rest_squared")


class _Sklearn(BaseSolver):
    """An estimator with ``coef_``."""

    package = "scikit-learn"
    model: Any
    dtype: DTypeLike = np.float64

    def prepare(
        self, X: sp.csr_array, labels: NDArray[np.int32], problem: Problem, C: float
    ) -> None:
        """Convert, which it would otherwise do in each fit, and fit a few rows."""
        self.X, self.labels, self.problem = (
            sklearn_rows(X, self.dtype),
            labels.astype(np.int64),
            problem,
        )
        self.model = self._model(problem, C)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit(*few_rows(problem))

    def run(self, tolerance: float) -> None:
        """Fit."""
        self.model.set_params(tol=tolerance).fit(self.X, self.labels)

    def weights(self) -> NDArray[np.floating]:
        """Return ``coef_``, turned round."""
        return weights_from_coef(self.model.coef_, self.problem)

    @abstractmethod
    def _model(self, problem: Problem, C: float) -> Any:
        """Return the estimator."""


class SklearnLinearSVC(_Sklearn):
    """LinearSVC, its own copy of LIBLINEAR; label sets by OneVsRestClassifier.

    The tolerance is the largest violation; without the dual problem, it is relative to the first
    gradient.
    """

    tolerances = one_two_five(2.0, 7)

    def __init__(self, name: str, problems: tuple[str, ...], *, dual: bool) -> None:
        self.name, self.problems, self.dual = name, problems, dual
        self.default = dual

    def run(self, tolerance: float) -> None:
        """Fit."""
        name = "estimator__tol" if self.problem.multilabel else "tol"
        self.model.set_params(**{name: tolerance}).fit(self.X, self.labels)

    def weights(self) -> NDArray[np.floating]:
        """Return ``coef_``, turned round."""
        if not self.problem.multilabel:
            return super().weights()
        return np.vstack([each.coef_ for each in self.model.estimators_]).T

    def _model(self, problem: Problem, C: float) -> LinearSVC | OneVsRestClassifier:
        separate = problem.formulation == "one_vs_rest"
        model = LinearSVC(
            multi_class="ovr" if separate else "crammer_singer",
            loss=problem.loss,
            dual=self.dual,
            fit_intercept=False,
            C=C,
            max_iter=10_000_000,
            random_state=0,
        )
        return OneVsRestClassifier(model) if problem.multilabel else model


class SklearnSGD(_Sklearn):
    """SGDClassifier for given epochs; alpha = 1 / (n C) makes its objective P / (n C)."""

    tolerances = EPOCHS
    problems = ("one_vs_rest",)
    accuracy_beside = ("crammer_singer", "logistic")

    def __init__(self, name: str, threads: int) -> None:
        self.name, self.threads, self.default = name, threads, threads == 1

    def run(self, tolerance: float) -> None:
        """Fit for some epochs."""
        self.model.set_params(max_iter=int(tolerance)).fit(self.X, self.labels)

    def _model(self, problem: Problem, C: float) -> SGDClassifier:
        return SGDClassifier(
            loss="log_loss" if problem.name == "logistic" else "hinge",
            alpha=1 / (self.X.shape[0] * C),
            fit_intercept=False,
            tol=None,
            n_jobs=self.threads,
            random_state=0,
        )


class SklearnLogistic(_Sklearn):
    """LogisticRegression (softmax) for given iterations.

    The solvers that train in float32 get it; newton-cholesky holds a (k d)^2 matrix.
    """

    tolerances = EPOCHS
    problems = ("logistic",)
    accuracy_beside = ("crammer_singer",)

    def __init__(self, method: str) -> None:
        self.name, self.method = f"sklearn_logistic_{method}", method
        self.dtype = np.float32 if method in ("lbfgs", "saga") else np.float64
        self.default = method != "newton-cholesky"

    def run(self, tolerance: float) -> None:
        """Fit for some epochs; an early or stalled end is intended."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.set_params(max_iter=int(tolerance)).fit(self.X, self.labels)

    def _model(self, problem: Problem, C: float) -> LogisticRegression:  # noqa: ARG002 (it solves one problem)
        return LogisticRegression(
            solver=self.method, C=C, fit_intercept=False, tol=0, random_state=0
        )


class Intelex(SklearnLogistic):
    """LogisticRegression of scikit-learn-intelex, by its lbfgs, for given iterations.

    Of sparse rows it leaves training to scikit-learn.
    """

    package = "scikit-learn-intelex"

    def __init__(self) -> None:
        super().__init__("lbfgs")
        self.name = "intelex_logistic_lbfgs"

    def _model(self, problem: Problem, C: float) -> Any:  # noqa: ARG002 (it solves one problem)
        model = importlib.import_module("sklearnex.linear_model").LogisticRegression
        return model(solver="lbfgs", C=C, fit_intercept=False, tol=0, random_state=0)


class SklearnRidge(_Sklearn):
    """RidgeClassifier (squares of +1 and -1), solved at once; alpha = 1 / C."""

    name = "sklearn_ridge"
    tolerances = (1e-4,)
    accuracy_beside = ("crammer_singer",)

    def _model(self, problem: Problem, C: float) -> RidgeClassifier:  # noqa: ARG002 (it solves one problem)
        return RidgeClassifier(alpha=1 / C, fit_intercept=False)


SOLVERS = [
    SklearnLinearSVC(
        "sklearn_linear_svc",
        ("crammer_singer", *_ONE_VS_REST, "multilabel", "multilabel_squared"),
        dual=True,
    ),
    SklearnLinearSVC(
        "sklearn_linear_svc_primal", ("one_vs_rest_squared", "multilabel_squared"), dual=False
    ),
    SklearnSGD("sklearn_sgd", 1),
    SklearnSGD("sklearn_sgd_2", 2),
    SklearnLogistic("lbfgs"),
    SklearnLogistic("newton-cg"),
    SklearnLogistic("newton-cholesky"),
    SklearnLogistic("saga"),
    Intelex(),
    SklearnRidge(),
]
