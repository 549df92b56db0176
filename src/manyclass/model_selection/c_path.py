"""The certified path: for every C of a range, a model proven to be near the optimum.

Given: a range of C and epsilon. Models are trained at both ends, then where the bounds of
``envelope.Envelope`` are farthest apart, until they are within epsilon everywhere. Source of the
formulas: concavity of the optimal value in C (Boyd, Vandenberghe: Convex Optimization, 2004, sec.
5.6); Giesen, Jaggi, Laue: Approximating parameterized convex optimization problems, ACM
Transactions on Algorithms 9, 2012.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar

from manyclass.model_selection.envelope import Envelope, Numbers
from manyclass.model_selection.fitting import Classifier, Fit, estimator_for
from manyclass.model_selection.tracing import SHARE, Tracer, check_range
from manyclass.utils.types import Array, Rows


@dataclass(slots=True, eq=False)
class CPath:
    """Models for every C of a range, from ``c_path``.

    Attributes
    ----------
    Cs : ndarray of shape (n_models,)
        Where models were trained, ascending.
    models : list of estimators
        Fitted, in the order of `Cs`.
    objectives : ndarray of shape (n_models,)
        P of each model at its C.
    dual_objectives : ndarray of shape (n_models,)
        Lower bounds of the optimum there.
    accuracies : ndarray of shape (n_models,), or None
        On the validation set, where one was given.
    C_min, C_max, epsilon : float
    seconds : float
        That the path took.
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
        """P of each model at its C."""
        return self.envelope.penalties + self.envelope.Cs * self.envelope.losses

    @property
    def dual_objectives(self) -> Numbers:
        """Lower bounds of the optimum there."""
        return self.envelope.dual_objectives

    def model_at(self, C: float) -> Classifier:
        """Return the stored model with the least objective at C.

        Raises
        ------
        ValueError
            If C is outside the range.
        """
        return self.models[int(self.envelope.best(self._checked(C)))]

    def weights_at(self, C: float) -> Any:
        """Return ``coef_`` of that model."""
        return self.model_at(C).coef_

    def intercept_at(self, C: float) -> Array:
        """Return ``intercept_`` of that model."""
        return self.model_at(C).intercept_

    def gap_at(self, C: float) -> float:
        """Return a bound of (P - P*) / P* of that model."""
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
    formulation: str = "crammer_singer",
    sample_weight: ArrayLike | None = None,
    validation: tuple[Rows, ArrayLike] | None = None,
    max_fits: int = 200,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
    **parameters: Any,
) -> CPath:
    """Train models until, for every C of a range, one of them is proven near the optimum.

    After it, for every C from `C_min` to `C_max`, ``model_at(C)`` has an objective at C of at most
    (1 + `epsilon`) times the optimum.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    C_min, C_max : float
        The range.
    epsilon : float, default=0.01
        Relative.
    formulation : str, default="crammer_singer"
        One of ``MulticlassSVC``, or "logistic".
    sample_weight : array-like of shape (n_samples,), default=None
    validation : (X, y), default=None
        Rows on which the models' accuracies are computed.
    max_fits : int, default=200
        Models at most; a warning says if they were not enough.
    random_state : int, RandomState instance, default=None
        Orders the visits.
    verbose : int, default=0
        1 prints a line for each fit.
    **parameters
        Others of ``MulticlassSVC`` or ``MultinomialLogisticRegression``.

    Returns
    -------
    CPath

    Raises
    ------
    ValueError
        If the range is empty, or as the estimator's ``fit``.

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
    tracer = Tracer((X, y, sample_weight), make, random, tell=_tell if verbose else None)
    began = time.perf_counter()
    C, gap = tracer.trace(C_min, C_max, epsilon, max_fits)
    if gap > epsilon:
        warnings.warn(
            f"the path is proven to {gap:.2e} at C = {C:g} (asked for: {epsilon:g}) after "
            f"{len(tracer.fits)} fits; raise max_fits or max_iter, or lower tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    accuracies = None
    if validation is not None:
        accuracies = np.array([found.model.score(*validation) for found in tracer.fits])
    seconds = time.perf_counter() - began
    models = [found.model for found in tracer.fits]
    return CPath(tracer.envelope(), models, C_min, C_max, epsilon, seconds, accuracies)


def _check(max_fits: int, parameters: dict[str, Any]) -> None:
    check_scalar(max_fits, "max_fits", (int, np.integer), min_val=2)
    refused = {"C", "warm_start", "checkpoint", "resume", "communicator"} & set(parameters)
    if refused:
        raise TypeError(f"c_path has no parameter {min(refused)!r}")


def _tell(found: Fit) -> None:
    primal = found.penalty + found.C * found.loss
    print(
        f"C {found.C:.4g}  objective {primal:.6g}  gap {found.gap:.2e}  "
        f"epochs {found.model.n_iter_}",
        flush=True,
    )
