"""Cross-validation over a grid of C, without the fits that cannot matter.

1. All folds are trained to a coarse tolerance, at one C after the other, ascending; each fit starts
   where the last one of its fold ended. A model that is proven to be good enough at the next C,
   too, stays. The climb ends after two C in a row that are significantly worse than the best.
2. The C that are not significantly worse than the best are trained to the wanted tolerance, each
   fit from its coarse one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from threading import Event

import numpy as np
from numpy.typing import NDArray

from manyclass.model_selection.choice import Column, scores_of
from manyclass.model_selection.fitting import Classifier
from manyclass.model_selection.folds import Folds, Scored
from manyclass.model_selection.racing import has_passed, near_best, worse
from manyclass.model_selection.workers import in_order
from manyclass.utils.memory import available_memory

COARSE = 1e-2
SHARE_FOR_STARTS = 0.2  # of the memory: what coarse fits may keep for the fine ones

Maker = Callable[[float, float, int], Classifier]  # of C, tol, seed
Tell = Callable[[float, Column], None]


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
        Of coarse and fine fits.
    n_threads : int
    keeps_models : bool
        Whether the models of the fine fits are wanted.
    tell : callable
        Is given each C with its fits when they are done.
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
        tell: Tell,
    ) -> None:
        self.folds = folds
        self.Cs = Cs
        self.make = make
        self.tol = tol
        self.seeds = seeds
        self.n_threads = n_threads
        self.keeps_models = keeps_models
        self.tell = tell
        self.table: list[Column] = []
        self._last: list[Scored | None] = [None] * len(folds.splits)
        self._done = [[Event() for _ in folds.splits] for _ in Cs]

    def run(self, *, one_standard_error: bool) -> list[int]:
        """Fill the table, which may end before the last C.

        Returns
        -------
        list of int
            The numbers of the C among which to choose: all were trained to `tol`.
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
                self.tell(float(C), self.table[-1])
                self._forget()
                if has_passed(scores_of(self.table), self.folds.test_share):
                    break

    def _coarse(self, j: int, f: int, tol: float, stop: Event) -> Scored:
        """Fit a fold at a C, once it was fitted at the C before."""
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
        """Drop starts that no fit needs any more, and those that do not fit into memory."""
        dropped = worse(scores_of(self.table), self.folds.test_share)
        left = SHARE_FOR_STARTS * available_memory()
        # The last column is what the next one starts from.
        for j in reversed(range(len(self.table) - 1)):
            for entry in self.table[j]:
                if entry.fit is not None:
                    left -= entry.fit.nbytes
                    if dropped[j] or left < 0:
                        entry.fit = None

    def _refine(self, finalists: list[int]) -> None:
        """Train to the wanted tolerance at some C."""
        places = [(j, f) for j in finalists for f in range(len(self.folds.splits))]
        tasks = [partial(self._fine, j, f) for j, f in places]
        with closing(in_order(tasks, self.n_threads)) as results:
            for j in finalists:
                self.table[j] = [next(results) for _ in self.folds.splits]
                self.tell(float(self.Cs[j]), self.table[j])

    def _fine(self, j: int, f: int, stop: Event) -> Scored:
        known = self.table[j][f]
        is_there = known.fit is not None or not self.keeps_models
        if is_there and known.certificate.relative_gap <= self.tol:
            return known
        start = None if known.fit is None else known.fit.start
        found = self.folds.train(f, self._model(1, j, f, self.tol), start, stop)
        found.seconds += known.seconds
        if not self.keeps_models:
            found.fit = None
        return found

    def _model(self, stage: int, j: int, f: int, tol: float) -> Classifier:
        return self.make(float(self.Cs[j]), tol, int(self.seeds[stage, f, j]))
