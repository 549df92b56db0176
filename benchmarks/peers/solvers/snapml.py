"""Snap ML: dual coordinate descent of one-vs-rest machines, in float32; regularizer = 1 / C."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.peers.problems import Problem
from benchmarks.peers.solvers.base import BaseSolver, one_two_five
from measuring.datasets.base import sklearn_rows


class SnapML(BaseSolver):
    """``SupportVectorMachine``; the tolerance is the relative change of its weights."""

    package = "snapml"
    tolerances = one_two_five(0.1, 6)
    problems = ("one_vs_rest", "one_vs_rest_squared")

    def __init__(self, name: str, threads: int) -> None:
        self.name, self.threads, self.default = name, threads, threads == 1

    def prepare(
        self, X: sp.csr_array, labels: NDArray[np.int32], problem: Problem, C: float
    ) -> None:
        """Convert, and fit a few rows."""
        self.X, self.labels = sklearn_rows(X, np.float32), labels.astype(np.int64)
        self.model: Any = importlib.import_module("snapml").SupportVectorMachine(
            loss=problem.loss,
            regularizer=1 / C,
            fit_intercept=False,
            max_iter=100_000,
            n_jobs=self.threads,
            random_state=0,
        )
        self.model.fit(np.array([[0.0], [1.0], [2.0]], np.float32), np.arange(3))

    def run(self, tolerance: float) -> None:
        """Fit."""
        self.model.set_params(tol=tolerance).fit(self.X, self.labels)

    def weights(self) -> NDArray[np.floating]:
        """Return ``coef_``, turned round."""
        W = np.atleast_2d(np.asarray(self.model.coef_)).T
        return np.hstack([-W, W]) if W.shape[1] == 1 else W


SOLVERS = [SnapML("snapml", 1), SnapML("snapml_2", 2)]
