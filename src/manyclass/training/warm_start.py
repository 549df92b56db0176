"""Warm start: the state that an estimator keeps for its next fit.

z belongs to rows: z of rows that are still there is feasible in the next problem, in any order; 0
is feasible for new rows, and W(z) does not contain the removed rows. Rows are matched by
fingerprints (row_matching.py), classes by names.

z is scaled with C: starting from the optimum, the gap at t C between t z and W is
1/2 (t - 1)^2 ||W||^2, which is small for steps of 1.2 and large for steps of 3. Other starts have
little or no benefit (docs/development/trials.md). If the costs of individual rows change, their z
is kept, up to the new bound. v = log u of logistic regression is feasible at any C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.problem.formulations import Formulation
from manyclass.problem.free_duals import rows_of
from manyclass.problem.merged_columns import MergedColumns
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.training import log_duals
from manyclass.training.balance import balance, class_sums_of
from manyclass.training.log_duals import log_duals_of, weights_of_columns
from manyclass.training.row_matching import (
    Match,
    Prints,
    class_numbers,
    matched_rows,
    with_labels,
)
from manyclass.utils.types import Array, CsrArray, Numbers

# z of a row is scaled with its cost if the cost changes by the factor of most rows, up to this
# factor.
ALIKE = 1.25
# z that grows by a larger factor would lose its digits, or overflow; a cold start does not.
MOST_GROWTH = 1e9


class Sums(NamedTuple):
    """Class sums of an earlier z (balance.py), and which entries of z are of the own class."""

    wanted: Numbers
    own: Callable[[CsrArray], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, eq=False)
class WarmStart:
    """The start of the next fit, and facts of its problem.

    Attributes
    ----------
    start : Start
    classes : ndarray of shape (k,)
    formulation : Formulation
    loss : str
    n_features : int
    labels : ndarray of shape (n,), int32, or None
        None if only W is known.
    costs : ndarray of shape (n,), float64, or None
    factors : ndarray of shape (k, k), float64, or None
        See ``Problem``.
    prints : ndarray of shape (n, 2), uint64, default=None
        Fingerprints of the rows. Without them, rows are the same if their labels are.
    columns : MergedColumns, default=None
        Merged columns of the same X.
    numbers : ndarray of shape (n,), int64, default=None
        Row numbers in X, if some rows of X have weight 0.
    """

    start: Start
    classes: Array
    formulation: Formulation
    loss: str
    n_features: int
    labels: NDArray[np.int32] | None = None
    costs: NDArray[np.float64] | None = None
    factors: Numbers | None = None
    prints: Prints | None = None
    columns: MergedColumns | None = None
    numbers: NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows of the earlier fit; 0 if only W is known."""
        return 0 if self.labels is None else len(self.labels)

    @classmethod
    def from_problem(
        cls, problem: Problem, start: Start, classes: Array, prints: Prints | None = None
    ) -> WarmStart:
        """Return the state at the end of the training of a problem."""
        data = problem.dataset
        return cls(
            start,
            classes,
            problem.formulation,
            problem.loss,
            data.n_features,
            data.labels,
            problem.costs,
            problem.factors,
            prints,
        )

    def match(self, problem: Problem, classes: Array, prints: Prints | None) -> Match | None:
        """Return the match of a problem's rows; None if the state cannot be used.

        Formulation and loss must be the same. Without fingerprints, the classes, the number of
        features and the order of the rows must also be the same.
        """
        if problem.formulation != self.formulation or problem.loss != self.loss:
            return None
        data, numbers = problem.dataset, class_numbers(self.classes, classes)
        n, k = data.n_examples, data.n_classes
        same = np.array_equal(self.classes, classes) and self.n_features == data.n_features
        if self.labels is None or self.prints is None or prints is None:
            if not same:
                return None
            if self.labels is not None and np.array_equal(self.labels, data.labels):
                return Match.unchanged(n, k)
            rows, n_before = np.full(n, -1, np.int32), 0
        else:
            before = with_labels(self.prints, np.append(numbers, -1)[self.labels], k)
            rows = matched_rows(before, with_labels(prints, data.labels, k))
            n_before = len(self.labels)
        found = Match(rows, n_before, numbers, k)
        # Only W is used if Newton's method continues from it, or the rows are unknown.
        W_serves = (
            problem.loss == "log_loss" and same and (n_before == 0 or self.start.log_u is None)
        )
        return found if found.keeps_enough or W_serves else None

    def start_for(self, problem: Problem, match: Match, sums: Sums | None = None) -> Start | None:
        """Return the start of a different problem; None if it would be lost in rounding.

        `sums` are the class sums of this state, if rows have several classes.
        """
        if problem.loss == "log_loss":
            return self._logistic_start(problem, match)
        return self._dual_start(problem, match, sums)

    def _dual_start(self, problem: Problem, match: Match, sums: Sums | None) -> Start | None:
        """Return z of the rows that are still there, feasible, and 0 for the others."""
        assert self.costs is not None
        kept = match.kept
        shares = np.ones(len(kept))
        with np.errstate(over="ignore"):
            shares[kept] = problem.costs[kept] / self.costs[match.rows[kept]]
            if np.median(shares[kept]) > MOST_GROWTH:
                return None
            z, moved = _scaled(match.duals(self.start.duals), shares, kept, problem)
        if problem.factors is not None or self.factors is not None:
            _clip(z, problem, np.ones(len(kept), bool))
        is_same = match.keeps_all and self.prints is not None
        if problem.dataset.bias and not match.keeps_all:
            before = sums or self._sums(problem)
            wanted, stays = np.zeros(match.n_classes), match.classes >= 0
            wanted[match.classes[stays]] = before.wanted[stays] * float(np.median(shares[kept]))
            balance(z, problem, wanted, before.own(z))
        if match.keeps_all and not moved.any():
            W = self.start.weights
            W = None if W is None else weights_of_columns(W, problem.dataset.n_features)
            return Start(z, W, is_same=is_same and bool((shares == 1).all()))
        return Start(z, new_rows=np.flatnonzero(moved | ~kept).astype(np.int32))

    def _sums(self, problem: Problem) -> Sums:
        """Return the class sums of this state, and which entries of z are of the own class."""
        assert self.labels is not None
        labels = problem.dataset.labels
        wanted = class_sums_of(problem, self.labels, self.start.duals)
        return Sums(wanted, lambda z: labels[rows_of(z)] == z.indices)

    def _logistic_start(self, problem: Problem, match: Match) -> Start | None:
        """Return W, and v of the rows that are still there; None if W is not finite."""
        data, W = problem.dataset, self.start.weights
        if W is None or not np.isfinite(W).all():
            return None
        zero = Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        W = weights_of_columns(W.astype(data.dtype), data.n_features)
        if not match.n_kept:
            return replace(zero, weights=W)
        assert self.costs is not None
        kept = match.kept
        shares = problem.costs[kept] / self.costs[match.rows[kept]]
        W, v = log_duals_of(problem, W, self.start.log_u, match)
        if v is not None and data.bias and not (match.keeps_all and np.ptp(shares) == 0):
            wanted = self._logistic_sums(match) * float(np.median(shares))
            W, v = W.copy(), v.copy()
            W[-1] += (log_duals.balance(problem, v, wanted) / data.rounded_bias).astype(W.dtype)
        is_same = match.keeps_all and self.prints is not None and bool((shares == 1).all())
        new = None if match.keeps_all else np.flatnonzero(~match.kept).astype(np.int32)
        return replace(zero, weights=W, log_u=v, new_rows=new, is_same=is_same)

    def _logistic_sums(self, match: Match) -> Numbers:
        """Return the class sums of this state for the current classes; 0 for new ones."""
        assert self.labels is not None
        assert self.costs is not None
        assert self.start.log_u is not None
        wanted, stays = np.zeros(match.n_classes), match.classes >= 0
        before = log_duals.class_sums(self.labels, self.costs, self.start.log_u)
        wanted[match.classes[stays]] = before[stays]
        return wanted


