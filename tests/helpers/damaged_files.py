"""What every model file must stand: truncation, flipped bits."""

from __future__ import annotations

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


def check_flipped_bits(path, *, header=True):
    """A bit that is flipped in any byte of the header, or in some of the tensors, is one error."""
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    rng = np.random.default_rng(0)
    for at in [*range(end if header else 0), *rng.integers(end, len(content), 200)]:
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="model"):
            load_model(path)
