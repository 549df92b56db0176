"""Trial: sequences of warm starts, each with other features, classes, rows, types or parameters.

Every fit of a sequence is compared with one that starts cold: neither may prove a D above the P of
the other. Prints what differs, and ends with 1 if something does.

    python -m tests.trials.warm_starts --sequences 200 --seed 0
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyclass import MulticlassSVC, MultinomialLogisticRegression, StochasticClassifier
from manyclass.problem.formulations import FORMULATIONS

FITS = 6  # in a sequence


def sizes(rng: np.random.Generator) -> dict[str, Any]:
    """Return what data may differ in."""
    return {
        "n": int(rng.choice([12, 600])),
        "d": int(rng.choice([1, 2, 5])),
        "k": int(rng.choice([2, 3, 5])),
        "dtype": rng.choice([np.float32, np.float64]),
        "scale": 10.0 ** rng.integers(-2, 3),
        "order": bool(rng.random() < 0.5),
        "names": bool(rng.random() < 0.3),
        "sparse": bool(rng.random() < 0.4),
    }


def rows(n, d, k, dtype, scale, order, names, sparse) -> tuple[Any, Any]:
    """Return data: neighbors in a sequence agree in most respects."""
    y = np.arange(n) % k if order else np.arange(n) * k // n
    X = (np.random.default_rng(d).normal(size=(n, d)) + y[:, None] % 2) * scale
    labels = np.array(["a", "b", "c", "d", "e"])[y] if names else y
    return sp.csr_array(X.astype(dtype)) if sparse else X.astype(dtype), labels


def parameters(rng: np.random.Generator, kind: type) -> dict[str, Any]:
    """Return parameters that another fit of the same estimator may have."""
    if kind is StochasticClassifier:
        loss = rng.choice(["hinge", "log_loss", "perceptron"])
        return {
            "alpha": 10.0 ** rng.integers(-5, 1),
            "loss": loss,
            "average": bool(rng.random() < 0.5),
            "weights": rng.choice(["auto", "dense"] if loss == "log_loss" else ["auto", "sparse"]),
        }
    common = {
        "C": 10.0 ** rng.integers(-3, 4),
        "tol": 10.0 ** rng.integers(-6, -1),
        "fit_intercept": bool(rng.random() < 0.7),
        "intercept_scaling": rng.choice([1.0, 7.0]),
        "class_weight": rng.choice([None, "balanced"]),
        "n_jobs": int(rng.integers(1, 3)),
        "max_iter": int(rng.choice([3, 1000])),
    }
    if kind is MultinomialLogisticRegression:
        return {**common, "regularize_intercept": bool(rng.random() < 0.5)}
    formulation = rng.choice(list(FORMULATIONS))
    losses = FORMULATIONS[formulation].losses
    few = formulation in ("crammer_singer", "weston_watkins", "one_vs_rest")
    return {
        **common,
        "formulation": formulation,
        "loss": rng.choice(list(losses)),
        "weights": rng.choice(["auto", "sparse", "dense"]) if few else "auto",
    }


def plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return NumPy scalars as Python's own."""
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in values.items()}


def differs(warm: Any, cold: Any, X: Any) -> str | None:
    """Say what is wrong with a warm fit, given the cold one."""
    if warm.coef_.shape != cold.coef_.shape or warm.coef_.dtype != cold.coef_.dtype:
        return f"coef_ {warm.coef_.shape} {warm.coef_.dtype}, cold {cold.coef_.shape}"
    if not np.array_equal(warm.classes_, cold.classes_):
        return f"classes {warm.classes_}, cold {cold.classes_}"
    if isinstance(warm, StochasticClassifier):
        finite = np.isfinite(warm.decision_function(X)).all()
        return None if finite else "scores that are not finite"
    for one, other in (
        (warm.certificate_, cold.certificate_),
        (cold.certificate_, warm.certificate_),
    ):
        slack = 1e-9 * abs(other.primal_objective)
        if not one.dual_objective <= other.primal_objective + slack:
            return f"D {one.dual_objective!r} above P {other.primal_objective!r}"
    return None


def sequence(seed: int) -> str | None:
    """Fit one model again and again; return what is wrong, if something is."""
    rng = np.random.default_rng(seed)
    kind = rng.choice([MulticlassSVC, MultinomialLogisticRegression, StochasticClassifier])
    warm, data = kind(warm_start=True, random_state=0), {}
    for i in range(FITS):
        new = sizes(rng)
        data = {name: new[name] if i == 0 or rng.random() < 0.2 else data[name] for name in new}
        X, y = rows(**data)
        if i == 0 or rng.random() < 0.3:
            chosen = plain(parameters(rng, kind))
        said = f"sequence {seed}, fit {i} of {kind.__name__}: {chosen} {X.shape} {X.dtype}"
        try:
            cold = kind(random_state=0, **chosen).fit(X, y)
            warm.set_params(**chosen).fit(X, y)
        except FloatingPointError:
            return None  # weights that overflow
        except Exception as error:
            return f"{said}: {type(error).__name__} {error}"
        wrong = differs(warm, cold, X)
        if wrong:
            return f"{said}: {wrong}"
    return None


def main() -> int:
    """Run the trial."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    began = time.perf_counter()
    warnings.simplefilter("ignore")
    found = [sequence(args.seed + i) for i in range(args.sequences)]
    wrong = [what for what in found if what]
    for what in wrong[:20]:
        print(what)
    print(
        f"warm starts: {args.sequences} sequences of {FITS} fits, {len(wrong)} failed, "
        f"{time.perf_counter() - began:.0f} s"
    )
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
