"""Labels as codes, and the most confused pairs of classes, for any number of classes.

The labels of a file and the classes of a model may be written differently. If both are numbers, or
both text, they are compared directly. If only one of them is text, text that is a number or boolean
by the rules for text files (utils/labels.py) is compared as a number or boolean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length

from manyclass.estimators.validation import checked_count
from manyclass.io.tensors import one_line
from manyclass.utils.labels import boolean_of, number_of
from manyclass.utils.types import Array, Label

SHOWN = 10  # pairs in the text
LONGEST = 60  # displayed characters of a label


@dataclass(frozen=True, slots=True, eq=False)
class LabelCodes:
    """True and predicted labels as numbers, equal labels the same one."""

    true: NDArray[np.int64]
    predicted: NDArray[np.int64]
    labels: list[Label]  # of every number, as it was first written; the classes come first
    # The number of every class; the same one for classes that count as equal.
    classes: NDArray[np.int64]

    @property
    def n_known(self) -> int:
        """Count of the numbers that belong to classes."""
        return int(self.classes.max(initial=-1)) + 1

    @property
    def n_unseen(self) -> int:
        """Number of rows with a true label that is not a class."""
        return int(np.count_nonzero(self.true >= self.n_known))

    def columns(self) -> NDArray[np.int64]:
        """Return the position of the class for every number of a class."""
        return np.unique(self.classes, return_index=True)[1]


def label_codes(classes: Array, truth: Array, predicted: Array) -> LabelCodes:
    """Give every label a number; predictions are entries of the classes."""
    read = _reader(classes, truth)
    codes: dict[Label, int] = {}
    labels: list[Label] = []

    def numbers(of: Array) -> NDArray[np.int64]:
        names, positions = np.unique(of, return_inverse=True)
        found = []
        for name in names.tolist():
            code = codes.setdefault(read(name), len(codes))
            if code == len(labels):
                labels.append(name)
            found.append(code)
        return np.array(found, np.int64)[positions]

    of_classes = numbers(classes)
    return LabelCodes(numbers(truth), numbers(predicted), labels, of_classes)


def as_labels(values: ArrayLike, name: str) -> Array:
    """Return labels as a vector of numbers or of text; none is missing."""
    labels = np.asarray(values)
    if labels.ndim != 1 or labels.dtype.kind not in "iufbUO":
        raise ValueError(
            f"{name} must be a vector of labels; its shape is {labels.shape}, its type "
            f"{labels.dtype}"
        )
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(f"{name} holds NaN; leave out rows without a label")
    if labels.dtype.kind == "O":
        _check_objects(labels.tolist(), name)
    return labels


def _check_objects(labels: Iterable[object], name: str) -> None:
    """Refuse objects that cannot be sorted."""
    kinds = set()
    for label in labels:
        # NaN does not equal itself.
        if not isinstance(label, str | Real | np.bool_) or label != label:
            raise ValueError(
                f"{name} holds {one_line(repr(label), LONGEST)}, which is not a label; labels are "
                "all numbers or all strings, and none is missing"
            )
        kinds.add(isinstance(label, str))
    if len(kinds) > 1:
        raise ValueError(f"{name} holds both strings and numbers; convert one of them to the other")


def shown(label: Label) -> str:
    """Return a label as a short printable line, with escapes for ambiguous characters."""
    text = str(label)[: 2 * LONGEST]
    plain = text.isprintable() and text == " ".join(text.split()) and text[:1] not in ("", "'", '"')
    text = text if plain else repr(text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _reader(classes: Array, truth: Array) -> Callable[[Label], Label]:
    """Return a function that makes text comparable with numbers or booleans.

    Text is read as in a text file: "007" is not a number.
    """
    kinds = {labels.dtype.kind for labels in (classes, truth)}
    if len(kinds & {"U", "O"}) in (0, len(kinds)):
        return lambda label: label
    of_text = boolean_of if "b" in kinds else number_of

    def read(label: Label) -> Label:
        value = of_text(label) if isinstance(label, str) else None
        return label if value is None else value

    return read


def columns(rows: Sequence[Sequence[str]], n_left: int) -> list[str]:
    """Return rows, of which the first has the titles, as lines with columns of the same width.

    The first `n_left` columns are flush left; the others are flush right.

    Examples
    --------
    >>> for line in columns([("class", "rows"), ("a", "10")], n_left=1):
    ...     print(line)
    class  rows
    a        10
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if at < n_left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


@dataclass(frozen=True, slots=True)
class ConfusedPair:
    """Rows of one class that were predicted as another."""

    true: Label
    predicted: Label
    count: int
    share: float  # of the rows of the true class


class ConfusionPairs:
    """Pairs of a true and a different predicted class, the most frequent first.

    Only pairs that occur are counted, so thousands of classes do not need an array of n_classes x
    n_classes numbers. Use ``from_predictions`` or ``from_estimator``.

    Parameters
    ----------
    codes : LabelCodes
        True and predicted labels.

    Attributes
    ----------
    pairs : list of ConfusedPair
        true, predicted, count, share (of the rows of the true class); the largest count first,
        equal counts in the order of the labels.
    n_rows : int
        Number of rows.
    n_errors : int
        Number of rows that were predicted as a different class.

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
        """Count the pairs of true and predicted labels.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,)
            Numbers or strings. If only one of them holds strings, strings that are numbers are
            compared as numbers.

        Returns
        -------
        ConfusionPairs

        Raises
        ------
        ValueError
            If they are not labels, or differ in length.
        """
        true, predicted = as_labels(y_true, "y_true"), as_labels(y_pred, "y_pred")
        check_consistent_length(true, predicted)
        return cls(label_codes(predicted, true, predicted))

    @classmethod
    def from_estimator(cls, model: ClassifierMixin, X: ArrayLike, y: ArrayLike) -> Self:
        """Count the pairs of true labels and predictions.

        Parameters
        ----------
        model : fitted classifier
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True labels; labels that are not a class of the model count as errors.

        Returns
        -------
        ConfusionPairs

        Raises
        ------
        ValueError
            If X or y do not fit the model, or differ in length.
        """
        true, predicted = as_labels(y, "y"), model.predict(X)
        check_consistent_length(true, predicted)
        return cls(label_codes(model.classes_, true, predicted))

    @cached_property
    def pairs(self) -> list[ConfusedPair]:
        """All pairs that occur."""
        return self.top(max(1, len(self._counts)))

    def top(self, n: int = SHOWN) -> list[ConfusedPair]:
        """Return the n most frequent pairs, or all pairs if there are fewer.

        Parameters
        ----------
        n : int, default=10
            Number of pairs.

        Returns
        -------
        list of ConfusedPair

        Raises
        ------
        ValueError
            If n is not an integer of at least 1.
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
        """Return a table of the n most frequent pairs, and the number of the others."""
        top = self.top(n)
        if not top:
            return []
        titles = ("true", "predicted", "rows", "of the true class")
        cells = [
            (shown(p.true), shown(p.predicted), str(p.count), f"{100 * p.share:.1f} %") for p in top
        ]
        more = len(self) - len(top)
        return [*columns([titles, *cells], n_left=2), *([f"and {more} more"] if more else [])]
