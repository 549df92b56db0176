"""Base of the estimators that choose C by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from manyclass.model_selection.folds import CV, Column
from manyclass.model_selection.scorers import Scoring
from manyclass.model_selection.search import print_fits
from manyclass.utils.types import Numbers, Settings


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """A table of fits, and the chosen C.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        Ascending.
    table : list of lists of FoldFit
        Fits by C, then by fold; may end before the last C.
    best : int
        Index of the chosen C.
    """

    Cs: Numbers
    table: list[Column]
    best: int

    @property
    def C(self) -> float:
        """The chosen C."""
        return float(self.Cs[self.best])

    @property
    def scores(self) -> Numbers:
        """Scores, shape (n_folds, n_Cs); NaN if nothing was trained."""
        return self._filled([[entry.score for entry in column] for column in self.table])

    @property
    def gaps(self) -> Numbers:
        """Proven relative gaps, shape (n_folds, n_Cs)."""
        return self._filled([[entry.gap for entry in column] for column in self.table])

    @property
    def seconds(self) -> Numbers:
        """Return the seconds of training and scoring, shape (n_folds, n_Cs)."""
        return self._filled([[entry.seconds for entry in column] for column in self.table])

    def certificates(self) -> NDArray[np.object_]:
        """Return the certificates, shape (n_folds, n_Cs); None if nothing was trained."""
        found = np.full((len(self.table[0]), len(self.Cs)), None)
        for j, column in enumerate(self.table):
            for f, entry in enumerate(column):
                found[f, j] = entry.certificate
        return found

    def _filled(self, columns: list[list[float]]) -> Numbers:
        found = np.full((len(self.table[0]), len(self.Cs)), np.nan)
        found[:, : len(columns)] = np.array(columns, np.float64).T
        return found

    def attributes(self) -> Settings:
        """Return the fitted attributes that describe the search."""
        scores = self.scores
        return {
            "C_": self.C,
            "Cs_": self.Cs,
            "scores_": scores,
            "gaps_": self.gaps,
            "fit_times_": self.seconds,
            "certificates_": self.certificates(),
            "best_score_": float(scores[:, self.best].mean()),
        }


class CrossValidatedC:
    """Parameters, values of C and fitted attributes of a search for C."""

    Cs: int | Literal["path"] | Iterable[float]
    cv: CV
    scoring: Scoring
    one_standard_error: bool
    verbose: int
    C_: float
    Cs_: NDArray[np.float64]
    scores_: NDArray[np.float64]
    gaps_: NDArray[np.float64]
    fit_times_: NDArray[np.float64]
    certificates_: NDArray[np.object_]
    best_score_: float
    refit_time_: float

    @property
    def cv_results_(self) -> Settings:
        """Results of the search, as in ``GridSearchCV``: a dict of arrays with an entry for each C.

        ``params``, ``param_C``, ``split0_test_score`` and so on, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``, ``mean_fit_time``, ``std_fit_time``. If nothing was
        trained at a C, its scores are NaN and its rank is the last.
        """
        check_is_fitted(self)
        scores, seconds = self.scores_, self.fit_times_
        mean = scores.mean(axis=0)
        lowest = np.nan_to_num(-mean, nan=np.inf)
        return {
            "params": [{"C": C} for C in self.Cs_.tolist()],
            "param_C": np.ma.array(self.Cs_),
            **{f"split{f}_test_score": row for f, row in enumerate(scores)},
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=0),
            "rank_test_score": rankdata(lowest, method="min").astype(np.int32),
            "mean_fit_time": seconds.mean(axis=0),
            "std_fit_time": seconds.std(axis=0),
        }

    def _grid(self) -> NDArray[np.float64] | None:
        """Return the values of C, ascending; None for the path."""
        if isinstance(self.Cs, str):
            return None
        if isinstance(self.Cs, Integral):
            return np.logspace(-4, 4, int(self.Cs))
        Cs = np.unique(np.asarray(self.Cs, np.float64).ravel())
        if not len(Cs) or not (Cs > 0).all() or not np.isfinite(Cs).all():
            raise ValueError(f"Cs must be positive, finite numbers, at least one; got {self.Cs!r}")
        return Cs

    def _print(self, C: float, column: Column) -> None:
        """Print a line about the fits of a C, if requested."""
        if self.verbose:
            gap = max(entry.gap for entry in column)
            print_fits(C, gap, [(entry.score, entry.seconds) for entry in column])


def shared_parameters(search: BaseEstimator, kind: type[BaseEstimator]) -> Settings:
    """Return the parameters that a search shares with the estimator without CV."""
    known = kind().get_params()
    own: Settings = search.get_params(deep=False)
    return {name: value for name, value in own.items() if name in known}
