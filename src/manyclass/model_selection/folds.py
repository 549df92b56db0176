"""The folds of a data set; training and scoring of models on them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from threading import Event
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import log_loss

from manyclass.model_selection.fitting import Classifier, Fit, fit
from manyclass.problem.solution import Certificate
from manyclass.utils.types import Array, Rows

Indices = NDArray[np.intp]
Split = tuple[Indices, Indices]  # rows to train and to test on


class Scorer(Protocol):
    """Protocol of the result of scikit-learn's ``check_scoring``."""

    def __call__(self, estimator: object, X: ArrayLike, y: ArrayLike, **metadata: Any) -> float:
        """Score a model, the better the larger."""
        ...


@dataclass(slots=True, eq=False)
class Scored:
    """A fit on the training rows of a fold, and its score on the others.

    Attributes
    ----------
    fit : Fit, or None
        None where it is no longer needed.
    score : float
    certificate : Certificate
        Of the model at the C that it stands for.
    seconds : float
    """

    fit: Fit | None
    score: float
    certificate: Certificate
    seconds: float

    def at(self, C: float) -> Scored:
        """Return the same model as one for a larger C, with what is proven of it there."""
        assert self.fit is not None
        primal = self.fit.penalty + C * self.fit.loss
        gap = max(0.0, primal - self.fit.dual_objective)
        proof = Certificate(primal, self.fit.dual_objective, gap, gap / primal, np.nan)
        return replace(self, certificate=proof, seconds=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """The rows of all folds; each fit slices its own from X, of which there is one copy.

    Attributes
    ----------
    X : ndarray or CSR of shape (n, d)
    y : ndarray of shape (n,)
    sample_weight : ndarray of shape (n,), or None
    splits : list of (train, test)
        Numbers of rows.
    scorer : callable
    metadata : dict
        Of the scorer: arrays with an entry for each row are sliced.
    """

    X: Rows
    y: Array
    sample_weight: Array | None
    splits: list[Split]
    scorer: Scorer
    metadata: dict[str, Any]

    @property
    def test_share(self) -> float:
        """n_test / n_train, on average."""
        return float(np.mean([len(test) / len(train) for train, test in self.splits]))

    def train(self, number: int, model: Classifier, start: object, stop: Event) -> Scored:
        """Fit a model on the training rows of a fold, and score it.

        Raises
        ------
        ValueError, FloatingPointError, MemoryError
            As `fit`, with the number of the fold, counted from 1.
        """
        began = time.perf_counter()
        with self.naming(number):
            found = fit(model, *self.training_data(number), start, stop)
        score = self.score(number, found.model)
        return Scored(found, score, found.model.certificate_, time.perf_counter() - began)

    def training_data(self, number: int) -> tuple[Rows, Array, Array | None]:
        """Return X, y and the weights of the training rows of a fold."""
        rows = self.splits[number][0]
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        return self.X[rows], self.y[rows], weights

    @contextlib.contextmanager
    def naming(self, number: int) -> Iterator[None]:
        """Put the number of a fold, counted from 1, before the messages of errors."""
        try:
            yield
        except (ValueError, FloatingPointError, MemoryError) as error:
            raise type(error)(f"fold {number + 1}: {error}") from error

    def score(self, number: int, model: Classifier) -> float:
        """Score a model on the test rows of a fold.

        Raises
        ------
        ValueError
            If it can't be scored, or the score is no finite number.
        """
        rows = self.splits[number][1]
        metadata = {
            name: _sliced(value, rows, len(self.y)) for name, value in self.metadata.items()
        }
        scorer = with_labels(self.scorer, model.classes_)
        try:
            score = float(scorer(model, self.X[rows], self.y[rows], **metadata))
        except (ValueError, AttributeError, TypeError) as error:
            raise ValueError(f"fold {number + 1}: scoring failed: {error}") from error
        if not np.isfinite(score):
            raise ValueError(f"fold {number + 1}: the score is {score}; check scoring")
        return score


def with_labels(scorer: Scorer, classes: Array) -> Scorer:
    """Return a scorer of the log loss that knows the classes, of which a fold may lack some."""
    settings = getattr(scorer, "_kwargs", {})
    if getattr(scorer, "_score_func", None) is not log_loss or "labels" in settings:
        return scorer
    knowing = copy(scorer)
    vars(knowing)["_kwargs"] = {**settings, "labels": classes}
    return knowing


def checked_splits(splits: Iterable[Split], y: Array) -> list[Split]:
    """Return the rows of each fold as arrays.

    Raises
    ------
    ValueError
        If there is no fold, or one lacks rows to train or to test on.
    """
    all_rows = np.arange(len(y))
    found: list[Split] = []
    for number, (train, test) in enumerate(splits, 1):
        try:
            found.append((all_rows[train], all_rows[test]))
        except IndexError as error:
            raise ValueError(f"fold {number} has no rows of {len(y)}: {error}; check cv") from None
    if not found:
        raise ValueError("cv gives no fold")
    for number, fold in enumerate(found, 1):
        for rows, use in zip(fold, ("train", "test"), strict=True):
            if not len(rows):
                raise ValueError(f"fold {number} has no row to {use} on; check cv")
    return found


def _sliced(value: Any, rows: Indices, n: int) -> Any:
    return np.asarray(value)[rows] if np.ndim(value) and len(value) == n else value
