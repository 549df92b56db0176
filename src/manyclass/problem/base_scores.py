"""Base scores: numbers that are added to the scores in training, for example class offsets.

    s_ic = w_c . x_i + b_ic,  for all classes c, including y_i

Class offsets o_c are the same for all examples; scores of a different model have a row for each
example. Costs Delta(y, c) of predicting c if y is true require margins of their size (margin
rescaling):

    Delta(y, c) - (w_y - w_c) . x = gamma - (s_y - s_c)    where b_c = Delta(y, c) - gamma, b_y = 0

with gamma the largest cost; absolute margins likewise. If all costs are 1, b = 0. A class with
b = EXCLUDED is not a target of the example: its slack is never positive. Source: Tsochantaridis et
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
    """A table of base scores, and the row of each example in it.

    Attributes
    ----------
    table : ndarray of shape (m, k), float64
    rows : ndarray of shape (n,), int32
    gamma : float
        Required margin of the classes c != y.
    """

    table: Numbers
    rows: NDArray[np.int32]
    gamma: float

    @classmethod
    def from_costs(cls, costs: Numbers, labels: NDArray[np.int32]) -> BaseScores:
        """Return the base scores of costs.

        Parameters
        ----------
        costs : ndarray of shape (k, k)
            Row y, column c: Delta(y, c), non-negative, with a positive entry; 0 for c = y.
        labels : ndarray of shape (n,), int32
        """
        gamma = float(costs.max())
        table = costs - gamma
        np.fill_diagonal(table, 0.0)
        return cls(table, labels, gamma)

    @classmethod
    def from_excluded(cls, excluded: NDArray[np.bool_], labels: NDArray[np.int32]) -> BaseScores:
        """Return base scores that exclude classes: row y, column c, shape (k, k)."""
        return cls(np.where(excluded, EXCLUDED, 0.0), labels, 1.0)

    @classmethod
    def from_offsets(cls, offsets: Numbers, n_examples: int) -> BaseScores:
        """Return the base scores of class offsets, shape (k,)."""
        return cls(offsets[None], np.zeros(n_examples, np.int32), 1.0)

    @classmethod
    def from_scores(cls, scores: Numbers) -> BaseScores:
        """Return base scores given for each example, shape (n, k)."""
        return cls(scores, np.arange(len(scores), dtype=np.int32), 1.0)

    def plus(self, numbers: Numbers) -> BaseScores:
        """Return base scores with numbers added: per class, shape (k,), or all, shape (n, k)."""
        if numbers.ndim == 1:
            return replace(self, table=self.table + numbers)
        return replace(BaseScores.from_scores(self.of(slice(None)) + numbers), gamma=self.gamma)

    def by_class(self, labels: NDArray[np.int32]) -> BaseScores:
        """Return the same relative margins, with a row for each class y, b_y = 0 and gamma = 1.

        Relative margins depend only on b_c - b_y and gamma. The row of an example must be the row
        of its class, as for costs and offsets.
        """
        k = self.table.shape[1]
        rows = np.zeros(k, np.int32)
        rows[labels] = self.rows
        table = self.table[rows]
        table = table - table.diagonal()[:, None] + (self.gamma - 1)
        np.fill_diagonal(table, 0.0)
        return BaseScores(table, labels, 1.0)

    def of(self, part: slice | NDArray[np.intp]) -> Numbers:
        """Return the base scores of some examples, shape (rows, k)."""
        return np.asarray(self.table[self.rows[part]])

    def at(self, rows: NDArray[np.intp], classes: NDArray[np.int32]) -> Numbers:
        """Return the base score of one class for each of some examples."""
        return np.asarray(self.table[self.rows[rows], classes])

    def parts(self) -> Iterator[tuple[slice, Numbers]]:
        """Yield the rows of the table in blocks."""
        yield slice(0, len(self.table)), self.table

    def arrays(self) -> list[Array]:
        """Return the arrays that identify the base scores."""
        return [self.table, self.rows]

    def core_arguments(self) -> Settings:
        """Return the arguments for the core."""
        return {"base_table": self.table, "base_rows": self.rows, "base_tree": None}

    def of_classes(self, classes: NDArray[np.int64]) -> BaseScores:
        """Return the base scores of some classes."""
        return replace(self, table=np.ascontiguousarray(self.table[:, classes]))
