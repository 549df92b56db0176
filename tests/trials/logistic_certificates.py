"""No certificate of logistic regression may be better than the truth, judged in long double.

    python -m tests.trials.logistic_certificates [N] [--seed SEED] [--start NUMBER] [--only NUMBER]

P is computed of ``coef_`` and ``intercept_`` as the user gets them. The claimed P may be off by the
rounding that the certificate states, the distance from ``penalty + loss``. D may exceed no P:
neither this one nor that of a fit to the last digits.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import MultinomialLogisticRegression
from tests.trials.long_paths import logistic_losses

UNIT_OF_JUDGE = 1e-18  # of long double, for each row, as a share of P
SHOWN = 20


@dataclass(frozen=True, slots=True, eq=False)
class LogisticProblem:
    """Arguments of ``MultinomialLogisticRegression`` and its ``fit``."""

    number: int
    X: NDArray[Any]
    y: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    params: dict[str, Any]
    is_csr: bool

    def __str__(self) -> str:
        """Shape and parameters."""
        n, d = self.X.shape
        kind = f"{self.X.dtype.name}{' csr' if self.is_csr else ''}"
        weighted = "" if self.weights is None else " weights"
        chosen = " ".join(
            f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in self.params.items()
        )
        return f"n={n} d={d} k={self.y.max() + 1} {kind}{weighted} {chosen}"

    def objective(self, model: MultinomialLogisticRegression) -> np.longdouble:
        """P of the returned weights."""
        W, b = model.coef_.astype(np.longdouble), np.asarray(model.intercept_, np.longdouble)
        squares = np.sum(W * W)
        if model.fit_intercept and model.regularize_intercept:
            squares += np.sum((b / np.longdouble(model.intercept_scaling)) ** 2)
        losses = logistic_losses(self.X.astype(np.longdouble) @ W.T + b, self.y)
        weights = np.ones(len(self.y)) if self.weights is None else self.weights
        return squares / 2 + np.sum(np.longdouble(model.C) * weights * losses)

    def fitted(self, X: NDArray[Any], **others: Any) -> MultinomialLogisticRegression:
        """Return a model, with other parameters perhaps."""
        rows = sp.csr_array(X) if self.is_csr else X
        model = MultinomialLogisticRegression(**{**self.params, **others})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(rows, self.y, self.weights)


def draw(seed: int, number: int) -> LogisticProblem:
    """Return the problem of this number."""
    rng = np.random.default_rng([seed, number])
    k = int(rng.integers(2, 6))
    n, d = k + int(rng.choice([3, 30, 300])), int(rng.integers(1, 9))
    if rng.random() < 0.1:
        d = 300  # in batches
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    X = (
        rng.normal(size=(n, d))
        + rng.choice([0, 5])
        + rng.uniform(0, 3) * rng.normal(size=(k, d))[y]
    )
    X *= 10 ** float(rng.choice([0, 0, rng.uniform(-3, 3)]))
    X[rng.random(X.shape) < rng.choice([0, 0.5])] = 0
    params = {
        "C": float(10 ** rng.uniform(-4, 6)),
        "tol": float(10 ** rng.uniform(-11, -1)),
        "fit_intercept": bool(rng.random() < 0.8),
        "regularize_intercept": bool(rng.random() < 0.4),
        "intercept_scaling": float(rng.choice([1.0, 10 ** rng.uniform(-4, 4)])),
        "max_iter": int(rng.choice([1, 3, 5, 300])),
        "n_jobs": int(rng.integers(1, 3)),
        "random_state": 0,
    }
    weights = 10 ** rng.uniform(-2, 2, n) if rng.random() < 0.3 else None
    dtype = rng.choice([np.float32, np.float64])
    return LogisticProblem(number, X.astype(dtype), y, weights, params, bool(rng.random() < 0.4))


@dataclass(slots=True)
class Figures:
    """Counts of a run, and its false claims."""

    fits: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    largest_error: float = 0.0  # of the claimed P, as a share of it
    false: list[str] = field(default_factory=list)


def judge(problem: LogisticProblem, figures: Figures) -> None:
    """Fit, and look at what is claimed."""
    model = problem.fitted(problem.X)
    last_digits = problem.fitted(problem.X.astype(np.float64), tol=1e-14, max_iter=1000)
    claim, P = model.certificate_, problem.objective(model)
    digit = np.longdouble(UNIT_OF_JUDGE * len(problem.y)) * P
    least = min(P, problem.objective(last_digits))
    stated = np.longdouble(claim.penalty) + np.longdouble(claim.loss)
    off = abs(np.longdouble(claim.primal_objective) - P)
    figures.fits += 1
    figures.largest_error = max(figures.largest_error, float(off / P))
    for what, is_false in (
        ("P above penalty + loss", stated + digit < P),
        ("P off by more than its rounding", off > stated - claim.primal_objective + digit),
        ("D above a known P", np.longdouble(claim.dual_objective) > least + digit),
        ("gap below the true one", np.longdouble(claim.gap) < P - least - digit),
    ):
        if is_false:
            figures.false.append(
                f"{problem.number:6d}  {what}: {claim}, P {P:.20g}, known {least:.20g}\n"
                f"        {problem}"
            )


def run(seed: int, numbers: Sequence[int]) -> Figures:
    """Judge the fits of these numbers."""
    figures = Figures()
    for number in numbers:
        try:
            judge(draw(seed, number), figures)
        except (FloatingPointError, ValueError) as error:
            figures.refused[f"{type(error).__name__}: {str(error)[:70]}"] += 1
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trial; 1 if a claim is false."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n", type=int, nargs="?", default=500, help="fits")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="number of the first fit")
    parser.add_argument("--only", type=int, help="one fit, by its number")
    options = parser.parse_args(arguments)
    numbers = range(options.start, options.start + options.n)
    if options.only is not None:
        numbers = range(options.only, options.only + 1)
    began = time.perf_counter()
    figures = run(options.seed, numbers)
    print(
        f"{figures.fits} fits, {len(figures.false)} false claims, P off by "
        f"{figures.largest_error:.1e} of it at most, {time.perf_counter() - began:.0f} s"
    )
    for message, count in figures.refused.items():
        print(f"  refused: {message}: {count}")
    for claim in figures.false[:SHOWN]:
        print(claim)
    return int(bool(figures.false))


if __name__ == "__main__":
    sys.exit(main())
