"""Cyanure: QNing-accelerated incremental methods, to a relative duality gap that it measures.

Its objective is P / (n C): lambda_1 = 1 / (n C), and 1 / (2 n C) where the loss is half a square.
Source: Mairal 2019 (Cyanure: an open-source toolbox for empirical risk minimization).
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.peers.problems import Problem
from benchmarks.peers.solvers.base import BaseSolver, one_two_five
from measuring.datasets.base import sklearn_rows

LOSSES = {"logistic": ("multiclass-logistic", 1.0), "one_vs_rest_squared": ("sqhinge", 0.5)}


class Cyanure(BaseSolver):
    """``Classifier`` in float32; the tolerance is the relative duality gap."""

    package = "cyanure"
    tolerances = one_two_five(1.0, 7)
    problems = tuple(LOSSES)

    def __init__(self, name: str, threads: int) -> None:
        self.name, self.threads, self.default = name, threads, threads == 1

    def prepare(
        self, X: sp.csr_array, labels: NDArray[np.int32], problem: Problem, C: float
    ) -> None:
        """Convert, and fit a few rows."""
        self.X, self.labels = sklearn_rows(X, np.float32), labels.astype(np.int64)
        loss, share = LOSSES[problem.name]
        classifier = importlib.import_module("cyanure.estimators").Classifier
        self.model: Any = classifier(
            loss=loss,
            penalty="l2",
            lambda_1=share / (X.shape[0] * C),
            fit_intercept=False,
            max_iter=100_000,
            duality_gap_interval=5,
            verbose=False,
            n_threads=self.threads,
            random_state=0,
        )
        self.model.fit(np.array([[0.0], [1.0], [2.0]], np.float32), np.arange(3))

    def run(self, tolerance: float) -> None:
        """Fit."""
        self.model.set_params(tol=tolerance).fit(self.X, self.labels)

    def weights(self) -> NDArray[np.floating]:
        """Return its W, of shape (d, k) as here; of two classes, one column."""
        W = np.asarray(self.model.get_weights())
        return np.hstack([-W, W]) if W.shape[1] == 1 else W


SOLVERS = [Cyanure("cyanure", 1), Cyanure("cyanure_2", 2)]
