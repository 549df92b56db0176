"""napkinXC's one-vs-rest classifier: LIBLINEAR per class, squared hinge.

It keeps its weights in a file of its own format, so only its predictions are judged.
"""

from __future__ import annotations

import importlib
import tempfile
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.peers.problems import Problem
from benchmarks.peers.solvers.base import BaseSolver, one_two_five


class NapkinXC(BaseSolver):
    """``OVR(loss="l2")``; the time includes that of writing the model."""

    name = "napkinxc"
    package = "napkinxc"
    tolerances = one_two_five(2.0, 4)
    accuracy_beside = ("crammer_singer", "one_vs_rest_squared")

    def prepare(
        self,
        X: sp.csr_array,
        labels: NDArray[np.int32],
        problem: Problem,  # noqa: ARG002 (napkinXC has one problem)
        C: float,
    ) -> None:
        """Keep the rows in float32, which is what it takes."""
        self.X, self.labels = sp.csr_matrix(X), labels
        self.options: dict[str, Any] = {
            "loss": "l2",
            "liblinear_c": C,
            "liblinear_max_iter": 10_000,
            "norm": False,
            "bias": 0.0,
            "weights_threshold": 0.0,
            "threads": self.threads,
        }
        self.models = importlib.import_module("napkinxc.models")

    def run(self, tolerance: float) -> None:
        """Train, into a folder of its own."""
        self.folder = tempfile.TemporaryDirectory()
        self.model = self.models.OVR(self.folder.name, liblinear_eps=tolerance, **self.options)
        self.model.fit(self.X, self.labels)

    def weights(self) -> NDArray[np.floating]:
        """Refuse."""
        raise NotImplementedError("napkinXC does not hand out its weights")

    def accuracy(self, X: sp.csr_array, labels: NDArray[np.int32]) -> float:
        """Have it predict."""
        best = self.model.predict(sp.csr_matrix(X), top_k=1)
        predicted = np.array([row[0] if row else -1 for row in best])
        return float(np.mean((predicted == labels) & (labels >= 0)))


SOLVERS = [NapkinXC()]
