"""How far probabilities agree with what is right: reliability curve, log loss, ECE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from manyclass.reports.label_codes import LabelCodes
from manyclass.utils.types import Array

BINS = 10
PROBABILITIES_AT_A_TIME = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Reliability of the largest probability of every row, in bins of equal width.

    Attributes
    ----------
    counts : ndarray of shape (10,), int64
        Rows in each bin.
    confidence : ndarray of shape (10,), float64
        Mean largest probability of a bin's rows; NaN without rows.
    accuracy : ndarray of shape (10,), float64
        Share of a bin's rows that are right; NaN without rows.
    log_loss : float or None
        Mean of -log p(true class), as scikit-learn clips it, over rows whose label is a class;
        None without one.
    ece : float
        Expected calibration error: the mean of |accuracy - confidence|, weighted by the counts.
    """

    counts: NDArray[np.int64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    log_loss: float | None
    ece: float

    @classmethod
    def of(cls, largest: Array, right: Array, log_loss: float | None) -> Calibration:
        """Compute it.

        Parameters
        ----------
        largest : ndarray of shape (n_samples,)
            Probabilities of the predicted classes.
        right : ndarray of shape (n_samples,), bool
        log_loss : float or None

        Examples
        --------
        >>> import numpy as np
        >>> found = Calibration.of(np.array([0.85, 0.85]), np.array([True, False]), None)
        >>> round(found.ece, 6)
        0.35
        """
        bins = np.minimum((largest * BINS).astype(int), BINS - 1)
        counts = np.bincount(bins, minlength=BINS)
        sums = np.bincount(bins, largest, BINS), np.bincount(bins, right, BINS)
        empty = np.full(BINS, np.nan)
        confidence, accuracy = (
            np.divide(s, counts, out=empty.copy(), where=counts > 0) for s in sums
        )
        ece = float(np.abs(sums[0] - sums[1]).sum() / len(largest))
        return cls(counts, confidence, accuracy, log_loss, ece)


def has_probabilities(model: object) -> bool:
    """Whether a model gives probabilities."""
    return hasattr(model, "predict_proba")


def calibration(model: Any, X: Any, codes: LabelCodes) -> Calibration:
    """Judge the probabilities of a model, a few rows at a time.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``
    X : {array-like, CSR matrix} of shape (n_samples, n_features)
    codes : LabelCodes
        Of its classes, the true labels and its predictions.
    """
    columns = codes.columns()
    largest, losses = np.empty(len(codes.true)), [np.empty(0)]
    step = max(1, PROBABILITIES_AT_A_TIME // len(model.classes_))
    for begin in range(0, len(largest), step):
        part = slice(begin, begin + step)
        p = model.predict_proba(_safe_indexing(X, part))
        largest[part] = p.max(axis=1)
        known = np.flatnonzero(codes.true[part] < codes.n_known)
        true = p[known, columns[codes.true[part][known]]]
        losses.append(-np.log(np.maximum(true, np.finfo(p.dtype).eps, dtype=np.float64)))
    loss = np.concatenate(losses)
    right = codes.true == codes.predicted
    return Calibration.of(largest, right, float(loss.mean()) if len(loss) else None)
