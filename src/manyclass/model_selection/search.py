"""Cross-validation over a grid of C that skips bad values, or over a range of C by paths.

1. All folds are trained to a coarse tolerance, at each C in ascending order; each fit starts from
   the previous fit of its fold. A model that is also proven to be good enough at the next C is
   reused. The search ends after two C in a row that are significantly worse than the best.
2. The C that are not significantly worse than the best are trained to the requested tolerance,
   each fit from its coarse fit.

Two values are compared by the corrected resampled t-test on the differences of their scores in J
folds (Nadeau, Bengio: Inference for the generalization error, Machine Learning 52, 2003, eq. 9):

    t = mean / sqrt((1/J + n_test / n_train) var)
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import partial
from threading import Event

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t
from sklearn.exceptions import ConvergenceWarning

from manyclass.estimators.coefficients import set_certificate
from manyclass.model_selection.baselines import mean_of
from manyclass.model_selection.folds import (
    Column,
    FoldFit,
    Folds,
    in_order,
    proof_of,
    scores_of,
)
from manyclass.model_selection.path import SHARE, Tracer
from manyclass.model_selection.scorers import Classifier
from manyclass.utils.machine import available_memory
from manyclass.utils.user_warning import warn_user

COARSE = 1e-2
SHARE_FOR_STARTS = 0.2  # share of the memory for starts that coarse fits keep for the fine fits

Maker = Callable[[float, float, int], Classifier]  # of C, tol, seed
# Attributes that a search shares with its best estimator.
FITTED = ("classes_", "intercept_", "n_iter_", "history_", "certificate_")
OnColumn = Callable[[float, Column], None]
Scores = NDArray[np.float64]  # of shape (n_folds, n_Cs)
EQUAL = 1e-12  # relative difference of scores that are equal up to rounding
LEVEL = 0.05  # level of the one-sided test
# The search stops after this number of values in a row that are significantly worse.
PATIENCE = 2
MAX_FITS = 200  # of a fold
ADVICE = (
    "The models may give all rows the same class, or the folds lack classes; choose another "
    "scoring, such as 'balanced_accuracy' or 'neg_log_loss', or other values of C"
)


class Search:
    """Fits on all folds at the values of a grid.

    Parameters
    ----------
    folds : Folds
    Cs : ndarray of shape (n_Cs,)
        Ascending.
    make : callable
        Returns an estimator to fit, for C, tol and a seed.
    tol : float
    seeds : ndarray of shape (2, n_folds, n_Cs)
        Seeds of coarse and fine fits.
    n_threads : int
    keeps_models : bool
        Whether to keep the models of the fine fits.
    on_column : callable
        Called with each C and its fits when they are done.
    """

    def __init__(
        self,
        folds: Folds,
        Cs: NDArray[np.float64],
        make: Maker,
        *,
        tol: float,
        seeds: NDArray[np.integer],
        n_threads: int,
        keeps_models: bool,
        on_column: OnColumn,
    ) -> None:
        self.folds = folds
        self.Cs = Cs
        self.make = make
        self.tol = tol
        self.seeds = seeds
        self.n_threads = n_threads
        self.keeps_models = keeps_models
        self.on_column = on_column
        self.table: list[Column] = []
        self._last: list[FoldFit | None] = [None] * len(folds.splits)
        self._done = [[Event() for _ in folds.splits] for _ in Cs]

    def run(self, *, one_standard_error: bool) -> list[int]:
        """Fill the table, which may end before the last C.

        Returns
        -------
        list of int
            Indices of the C to choose from, which were all trained to `tol`.
        """
        tol = max(self.tol, COARSE)
        self._climb(tol)
        scores = scores_of(self.table)
        candidates = ~worse(scores, self.folds.test_share)
        if one_standard_error:
            candidates |= near_best(scores)
        finalists = [int(j) for j in np.flatnonzero(candidates)]
        self._refine(finalists)
        return finalists

    def _climb(self, tol: float) -> None:
        """Train to a coarse tolerance, until larger C no longer matter."""
        n_folds = len(self.folds.splits)
        places = [(j, f) for j in range(len(self.Cs)) for f in range(n_folds)]
        tasks = [partial(self._coarse, j, f, tol) for j, f in places]
        with closing(in_order(tasks, self.n_threads)) as results:
            for C in self.Cs:
                self.table.append([next(results) for _ in range(n_folds)])
                self.on_column(float(C), self.table[-1])
                self._forget()
                if has_passed(scores_of(self.table), self.folds.test_share):
                    break

    def _coarse(self, j: int, f: int, tol: float, stop: Event) -> FoldFit:
        """Fit a fold at a C, after its fit at the previous C."""
        if j:
            self._done[j - 1][f].wait()
        try:
            before, C = self._last[f], float(self.Cs[j])
            known = None if before is None else before.fit
            if before is not None and known is not None and known.gap_at(C) <= tol:
                found = before.at(C)
            else:
                start = None if known is None else known.start
                found = self.folds.train(f, self._model(0, j, f, tol), start, stop)
            self._last[f] = found
            return found
        finally:
            self._done[j][f].set()

    def _forget(self) -> None:
        """Drop starts that are no longer needed or do not fit into memory."""
        dropped = worse(scores_of(self.table), self.folds.test_share)
        left = SHARE_FOR_STARTS * available_memory()
        # The next column starts from the last one.
        for j in reversed(range(len(self.table) - 1)):
            for entry in self.table[j]:
                if entry.fit is not None:
                    left -= entry.fit.nbytes
                    if dropped[j] or left < 0:
                        entry.fit = None

    def _refine(self, finalists: list[int]) -> None:
        """Train to the requested tolerance at some C."""
        places = [(j, f) for j in finalists for f in range(len(self.folds.splits))]
        tasks = [partial(self._fine, j, f) for j, f in places]
        with closing(in_order(tasks, self.n_threads)) as results:
            for j in finalists:
                self.table[j] = [next(results) for _ in self.folds.splits]
                self.on_column(float(self.Cs[j]), self.table[j])

    def _fine(self, j: int, f: int, stop: Event) -> FoldFit:
        known = self.table[j][f]
        is_there = known.fit is not None or not self.keeps_models
        if is_there and known.gap <= self.tol:
            return known
        start = None if known.fit is None else known.fit.start
        found = self.folds.train(f, self._model(1, j, f, self.tol), start, stop)
        found.seconds += known.seconds
        if not self.keeps_models:
            found.fit = None
        return found

    def _model(self, stage: int, j: int, f: int, tol: float) -> Classifier:
        return self.make(float(self.Cs[j]), tol, int(self.seeds[stage, f, j]))


def worse(scores: Scores, test_share: float) -> NDArray[np.bool_]:
    """Return which columns are significantly worse than the column with the best mean.

    Parameters
    ----------
    scores : ndarray of shape (n_folds, n_Cs)
    test_share : float
        n_test / n_train, on average.

    Returns
    -------
    ndarray of shape (n_Cs,)
        All False with one fold.
    """
    n_folds = len(scores)
    best = int(np.argmax(scores.mean(axis=0)))
    differences = scores[:, [best]] - scores
    if n_folds < 2:
        return np.zeros(scores.shape[1], np.bool_)
    variance = differences.var(axis=0, ddof=1)
    error = np.sqrt((1 / n_folds + test_share) * variance)
    quantile = float(student_t.ppf(1 - LEVEL, n_folds - 1))
    return np.asarray(differences.mean(axis=0) > quantile * error)


def has_passed(scores: Scores, test_share: float) -> bool:
    """Whether the last few columns are all significantly worse than the best."""
    return bool(worse(scores, test_share)[-PATIENCE:].sum() == PATIENCE)


def near_best(scores: Scores) -> NDArray[np.bool_]:
    """Return which columns have a mean within one standard error of the best mean."""
    means = scores.mean(axis=0)
    best = int(np.argmax(means))
    if len(scores) < 2:
        return np.asarray(means == means[best])
    error = float(scores[:, best].std(ddof=1) / np.sqrt(len(scores)))
    return np.asarray(means >= means[best] - error)


def warn_of_equal_scores(
    scores: Scores,
    C: float,
    baseline_scores: Callable[[], Iterable[float]],
    advice: str = ADVICE,
) -> None:
    """Warn if three or more values of C have the same score, and it is no better than a baseline.

    Parameters
    ----------
    scores : ndarray of shape (n_folds, n_Cs)
    C : float
        The chosen C.
    baseline_scores : callable
        Returns the scores of models that ignore the features.
    advice : str
        Possible causes, and what to do.
    """
    means = scores.mean(axis=0)
    if len(means) < 3 or np.ptp(means) > EQUAL * abs(means[0]):
        return
    baseline = mean_of(baseline_scores)
    if baseline is not None and means[0] <= baseline + EQUAL * abs(baseline):
        warn_user(
            f"all {len(means)} values of C have the same score ({means[0]:.4g}), not better than "
            f"a model that ignores the features ({baseline:.4g}); C = {C:g} was chosen. {advice}"
        )


def chosen(scores: Scores, *, one_standard_error: bool) -> int:
    """Return the column with the best mean, or the first within one standard error of it.

    Columns are ascending in C.
    """
    candidates = near_best(scores) if one_standard_error else scores.mean(axis=0)
    return int(np.argmax(candidates))


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
    """Score models that are proven to be within epsilon of the optimum, for all C in a range.

    Returns
    -------
    Cs : ndarray of shape (n_Cs,)
        All values of C at which a fold was trained, ascending.
    table : list of lists of FoldFit
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

    def scored_at(self, C: float, *, keeps: bool) -> FoldFit:
        """Return the best model at a C, with its score and its certificate at this C."""
        best = int(self.envelope.best(C))
        primal, dual = float(self.envelope.upper(C)), float(self.envelope.lower(C))
        proof = proof_of(primal, dual, float(self.envelope.zero(C)))
        is_own = self.tracer.fits[best].C == C
        found = self.tracer.fits[best] if keeps else None
        return FoldFit(found, self.scores[best], proof, self.seconds if is_own else 0.0)


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

    tracer = Tracer(folds.training_rows(number), model, np.random.RandomState(seed), stop)
    with folds.naming(number):
        C, gap = tracer.trace(*C_range, epsilon, MAX_FITS)
    if gap > epsilon and not stop.is_set():
        warn_user(
            f"fold {number + 1}: the path is proven to {gap:.2e} at C = {C:g} (requested: "
            f"{epsilon:g}); raise max_iter",
            ConvergenceWarning,
        )
    scores = [folds.score(number, found.model) for found in tracer.fits]
    return _Path(tracer, scores, time.perf_counter() - began)


def print_fits(C: float, gap: float, fits: Sequence[tuple[float, float]]) -> None:
    """Print a line about the fits of a C: scores, seconds and the largest gap."""
    scores = np.array([score for score, _ in fits])
    seconds = sum(seconds for _, seconds in fits)
    print(
        f"C {C:.4g}  score {scores.mean():.4f} (+-{scores.std():.4f})  gap {gap:.1e}  "
        f"{seconds:.2f} s",
        flush=True,
    )


def mean_model(column: Column) -> Classifier:
    """Return a model with the mean weights of the folds' models at a C."""
    models = [entry.fit.model for entry in column if entry.fit is not None]
    mean: Classifier = models[0]
    mean.coef_ = sum(model.coef_ for model in models) / len(models)
    mean.intercept_ = np.mean([model.intercept_ for model in models], axis=0)
    set_certificate(mean, None)
    return mean


def current_estimator(search: object) -> Classifier:
    """Return a copy of ``best_estimator_`` with the current weights of the search."""
    own = vars(search)
    best: Classifier = copy.copy(own["best_estimator_"])
    best.__dict__.pop("temperature_", None)
    kept = (*FITTED, "_coefficients", "temperature_")
    best.__dict__.update({name: own[name] for name in kept if name in own})
    return best
