"""Leave out small coefficients: thresholds, counts, density, the norm."""

from __future__ import annotations

from numbers import Real

import numpy as np

from manyclass.prediction.scoring import Coefficients
from manyclass.prediction.sparse_coefficients import ENTRIES_AT_A_TIME, SparseCoefficients

# Scores that are held at a time, in float64.
SCORES_AT_A_TIME = 1 << 21


def thresholded(coef: Coefficients, threshold: float) -> SparseCoefficients:
    """Return the coefficients of a magnitude above a threshold.

    Raises
    ------
    ValueError
        If the threshold is negative or no number.
    """
    if not isinstance(threshold, Real) or not threshold >= 0:
        raise ValueError(f"threshold must be a number that is not negative, got {threshold!r}")
    if isinstance(coef, SparseCoefficients):
        return coef.thresholded(threshold)
    return SparseCoefficients.from_dense(coef, threshold)


def count_nonzero(coef: Coefficients) -> int:
    """Count the coefficients that are not zero."""
    values = coef.values if isinstance(coef, SparseCoefficients) else coef
    return int(np.count_nonzero(values))


def density(coef: Coefficients) -> float:
    """Return the share of the coefficients that are not zero."""
    return float(count_nonzero(coef) / (coef.shape[0] * coef.shape[1]))


def squared_norm(coef: Coefficients) -> float:
    """Sum of squares in float64; of a dense array in the order of its memory."""
    if isinstance(coef, SparseCoefficients):
        flat = coef.values
        parts = [
            flat[begin : begin + ENTRIES_AT_A_TIME]
            for begin in range(0, len(flat), ENTRIES_AT_A_TIME)
        ]
    else:
        step = max(1, ENTRIES_AT_A_TIME // coef.shape[0])
        parts = [coef[:, begin : begin + step] for begin in range(0, coef.shape[1], step)]
    return float(sum(np.sum(np.square(part, dtype=np.float64)) for part in parts))
