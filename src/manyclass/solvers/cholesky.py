"""Products with (I + H)^-1 by Cholesky, for an H that is semi-definite up to rounding."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Solve: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]

# Rounding must not make H indefinite: these shares are added to its diagonal, per row of H. Larger
# shares are for widely varying costs, if the smaller ones do not suffice.
ROUNDING = (8 * float(np.finfo(np.float64).eps), 1e-12, 1e-9, 1e-6)


def inverse_of(H: NDArray[np.float64]) -> Solve:
    """Return the product with (I + H)^-1; H is overwritten.

    If H cannot be factorized, because it is not finite or far from semi-definite, only its diagonal
    is used.
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