def _scaled(
    z: CsrArray, shares: NDArray[np.float64], kept: NDArray[np.bool_], problem: Problem
) -> tuple[CsrArray, NDArray[np.bool_]]:
    """Return feasible z at new costs, and the rows that are not scaled with their cost.

    Parameters
    ----------
    z : CSR array of shape (n, k)
    shares : ndarray of shape (n,)
        New cost of each row divided by the old one.
    kept : ndarray of shape (n,), bool
        Whether rows have an old cost.
    problem : Problem
        The new problem.
    """
    common = float(np.median(shares[kept]))
    moved = kept & ~((shares <= ALIKE * common) & (shares * ALIKE >= common))
    factors = np.where(moved, common, shares)
    if moved.any() and problem.slack_loss.has_ridge:
        factors = np.minimum(factors, shares)
    elif moved.any() and problem.formulation.takes_maximum:
        sums = z.sum(axis=1, dtype=np.float64)
        most = np.divide(problem.costs, sums, out=np.full(len(sums), np.inf), where=sums > 0)
        factors = np.where(moved, np.minimum(factors, most), factors)
    scaled = sp.csr_array(sp.diags_array(factors) @ z)
    if moved.any() and not problem.slack_loss.has_ridge:
        _clip(scaled, problem, moved)
    return scaled, moved


def _clip(z: CsrArray, problem: Problem, some: NDArray[np.bool_]) -> None:
    """Clip z of some rows to their bounds, for sums of losses."""
    if problem.formulation.takes_maximum:
        return
    rows = rows_of(z)
    places = np.flatnonzero(some[rows])
    bounds = problem.upper(rows[places], z.indices[places]).astype(z.dtype)
    z.data[places] = np.minimum(z.data[places], bounds)
    z.eliminate_zeros()
