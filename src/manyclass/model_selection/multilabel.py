"""``MultilabelSVCCV``: one C for all labels, chosen by cross-validation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from numbers import Integral
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.model_selection import KFold, check_cv
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import (
    _get_feature_names,
    check_consistent_length,
    check_is_fitted,
)

from manyclass.arrays.input_arrays import checked_rows, on_host, placed, rows_of
from manyclass.arrays.namespace import is_on_device
from manyclass.estimators.parameters.documented import documented
from manyclass.estimators.validation import checked_weights, input_restored
from manyclass.model_selection.base import CrossValidatedC, SearchResult, shared_parameters
from manyclass.model_selection.baselines import MajorityLabels
from manyclass.model_selection.folds import (
    CV,
    Column,
    FoldFit,
    RowMaker,
    Split,
    checked_splits,
    scores_of,
)
from manyclass.model_selection.scorers import Scoring, scorer_of
from manyclass.model_selection.search import (
    chosen,
    has_passed,
    warn_of_equal_scores,
)
from manyclass.multilabel.label_sets import encoded
from manyclass.multilabel.metrics import f1_scores
from manyclass.multilabel.svc import MultilabelSVC
from manyclass.utils.input_rows import rows_as_given
from manyclass.utils.scikit_learn import explain_rows, fit_context, suggests_parameters
from manyclass.utils.suggestions import OF_MULTILABEL
from manyclass.utils.types import (
    Array,
    CsrArray,
    LossName,
    Rows,
    RowsLike,
    Threshold,
    WeightsName,
)

N_FOLDS = 5
SCORES = ("f1_micro", "f1_macro")  # computed here, as scikit-learn's functions need a second matrix
ADVICE = (
    "The models may give all rows the same labels; choose another scoring, such as 'f1_macro', or "
    "other values of C"
)
CONSTANT = r"\d+ of \d+ labels occur in all rows or in none"


RowsOfFold = Callable[[int], Rows]  # takes the number of a fold, from 0


@documented(like=MultilabelSVC)
class MultilabelSVCCV(CrossValidatedC, MultilabelSVC):
    """``MultilabelSVC`` with C chosen by cross-validation, the same for all labels.

    The folds are trained to `tol` at each C, in ascending order. The search ends after two values
    that are significantly worse than the best one (corrected resampled t-test, 5 %). The C with the
    best mean score is chosen, and a model is trained on all rows.

    Parameters
    ----------
    Cs : int or array-like, default=10
        Values of C to compare. An int: the number of values between 1e-4 and 1e4, evenly spaced on
        a log scale.
    cv : int, splitter or iterable, default=None
        Folds. None: 5 random folds. An int: the number of random folds. Otherwise a splitter or an
        iterable of (train, test) pairs.
    scoring : str or callable, default=None
        A scorer of scikit-learn for indicator matrices, or its name; None is "f1_micro".
    random_state : int, RandomState instance, default=None
        Draws the folds and orders the updates.
    verbose : int, default=0
        1: print a line for each C.

    Attributes
    ----------
    C_ : float
        The chosen C.
    Cs_ : ndarray of shape (n_Cs,)
        Values of C, ascending.
    scores_ : ndarray of shape (n_folds, n_Cs)
        Scores; NaN if a C was skipped because smaller C were significantly better.
    best_score_ : float
        Mean of the folds' scores at `C_`.
    gaps_ : ndarray of shape (n_folds, n_Cs)
        Proven relative gap of each fit; NaN if `prune` is not 0.
    certificates_ : ndarray of shape (n_folds, n_Cs)
        Certificate of each fit, or None.
    fit_times_ : ndarray of shape (n_folds, n_Cs)
        Seconds of each fit.
    cv_results_ : dict
        Scores and times, as in ``GridSearchCV``.
    refit_time_ : float
        Seconds of the final fit on all rows.
    best_estimator_ : MultilabelSVC
        The fitted model.
    classes_, coef_, intercept_, thresholds_, certificate_, n_iter_, n_features_in_
        Attributes of ``best_estimator_``, and the others of ``MultilabelSVC``.

    See Also
    --------
    MultilabelSVC : The same model for a given C.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from manyclass import MultilabelSVCCV
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> model = MultilabelSVCCV(Cs=[0.001, 0.01, 0.1], random_state=0).fit(X, Y)
    >>> model.C_ in model.Cs_
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
    }

    best_estimator_: MultilabelSVC

    @suggests_parameters(OF_MULTILABEL)
    def __init__(
        self,
        *,
        Cs: int | Iterable[float] = 10,
        cv: CV = None,
        scoring: Scoring = None,
        one_standard_error: bool = False,
        loss: LossName = "hinge",
        threshold: Threshold = "zero",
        n_folds: int = 5,
        tol: float = 1e-3,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        max_iter: int = 1000,
        weights: WeightsName = "auto",
        prune: float = 0.0,
        device: str | Sequence[str] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.one_standard_error = one_standard_error
        self.loss = loss
        self.threshold = threshold
        self.n_folds = n_folds
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.max_iter = max_iter
        self.weights = weights
        self.prune = prune
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context
    def fit(self, X: RowsLike, y: object, sample_weight: ArrayLike | None = None) -> Self:
        """Choose C by cross-validation, and fit the model on all rows.

        Parameters
        ----------
        X, y
            As in ``MultilabelSVC.fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in training; scores use equal weights.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in ``MultilabelSVC.fit``; or if a C is not positive, cv gives no folds, or a score is
            not a finite number.
        """
        with input_restored(self):
            self._search(X, y, sample_weight, None)
        return self

    def _search(
        self, X: RowsLike, y: object, sample_weight: ArrayLike | None, maker: RowMaker | None
    ) -> None:
        """Choose C and fit; `maker` as in ``fit_sets_with_maker``."""
        Cs, random = self._grid(), check_random_state(self.random_state)
        assert Cs is not None  # "path" is refused
        rows, indicator, weights = self._checked(X, y, sample_weight)
        splits = self._splits(rows, indicator, random)
        folds = _folds(rows, splits, maker)
        seeds = random.randint(2**31 - 1, size=(len(splits) + 1, len(Cs)))
        share = float(np.mean([len(test) / len(train) for train, test in splits]))
        table: list[Column] = []
        for j, C in enumerate(Cs.tolist()):
            table.append(self._column(folds, indicator, weights, splits, C, seeds[:, j]))
            self._print(C, table[-1])
            scores = scores_of(table)
            if has_passed(scores, share):
                break
        best = chosen(scores, one_standard_error=self.one_standard_error)
        C = float(Cs[best])
        warn_of_equal_scores(
            scores, C, partial(self._baseline_scores, rows, indicator, splits), ADVICE
        )
        began = time.perf_counter()
        model = self._model(C, int(seeds[-1, best])).fit(X, y, sample_weight)
        self.refit_time_ = time.perf_counter() - began
        params = model.get_params()
        fitted = {name: v for name, v in vars(model).items() if name not in params}
        found = SearchResult(Cs, table, best).attributes()
        self.__dict__ = {**vars(self), **fitted, **found, "best_estimator_": model}

    def to_sklearn(self) -> OneVsRestClassifier:
        """Return ``best_estimator_.to_sklearn()``."""
        check_is_fitted(self)
        return self.best_estimator_.to_sklearn()

    def _checked(
        self, X: RowsLike, y: object, sample_weight: ArrayLike | None
    ) -> tuple[Rows, CsrArray, Array | None]:
        """Return the data from which folds are sliced."""
        if y is None:
            raise ValueError("this estimator requires y to be passed, but the target y is None")
        rows = self._checked_rows(X)
        indicator, _ = encoded(on_host(y))
        weights = None if sample_weight is None else checked_weights(sample_weight, rows)
        check_consistent_length(rows, indicator)
        return rows, indicator, weights

    def _checked_rows(self, X: RowsLike) -> Rows:
        if not isinstance(X, np.ndarray) and is_on_device(X):
            return checked_rows(X)
        given, types = rows_as_given(X)
        try:
            rows: Rows = check_array(
                given, accept_sparse="csr", dtype=types, ensure_min_samples=2, input_name="X"
            )
        except ValueError as error:
            explain_rows(error, given, _get_feature_names(X))
            raise
        return rows if self.device is None else placed(rows, self.device)

    def _splits(
        self, rows: Rows, indicator: CsrArray, random: np.random.RandomState
    ) -> list[Split]:
        if self.cv is None or isinstance(self.cv, Integral):
            number = N_FOLDS if self.cv is None else int(self.cv)
            if rows.shape[0] < number:
                raise ValueError(f"there are {rows.shape[0]} rows, fewer than cv={number} folds")
            folds = KFold(number, shuffle=True, random_state=random.randint(2**31 - 1))
            return checked_splits(folds.split(rows), np.empty(rows.shape[0]))
        return checked_splits(check_cv(self.cv).split(rows, indicator), np.empty(rows.shape[0]))

    def _model(self, C: float, seed: int) -> MultilabelSVC:
        own = shared_parameters(self, MultilabelSVC)
        return MultilabelSVC(**{**own, "C": C, "random_state": seed})

    def _column(
        self,
        folds: RowsOfFold,
        indicator: CsrArray,
        weights: Array | None,
        splits: list[Split],
        C: float,
        seeds: NDArray[np.int64],
    ) -> Column:
        """Train and score every fold at a C."""
        column: Column = []
        for number, ((train, test), seed) in enumerate(zip(splits, seeds, strict=False), 1):
            model, rows = self._model(C, int(seed)), folds(number - 1)
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", CONSTANT, UserWarning)  # of a fold
                given = None if weights is None else weights[train]
                model.fit(rows_of(rows, train), indicator[train], given)
            seconds = time.perf_counter() - began
            with config_context(array_api_dispatch=False):  # the indicator is a SciPy array
                score = self._score(model, rows_of(rows, test), indicator[test])
            if not np.isfinite(score):
                raise ValueError(f"fold {number}: the score is {score}; check scoring")
            column.append(FoldFit(None, score, model.certificate_, seconds))
        return column

    def _baseline_scores(
        self, rows: Rows, indicator: CsrArray, splits: list[Split]
    ) -> Iterator[float]:
        """Yield the scores of models that predict the labels of most training rows."""
        for train, test in splits:
            model = MajorityLabels(indicator[train].mean(axis=0) > 0.5)
            yield self._score(model, rows_of(rows, test), indicator[test])

    def _score(
        self, model: MultilabelSVC | MajorityLabels, rows: Rows, indicator: CsrArray
    ) -> float:
        scoring = self.scoring or SCORES[0]
        if isinstance(scoring, str) and scoring in SCORES:
            found = f1_scores(indicator, model.predict(rows))
            return found.micro if scoring == SCORES[0] else found.macro
        return float(scorer_of(model, scoring)(model, rows, indicator))


def fit_sets_with_maker(
    model: MultilabelSVCCV, X: RowsLike, y: object, maker: RowMaker | None
) -> None:
    """Fit a model as ``fit`` does, with features computed from the training rows of each fold.

    Parameters
    ----------
    model : MultilabelSVCCV
    X, y
        As in ``fit``; with the features computed from all rows, for the final model.
    maker : callable, or None
        Takes the training rows of a fold, and returns X with the features computed from them.
    """
    if maker is None:
        model.fit(X, y)
        return
    with input_restored(model):
        model._search(X, y, None, maker)


def _folds(rows: Rows, splits: list[Split], maker: RowMaker | None) -> RowsOfFold:
    """Return a function that returns X with the features of a fold, which are made once."""
    if maker is None:
        return lambda _: rows
    return cache(lambda number: maker(splits[number][0]))
