"""What every model file must stand: truncation, flipped bits."""

import numpy as np
import pytest

from manyclass import load_model


def check_truncations(path):
    """Every truncation is one clear error."""
    content = path.read_bytes()
    for size in [*range(0, 64, 3), *np.linspace(64, len(content) - 1, 30).astype(int)]:
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match="cannot be read as a manyclass model"):
            load_model(path)
    path.write_bytes(content)


def check_flipped_bits(path):
    """A bit that is flipped in bytes of the header, or of the tensors, is one error."""
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    rng = np.random.default_rng(0)
    for at in [*range(8), *rng.integers(8, end, 150), *rng.integers(end, len(content), 60)]:
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="model"):
            load_model(path)
