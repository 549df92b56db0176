"""Engines: W and z of a problem, and the loops over them, by the compiled core.

A method (sequential_dual.py) calls the loops, and sees W as an array of shape (d + 1, k) and z as a
CSR array of shape (n, k). How they are laid out is known to ``cpp/engines`` alone.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.problem import Problem, check_squared_norms, core_problem
from manyclass.problem.solution import Certificate, Weights
from manyclass.problem.tree_scores import TreeScores
from manyclass.problem.zero_objective import zero_objective
from manyclass.solvers.certificates import (
    NO_COMMON,
    Returned,
    as_returned,
    certificate_of,
    returned_square,
)
from manyclass.solvers.weights.dense import antisymmetric, distance, in_batches, subtract_means
from manyclass.solvers.weights.tables import csr_on, dense_from
from manyclass.utils.types import Array, CsrArray

Storage = Literal["dense", "class_major", "tables"]


class Engine(_core.Engine):
    """W and z, both 0 at first, and the loops over them.

    Parameters
    ----------
    problem : Problem
    rng : numpy.random.Generator, default=None
        Orders the classes in tables, so that those of all threads fill evenly.
    n_jobs : int, default=1
        Threads.
    storage : {"dense", "class_major", "tables"}, default=None
        Of W: dense with a row for each feature, with a row for each class (dense rows are then
        visited in batches; not for one-vs-rest, whose groups of classes are separate), or hash
        tables, class -> weight, one per feature (very many classes, Crammer-Singer and
        Weston-Watkins). None chooses between the first two.
    lists : bool, default=False
        Whether z must be held in lists, of few classes as well.

    Attributes
    ----------
    core : Problem of the core
    norms : ndarray of shape (n,), float64
        q_i = ||x_i||^2, the appended feature included.

    Raises
    ------
    FloatingPointError
        If the square of a row of X overflows.
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
        self.problem, self.core = problem, core_problem(problem)
        self.norms: NDArray[np.float64] = self.core.squared_norms()
        check_squared_norms(self.norms)
        if storage is None:
            storage = "class_major" if in_batches(problem) else "dense"
        if storage != "tables":
            super().__init__(self.core, storage, n_jobs, lists=lists)
            return
        order = self._order_of_classes(rng or np.random.default_rng(0))
        n_jobs = min(n_jobs, cpu_count())  # more would only wait
        super().__init__(self.core, storage, n_jobs, order=order, dense_from=dense_from(problem))

    def _order_of_classes(self, rng: np.random.Generator) -> NDArray[np.int32]:
        """Return a random order; with a taxonomy, that in which its subtrees are ranges."""
        base = self.problem.base
        if isinstance(base, TreeScores):
            return base.ranges.classes
        return rng.permutation(self._k).astype(np.int32)

    def certify(self, rounding: float) -> Certificate:
        """Compute P at W and D at z; `rounding` bounds ||W - W(z)||, as ``rebuild`` does."""
        if self.W is not None:
            return self.certify_at(self.W, rounding)
        held = self.squared_norm(), self.intercepts()
        at = Returned(NO_COMMON, *returned_square(*held, self.problem.dataset))
        found = self.gap_sums(at.common, at.norm(self._k))
        return certificate_of(self.problem, at, found, rounding, self.zero_objective)

    def certify_near(self, W: _core.Weights, rounding: float) -> Certificate:
        """Compute P at another dense W and D at z; `rounding` is that of the engine's W.

        Where W is to sum to zero over the classes, its mean is subtracted.
        """
        if self.problem.formulation.centred:
            subtract_means(W.matrix)
        return self.certify_at(W, distance(W.matrix, self.matrix) + rounding)

    def certify_at(self, W: _core.Weights, distance: float) -> Certificate:
        """Compute P at some dense W and D at z; `distance` is an upper bound of ||W - W(z)||.

        Where W is to sum to zero, what rounding leaves of its mean is subtracted first. Of two
        classes, the estimator keeps the difference, or, of one-vs-rest, the second one's weights.
        """
        if self._k == 2 and self.problem.is_antisymmetric:
            distance += antisymmetric(W.matrix)
        at = as_returned(self.problem, W.matrix)
        found = self.gap_sums(at.common, at.norm(self._k), W)
        return certificate_of(self.problem, at, found, distance, self.zero_objective)

    @cached_property
    def zero_objective(self) -> float:
        """P(0)."""
        return zero_objective(self.problem)

    @property
    def matrix(self) -> Array:
        """The dense W, shape (d + 1, k), in the engine's memory."""
        assert self.W is not None
        return self.W.matrix

    def load(self, z: CsrArray) -> None:
        """Take over z, shape (n, k), 0 where x_i = 0."""
        values = z.data.astype(np.float64)
        self.set_duals(z.indptr.astype(np.int64), z.indices.astype(np.int32), values)

    def duals(self) -> CsrArray:
        """Return z, shape (n, k)."""
        indptr, labels, values = self.export_duals()
        return csr_on(values, labels, indptr, (self.problem.dataset.n_examples, self._k))

    def weights(self) -> Weights:
        """Return W, a copy of shape (d + 1, k)."""
        return self._as_weights(self.copy_weights())

    def release(self) -> Weights:
        """Return W, shape (d + 1, k), in the engine's memory; the engine has none afterwards."""
        return self._as_weights(self.release_weights())

    def _as_weights(self, found: Array | tuple[Array, Array, Array]) -> Weights:
        if not isinstance(found, tuple):
            return found
        indptr, labels, values = found
        return csr_on(values, labels, indptr, (self.problem.dataset.n_features + 1, self._k))

    @property
    def _k(self) -> int:
        return self.problem.dataset.n_classes


def of_examples(z: CsrArray, some: NDArray[np.bool_]) -> CsrArray:
    """Return z of some examples, without zeros; 0 for the others."""
    kept = sp.csr_array(sp.diags_array(some.astype(z.dtype)) @ z)
    kept.eliminate_zeros()
    return kept
