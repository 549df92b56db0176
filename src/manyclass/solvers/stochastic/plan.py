"""Options, records and the stopping rule of stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LOSSES = ("hinge", "log_loss", "perceptron")
LONGEST = 1 << 62  # more examples than there ever are


@dataclass(frozen=True, slots=True)
class StochasticRecord:
    """One epoch of stochastic training.

    Attributes
    ----------
    epoch : int
        Counted from 1.
    seconds : float
        Since training began.
    steps : int
        All steps so far.
    loss : float
        Mean loss of the epoch's examples, each before its step; without the penalty.
    validation_score : float or None
        Accuracy on the examples that were held out.
    """

    epoch: int
    seconds: float
    steps: int
    loss: float
    validation_score: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of the visits of rows.

    Attributes
    ----------
    loss : {"hinge", "log_loss", "perceptron"}
    batch_size : int
        r, rows in a step.
    shuffle : bool
        Whether each epoch has a random order (of the rows in memory); otherwise the given one.
    n_jobs : int
        Threads at most.
    """

    loss: str
    batch_size: int
    shuffle: bool
    n_jobs: int


class NoImprovement:
    """Ends training when a number has not fallen by ``tol`` for ``n_iter_no_change`` epochs."""

    def __init__(self, tol: float | None, n_iter_no_change: int) -> None:
        self._tol = -np.inf if tol is None else tol
        self._patience = n_iter_no_change
        self._best = np.inf
        self._idle = 0

    def met(self, value: float) -> bool:
        """Take the number of one more epoch."""
        improved = value <= self._best - self._tol
        self._idle = 0 if improved else self._idle + 1
        self._best = min(self._best, value)
        return self._idle >= self._patience
