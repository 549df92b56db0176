"""Small hostile training problems, each from its number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.problem.formulations import FORMULATIONS
from manyclass.training.train import COMPARISON

HAS_SPARSE_WEIGHTS = ("crammer_singer", "weston_watkins", "one_vs_rest")
EXTREME_WEIGHTS = (1e-5, 1e30, 2.0, 1e5)


@dataclass(frozen=True, slots=True, eq=False)
class RandomProblem:
    """Arguments of ``MulticlassSVC`` and its ``fit``."""

    number: int
    X: NDArray[Any]
    y: NDArray[np.int64]
    sample_weight: NDArray[np.float64] | None
    params: dict[str, Any]
    is_csr: bool
    cost_before: float | None  # of a fit before, from which this one starts

    @property
    def rows(self) -> Any:
        """X as it is passed."""
        return sp.csr_array(self.X) if self.is_csr else self.X

    def __str__(self) -> str:
        """What must be known to guess at a cause."""
        n, d = self.X.shape
        p, nonzero = self.params, np.abs(self.X[self.X != 0])
        sizes = f"{nonzero.min():.0e}..{nonzero.max():.0e}" if nonzero.size else "0"
        shape = f"n={n} d={d} k={p['k']} {self.X.dtype.name} |x|={sizes}"
        weighted = "" if self.sample_weight is None else " sample_weight"
        if self.sample_weight is not None and self.sample_weight.max() > 1e20:
            weighted = " EXTREME_WEIGHT"
        others = [
            name
            for name, told in (
                ("csr", self.is_csr),
                ("balanced", p["class_weight"] is not None),
                ("warm", self.cost_before is not None),
                ("sparse-W", p["weights"] == "sparse"),
                ("squared", p["loss"] == "squared_hinge"),
                (f"bias={p['intercept_scaling']:.0e}", p["fit_intercept"]),
            )
            if told
        ]
        others.append(p.get("solver", ""))
        head = f"{p['formulation']} C={p['C']:.1e} {p['stopping']} {p['tol']:.0e}"
        return f"{head} {shape}{weighted} {' '.join(others)}"


def draw(seed: int, number: int) -> RandomProblem:
    """Return the problem of this number."""
    rng = np.random.default_rng([seed, number])
    X, y = _data(rng)
    params = _parameters(rng)
    params["k"] = len(np.unique(y))
    _choose_solver(np.random.default_rng([seed, number, 1]), params)
    cost_before = 10.0 ** rng.uniform(-3, 3) if rng.random() < 0.15 else None
    weights = _sample_weight(rng, len(y))
    return RandomProblem(number, X, y, weights, params, bool(rng.random() < 0.4), cost_before)


def _data(rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[np.int64]]:
    n, d = int(rng.integers(2, 41)), int(rng.integers(1, 9))
    k = int(rng.integers(2, min(8, n) + 1))
    if rng.random() < 0.03:  # examples enough for the Newton phase
        n, d, k = int(rng.integers(100, 200)), int(rng.integers(1, 3)), int(rng.integers(2, 4))
    elif rng.random() < 0.02:  # so many that the rounding of their sums counts
        n, d, k = int(10 ** rng.uniform(2.5, 4)), int(rng.integers(1, 3)), int(rng.integers(2, 4))
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    X = _features(rng, y, d)
    if rng.random() < 0.3:
        X[rng.integers(0, n, n // 3)] = X[rng.integers(0, n, n // 3)]
    if rng.random() < 0.2:
        X[rng.random(n) < 0.3] = 0
    return X.astype(rng.choice([np.float32, np.float64])), y


def _features(rng: np.random.Generator, y: NDArray[np.int64], d: int) -> NDArray[np.float64]:
    n, kind = len(y), rng.integers(4)
    X = rng.standard_normal((n, d))
    if kind == 1:
        X += rng.uniform(0, 5) * rng.standard_normal((y.max() + 1, d))[y]
    elif kind == 2:
        X = rng.integers(-2, 3, (n, d)).astype(np.float64)
    elif kind == 3:
        X *= rng.random((n, d)) < 0.4
    scale = rng.integers(6)
    if scale == 1:
        X *= 10.0 ** rng.uniform(-10, 10)
    elif scale == 2:
        X *= 10.0 ** rng.uniform(-10, 10, d)
    elif scale == 3:
        X *= 10.0 ** rng.uniform(-5, 5, (n, 1))
    elif scale == 4:
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        X = np.divide(X, lengths, where=lengths > 0, out=X)
    if rng.random() < 0.1:  # far from the origin
        X += 10.0 ** rng.uniform(0, 9)
    return np.asarray(X)


def _parameters(rng: np.random.Generator) -> dict[str, Any]:
    name = str(rng.choice(list(FORMULATIONS)))
    has_sparse = name in HAS_SPARSE_WEIGHTS
    return {
        "formulation": name,
        "loss": str(rng.choice(FORMULATIONS[name].losses)),
        "C": 10.0 ** rng.uniform(-6, 6),
        "tol": 10.0 ** rng.uniform(-10, -1),
        "stopping": "gap" if rng.random() < 0.8 else "kkt",
        "fit_intercept": bool(rng.random() < 0.6),
        "intercept_scaling": float(
            rng.choice([1.0, 10.0 ** rng.uniform(-2, 2), 10.0 ** rng.uniform(-6, 6)])
        ),
        "class_weight": "balanced" if rng.random() < 0.2 else None,
        "max_iter": int(rng.choice([3, 30, 100, 300])),
        "weights": "sparse" if has_sparse and rng.random() < 0.4 else "dense",
        "n_jobs": int(rng.integers(1, 3)),
        "random_state": int(rng.integers(1000)),
    }


def _choose_solver(rng: np.random.Generator, params: dict[str, Any]) -> None:
    """Let one problem in six go to a comparison solver, where one can train it."""
    able = [
        name
        for name, scope in COMPARISON.items()
        if params["formulation"] in scope.formulations and params["loss"] in scope.losses
    ]
    if able and rng.random() < 0.5:
        params["solver"] = str(rng.choice(able))
        params["weights"] = "dense"
        if not COMPARISON[params["solver"]].kkt:
            params["stopping"] = "gap"


def _sample_weight(rng: np.random.Generator, n: int) -> NDArray[np.float64] | None:
    kind = rng.integers(10)
    if kind < 6:
        return None
    if kind < 8:
        return np.asarray(rng.uniform(0.1, 3, n))
    if kind < 9:
        return np.asarray(10.0 ** rng.uniform(-5, 5, n))
    return np.asarray(rng.choice(EXTREME_WEIGHTS, n))
