"""Cross-validation at every C of a range: a certified path for each fold."""

from __future__ import annotations

import time
import warnings
from contextlib import closing
from functools import partial
from threading import Event

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from manyclass.model_selection.choice import Column
from manyclass.model_selection.fitting import Classifier
from manyclass.model_selection.folds import Folds, Scored
from manyclass.model_selection.search import Maker
from manyclass.model_selection.tracing import SHARE, Tracer
from manyclass.model_selection.workers import in_order
from manyclass.problem.solution import Certificate

MAX_FITS = 200  # of a fold


def search_paths(
    folds: Folds,
    C_range: tuple[float, float],
    epsilon: float,
    make: Maker,
    random: np.random.RandomState,
    n_threads: int,
    *,
    keeps: bool,
) -> tuple[NDArray[np.float64], list[Column]]:
    """Score models that are proven to be within epsilon of the optimum, for all C of a range.

    Returns
    -------
    Cs : ndarray of shape (n_Cs,)
        All at which some fold was trained, ascending.
    table : list of lists of Scored
        By C, then by fold: the fold's model with the least objective at that C.
    """
    seeds = random.randint(2**31 - 1, size=len(folds.splits))
    tasks = [
        partial(_traced, folds, f, C_range, epsilon, make, int(seed))
        for f, seed in enumerate(seeds)
    ]
    with closing(in_order(tasks, n_threads)) as results:
        paths = [next(results) for _ in tasks]
    Cs = np.unique([found.C for path in paths for found in path.tracer.fits])
    table = [[path.scored_at(float(C), keeps=keeps) for path in paths] for C in Cs]
    return Cs, table


class _Path:
    """The path of a fold, and the scores of its models."""

    def __init__(self, tracer: Tracer, scores: list[float], seconds: float) -> None:
        self.tracer = tracer
        self.envelope = tracer.envelope()
        self.scores = scores
        self.seconds = seconds / len(scores)

    def scored_at(self, C: float, *, keeps: bool) -> Scored:
        """Return the best model at a C, its score, and what is proven of it there."""
        best = int(self.envelope.best(C))
        primal, dual = float(self.envelope.upper(C)), float(self.envelope.lower(C))
        gap = max(0.0, primal - dual)
        proof = Certificate(primal, dual, gap, gap / primal, np.nan)
        is_own = self.tracer.fits[best].C == C
        found = self.tracer.fits[best] if keeps else None
        return Scored(found, self.scores[best], proof, self.seconds if is_own else 0.0)


def _traced(
    folds: Folds,
    number: int,
    C_range: tuple[float, float],
    epsilon: float,
    make: Maker,
    seed: int,
    stop: Event,
) -> _Path:
    began = time.perf_counter()

    def model(C: float, seed: int) -> Classifier:
        return make(C, SHARE * epsilon, seed)

    tracer = Tracer(folds.training_data(number), model, np.random.RandomState(seed), stop)
    with folds.naming(number):
        C, gap = tracer.trace(*C_range, epsilon, MAX_FITS)
    if gap > epsilon and not stop.is_set():
        warnings.warn(
            f"fold {number + 1}: the path is proven to {gap:.2e} at C = {C:g} (asked for: "
            f"{epsilon:g}); raise max_iter",
            ConvergenceWarning,
            stacklevel=2,
        )
    scores = [folds.score(number, found.model) for found in tracer.fits]
    return _Path(tracer, scores, time.perf_counter() - began)
