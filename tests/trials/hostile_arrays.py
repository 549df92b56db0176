"""Arrays and numbers for trials, some of which are wrong."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from manyclass.solvers.weights.storage import allocate_weights

SIZES = [-(2**63), -(2**31), -1, 0, 1, 2, 31, 2**31 - 1, 2**31, 2**62, 2**63 - 1]
NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-300, 1e30, 1e300]


class Hostile:
    """Draws arrays and numbers, some of which are wrong."""

    def __init__(self, seed, call):
        self.rng = np.random.default_rng([seed, call])
        self.level = self.pick([0.1, 0.3, 1.0])  # less that is wrong reaches more

    def chance(self, share):
        return self.rng.random() < share

    def pick(self, choices):
        return choices[self.rng.integers(len(choices))]

    def number(self, right, share=0.05, choices=SIZES):
        """Return the right number, mostly."""
        return self.pick(choices) if self.chance(self.level * share) else right

    def array(self, right, share=0.12):
        """Return the right array, mostly; else one of other numbers or length."""
        if not self.chance(self.level * share):
            return right
        array = right.copy()
        if self.chance(0.4):
            return np.resize(array, self.pick([0, 1, len(array) // 2, len(array) + 1, 3000]))
        odd = NUMBERS if array.dtype.kind == "f" else SIZES + list(range(-3, len(array) + 3))
        with np.errstate(all="ignore"):
            for _ in range(self.rng.integers(1, 4)):
                if len(array):
                    value = np.array(self.pick(odd)).astype(array.dtype)
                    array[self.rng.integers(len(array))] = value
        return array

    def csr(self, n_rows, n_columns, dtype, density=0.4):
        X = sp.random_array(
            (n_rows, n_columns), density=density, random_state=self.rng, format="csr"
        )
        return X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(dtype)

    def rows(self, n):
        right = np.flatnonzero(self.rng.random(n) < 0.9).astype(np.int32)
        return self.array(right)

    def weights(self, n_rows, n_columns, dtype):
        shape = max(0, n_rows + int(self.number(0, 0.1, [-1, 1]))), n_columns
        stride = int(self.number(shape[1], 0.1, [0, 1, 16, 64, 128]))
        W = allocate_weights(shape[0], stride, dtype)[1]
        return W[:, 1:].copy() if self.chance(0.02) else W
