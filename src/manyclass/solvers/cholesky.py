"""Products with (I + H)^-1 by Cholesky, for an H that is semi-definite but for rounding."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Solve: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]

# Rounding must not make H indefinite: shares that are added to its diagonal, for each of its rows,
# the larger ones where costs vary so widely that the smaller ones are too small.
ROUNDING = (8 * float(np.finfo(np.float64).eps), 1e-12, 1e-9, 1e-6)


def inverse_of(H: NDArray[np.float64]) -> Solve:
    """Return the product with (I + H)^-1; H is overwritten.

    Where H cannot be factorized, as it is not finite or far from semi-definite, that of its
    diagonal.
    """
    curvature = H.diagonal().copy()
    for share in ROUNDING:
        H[np.diag_indices_from(H)] = curvature * (1 + share * len(H)) + 1.0
        with contextlib.suppress(np.linalg.LinAlgError, ValueError):  # indefinite; not finite
            return partial(
                scipy.linalg.cho_solve, scipy.linalg.cho_factor(H, lower=True), check_finite=False
            )
    diagonal = 1 + np.nan_to_num(np.maximum(curvature, 0))
    return lambda right: np.asarray(right / diagonal)
