"""Dense weights: allocation and packing."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass.solvers.weights.storage import allocate_weights, pack


@pytest.mark.parametrize("k", [1, 3, 8, 9, 16])
def test_packing_moves_every_row(k):
    buffer, weights = allocate_weights(50, k, np.dtype(np.float64))
    weights[:, :k] = np.arange(50 * k).reshape(50, k)
    assert weights.ctypes.data % 64 == 0
    packed = pack(buffer, weights, k)[: 50 * k]
    assert packed.tolist() == list(range(50 * k))
