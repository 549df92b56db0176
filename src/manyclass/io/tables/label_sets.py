"""Label sets in a column: cells of several labels with a separator, or lists of labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from manyclass.io.stored_rows import StoredLabelSets, numbered
from manyclass.utils.labels import SHOWN, LabelError, finite_labels_of, labels_of_text
from manyclass.utils.types import Array, Label

if TYPE_CHECKING:
    import pyarrow as pa

SEPARATOR = ";"
OTHERS = ",|"  # separators of files that may be meant if no cell contains the default
Cell = frozenset[Label]


@dataclass(frozen=True, slots=True)
class SetCells:
    """How cells contain label sets.

    Attributes
    ----------
    separator : str
        Text between the labels of a cell. Blanks around labels, and empty parts, are left out.
    is_given : bool
        Whether the user named the separator. If not, other separators in the cells raise an error.
    """

    separator: str = SEPARATOR
    is_given: bool = False

    def for_type(self, kind: pa.DataType, where: str, label: str) -> SetCells:
        """Return how cells of a type of Arrow contain label sets; refuse types without labels.

        Lists have no separator. Messages call the table `where` and the column `label`.
        """
        from pyarrow import types

        is_list = hasattr(kind, "value_field")
        if types.is_nested(kind.value_type if is_list else kind):
            raise ValueError(
                f"{where}: the column {label!r} contains values of type {kind}; a cell must be "
                "text, a number or a list of them"
            )
        return replace(self, is_given=True) if is_list else self

    def of_column(self, column: pa.Array, where: str, name: str, first: int) -> Array:
        """Return the label set of each cell; an empty or missing cell has no labels.

        `first` is the number of the first row; messages call the table `where` and the column
        `name`.
        """
        known: dict[str, Cell] = {}
        found = np.empty(len(column), object)
        for row, cell in enumerate(column.to_pylist()):
            if isinstance(cell, str):
                if cell not in known:
                    known[cell] = _without_blanks(cell.split(self.separator))
                found[row] = known[cell]
            elif isinstance(cell, list):
                if None in cell:
                    raise ValueError(
                        f"{where}: row {first + row} of {name} has a missing label; leave it out"
                    )
                found[row] = _without_blanks(cell)
            else:
                found[row] = frozenset(() if cell is None else (cell,))
        return found


def _without_blanks(labels: Iterable[Label]) -> Cell:
    """Return labels without blanks around texts, and without empty texts."""
    stripped = (one.strip() if isinstance(one, str) else one for one in labels)
    return frozenset(one for one in stripped if one != "")


class CodedSets:
    """Label sets of batches of rows, numbered in order of their first appearance.

    Messages call the data ``where``, and the column ``name``. If the labels are ``written`` in a
    text file, all of them together determine their type, as in ``CodedLabels``.
    """

    def __init__(self, where: str, name: str, cells: SetCells, *, written: bool = False) -> None:
        self._where, self._name, self._cells, self._written = where, name, cells, written
        self._places: dict[Cell, int] = {}
        self._rows: list[int] = []  # row of the first appearance of each set
        self._codes: list[int] = []

    def add(self, y: Iterable[Cell]) -> None:
        """Append the label sets of a batch."""
        for labels in y:
            place = self._places.setdefault(labels, len(self._places))
            if place == len(self._rows):
                self._rows.append(len(self._codes))
            self._codes.append(place)

    def finish(self) -> tuple[StoredLabelSets, Array, NDArray[np.int32]]:
        """Return the distinct sets, the labels, ascending, and the number of the set of each row.

        Refuse labels that cannot be preserved, and a column with a different separator.
        """
        sets = list(self._places)
        distinct = list(dict.fromkeys(chain.from_iterable(sets)))
        self._check_separator(sets, distinct)
        try:
            words = list(map(str, distinct))
            found = labels_of_text(words) if self._written else finite_labels_of(distinct)
        except LabelError as error:
            wrong = distinct[error.position or 0]
            row = next(row for row, own in zip(self._rows, sets, strict=True) if wrong in own)
            raise ValueError(
                f"{self._where}: row {row} of {self._name} has a label that {error.words}"
            ) from None
        typed = dict(zip(distinct, np.asarray(found).tolist(), strict=True))
        stored, classes = numbered([[typed[label] for label in own] for own in sets])
        return stored, classes, np.array(self._codes, np.int32)

    def vector(self) -> Array:
        """Return the label set of every row."""
        stored, classes, codes = self.finish()
        sets = np.empty(len(stored), object)
        sets[:] = stored.named(classes)
        return sets[codes]

    def _check_separator(self, sets: list[Cell], labels: list[Label]) -> None:
        """Refuse cells that seem to have another separator than the default."""
        if self._cells.is_given or any(len(own) > 1 for own in sets):
            return
        for label in labels:
            if isinstance(label, str) and any(mark in label for mark in OTHERS):
                shown = label if len(label) <= SHOWN else f"{label[:SHOWN]}..."
                raise ValueError(
                    f"{self._where}: no cell of {self._name} has labels separated by "
                    f"{self._cells.separator!r}, and one is {shown!r}; name the separator of the "
                    "labels with --label-separator"
                )
