"""No path of C may claim a gap below the true one: ranges of many decades, judged without rounding.

    python -m tests.trials.long_paths [N] [--seed SEED] [--start NUMBER] [--only NUMBER]

At random C of a path, P of its model is computed of ``coef_`` and ``intercept_`` as the user gets
them: exactly, for logistic regression in long double. It is compared with ``bounds_at`` and with
the least P of known weights: those of all its models and of a fit to the last digits, a little
enlarged too, since at large C a margin that is short by rounding costs more than a longer W.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyclass import MultinomialLogisticRegression, c_path
from manyclass.model_selection.folds import estimator_for
from manyclass.problem.formulations import FORMULATIONS
from tests.trials.exact import Exact, ExactProblem
from tests.trials.judging import returned_weights, to_float

MOST_DECADES = 16
POINTS = 8  # of a path, beside its ends
MOST_FITS = 60
LONGER = (0.0, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7)
N_NEAREST = 4  # models of the path, the best by its own bounds, are known weights
ROUNDING_OF_CLAIM = 1e-9  # the claim itself is a float
SHOWN = 10


@dataclass(frozen=True, slots=True, eq=False)
class PathProblem:
    """Arguments of ``c_path``."""

    number: int
    X: NDArray[Any]
    y: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    low: float
    high: float
    epsilon: float
    settings: dict[str, Any]

    def __str__(self) -> str:
        """Size, range and settings."""
        n, d = self.X.shape
        shape = f"n={n} d={d} k={self.y.max() + 1} {self.X.dtype.name}"
        chosen = " ".join(f"{name}={value}" for name, value in self.settings.items())
        return f"C {self.low:.1e}..{self.high:.1e} epsilon {self.epsilon:.1e} {shape} {chosen}"


def draw(seed: int, number: int) -> PathProblem:
    """Return the path of this number."""
    rng = np.random.default_rng([seed, number])
    k, d = int(rng.integers(2, 5)), int(rng.integers(2, 7))
    n = k + int(rng.integers(0, 8))
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    X = rng.normal(size=(n, d)) + rng.uniform(0, 3) * rng.normal(size=(k, d))[y]
    is_logistic = bool(rng.random() < 0.25)
    name = "logistic" if is_logistic else str(rng.choice(list(FORMULATIONS)))
    settings: dict[str, Any] = {"formulation": name, "fit_intercept": bool(rng.random() < 0.5)}
    if rng.random() < 0.3:
        settings["intercept_scaling"] = float(10 ** rng.uniform(-1, 2))
    if is_logistic:
        settings["regularize_intercept"] = bool(rng.random() < 0.5)
    else:
        settings["loss"] = str(rng.choice(FORMULATIONS[name].losses))
    weights = rng.choice([0.5, 1.0, 3.0], n) if rng.random() < 0.3 else None
    low = 10 ** rng.uniform(-3, 0)
    high = low * 10 ** rng.uniform(2, MOST_DECADES)
    dtype = np.float32 if rng.random() < 0.3 else np.float64
    epsilon = 10 ** rng.uniform(-5, -1)
    return PathProblem(number, X.astype(dtype), y, weights, low, high, epsilon, settings)


class Objective:
    """P of models at any C: a fraction, of logistic regression in long double."""

    def __init__(self, problem: PathProblem) -> None:
        self.problem = problem
        given = problem.weights
        self.weights = np.ones(len(problem.y)) if given is None else given

    def __call__(self, model: Any, C: float, longer: float = 0.0) -> Fraction:
        """P of (1 + longer) W."""
        if isinstance(model, MultinomialLogisticRegression):
            return self._logistic(model, C, longer)
        W, by = returned_weights(model), 1 + Fraction(longer)
        W = W.centred() if FORMULATIONS[model.formulation].centred else W
        exact = ExactProblem.from_rows(
            self.problem.X,
            self.problem.y.astype(np.int32),
            C * self.weights,
            len(model.classes_),
            FORMULATIONS[model.formulation],
            bias=self._bias(model),
            squared=model.loss == "squared_hinge",
        )
        return exact.primal(Exact(W.ints * by.numerator, W.unit * by.denominator))

    def _bias(self, model: Any) -> float:
        return float(model.intercept_scaling) if model.fit_intercept else 0.0

    def _logistic(self, model: Any, C: float, longer: float) -> Fraction:
        by, bias = 1 + np.longdouble(longer), self._bias(model)
        W, b = by * model.coef_, by * np.asarray(model.intercept_)
        squares = np.sum(W * W)
        if bias and model.regularize_intercept:
            squares += np.sum((b / bias) ** 2)
        losses = logistic_losses(self.problem.X.astype(np.longdouble) @ W.T + b, self.problem.y)
        return as_fraction(squares / 2 + np.longdouble(C) * (self.weights @ losses))


def logistic_losses(scores: NDArray[np.longdouble], y: NDArray[np.int64]) -> NDArray[np.longdouble]:
    """-log p_y of every row, of which the others' shares keep their digits."""
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    rows = np.arange(len(y))
    others = scores - scores[rows, y][:, None]
    others[rows, y] = -np.inf
    largest = np.maximum(others.max(axis=1), 0)
    rest = np.exp(others - largest[:, None]).sum(axis=1)
    small = np.log1p(np.exp(np.minimum(others, 0)).sum(axis=1))
    return np.where(largest > 0, largest + np.log(rest + np.exp(-largest)), small)


