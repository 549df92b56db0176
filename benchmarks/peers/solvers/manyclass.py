"""manyclass; the tolerance is the relative duality gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from benchmarks.peers.problems import PROBLEMS, Problem
from benchmarks.peers.solvers.base import BaseSolver, few_rows, one_two_five, weights_from_coef
from manyclass import MulticlassSVC, MultilabelSVC, MultinomialLogisticRegression
from measuring.datasets.base import sklearn_rows


def estimator(problem: Problem, **parameters: Any) -> Any:
    """Return the estimator of a problem, without an intercept."""
    if problem.formulation == "logistic":
        return MultinomialLogisticRegression(fit_intercept=False, **parameters)
    if problem.multilabel:
        loss: Any = problem.loss
        return MultilabelSVC(loss=loss, fit_intercept=False, **parameters)
    chosen: dict[str, Any] = {"formulation": problem.formulation, "loss": problem.loss}
    return MulticlassSVC(**chosen, fit_intercept=False, **parameters)


class Manyclass(BaseSolver):
    """The estimators; in float64 slower a visit, but not stopped by float32's rounding."""

    package = "manyclass"
    tolerances = one_two_five(0.5, 6)
    problems = tuple(PROBLEMS)

    def __init__(
        self, name: str, threads: int, dtype: DTypeLike = np.float32, *, default: bool = True
    ) -> None:
        self.name, self.threads, self.dtype, self.default = name, threads, dtype, default

    def prepare(
        self, X: sp.csr_array, labels: NDArray[np.int32], problem: Problem, C: float
    ) -> None:
        """Keep the data as they are, and fit a few rows, which loads what is loaded late."""
        self.X, self.labels, self.problem = sklearn_rows(X, self.dtype), labels, problem
        self.model = estimator(problem, C=C, max_iter=100_000, n_jobs=self.threads, random_state=0)
        estimator(problem, n_jobs=self.threads).fit(*few_rows(problem))

    def run(self, tolerance: float) -> None:
        """Fit."""
        self.model.set_params(tol=tolerance).fit(self.X, self.labels)

    def weights(self) -> NDArray[np.floating]:
        """Return ``coef_``, turned round."""
        return weights_from_coef(self.model.coef_, self.problem)


SOLVERS = [
    Manyclass("manyclass", 1),
    Manyclass("manyclass_2", 2),
    Manyclass("manyclass_float64", 1, np.float64, default=False),
]
