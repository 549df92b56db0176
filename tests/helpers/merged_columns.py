"""Columns of which some can be merged, and some nearly."""

import numpy as np
import scipy.sparse as sp


def hostile_columns(dtype, n=300, d=40, copies=5):
    """Zeros, multiples, negative ones too, nearly proportional columns, denormals, many copies."""
    rng = np.random.default_rng(0)
    base = (
        sp.random_array((n, d), density=0.1, random_state=rng, dtype=np.float64)
        .toarray()
        .astype(dtype)
    )
    base[rng.integers(n, size=4), 0] = 1
    multiples = [base[:, : d // 2] * dtype(factor) for factor in (1, -1, 2, -0.5, 3)]
    near = base[:, : d // 4].copy()
    for column in near.T:
        rows = np.flatnonzero(column)
        if len(rows):
            column[rows[-1]] = np.nextafter(column[rows[-1]], dtype(2))
    tiny = np.zeros((n, 3), dtype)
    tiny[1] = np.finfo(dtype).smallest_subnormal
    tiny[2, 1:] = np.finfo(dtype).smallest_subnormal
    alone = np.zeros((n, 6), dtype)  # features of one row
    alone[3] = rng.normal(size=6)
    many = np.repeat(base[:, :1], copies, axis=1)
    X = np.hstack([base, *multiples, near, tiny, alone, many, np.zeros((n, 3), dtype)])
    return sp.csr_array(X[:, rng.permutation(X.shape[1])])
