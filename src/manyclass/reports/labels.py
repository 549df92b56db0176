"""Labels as codes: those of a file and the classes of a model, which may be written differently.

Labels and classes that are both numbers, or both text, are compared as they are. Where one side is
text, text that reads as a number counts as that number.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyclass.io.tensors import one_line
from manyclass.utils.types import Array, Label

LONGEST = 60  # characters of a label that are shown


@dataclass(frozen=True, slots=True, eq=False)
class LabelCodes:
    """True and predicted labels as numbers, equal labels the same one.

    Attributes
    ----------
    true, predicted : ndarray of shape (n_samples,)
    labels : list
        The label of every number, as it was first written; those of the classes come first.
    classes : ndarray of shape (n_classes,)
        The number of every class; the same one for classes that count as equal.
    """

    true: NDArray[np.int64]
    predicted: NDArray[np.int64]
    labels: list[Label]
    classes: NDArray[np.int64]

    @property
    def n_known(self) -> int:
        """How many numbers belong to the classes."""
        return int(self.classes.max(initial=-1)) + 1

    @property
    def n_unseen(self) -> int:
        """How many true labels are none of the classes."""
        return int(np.count_nonzero(self.true >= self.n_known))

    def columns(self) -> NDArray[np.int64]:
        """Return the position of a class for every number of one."""
        return np.unique(self.classes, return_index=True)[1]


def label_codes(classes: Array, truth: Array, predicted: Array) -> LabelCodes:
    """Give every label a number.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    truth, predicted : ndarray of shape (n_samples,)
        Predictions are entries of the classes.
    """
    alike = (classes.dtype.kind in "UO") == (truth.dtype.kind in "UO")
    codes: dict[Label, int] = {}
    labels: list[Label] = []

    def numbers(of: Array) -> NDArray[np.int64]:
        names, positions = np.unique(of, return_inverse=True)
        found = []
        for name in names.tolist():
            code = codes.setdefault(name if alike else _number_or_text(name), len(codes))
            if code == len(labels):
                labels.append(name)
            found.append(code)
        return np.array(found, np.int64)[positions]

    of_classes = numbers(classes)
    return LabelCodes(numbers(truth), numbers(predicted), labels, of_classes)


def as_labels(values: ArrayLike, name: str) -> Array:
    """Return labels as a vector of numbers or of text.

    Raises
    ------
    ValueError
        If they are none, one is missing, or some are numbers and others text.
    """
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
    """Refuse what cannot be put in order."""
    kinds = set()
    for label in labels:
        if not isinstance(label, str | Real | np.bool_) or label != label:  # NaN is not itself
            raise ValueError(
                f"{name} holds {one_line(repr(label), LONGEST)}, which is no label; labels are all "
                "numbers or all strings, and none is missing"
            )
        kinds.add(isinstance(label, str))
    if len(kinds) > 1:
        raise ValueError(f"{name} holds both strings and numbers; convert one of them to the other")


def shown(label: Label) -> str:
    """Return a label as one short printable line; with escapes where others could look the same."""
    text = str(label)[: 2 * LONGEST]
    plain = text.isprintable() and text == " ".join(text.split()) and text[:1] not in ("", "'", '"')
    text = text if plain else repr(text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _number_or_text(label: object) -> Label:
    if isinstance(label, str) and "_" not in label:  # Python reads 1_000 as a number
        for convert in (int, float):
            with contextlib.suppress(ValueError):
                return convert(label)
    return label


def columns(rows: Sequence[Sequence[str]], n_left: int) -> list[str]:
    """Return rows as lines with columns of the same width.

    Parameters
    ----------
    rows : sequence of sequence of str
        With a title for each column first.
    n_left : int
        How many columns are flush left; the others are flush right.

    Returns
    -------
    list of str

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
