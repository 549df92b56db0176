"""Certified path: for every C in a range, a model that is proven to be near the optimum.

Input: a range of C and epsilon. Models are trained at both ends of the range, then at the C with
the largest gap in ``Envelope``, until the gap is at most epsilon everywhere. Source of the
formulas: concavity of the optimal value in C (Boyd, Vandenberghe: Convex Optimization, 2004, sec.
5.6); Giesen, Jaggi, Laue: Approximating parameterized convex optimization problems, ACM
Transactions on Algorithms 9, 2012.

With P_C(W) = N(W) + C L(W), N the penalty and L the sum of weighted losses, a model j that was
trained at C_j bounds the optimum P*(C) at every C:

    P*(C) <= min_j N_j + C L_j                        an upper envelope of lines
    P*(C) >= the chord between neighbors (C_j, D_j)   since P* is concave, D_j <= P*(C_j)
    P*(C) >= max_{C_j <= C} D_j                        since P* does not decrease

P* is a minimum of lines in C with slopes L >= 0, for every formulation and loss here, so it is
concave and does not decrease; P*(0) = 0. The model with the lowest line at C is then proven to be
within (upper - lower) of the optimum at C. This is divided by the optimum and by the improvement
over W = 0, P_C(0) - P*(C) with P_C(0) = C L(0).

N_j and L_j are upper bounds including rounding (Certificate), D_j are lower bounds. Every bound
here is a sum of few non-negative numbers, with an error of a few u, and is widened by ROUNDING.
This also covers rounding in the product of C and the weights of examples, which changes P* by as
much.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from numbers import Real
from threading import Event
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar

from manyclass.model_selection.folds import (
    CertifiedFit,
    TrainingRows,
    estimator_for,
    fit,
    gap_between,
)
from manyclass.model_selection.scorers import Classifier
from manyclass.utils.types import Array, CsrArray, FormulationName, Numbers, Rows
from manyclass.utils.user_warning import warn_user

LADDER = 10.0  # factor between the first few C, until the path is constant
# Tolerance of the fits as a share of epsilon: smaller means longer fits, larger more of them.
SHARE = 0.2
NEAR = 1e-4  # relative distance from a trained C within which more fits do not improve the bounds
ROUNDING = 16 * float(np.finfo(np.float64).eps)  # rounding error of a bound, as a share of it


@dataclass(slots=True, eq=False)
class CPath:
    """Models for every C in a range, from ``c_path``.

    Attributes
    ----------
    Cs : ndarray of shape (n_models,)
        Values of C at which models were trained, ascending.
    models : list of estimators
        Fitted models, in the order of `Cs`.
    objectives : ndarray of shape (n_models,)
        P of each model at its C.
    dual_objectives : ndarray of shape (n_models,)
        Lower bounds of the optimum at each C.
    accuracies : ndarray of shape (n_models,), or None
        Accuracies on the validation set, if given.
    C_min, C_max, epsilon : float
        Parameters of ``c_path``.
    seconds : float
        Seconds of training.
    """

    envelope: Envelope
    models: list[Classifier]
    C_min: float
    C_max: float
    epsilon: float
    seconds: float
    accuracies: Array | None = field(default=None)

    @property
    def Cs(self) -> Numbers:
        """Values of C at which models were trained."""
        return self.envelope.Cs

    @property
    def objectives(self) -> Numbers:
        """Primal objective of each model at its C."""
        return self.envelope.penalties + self.envelope.Cs * self.envelope.losses

    @property
    def dual_objectives(self) -> Numbers:
        """Return the dual objective of each model: a lower bound of the optimum at its C."""
        return self.envelope.dual_objectives

    def model_at(self, C: float) -> Classifier:
        """Return the stored model with the least objective at C.

        Raises
        ------
        ValueError
            If C is outside the range.
        """
        return self.models[int(self.envelope.best(self._checked(C)))]

    def weights_at(self, C: float) -> Array | CsrArray:
        """Return ``coef_`` of ``model_at(C)``."""
        return self.model_at(C).coef_

    def intercept_at(self, C: float) -> Array:
        """Return ``intercept_`` of ``model_at(C)``."""
        return self.model_at(C).intercept_

    def gap_at(self, C: float) -> float:
        """Return an upper bound of (P - P*) / min(P*, P(0) - P*) for ``model_at(C)``."""
        return float(self.envelope.gap(self._checked(C)))

    def bounds_at(self, C: float) -> tuple[float, float]:
        """Return a lower and an upper bound of the optimum at C."""
        C = self._checked(C)
        return float(self.envelope.lower(C)), float(self.envelope.upper(C))

    def _checked(self, C: float) -> float:
        check_scalar(C, "C", Real)
        if not self.C_min <= C <= self.C_max:
            raise ValueError(
                f"C must be from {self.C_min:g} to {self.C_max:g}, the path's; got {C}"
            )
        return float(C)


def c_path(
    X: Rows,
    y: ArrayLike,
    *,
    C_min: float,
    C_max: float,
    epsilon: float = 0.01,
    formulation: FormulationName | Literal["logistic"] = "crammer_singer",
    sample_weight: ArrayLike | None = None,
    validation: tuple[Rows, ArrayLike] | None = None,
    max_fits: int = 200,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
    **parameters: Any,
) -> CPath:
    """Train models until, for every C in a range, one of them is proven to be near the optimum.

    For every C from `C_min` to `C_max`, the objective of ``model_at(C)`` exceeds the optimum by at
    most `epsilon` times the optimum, and by at most `epsilon` times the improvement over W = 0: the
    objective of W = 0 minus the optimum.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    C_min, C_max : float
        Range of C.
    epsilon : float, default=0.01
        Relative distance from the optimum.
    formulation : str, default="crammer_singer"
        A formulation of ``MulticlassSVC``, or "logistic".
    sample_weight : array-like of shape (n_samples,), default=None
    validation : (X, y), default=None
        Rows for the accuracies of the models.
    max_fits : int, default=200
        Maximum number of models. If more would be needed, ``c_path`` warns.
    random_state : int, RandomState instance, default=None
        Orders the updates.
    verbose : int, default=0
        1: print a line for each fit.
    **parameters
        Other parameters of ``MulticlassSVC`` or ``MultinomialLogisticRegression``.

    Returns
    -------
    CPath

    Raises
    ------
    ValueError
        If the range is empty, or if ``fit`` of the estimator raises it.

    Warns
    -----
    ConvergenceWarning
        If no model is proven to `epsilon` at some C: because of too few fits or epochs, or because
        C times the rounding error of the losses exceeds `epsilon` times the optimum. ``gap_at``
        returns the proven gap.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import c_path
    >>> X, y = load_iris(return_X_y=True)
    >>> path = c_path(X, y, C_min=0.01, C_max=10.0, epsilon=0.05, random_state=0)
    >>> path.gap_at(0.37) <= 0.05
    True
    >>> path.weights_at(0.37).shape
    (3, 4)
    """
    check_range(C_min, C_max, epsilon)
    _check(max_fits, parameters)
    settings = {"tol": SHARE * epsilon, **parameters}

    def make(C: float, seed: int) -> Classifier:
        return estimator_for(formulation, {**settings, "C": C, "random_state": seed})

    random = check_random_state(random_state)
    tracer = Tracer(
        TrainingRows(X, y, sample_weight), make, random, on_fit=_print_fit if verbose else None
    )
    began = time.perf_counter()
    C, gap = tracer.trace(C_min, C_max, epsilon, max_fits)
    if gap > epsilon:
        warn_user(
            f"the path is proven to {gap:.2e} at C = {C:g} (requested: {epsilon:g}) after "
            f"{len(tracer.fits)} fits; raise max_fits or max_iter, lower tol, or choose a smaller "
            "C_max: rounding errors grow with C",
            ConvergenceWarning,
        )
    accuracies = None
    if validation is not None:
        accuracies = np.array([found.model.score(*validation) for found in tracer.fits])
    seconds = time.perf_counter() - began
    models = [found.model for found in tracer.fits]
    return CPath(tracer.envelope(), models, C_min, C_max, epsilon, seconds, accuracies)


def _check(max_fits: int, parameters: Collection[str]) -> None:
    check_scalar(max_fits, "max_fits", (int, np.integer), min_val=2)
    refused = {"C", "warm_start", "checkpoint", "resume", "communicator"} & set(parameters)
    if refused:
        raise TypeError(f"c_path has no parameter {min(refused)!r}")


def _print_fit(found: CertifiedFit) -> None:
    primal = found.penalty + found.C * found.loss
    print(
        f"C {found.C:.4g}  objective {primal:.6g}  gap {found.gap:.2e}  "
        f"epochs {found.model.n_iter_}",
        flush=True,
    )


def check_range(C_min: float, C_max: float, epsilon: float) -> None:
    """Refuse an invalid range of C or epsilon."""
    for name, value in (("C_min", C_min), ("C_max", C_max), ("epsilon", epsilon)):
        check_scalar(value, name, (int, float, np.number), min_val=0, include_boundaries="neither")
        if not np.isfinite(value):
            raise ValueError(f"{name} must be finite, got {value}")
    if not C_min < C_max:
        raise ValueError(f"C_min must be less than C_max; got {C_min:g} and {C_max:g}")


class Tracer:
    """Trains at a given C, with a warm start from the nearest trained C.

    Parameters
    ----------
    data : TrainingRows
    make : callable
        Returns an estimator to fit, for C and a seed.
    random : RandomState
    stop : Event, default=None
        If set, ends the fit after its epoch, and the trace.
    on_fit : callable, default=None
        Called with each fit.
    """

    def __init__(
        self,
        data: TrainingRows,
        make: Callable[[float, int], Classifier],
        random: np.random.RandomState,
        stop: Event | None = None,
        on_fit: Callable[[CertifiedFit], None] | None = None,
    ) -> None:
        self.data = data
        self.make = make
        self.random = random
        self.stop = stop or Event()
        self.on_fit = on_fit
        self.fits: list[CertifiedFit] = []

    def trace(
        self, C_min: float, C_max: float, epsilon: float, max_fits: int
    ) -> tuple[float, float]:
        """Train until the whole range is proven, or until more fits are not allowed or not useful.

        Returns
        -------
        C, gap : float
            The C with the largest gap, and this gap.
        """
        self._climb(C_min, C_max, epsilon)
        while True:
            C, gap = self.envelope().widest(C_min, C_max)
            is_near = any(abs(known.C / C - 1) < NEAR for known in self.fits)
            if gap <= epsilon or len(self.fits) >= max_fits or is_near or self.stop.is_set():
                return C, gap
            self._train(C)

    def envelope(self) -> Envelope:
        """Return the bounds so far."""
        lines = [(f.C, f.penalty, f.loss, f.dual_objective, f.zero_loss) for f in self.fits]
        return Envelope(*np.array(lines, np.float64).T)

    def _climb(self, C_min: float, C_max: float, epsilon: float) -> None:
        """Train at C_min, some C between, and C_max, until a model is proven up to C_max."""
        C = C_min
        while True:
            found = self._train(C)
            if C_max == C or found.gap_at(C_max) <= epsilon or self.stop.is_set():
                return
            C = C_max if C_max <= C * LADDER**1.5 else C * LADDER

    def _train(self, C: float) -> CertifiedFit:
        model = self.make(float(C), int(self.random.randint(2**31 - 1)))
        nearest = min(self.fits, key=lambda known: abs(np.log(known.C / C)), default=None)
        start = None if nearest is None else nearest.start
        found = fit(model, self.data, start, self.stop)
        if self.on_fit is not None:
            self.on_fit(found)
        self.fits.append(found)
        self.fits.sort(key=lambda known: known.C)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """Bounds of the optimum from models, ascending in C.

    Attributes
    ----------
    Cs, penalties, losses, dual_objectives, zero_losses : ndarray of shape (n_models,)
        C_j, N_j, L_j, D_j, and L(0), which is the same for all models up to rounding.
    """

    Cs: Numbers
    penalties: Numbers
    losses: Numbers
    dual_objectives: Numbers
    zero_losses: Numbers

    def best(self, C: ArrayLike) -> NDArray[np.intp]:
        """Return the model with the lowest objective at each C."""
        return np.asarray(np.argmin(self._lines(C), axis=0))

    def upper(self, C: ArrayLike) -> Numbers:
        """Return the lowest objective at each C."""
        return np.asarray(self._lines(C).min(axis=0) * (1 + ROUNDING))

    def lower(self, C: ArrayLike) -> Numbers:
        """Return a lower bound of the optimum at each C."""
        wanted = np.asarray(C, np.float64)
        highest = np.maximum.accumulate(self.dual_objectives)
        Cs, bounds = np.append(0.0, self.Cs), np.append(0.0, highest)
        return np.asarray(np.interp(wanted, Cs, np.maximum(bounds, 0.0)) * (1 - ROUNDING))

    def gap(self, C: ArrayLike) -> Numbers:
        """Return a bound of (P - P*) / min(P*, P(0) - P*) at each C."""
        return gap_between(self.upper(C), self.lower(C), self.zero(C))

    def zero(self, C: ArrayLike) -> Numbers:
        """Return the objective of W = 0 at each C."""
        return np.asarray(np.asarray(C, np.float64) * self.zero_losses.min())

    def widest(self, low: float, high: float) -> tuple[float, float]:
        """Return the C of a range with the largest gap, and that gap.

        Between two trained C, the upper and lower bounds are linear except where lines cross; the
        ratio of two linear functions has its extremes at the ends. P(0) minus the upper bound is
        convex, so it is positive between the ends if it is positive at both.
        """
        rises = self.penalties[None] - self.penalties[:, None]
        falls = self.losses[:, None] - self.losses[None]
        with np.errstate(divide="ignore", invalid="ignore"):
            crossings = (rises / falls)[np.triu_indices(len(self.Cs), 1)]
        inside = crossings[(crossings > low) & (crossings < high)]
        candidates = np.concatenate([[low, high], self.Cs, inside])
        candidates = candidates[(candidates >= low) & (candidates <= high)]
        gaps = self.gap(candidates)
        worst = int(np.argmax(gaps))
        return float(candidates[worst]), float(gaps[worst])

    def _lines(self, C: ArrayLike) -> Numbers:
        wanted = np.asarray(C, np.float64)
        column = (slice(None), *[None] * wanted.ndim)
        return np.asarray(self.penalties[column] + self.losses[column] * wanted)
