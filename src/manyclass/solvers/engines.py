"""Engines: W and z of a problem, the loops over them by the compiled core, and certificates.

A method (sequential_dual.py) calls the loops, and uses W as an array of shape (d + 1, k) and z as a
CSR array of shape (n, k). Their layout in memory is internal to ``cpp/engines``.

Certificates are for the W that estimators return, from the sums of the core's passes (gap.hpp).
Returned intercepts are bias * w, rounded to the dtype of W. If W must sum to zero, its projection
counts, because rounding leaves a mean. The penalty of an intercept b is the penalty of b / bias,
although the loops use a bias that is rounded to the dtype of X.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.dataset import Dataset, csr_on
from manyclass.problem.problem import (
    Problem,
    check_squared_norms,
    core_problem,
    slacks_at_zero,
    zero_objective,
)
from manyclass.problem.solution import Certificate, Weights, exact_sum, rounding_share
from manyclass.problem.tree_scores import TreeScores
from manyclass.solvers.weights.storage import (
    antisymmetric,
    class_means,
    distance,
    in_batches,
    subtract_means,
)
from manyclass.solvers.weights.tables import dense_from
from manyclass.utils.types import Array, CsrArray

NO_COMMON = np.empty(0)  # nothing is subtracted from every class


class Returned(NamedTuple):
    """W as estimators return it.

    Attributes
    ----------
    common : ndarray of shape (d + 1,), or empty
        The mean, which is subtracted from every class.
    norm : float
        ||W||, for the bound of the rounding of scores.
    penalty : float
        1/2 ||W||^2 without the mean.
    moved : float
        An upper bound of its distance from the given W.
    """

    common: NDArray[np.float64]
    norm: float
    penalty: float
    moved: float

    @classmethod
    def of(
        cls, n_classes: int, square: float, moved: float, common: NDArray[np.float64] = NO_COMMON
    ) -> Returned:
        """Describe a W of this ||W||^2, the mean included."""
        # The computed mean is off by u sqrt(k) ||W|| at most; the bound has 16 u ||W|| or more.
        unknown = math.sqrt(n_classes) / 16 if len(common) else 0.0
        penalty = 0.5 * (square - n_classes * _core.sum_of_squares(common[None]))
        return cls(common, math.sqrt(square) * (1 + unknown), penalty, moved)


class Found(NamedTuple):
    """Sums of a pass over some examples or classes, like GapSums of the core."""

    gap: float
    loss: float
    most_loss: float
    max_violation: float

    @classmethod
    def sum_of(cls, parts: Sequence[Findings]) -> Found:
        """Return the sums over the passes of all parts."""
        return cls(
            exact_sum([part.gap for part in parts]),
            exact_sum([part.loss for part in parts]),
            exact_sum([part.most_loss for part in parts]),
            max([part.max_violation for part in parts], default=0.0),
        )


class Findings(Protocol):
    """Found, or GapSums."""

    @property
    def gap(self) -> float:
        """Upper bound of the sum of the terms of P - D."""

    @property
    def loss(self) -> float:
        """sum_i C_i loss_i."""

    @property
    def most_loss(self) -> float:
        """Upper bound of ``loss``."""

    @property
    def max_violation(self) -> float:
        """Largest v_i."""


def as_returned(problem: Problem, weights: Array) -> Returned:
    """Describe a dense W, shape (d + 1, k) or wider, as it is returned."""
    data = problem.dataset
    k = data.n_classes
    W = weights[:, :k]
    common = class_means(W) if problem.formulation.centred else NO_COMMON
    if len(common):
        common[-1] = returned_intercepts(W[-1], data).mean()
    return Returned.of(k, *returned_square(_core.sum_of_squares(W), W[-1], data), common)


def returned_square(square: float, intercepts: Array, data: Dataset) -> tuple[float, float]:
    """Return ||W||^2 with the returned intercepts, and a bound of their distance.

    Parameters
    ----------
    square : float
        ||W||^2 of the stored W.
    intercepts : ndarray
        The last row of W; zeros may be left out.
    data : Dataset
    """
    held = intercepts.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # a W that overflows is refused later
        returned = returned_intercepts(intercepts, data)
        change = returned - held
        # W(z) also has the given bias.
        rounding = np.finfo(np.float64).eps + data.bias_error
        moved = np.linalg.norm(change) + rounding * np.linalg.norm(held)
        return square + float(change @ (returned + held)), float(moved)


def certificate_of(
    problem: Problem,
    at: Returned,
    found: Sequence[Findings],
    distance: float,
    zero: float,
    n_examples: int | None = None,
) -> Certificate:
    """Return the certificate of W, given the sums of the passes.

    ``distance`` is an upper bound of ||W - W(z)|| for the given W, ``zero`` is P(0);
    ``n_examples`` is the number of examples in all passes, if it differs from the problem's.
    """
    n, k = n_examples or problem.dataset.n_examples, problem.dataset.n_classes
    apart = (1 + problem.dataset.bias_error) * distance + at.moved
    total = Found.sum_of(found)
    return Certificate.from_gap(
        at.penalty + total.loss,
        total.gap + 0.5 * apart * apart,
        total.max_violation,
        rounding_share(n, k),
        zero=zero,
        penalty=at.penalty,
        loss=total.most_loss,
    )


def returned_intercepts(intercepts: Array, data: Dataset) -> NDArray[np.float64]:
    """Return bias * w, rounded to the dtype of W, divided by the given bias."""
    if data.bias == 0:
        return intercepts.astype(np.float64)
    returned = intercepts * intercepts.dtype.type(data.bias)
    return np.asarray(returned.astype(np.float64) / data.bias)


Storage = Literal["dense", "class_major", "tables"]


class Engine(_core.Engine):
    """W and z, both 0 at first, and the loops over them.

    Parameters
    ----------
    problem : Problem
    rng : numpy.random.Generator, default=None
        Orders the classes in tables, so that the tables of all threads fill evenly.
    n_jobs : int, default=1
        Threads.
    storage : {"dense", "class_major", "tables"}, default=None
        Storage of W: dense with a row for each feature; dense with a row for each class (dense rows
        are then visited in batches; not for one-vs-rest, which has separate groups of classes); or
        hash tables, class -> weight, one per feature (very many classes, Crammer-Singer and
        Weston-Watkins). None chooses between the first two.
    lists : bool, default=False
        Whether z must be stored in lists even for few classes.

    Attributes
    ----------
    core : Problem of the core
    norms : ndarray of shape (n,), float64
        q_i = ||x_i||^2, including the appended feature.
    zero_objective : float
        P(0).

    Raises
    ------
    FloatingPointError
        If the squared norm of a row of X overflows.
    """

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator | None = None,
        n_jobs: int = 1,
        *,
        storage: Storage | None = None,
        lists: bool = False,
    ) -> None:
        self.problem, self.core, self._k = problem, core_problem(problem), problem.dataset.n_classes
        self.zero_objective = zero_objective(problem)
        self.norms: NDArray[np.float64] = self.core.squared_norms()
        check_squared_norms(self.norms)
        if storage is None:
            storage = "class_major" if in_batches(problem) else "dense"
        if storage != "tables":
            super().__init__(self.core, storage, n_jobs, lists=lists)
            return
        if isinstance(problem.base, TreeScores):  # its subtrees are ranges of classes
            order = problem.base.ranges.classes
        else:
            order = (rng or np.random.default_rng(0)).permutation(self._k).astype(np.int32)
        n_jobs = min(n_jobs, cpu_count())  # more threads would only wait
        super().__init__(self.core, storage, n_jobs, order=order, dense_from=dense_from(problem))

    def certify_near(self, W: _core.Weights, rounding: float) -> Certificate:
        """Compute P at a different dense W and D at z; `rounding` is for the engine's W.

        If W must sum to zero over the classes, its mean is subtracted.
        """
        if self.problem.formulation.centred:
            subtract_means(W.matrix)
        return self.certify(distance(W.matrix, self.matrix) + rounding, W)

    def certify(self, distance: float, W: _core.Weights | None = None) -> Certificate:
        """Compute P at the engine's W, or at another dense one, and D at z.

        `distance` is an upper bound of ||W - W(z)||, as ``rebuild`` returns it. If W must sum to
        zero, the mean that is due to rounding is subtracted first. With two classes, the estimator
        stores the difference or, for one-vs-rest, the weights of the second class.
        """
        problem, W = self.problem, self.W if W is None else W
        if W is None:
            held = returned_square(self.squared_norm(), self.intercepts(), problem.dataset)
            at = Returned.of(self._k, *held)
        else:
            if self._k == 2 and problem.is_antisymmetric:
                distance += antisymmetric(W.matrix)
            at = as_returned(problem, W.matrix)
        found = self.gap_sums(at.common, at.norm, W)
        return certificate_of(problem, at, found, distance, self.zero_objective)

    def dual_objective(self, z: CsrArray) -> float:
        """Estimate D at z and the engine's W, which is W(z), without the losses of empty rows.

        Certificates sum up the gap instead.
        """
        problem, costs = self.problem, self.problem.costs
        rows, values = np.repeat(np.arange(z.shape[0]), np.diff(z.indptr)), z.data
        values = values.astype(np.float64)
        linear = slacks_at_zero(problem, rows, z.indices) @ values
        if problem.slack_loss.has_ridge:
            costs = problem.costs_of(rows, z.indices)
            linear -= problem.slack_loss.ridge(values, costs).sum()
        if self.W is None:
            return float(linear) - 0.5 * self.squared_norm()
        return float(linear) - as_returned(problem, self.matrix).penalty

    @property
    def matrix(self) -> Array:
        """The dense W, shape (d + 1, k), in the engine's memory."""
        assert self.W is not None
        return self.W.matrix

    def load(self, z: CsrArray) -> None:
        """Set z, shape (n, k), 0 if x_i = 0."""
        values = z.data.astype(np.float64)
        self.set_duals(z.indptr.astype(np.int64), z.indices.astype(np.int32), values)

    def duals(self) -> CsrArray:
        """Return z, shape (n, k)."""
        indptr, labels, values = self.export_duals()
        return csr_on(values, labels, indptr, (self.problem.dataset.n_examples, self._k))

    def weights(self, *, releases: bool = False) -> Weights:
        """Return W, shape (d + 1, k): a copy, or the engine's own array, which is released."""
        found = self.release_weights() if releases else self.copy_weights()
        if not isinstance(found, tuple):
            return found
        indptr, labels, values = found
        return csr_on(values, labels, indptr, (self.problem.dataset.n_features + 1, self._k))


def of_examples(z: CsrArray, some: NDArray[np.bool_]) -> CsrArray:
    """Return z of some examples, without zeros, and 0 for the others."""
    kept = sp.csr_array(sp.diags_array(some.astype(z.dtype)) @ z)
    kept.eliminate_zeros()
    return kept
