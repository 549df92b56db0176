"""Scorers: scikit-learn's, the mean cost of mistakes, top-k accuracy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import check_scoring, get_scorer_names

from manyclass.estimators.costs import Costs, by_label, mean_cost
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.svc import MulticlassSVC
from manyclass.utils.suggestions import TOP_K, meant
from manyclass.utils.types import Array, RowsLike

COST = "cost"  # value of scoring
Classifier = MulticlassSVC | MultinomialLogisticRegression
# Called with a model, X, y and metadata by name, as in scikit-learn; larger is better.
Scorer: TypeAlias = Callable[..., float]
Scoring: TypeAlias = str | Scorer | None


@dataclass(frozen=True, slots=True, eq=False)
class CostScorer:
    """The negative mean cost of predictions, as in scikit-learn's scorers of losses.

    Attributes
    ----------
    costs : array-like, dict of dicts or Taxonomy
        Costs for ``by_label``, in the order of the estimator's classes.
    """

    costs: Costs

    def __call__(
        self,
        estimator: Classifier,
        X: RowsLike,
        y: ArrayLike,
        sample_weight: Array | None = None,
    ) -> float:
        """Score a model."""
        known = by_label(self.costs, estimator.classes_)
        return -mean_cost(known, np.asarray(y), estimator.predict(X), sample_weight)


@dataclass(frozen=True, slots=True, eq=False)
class TopKScorer:
    """The fraction of rows whose label is among the k best classes.

    Attributes
    ----------
    k : int
        A model with fewer classes predicts all of them.
    """

    k: int

    def __call__(
        self,
        estimator: Classifier,
        X: RowsLike,
        y: ArrayLike,
        sample_weight: Array | None = None,
    ) -> float:
        """Score a model; labels that are not its classes are never among the best."""
        best = estimator.predict_top_k(X, min(self.k, len(estimator.classes_)))
        hits = (best == np.asarray(y)[:, None]).any(axis=1)
        return float(np.average(hits, weights=sample_weight))


def top_k_scorer(scoring: Scoring) -> TopKScorer | None:
    """Return the scorer for a name such as "top_3_accuracy", or None for other names."""
    found = TOP_K.fullmatch(scoring) if isinstance(scoring, str) else None
    return None if found is None else TopKScorer(int(found[1]))


def check_top_k(scorer: Scorer, n_classes: int) -> None:
    """Refuse a top-k score with k classes or fewer, which is always 1.

    Raises
    ------
    ValueError
    """
    if isinstance(scorer, TopKScorer) and scorer.k >= n_classes:
        raise ValueError(
            f"scoring='top_{scorer.k}_accuracy' is 1 for every model of {n_classes} classes"
        )


def scorer_of(model: Classifier, scoring: str | Scorer) -> Scorer:
    """Return scikit-learn's scorer for a model, given the scorer or its name.

    Raises
    ------
    ValueError
        If no scorer has this name.
    """
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        own = [COST] if hasattr(model, "costs") else []
        similar = meant(scoring, [*get_scorer_names(), *own])
        raise ValueError(
            f"scoring={scoring!r} is not a score of scikit-learn "
            "(sklearn.metrics.get_scorer_names())" + similar
        )
    scorer: Scorer = check_scoring(model, scoring=scoring)
    return scorer


def scorer_with_costs(model: Classifier, scoring: Scoring, costs: Costs | None) -> Scorer:
    """Return the function that computes a score, with these costs for ``scoring="cost"``.

    Raises
    ------
    ValueError
        If the name is unknown, or costs are missing.
    """
    if isinstance(scoring, str) and scoring == COST:
        if not hasattr(model, "costs"):
            raise ValueError(
                "scoring='cost' needs costs=, a parameter of MulticlassSVCCV; without it, choose C "
                "by scoring='neg_log_loss' and predict by predict(X, costs=...)"
            )
        if costs is None:
            raise ValueError("scoring='cost' is the mean cost of mistakes; give costs=")
        return CostScorer(costs)
    return top_k_scorer(scoring) or scorer_of(model, scoring or "accuracy")
