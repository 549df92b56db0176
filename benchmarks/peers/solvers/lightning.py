"""sklearn-contrib-lightning, one-vs-rest."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.peers.problems import Problem
from benchmarks.peers.solvers.base import (
    EPOCHS,
    BaseSolver,
    one_two_five,
    weights_from_coef,
)
from measuring.datasets.base import sklearn_rows


class Lightning(BaseSolver):
    """One of its estimators."""

    package = "sklearn-contrib-lightning"
    problems: tuple[str, ...] = ("one_vs_rest", "one_vs_rest_squared")

    def prepare(
        self, X: sp.csr_array, labels: NDArray[np.int32], problem: Problem, C: float
    ) -> None:
        """Convert, and fit a few rows."""
        self.X, self.labels, self.problem = sklearn_rows(X), labels.astype(np.int64), problem
        self.model = self._model(importlib.import_module("lightning.classification"), C)
        self.model.set_params(loss=problem.loss, random_state=0)
        self.model.fit(np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 2]))

    def run(self, tolerance: float) -> None:
        """Fit."""
        self.model.set_params(tol=tolerance).fit(self.X, self.labels)

    def weights(self) -> NDArray[np.floating]:
        """Return ``coef_``, turned round."""
        return weights_from_coef(self.model.coef_, self.problem)

    @abstractmethod
    def _model(self, lightning: Any, C: float) -> Any:
        """Return the estimator."""


class LightningDual(Lightning):
    """Dual coordinate descent; the tolerance is the largest violation."""

    name = "lightning_linear_svc"
    tolerances = one_two_five(1.0, 7)

    def _model(self, lightning: Any, C: float) -> Any:
        return lightning.LinearSVC(C=C, max_iter=1_000_000)


class _Epochs(Lightning):
    """An estimator with a given number of epochs: near the end its tolerance may never be met."""

    tolerances = EPOCHS
    default = False

    def run(self, tolerance: float) -> None:
        """Fit for some epochs."""
        self.model.set_params(max_iter=int(tolerance)).fit(self.X, self.labels)


class LightningSDCA(_Epochs):
    """Stochastic dual coordinate ascent; its objective is P / (n C)."""

    name = "lightning_sdca"

    def _model(self, lightning: Any, C: float) -> Any:
        return lightning.SDCAClassifier(alpha=1 / (self.X.shape[0] * C), tol=0.0)


class LightningPrimal(_Epochs):
    """Primal coordinate descent, on columns."""

    name = "lightning_cd"
    problems = ("one_vs_rest_squared",)

    def _model(self, lightning: Any, C: float) -> Any:
        self.X = sp.csc_matrix(self.X)
        return lightning.CDClassifier(C=C, alpha=1.0, penalty="l2", tol=0.0)


SOLVERS = [LightningDual(), LightningSDCA(), LightningPrimal()]
