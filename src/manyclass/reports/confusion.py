"""Most confused pairs of classes, for any number of classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length

from manyclass.estimators.validation import checked_count
from manyclass.reports.labels import LabelCodes, as_labels, columns, label_codes, shown
from manyclass.utils.types import Array, Label

SHOWN = 10  # pairs of the text


class Classifier(Protocol):
    """A fitted classifier."""

    classes_: Array

    def predict(self, X: ArrayLike) -> Array:
        """Return a label for every row."""


@dataclass(frozen=True, slots=True)
class ConfusedPair:
    """Rows of one class that were predicted as another.

    Attributes
    ----------
    true, predicted : label
    count : int
        How many rows.
    share : float
        Of the rows of the true class.
    """

    true: Label
    predicted: Label
    count: int
    share: float


class ConfusionPairs:
    """Pairs of a true and a predicted class that differ, the most frequent first.

    Only pairs that occur are counted, so thousands of classes need no array of n_classes x
    n_classes numbers. Use ``from_predictions`` or ``from_estimator``.

    Parameters
    ----------
    codes : LabelCodes
        True and predicted labels.

    Attributes
    ----------
    pairs : list of ConfusedPair
        true, predicted, count, share (of the rows of the true class); the largest count first,
        equal ones in the order of the labels.
    n_rows : int
        All rows.
    n_errors : int
        Rows that were predicted as another class.

    Examples
    --------
    >>> from manyclass import ConfusionPairs
    >>> confused = ConfusionPairs.from_predictions(
    ...     ["cat", "cat", "dog", "cow", "cat"], ["dog", "dog", "dog", "dog", "cat"]
    ... )
    >>> print(confused)
    3 of 5 rows confused, in 2 pairs
    true  predicted  rows  of the true class
    cat   dog           2             66.7 %
    cow   dog           1            100.0 %
    >>> confused.top(1)[0].count
    2
    """

    def __init__(self, codes: LabelCodes) -> None:
        self._labels = codes.labels
        wrong = codes.true != codes.predicted
        self.n_rows = len(codes.true)
        self.n_errors = int(np.count_nonzero(wrong))
        k = len(codes.labels)
        cells = codes.true[wrong] * k + codes.predicted[wrong]
        cells, counts = np.unique(cells, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        self._true, self._predicted = np.divmod(cells[order], max(k, 1))
        self._counts: NDArray[np.int64] = counts[order]
        self._support = np.bincount(codes.true, minlength=k)

    @classmethod
    def from_predictions(cls, y_true: ArrayLike, y_pred: ArrayLike) -> Self:
        """Count the pairs of given labels.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,)
            Numbers or strings. Where one side is text, what reads as a number there counts as that
            number.

        Returns
        -------
        ConfusionPairs

        Raises
        ------
        ValueError
            If they are no labels, or not of the same length.
        """
        true, predicted = as_labels(y_true, "y_true"), as_labels(y_pred, "y_pred")
        check_consistent_length(true, predicted)
        return cls(label_codes(predicted, true, predicted))

    @classmethod
    def from_estimator(cls, model: Classifier, X: ArrayLike, y: ArrayLike) -> Self:
        """Count the pairs of true labels and predictions.

        Parameters
        ----------
        model : fitted classifier
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels; one that is no class of the model counts as an error.

        Returns
        -------
        ConfusionPairs

        Raises
        ------
        ValueError
            If X or y do not fit the model, or each other.
        """
        true, predicted = as_labels(y, "y"), model.predict(X)
        check_consistent_length(true, predicted)
        return cls(label_codes(model.classes_, true, predicted))

    @cached_property
    def pairs(self) -> list[ConfusedPair]:
        """All pairs that occur."""
        return self.top(max(1, len(self._counts)))

    def top(self, n: int = SHOWN) -> list[ConfusedPair]:
        """Return the n most frequent pairs, or as many as there are.

        Parameters
        ----------
        n : int, default=10

        Returns
        -------
        list of ConfusedPair

        Raises
        ------
        ValueError
            If n is no integer of at least 1.
        """
        n = checked_count(n, "n")
        true, predicted = self._true[:n], self._predicted[:n]
        counts = self._counts[:n]
        shares = counts / self._support[true]
        return [
            ConfusedPair(self._labels[t], self._labels[p], count, share)
            for t, p, count, share in zip(
                true.tolist(), predicted.tolist(), counts.tolist(), shares.tolist(), strict=True
            )
        ]

    def __len__(self) -> int:
        """Return the number of pairs that occur."""
        return len(self._counts)

    def __str__(self) -> str:
        """Return the most frequent pairs as text."""
        head = f"{self.n_errors} of {self.n_rows} rows confused, in {len(self)} pairs"
        return "\n".join([head, *self.lines(SHOWN)])

    def lines(self, n: int) -> list[str]:
        """Return a table of the n most frequent pairs, and how many more there are."""
        top = self.top(n)
        if not top:
            return []
        titles = ("true", "predicted", "rows", "of the true class")
        cells = [
            (shown(p.true), shown(p.predicted), str(p.count), f"{100 * p.share:.1f} %") for p in top
        ]
        more = len(self) - len(top)
        return [*columns([titles, *cells], n_left=2), *([f"and {more} more"] if more else [])]
