"""Scores of models on held-out rows: scikit-learn's, mean costs of mistakes, the k best classes."""

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

COST = "cost"  # as scoring
Classifier = MulticlassSVC | MultinomialLogisticRegression
# Called with a model, X, y and metadata by name, as scikit-learn's; the better the larger.
Scorer: TypeAlias = Callable[..., float]
Scoring: TypeAlias = str | Scorer | None


@dataclass(frozen=True, slots=True, eq=False)
class CostScorer:
    """The mean cost of predictions, negative, as scikit-learn's scorers have losses.

    Attributes
    ----------
    costs : what ``by_label`` takes
        In the order of the classes of the estimator that is scored.
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
    """The share of the rows whose label is among the k best classes.

    Attributes
    ----------
    k : int
        Of a model with fewer classes, all are the best ones.
    """

    k: int

    def __call__(
        self,
        estimator: Classifier,
        X: RowsLike,
        y: ArrayLike,
        sample_weight: Array | None = None,
    ) -> float:
        """Score a model; labels that it does not know are never among the best."""
        best = estimator.predict_top_k(X, min(self.k, len(estimator.classes_)))
        hits = (best == np.asarray(y)[:, None]).any(axis=1)
        return float(np.average(hits, weights=sample_weight))


def top_k_scorer(scoring: Scoring) -> TopKScorer | None:
    """Return the scorer of a name such as "top_3_accuracy"; None of others."""
    found = TOP_K.fullmatch(scoring) if isinstance(scoring, str) else None
    return None if found is None else TopKScorer(int(found[1]))


def check_top_k(scorer: Scorer, n_classes: int) -> None:
    """Refuse a score of more classes than there are, which is 1.

    Raises
    ------
    ValueError
    """
    if isinstance(scorer, TopKScorer) and scorer.k >= n_classes:
        raise ValueError(
            f"scoring='top_{scorer.k}_accuracy' is 1 for every model of {n_classes} classes"
        )


def scorer_of(model: Classifier, scoring: str | Scorer) -> Scorer:
    """Return scikit-learn's scorer of a model, by its name or itself.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        own = [COST] if hasattr(model, "costs") else []
        similar = meant(scoring, [*get_scorer_names(), *own])
        raise ValueError(
            f"scoring={scoring!r} is no score of scikit-learn (sklearn.metrics.get_scorer_names())"
            + similar
        )
    scorer: Scorer = check_scoring(model, scoring=scoring)
    return scorer


def scorer_with_costs(model: Classifier, scoring: Scoring, costs: Costs | None) -> Scorer:
    """Return the function that computes a score, of ``scoring="cost"`` by these costs.

    Raises
    ------
    ValueError
        If there is no such score, or costs are missing.
    """
    if isinstance(scoring, str) and scoring == COST:
        if costs is None:
            raise ValueError("scoring='cost' is the mean cost of mistakes; give costs")
        return CostScorer(costs)
    return top_k_scorer(scoring) or scorer_of(model, scoring or "accuracy")
