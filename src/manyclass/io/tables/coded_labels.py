"""Labels in batches: checked, and numbered in order of their first appearance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyclass.utils.labels import LabelError, labels_of, labels_of_text
from manyclass.utils.types import Array, Label

KINDS = {"U": "text", "O": "text", "b": "booleans"}  # all others are numbers


class CodedLabels:
    """Labels of batches of rows; messages call the data ``where``, and the labels in them ``name``.

    If they are ``written`` in a text file, all of them together say of what type they are.
    """

    def __init__(self, where: str, name: str, *, written: bool = False) -> None:
        self._where, self._name, self._written = where, name, written
        self._places: dict[Label, int] = {}
        self._rows: list[int] = []  # row of the first appearance of each label
        self._codes: list[NDArray[np.int32]] = []
        self._kind: str | None = None
        self._n_rows = 0

    def add(self, y: Array) -> None:
        """Append the labels of a batch; refuse another kind than those before."""
        if not len(y):
            return
        kind = KINDS.get(y.dtype.kind, "numbers")
        if self._kind not in (None, kind):
            raise ValueError(f"previous labels are {self._kind}, these are {kind}")
        self._kind = kind
        own, first, inverse = np.unique(y, return_index=True, return_inverse=True)
        places = []
        for label, row in zip(own.tolist(), first.tolist(), strict=True):
            places.append(self._places.setdefault(label, len(self._places)))
            if places[-1] == len(self._rows):
                self._rows.append(self._n_rows + row)
        self._codes.append(np.array(places, np.int32)[inverse])
        self._n_rows += len(y)

    def finish(self) -> tuple[Array, NDArray[np.int32]]:
        """Return the classes, ascending, and the class index of each row.

        Refuse labels that all together are of a type that does not keep one of them.
        """
        labels = list(self._places)
        try:
            found = labels_of_text(list(map(str, labels))) if self._written else labels_of(labels)
        except LabelError as error:
            known = LabelError(self._rows[error.position or 0], error.words)
            raise ValueError(f"{self._where}: {known.within(self._name)}") from None
        classes, order = np.unique(np.asarray(found), return_inverse=True)
        return classes, order.astype(np.int32)[np.concatenate(self._codes)]

    def vector(self) -> Array:
        """Return the label of every row."""
        classes, codes = self.finish()
        return np.asarray(classes[codes])
