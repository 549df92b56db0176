"""Numbers that training adds to the scores of its examples, such as offsets of classes.

    s_ic = w_c . x_i + b_ic,  for all classes c, y_i among them

Offsets o_c of classes are the same for all examples; scores of another model have a row for each.
Costs Delta(y, c) of predicting c where y is
true ask for margins of their size (margin rescaling):

    Delta(y, c) - (w_y - w_c) . x = gamma - (s_y - s_c)    where b_c = Delta(y, c) - gamma, b_y = 0

with gamma the largest cost; absolute margins likewise. Where all costs are 1, b = 0. A class with
b = EXCLUDED is no target of the example: its slack is never positive. Source: Tsochantaridis et
al., Large margin methods for structured and interdependent output variables, JMLR 6, 2005, sec.
2.2.2; Menon et al., Long-tail learning via logit adjustment, ICLR 2021, eq. 10.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.utils.types import Array, Numbers, Settings

EXCLUDED = _core.EXCLUDED


@dataclass(frozen=True, slots=True, eq=False)
class BaseScores:
    """A table, and the row of it that belongs to each example.

    Attributes
    ----------
    table : ndarray of shape (m, k), float64
    rows : ndarray of shape (n,), int32
    gamma : float
        Margin that is asked of the classes c != y.
    """

    table: Numbers
    rows: NDArray[np.int32]
    gamma: float

    @classmethod
    def from_costs(cls, costs: Numbers, labels: NDArray[np.int32]) -> BaseScores:
        """Return those of costs.

        Parameters
        ----------
        costs : ndarray of shape (k, k)
            Row y, column c: Delta(y, c), not negative, and positive somewhere; 0 where c = y.
        labels : ndarray of shape (n,), int32
        """
        gamma = float(costs.max())
        table = costs - gamma
        np.fill_diagonal(table, 0.0)
        return cls(table, labels, gamma)

    @classmethod
    def from_excluded(cls, excluded: NDArray[np.bool_], labels: NDArray[np.int32]) -> BaseScores:
        """Return those that exclude classes: row y, column c, shape (k, k)."""
        return cls(np.where(excluded, EXCLUDED, 0.0), labels, 1.0)

    @classmethod
    def from_offsets(cls, offsets: Numbers, n_examples: int) -> BaseScores:
        """Return those of offsets of the classes, shape (k,)."""
        return cls(offsets[None], np.zeros(n_examples, np.int32), 1.0)

    @classmethod
    def from_scores(cls, scores: Numbers) -> BaseScores:
        """Return those of scores of the examples, shape (n, k)."""
        return cls(scores, np.arange(len(scores), dtype=np.int32), 1.0)

    def plus(self, numbers: Numbers) -> BaseScores:
        """Return these with numbers added, of the classes, shape (k,), or of all, shape (n, k)."""
        if numbers.ndim == 1:
            return replace(self, table=self.table + numbers)
        return replace(BaseScores.from_scores(self.of(slice(None)) + numbers), gamma=self.gamma)

    def by_class(self, labels: NDArray[np.int32]) -> BaseScores:
        """Return the same relative margins, with a row for each class y, where b_y = 0, gamma = 1.

        Of these, b_c - b_y and gamma count alone. The rows of examples must be those of their
        classes, as of costs and offsets.
        """
        k = self.table.shape[1]
        rows = np.zeros(k, np.int32)
        rows[labels] = self.rows
        table = self.table[rows]
        table = table - table.diagonal()[:, None] + (self.gamma - 1)
        np.fill_diagonal(table, 0.0)
        return BaseScores(table, labels, 1.0)

    def of(self, part: slice | NDArray[np.intp]) -> Numbers:
        """Return those of some examples, shape (rows, k)."""
        return np.asarray(self.table[self.rows[part]])

    def at(self, rows: NDArray[np.intp], classes: NDArray[np.int32]) -> Numbers:
        """Return one number of each of some examples."""
        return np.asarray(self.table[self.rows[rows], classes])

    def parts(self) -> Iterator[tuple[slice, Numbers]]:
        """Yield the rows of the table, some after the others."""
        yield slice(0, len(self.table)), self.table

    def arrays(self) -> list[Array]:
        """Return what identifies them."""
        return [self.table, self.rows]

    def core_arguments(self) -> Settings:
        """Return what the core takes."""
        return {"base_table": self.table, "base_rows": self.rows, "base_tree": None}

    def of_classes(self, classes: NDArray[np.int64]) -> BaseScores:
        """Return the same for some classes only."""
        return replace(self, table=np.ascontiguousarray(self.table[:, classes]))
