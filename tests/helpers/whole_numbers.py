"""Small integers, whose scores are exact in every order of summation."""

import numpy as np
import scipy.sparse as sp

from manyclass import _core

INSTRUCTION_SETS = _core.instruction_sets()


DTYPES = [np.float32, np.float64]


def whole_numbers(n, d, k, dtype, *, seed=0, density=0.5):
    """X with many zeros, some whole rows among them; W (d, k) and intercepts."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, d)) * (rng.random((n, d)) < density) * (rng.random((n, 1)) < 0.8)
    W, intercepts = rng.integers(-3, 4, (d, k)), rng.integers(-3, 4, k)
    return X.astype(dtype), W.astype(dtype), intercepts.astype(dtype)


def csr_of(X):
    csr = sp.csr_array(X)
    return csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data


def best(scores, top):
    return np.argsort(-scores, axis=1, kind="stable")[:, :top]


def wide(X):
    """X with int64 indices, which SciPy makes narrow when it can."""
    csr = sp.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr
