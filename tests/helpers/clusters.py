"""Data with many classes."""

import numpy as np
import scipy.sparse as sp


def clusters(n=1200, d=60, k=40, *, dense=False):
    """Noisy groups, more than the lanes of a vector."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    centres = sp.random_array((k, d), density=0.2, random_state=rng)
    noise = sp.random_array((n, d), density=0.1, random_state=rng)
    X = sp.csr_array(centres.tocsr()[y] + noise, dtype=np.float32)
    return (X.toarray() if dense else X), y
