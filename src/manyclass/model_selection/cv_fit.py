"""Fit of the estimators that choose C by cross-validation."""

from __future__ import annotations

import time
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import _check_sample_weight

from manyclass.arrays.input_arrays import on_host
from manyclass.estimators.coefficients import coefficients_of
from manyclass.estimators.costs import Costs
from manyclass.estimators.linear import LinearClassifier
from manyclass.estimators.validation import class_weights, input_restored, validated
from manyclass.model_selection.base import CrossValidatedC, SearchResult, shared_parameters
from manyclass.model_selection.folds import (
    Column,
    Folds,
    RowMaker,
    checked_splits,
    scores_of,
)
from manyclass.model_selection.path import check_range
from manyclass.model_selection.scorers import (
    Classifier,
    Scorer,
    check_top_k,
    scorer_with_costs,
)
from manyclass.model_selection.search import (
    FITTED,
    OnColumn,
    Search,
    chosen,
    mean_model,
    search_paths,
    warn_of_equal_scores,
)
from manyclass.utils.machine import effective_n_jobs
from manyclass.utils.scikit_learn import fit_context
from manyclass.utils.suggestions import first_of
from manyclass.utils.types import Array, ClassWeight, RowsLike, Settings
from manyclass.utils.user_warning import warn_user


