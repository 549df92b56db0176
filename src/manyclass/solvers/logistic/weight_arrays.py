"""Arrays like W of logistic regression: their layout, and NumPy arithmetic.

Engines with W on a device override these methods.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from manyclass.problem.problem import Problem
from manyclass.rows.logistic_sums import as_matrix
from manyclass.solvers.weights.storage import allocate_weights, in_batches
from manyclass.utils.types import Array, DType


class WeightArrays:
    """Arrays like W as ndarrays, padded to whole blocks.

    Attributes
    ----------
    problem : Problem
    n_examples, n_values : int
        Numbers of rows, and of values of X, of all parts.
    class_major : bool
        Whether W has a row for each class.
    """

    problem: Problem
    n_examples: int
    n_values: int
    class_major: bool

    # Layout

    def is_class_major(self) -> bool:
        """Whether W has a row for each class instead of each feature."""
        return in_batches(self.problem, (self.n_values, self.n_examples))

    def new_weights(self, dtype: DType | None = None) -> Array:
        """Return zeros in the layout of W."""
        return new_weights(self.problem, dtype or self.problem.dataset.dtype, self.class_major)

    def matrix(self, W: Array) -> Array:
        """Return a view of an array like W, shape (d + 1, k)."""
        return as_matrix(W, self.problem, class_major=self.class_major)

    def features(self, W: Array) -> Array:
        """Return a view of an array like W without the appended feature."""
        d, k = self.problem.dataset.n_features, self.problem.dataset.n_classes
        return W[:k, :d] if self.class_major else W[:d, :k]

    def bias(self, W: Array) -> Array:
        """Return the appended feature's weights, shape (k,): a view."""
        d, k = self.problem.dataset.n_features, self.problem.dataset.n_classes
        return W[:k, d] if self.class_major else W[d, :k]

    # Arithmetic

    @property
    def eps(self) -> float:
        """Machine epsilon of the dtype of W."""
        return float(np.finfo(self.problem.dataset.dtype).eps)

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """Return zeros in float64, for sums of curvature."""
        return np.zeros(shape)

    def eigh(self, matrix: Array) -> tuple[Array, Array]:
        """Return the eigenvalues, clipped at 0, and eigenvectors of a matrix from ``zeros``."""
        values, vectors = scipy.linalg.eigh(matrix)
        return np.maximum(values, 0), vectors

    def narrowed(self, numbers: Array) -> Array:
        """Return numbers in the dtype of W."""
        return numbers.astype(self.problem.dataset.dtype)

    def host(self, numbers: Array) -> Array:
        """Return numbers like those of W as an ndarray."""
        return numbers

    def placed(self, numbers: Array) -> Array:
        """Return an ndarray as an array on the device of W."""
        return numbers

    def inner(self, a: Array, b: Array) -> float:
        """Return the inner product of two arrays like W."""
        return dot(a, b)


def dot(a: Array, b: Array) -> float:
    """Return the scalar product."""
    return float(np.vdot(a, b))


def new_weights(problem: Problem, dtype: DType, class_major: bool) -> Array:
    """Return zeros like W."""
    shape = problem.dataset.n_features + 1, problem.dataset.n_classes
    return allocate_weights(*(shape[::-1] if class_major else shape), dtype)[1]
