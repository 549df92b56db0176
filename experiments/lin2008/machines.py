"""The machines that are compared, and how C and gamma are chosen.

C and gamma have the best accuracy on a fifth of at most TUNING_ROWS training rows, or as many as
are given; for Nystroem gamma is the kernel machine's. Features have the scale of their files.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from manyclass import MulticlassSVC

TUNING_ROWS = 5_000
LINEAR_COSTS = (0.01, 0.1, 1.0, 10.0)
KERNEL_COSTS = (1.0, 10.0, 100.0)
NYSTROEM_COSTS = (0.1, 1.0, 10.0, 100.0)
# Multiples of 1 / (d var X), scikit-learn's gamma="scale".
GAMMAS = (0.3, 1.0, 3.0, 10.0, 30.0)
COMPONENTS = (500, 2000)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Dense float32 rows and classes, for training and for testing."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]


def linear(C: float) -> MulticlassSVC:
    """Crammer-Singer with intercept, proven to 1e-3."""
    return MulticlassSVC(C=C, random_state=0, max_iter=2000)


def rbf(C: float, gamma: float) -> SVC:
    """LIBSVM: one-vs-one, K(a, b) = exp(-gamma ||a - b||^2)."""
    return SVC(C=C, gamma=gamma, cache_size=2000)


def nystroem(C: float, gamma: float, n_components: int) -> Any:
    """Approximate the kernel on a sample of the rows; train a linear machine."""
    sample = Nystroem(gamma=gamma, n_components=n_components, random_state=0)
    return make_pipeline(sample, linear(C))


def scale_gamma(X: NDArray[np.float32]) -> float:
    """Return 1 / (d var X)."""
    return float(1 / (X.shape[1] * X.var(dtype=np.float64)))


def tuned(rows: Rows, limit: int = TUNING_ROWS) -> dict[str, dict[str, float]]:
    """Choose C of every machine, and gamma, by validation."""
    sample = np.random.default_rng(0).permutation(len(rows.y))[:limit]
    X, X_held, y, y_held = train_test_split(
        rows.X[sample], rows.y[sample], test_size=0.2, random_state=0
    )

    def best(make: Any, grid: dict[str, Any], **fixed: float) -> dict[str, float]:
        choices = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        scores = [make(**c, **fixed).fit(X, y).score(X_held, y_held) for c in choices]
        return {**choices[int(np.argmax(scores))], **fixed}

    gammas = [factor * scale_gamma(X) for factor in GAMMAS]
    chosen = {"linear": best(linear, {"C": LINEAR_COSTS})}
    chosen["RBF"] = best(rbf, {"C": KERNEL_COSTS, "gamma": gammas})
    for size in COMPONENTS:
        components = min(size, len(y))
        gamma = chosen["RBF"]["gamma"]
        found = best(nystroem, {"C": NYSTROEM_COSTS}, gamma=gamma, n_components=components)
        chosen[f"Nystroem {size}"] = {**found, "n_components": size}
    return chosen


def machine(name: str, settings: dict[str, Any], n_rows: int) -> Any:
    """Return the machine of this name, with the settings that were chosen."""
    if name == "linear":
        return linear(**settings)
    if name == "RBF":
        return rbf(**settings)
    return nystroem(**{**settings, "n_components": min(settings["n_components"], n_rows)})


def measured(model: Any, rows: Rows) -> dict[str, float]:
    """Train; return accuracy in per cent and the CPU seconds of training and prediction."""
    began = time.process_time()
    model.fit(rows.X, rows.y)
    trained = time.process_time()
    accuracy = model.score(rows.X_test, rows.y_test)
    return {
        "accuracy": round(100 * float(accuracy), 2),
        "seconds": round(trained - began, 3),
        "predict_seconds": round(time.process_time() - trained, 3),
    }
