"""The loop of epochs: when training has stalled."""

from __future__ import annotations

import numpy as np

from manyclass.training import loop as training_loop
from manyclass.training.loop import has_stalled


def test_stalling_needs_patience_and_no_progress():
    flat, falling = [1.0] * 200, [0.9**i for i in range(200)]
    assert not has_stalled(flat[: training_loop.PATIENCE], flat[: training_loop.PATIENCE], 1e-16)
    assert has_stalled(flat, flat, 1e-16)
    assert not has_stalled(flat, falling, 1e-16)
    assert not has_stalled(list(range(200)), flat, 1e-16)
    assert has_stalled([np.nan], [1.0], 1e-16)
