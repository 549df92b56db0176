"""Result of a search: fits and scores of every fold at every C, and the chosen C."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyclass.model_selection.folds import Folds, Scored

Numbers = NDArray[np.float64]
Column = list[Scored]  # the folds at one C


def scores_of(table: list[Column]) -> Numbers:
    """Return the scores of a table, shape (n_folds, n_Cs)."""
    return np.array([[entry.score for entry in column] for column in table], np.float64).T


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A table of fits, and the chosen C.

    Attributes
    ----------
    folds : Folds
    Cs : ndarray of shape (n_Cs,)
        Ascending.
    table : list of lists of Scored
        By C, then by fold; may end before the last C.
    best : int
        The number of the C that was chosen.
    """

    folds: Folds
    Cs: Numbers
    table: list[Column]
    best: int

    @property
    def C(self) -> float:
        """What was chosen."""
        return float(self.Cs[self.best])

    @property
    def scores(self) -> Numbers:
        """Scores, shape (n_folds, n_Cs); NaN where nothing was trained."""
        return self._filled([[entry.score for entry in column] for column in self.table])

    @property
    def gaps(self) -> Numbers:
        """Relative gaps that were proven, likewise."""
        columns = [[e.certificate.relative_gap for e in column] for column in self.table]
        return self._filled(columns)

    @property
    def seconds(self) -> Numbers:
        """Of training and scoring, likewise."""
        return self._filled([[entry.seconds for entry in column] for column in self.table])

    def certificates(self) -> NDArray[np.object_]:
        """Return the certificates, shape (n_folds, n_Cs); None where nothing was trained."""
        found = np.full((len(self.folds.splits), len(self.Cs)), None)
        for j, column in enumerate(self.table):
            for f, entry in enumerate(column):
                found[f, j] = entry.certificate
        return found

    def _filled(self, columns: list[list[float]]) -> Numbers:
        found = np.full((len(self.folds.splits), len(self.Cs)), np.nan)
        found[:, : len(columns)] = np.array(columns, np.float64).T
        return found
