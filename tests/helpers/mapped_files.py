"""Arrays that lie in files."""

from __future__ import annotations

import numpy as np


def mapped(array):
    """Whether an array lies in a file."""
    return array is not None and (isinstance(array, np.memmap) or mapped(array.base))
