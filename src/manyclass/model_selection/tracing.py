"""Fits until a range of C is proven: at its ends, then where the bounds are widest apart."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_scalar

from manyclass.model_selection.envelope import Envelope
from manyclass.model_selection.fitting import Classifier, Fit, fit
from manyclass.utils.types import Rows

LADDER = 10.0  # between the first few C, until the path is constant
# Of epsilon: what fits are trained to. Less takes longer a fit, more takes more fits.
SHARE = 0.2
NEAR = 1e-4  # relative, of a C that has been trained: more fits there prove no more


def check_range(C_min: float, C_max: float, epsilon: float) -> None:
    """Refuse a range of C, or an epsilon, that is none."""
    for name, value in (("C_min", C_min), ("C_max", C_max), ("epsilon", epsilon)):
        check_scalar(value, name, (int, float, np.number), min_val=0, include_boundaries="neither")
        if not np.isfinite(value):
            raise ValueError(f"{name} must be finite, got {value}")
    if not C_min < C_max:
        raise ValueError(f"C_min must be less than C_max; got {C_min:g} and {C_max:g}")


class Tracer:
    """Trains at any C, from the nearest that has been trained.

    Parameters
    ----------
    data : (X, y, sample_weight)
    make : callable
        Returns an estimator to fit, for C and a seed.
    random : RandomState
    stop : Event, default=None
        Ends the fit after its epoch, and the trace, when it is set.
    tell : callable, default=None
        Is given each fit.
    """

    def __init__(
        self,
        data: tuple[Rows, ArrayLike, ArrayLike | None],
        make: Callable[[float, int], Classifier],
        random: np.random.RandomState,
        stop: Event | None = None,
        tell: Callable[[Fit], None] | None = None,
    ) -> None:
        self.data = data
        self.make = make
        self.random = random
        self.stop = stop or Event()
        self.tell = tell
        self.fits: list[Fit] = []

    def trace(
        self, C_min: float, C_max: float, epsilon: float, max_fits: int
    ) -> tuple[float, float]:
        """Train until all is proven, or no more fits may or would help.

        Returns
        -------
        C, gap : float
            Where the bounds are widest apart, and how far.
        """
        self._climb(C_min, C_max, epsilon)
        while True:
            C, gap = self.envelope().widest(C_min, C_max)
            if gap <= epsilon or len(self.fits) >= max_fits or self._is_near(C):
                return C, gap
            if self.stop.is_set():
                return C, gap
            self._train(C)

    def envelope(self) -> Envelope:
        """Return the bounds so far."""
        lines = [(f.C, f.penalty, f.loss, f.dual_objective) for f in self.fits]
        return Envelope(*np.array(lines, np.float64).T)

    def _climb(self, C_min: float, C_max: float, epsilon: float) -> None:
        """Train at C_min, some C between, and C_max, unless a model is proven up to there."""
        C = C_min
        while True:
            found = self._train(C)
            if C_max == C or found.gap_at(C_max) <= epsilon or self.stop.is_set():
                return
            C = C_max if C_max <= C * LADDER**1.5 else C * LADDER

    def _train(self, C: float) -> Fit:
        model = self.make(float(C), int(self.random.randint(2**31 - 1)))
        nearest = min(self.fits, key=lambda known: abs(np.log(known.C / C)), default=None)
        start = None if nearest is None else nearest.start
        found = fit(model, *self.data, start, self.stop)
        if self.tell is not None:
            self.tell(found)
        self.fits.append(found)
        self.fits.sort(key=lambda known: known.C)
        return found

    def _is_near(self, C: float) -> bool:
        """Whether a model was trained at nearly this C."""
        return any(abs(known.C / C - 1) < NEAR for known in self.fits)