class CrossValidationMixin(CrossValidatedC, LinearClassifier, BaseEstimator):
    """The fit of an estimator that chooses C from `Cs` by cross-validation."""

    C_range: tuple[float, float]
    epsilon: float
    fit_intercept: bool
    refit: bool
    tol: float
    class_weight: ClassWeight
    costs: Costs | None
    random_state: int | np.random.RandomState | None
    best_estimator_: Classifier

    _model_class: ClassVar[type[Classifier]]

    @fit_context
    def fit(
        self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: object
    ) -> Self:
        """Choose C by cross-validation, and fit the model with this C.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in training and in the scores.
        **params
            `groups` for the splitter; with metadata routing enabled, the metadata that the splitter
            and the scorer request.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in ``fit`` of the estimator without CV; if `Cs`, `C_range` or `cv` are invalid; if a
            fold cannot be trained or scored (the message names the fold).
        TypeError
            If a name in `params` is unknown.

        Warns
        -----
        UserWarning
            If the training rows of a fold lack a class whose intercept is not regularized. Half a
            row with all features 0 is then added for the class.
        """
        with input_restored(self):
            self._fit(X, y, sample_weight, params)
        return self

    def score(
        self,
        X: RowsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **score_params: object,
    ) -> float:
        """Compute the score of `scoring` on the given rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        **score_params
            Metadata for the scorer, with metadata routing enabled.

        Returns
        -------
        float
        """
        if sample_weight is not None:
            score_params["sample_weight"] = sample_weight
        if _routing_enabled():
            score_params = process_routing(self, "score", **score_params).scorer.score
        elif set(score_params) - {"sample_weight"}:
            raise TypeError(f"score has no parameter {min(score_params)!r}")
        return float(self._scorer()(self, X, y, **score_params))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata that the splitter and the scorer request."""
        to_splitter = MethodMapping().add(caller="fit", callee="split")
        to_scorer = MethodMapping().add(caller="score", callee="score")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=self.cv, method_mapping=to_splitter)
            .add(scorer=self._scorer(), method_mapping=to_scorer.add(caller="fit", callee="score"))
        )

    def _fit(
        self,
        X: RowsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        params: Settings,
        maker: RowMaker | None = None,
    ) -> None:
        random = check_random_state(self.random_state)
        folds, choice = self._choose(X, y, sample_weight, params, random, self._print, maker)
        began = time.perf_counter()
        if self.refit:
            model = self._refitted(folds, choice.C, random)
        else:
            model = mean_model(choice.table[choice.best])
        self.refit_time_ = time.perf_counter() - began
        self._set_fitted(model, choice)

    def _choose(
        self,
        X: RowsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        params: Settings,
        random: np.random.RandomState,
        on_column: OnColumn,
        maker: RowMaker | None,
    ) -> tuple[Folds, SearchResult]:
        """Choose C; set only the attributes of the input validation."""
        Cs = self._grid()
        rows, targets = validated(self, X, y, on_device=True)
        weights = None
        if sample_weight is not None:
            given = on_host(sample_weight)
            weights = _check_sample_weight(given, targets, ensure_non_negative=True)
        routed = self._routed(weights, params)
        splitter = check_cv(self.cv, targets, classifier=True)
        splits = checked_splits(splitter.split(rows, targets, **routed.splitter.split), targets)
        scorer = self._scorer()
        check_top_k(scorer, len(np.unique(targets)))
        classes = self._classes_of(targets, weights)
        folds = Folds(rows, targets, weights, splits, scorer, routed.scorer.score, classes, maker)
        self._warn_of_missing(folds)
        Cs, table, among = self._searched(folds, Cs, random, on_column)
        scores = scores_of(table)[:, among]
        best = among[chosen(scores, one_standard_error=self.one_standard_error)]
        self._warn(max(entry.gap for entry in table[best]))
        warn_of_equal_scores(scores_of(table), float(Cs[best]), folds.baseline_scores)
        return folds, SearchResult(Cs, table, best)

    def _searched(
        self,
        folds: Folds,
        Cs: NDArray[np.float64] | None,
        random: np.random.RandomState,
        on_column: OnColumn,
    ) -> tuple[NDArray[np.float64], list[Column], list[int]]:
        """Return the values of C, the fits of the first of them, and the indices to choose from."""
        n_folds = len(folds.splits)
        n_threads = min(n_folds, effective_n_jobs(self.n_jobs))
        n_inner = max(1, effective_n_jobs(self.n_jobs) // n_threads)

        def make(C: float, tol: float, seed: int) -> Classifier:
            run = {"C": C, "tol": tol, "random_state": seed, "n_jobs": n_inner, "verbose": 0}
            return self._model(**run)

        if Cs is None:
            Cs, table = search_paths(
                folds, self.C_range, self.epsilon, make, random, n_threads, keeps=not self.refit
            )
            for C, column in zip(Cs, table, strict=True):
                on_column(float(C), column)
            return Cs, table, list(range(len(Cs)))
        seeds = random.randint(2**31 - 1, size=(2, n_folds, len(Cs)))
        search = Search(
            folds,
            Cs,
            make,
            tol=float(self.tol),
            seeds=seeds,
            n_threads=n_threads,
            keeps_models=not self.refit,
            on_column=on_column,
        )
        among = search.run(one_standard_error=self.one_standard_error)
        return Cs, search.table, among

    def _refitted(self, folds: Folds, C: float, random: np.random.RandomState) -> Classifier:
        """Return a model trained on all rows with the chosen parameters."""
        model = self._model(
            C=C,
            random_state=int(random.randint(2**31 - 1)),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        model.fit(folds.X, folds.y, folds.sample_weight)
        return model

    def _set_fitted(self, model: Classifier, choice: SearchResult) -> None:
        """Set the fitted attributes, all at once, as Ctrl-C may come."""
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        self.__dict__.pop("temperature_", None)
        self.__dict__.update(
            {name: getattr(model, name) for name in FITTED},
            best_estimator_=model,
            _coefficients=coefficients_of(model),
            **choice.attributes(),
        )

    def _model(self, **settings: object) -> Classifier:
        """Return an estimator with the parameters of this one, some of them replaced."""
        return self._model_class(**{**shared_parameters(self, self._model_class), **settings})

    def _grid(self) -> NDArray[np.float64] | None:
        """Return the grid, ascending; None for the path."""
        if len(self.C_range) != 2:
            raise ValueError(f"C_range must be (C_min, C_max), got {self.C_range!r}")
        check_range(*self.C_range, self.epsilon)
        return super()._grid()

    def _routed(self, weights: Array | None, params: Settings) -> Bunch:
        """Return the metadata of the splitter and the scorer."""
        if _routing_enabled():
            if weights is not None:
                params = {**params, "sample_weight": weights}
            return process_routing(self, "fit", **params)
        unknown = set(params) - {"groups"}
        if unknown:
            raise TypeError(f"fit has no parameter {min(unknown)!r}")
        score = {} if weights is None else {"sample_weight": weights}
        return Bunch(splitter=Bunch(split=params), scorer=Bunch(score=score))

    def _scorer(self) -> Scorer:
        costs = getattr(self, "costs", None)
        return scorer_with_costs(self._model_class(), self.scoring, costs)

    def _classes_of(self, y: Array, sample_weight: Array | None) -> Array:
        """Return the classes that have rows with a positive weight."""
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        return np.unique(y[weights * class_weights(self.class_weight, y, weights) > 0])

    def _warn_of_missing(self, folds: Folds) -> None:
        """Warn of classes with unregularized intercepts that the training rows of a fold lack."""
        if getattr(self, "regularize_intercept", True) or not self.fit_intercept:
            return
        missing = folds.missing()
        if missing:
            classes = np.unique(np.concatenate(list(missing.values()))).tolist()
            where = "fold" if len(missing) == 1 else "folds"
            lacked = "class" if len(classes) == 1 else "classes"
            warn_user(
                f"the training rows of {where} {', '.join(map(str, missing))} lack {lacked} "
                f"{first_of(classes)}: the free intercept of such a class is trained with half a "
                "row; use stratified folds, fewer of them, or regularize_intercept=True",
            )

    def _warn(self, gap: float) -> None:
        """Warn if the compared fits have a larger gap than requested."""
        if not isinstance(self.Cs, str) and gap > self.tol:
            warn_user(
                f"the folds' fits stopped at relative gaps up to {gap:.2e} (requested: "
                f"{self.tol:g}): "
                "scale the features, or raise max_iter or tol",
                ConvergenceWarning,
            )


def choose(
    model: CrossValidationMixin,
    X: RowsLike,
    y: ArrayLike,
    random: np.random.RandomState,
    on_column: OnColumn,
    maker: RowMaker | None = None,
) -> SearchResult:
    """Choose C as ``fit`` does, without training a final model.

    Parameters
    ----------
    model : MulticlassSVCCV or MultinomialLogisticRegressionCV
    X, y : array-like
        As in ``fit``.
    random : RandomState
        Orders the updates.
    on_column : callable
        Called with each C and its fits.
    maker : callable, default=None
        See ``Folds``.
    """
    return model._choose(X, y, None, {}, random, on_column, maker)[1]


def fit_with_maker(
    model: CrossValidationMixin, X: RowsLike, y: ArrayLike, maker: RowMaker | None
) -> None:
    """Fit a model as ``fit`` does, with features computed from the training rows of each fold.

    Parameters
    ----------
    model : MulticlassSVCCV or MultinomialLogisticRegressionCV
    X, y : array-like
        As in ``fit``; with the features computed from all rows, for the final model.
    maker : callable, or None
        See ``Folds``.
    """
    with input_restored(model):
        model._fit(X, y, None, {}, maker)
