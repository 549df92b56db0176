"""Warm start of all labels: z of the rows and labels that are still there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.multilabel.training import Labelled
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.free_duals import rows_of
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.training.balance import class_sums
from manyclass.training.row_matching import (
    Match,
    Prints,
    class_numbers,
    matched_rows,
    with_label_sets,
)
from manyclass.training.warm_start import Sums, WarmStart
from manyclass.utils.types import Array, CsrArray


@dataclass(frozen=True, slots=True, eq=False)
class LabelStart:
    """The start of the next fit.

    Attributes
    ----------
    state : WarmStart
        z and the rows; the columns of z are labels.
    indicator : CSR array of shape (n, k)
    """

    state: WarmStart
    indicator: CsrArray

    @property
    def n_rows(self) -> int:
        """Number of rows of the earlier fit."""
        return self.state.n_rows

    @classmethod
    def from_training(
        cls, labelled: Labelled, z: CsrArray, classes: Array, prints: Prints
    ) -> LabelStart:
        """Return the state at the end of training."""
        state = WarmStart.from_problem(_problem(labelled), Start(z), classes, prints)
        return cls(state, labelled.indicator)

    def start_for(self, labelled: Labelled, classes: Array, prints: Prints) -> Start | None:
        """Return the start of a different problem; None if it shares no row.

        Rows match if they have the same content, and the same labels among those in both problems.
        """
        state = self.state
        if state.loss != labelled.loss:
            return None
        k = labelled.indicator.shape[1]
        numbers = class_numbers(state.classes, classes)
        known = np.zeros(k, bool)
        known[numbers[numbers >= 0]] = True
        before = _with_numbers(self.indicator, numbers, k)
        after = _with_numbers(labelled.indicator, np.where(known, np.arange(k), -1), k)
        assert state.prints is not None
        keys = with_label_sets(state.prints, before), with_label_sets(prints, after)
        match = Match(matched_rows(*keys), len(state.prints), numbers, k)
        if not match.keeps_enough:
            return None
        z = state.start.duals
        own = _owns(self.indicator, z)
        wanted = class_sums(z, own)
        sums = Sums(wanted, lambda placed: _owns(labelled.indicator, placed))
        return state.start_for(_problem(labelled), match, sums)


def _problem(labelled: Labelled) -> Problem:
    """Return the costs and bounds of all labels; the labels of rows are ignored."""
    rows = replace(labelled.rows, n_classes=labelled.indicator.shape[1])
    return Problem(rows, FORMULATIONS["one_vs_rest"], labelled.C, labelled.loss)


def _with_numbers(indicator: CsrArray, numbers: NDArray[np.int32], k: int) -> CsrArray:
    """Return a matrix of 0 and 1 with its columns renumbered; -1 drops a column."""
    columns = numbers[indicator.indices]
    kept = columns >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])
    given = np.ones(ends[-1], np.int8), columns[kept], ends[indicator.indptr]
    return sp.csr_array(given, shape=(indicator.shape[0], k))


def _owns(indicator: CsrArray, z: CsrArray) -> NDArray[np.bool_]:
    """Return for each entry of z whether its row has its label."""
    k = z.shape[1]
    held = rows_of(indicator) * k + indicator.indices
    return np.isin(rows_of(z) * k + z.indices, held)