def as_fraction(number: np.longdouble) -> Fraction:
    """Return a long double as it is."""
    high = float(number)
    return Fraction(high) + Fraction(float(number - np.longdouble(high)))


@dataclass(slots=True)
class Figures:
    """Counts of a run, and what was false."""

    paths: int = 0
    warned: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    points: int = 0
    false: list[str] = field(default_factory=list)


def judge(problem: PathProblem, figures: Figures) -> None:
    """Train a path, and compare what it says with known weights."""
    shared = {**problem.settings, "random_state": 0}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = c_path(
            problem.X,
            problem.y,
            C_min=problem.low,
            C_max=problem.high,
            epsilon=problem.epsilon,
            sample_weight=problem.weights,
            max_fits=MOST_FITS,
            **shared,
        )
        figures.paths += 1
        is_proven = not any("path is proven" in str(warning.message) for warning in caught)
        figures.warned += not is_proven
        parameters = {name: value for name, value in shared.items() if name != "formulation"}
        best = estimator_for(
            problem.settings["formulation"],
            {**parameters, "C": min(problem.high, 1e3), "tol": 1e-11, "max_iter": 2000},
        ).fit(problem.X.astype(np.float64), problem.y, problem.weights)
    P = Objective(problem)
    rng = np.random.default_rng(problem.number)
    inside = np.exp(rng.uniform(np.log(problem.low), np.log(problem.high), POINTS))
    for C in np.clip([problem.low, *inside, problem.high], problem.low, problem.high).tolist():
        figures.points += 1
        nearest = np.argsort(path.envelope.penalties + C * path.envelope.losses)[:N_NEAREST]
        known = [best, *(path.models[j] for j in nearest)]
        least = min(P(model, C, longer) for model in known for longer in LONGER)
        own, (low, high) = P(path.model_at(C), C), path.bounds_at(C)
        true_gap = to_float((own - least) / least) if least else 0.0
        claimed = path.gap_at(C)
        for what, is_false in (
            ("P of the model above bounds_at", own > Fraction(high)),
            ("bounds_at above a known P", Fraction(low) > least),
            ("gap_at below the true gap", true_gap > claimed * (1 + ROUNDING_OF_CLAIM)),
            ("promise broken without a warning", is_proven and true_gap > problem.epsilon),
        ):
            if is_false:
                figures.false.append(
                    f"{problem.number:6d}  {what} at C = {C:.3g}: gap {true_gap:.3e}, claimed "
                    f"{claimed:.3e}, bounds {low!r}, {high!r}, P {to_float(own)!r}, known "
                    f"{to_float(least)!r}\n        {problem}"
                )


def run(seed: int, numbers: Sequence[int]) -> Figures:
    """Judge the paths of these numbers."""
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
    parser.add_argument("n", type=int, nargs="?", default=200, help="paths")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="number of the first path")
    parser.add_argument("--only", type=int, help="one path, by its number")
    options = parser.parse_args(arguments)
    numbers = range(options.start, options.start + options.n)
    if options.only is not None:
        numbers = range(options.only, options.only + 1)
    began = time.perf_counter()
    figures = run(options.seed, numbers)
    print(
        f"{figures.paths} paths, {figures.warned} of them with a warning, {figures.points} points, "
        f"{len(figures.false)} false claims, {time.perf_counter() - began:.0f} s"
    )
    for message, count in figures.refused.items():
        print(f"  refused: {message}: {count}")
    for claim in figures.false[:SHOWN]:
        print(claim)
    return int(bool(figures.false))


if __name__ == "__main__":
    sys.exit(main())
