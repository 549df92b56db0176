"""What every model file must stand: truncation, flipped bits."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from manyclass import load_model


def check_truncations(path):
    """Every truncation is one clear error."""
    content = path.read_bytes()
    for size in [*range(0, 64), *range(64, len(content), 97), len(content) - 1]:
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match="cannot be read as a manyclass model"):
            load_model(path)


def check_flipped_bits(path, X):
    """One gives an error that names the file, or (in some parameter) another model."""
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    loadable = 0
    for _ in range(1500):
        damaged = bytearray(content)
        damaged[rng.integers(len(content))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        with contextlib.suppress(ValueError):
            assert load_model(path).predict(X).shape == (len(X),)
            loadable += 1
    assert loadable < 1000
