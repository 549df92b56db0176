"""Fits at one C after another: what each proves, and where the next may start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.svc import MulticlassSVC
from manyclass.problem.solution import Weights
from manyclass.solvers.logistic.warm_start import WarmStart
from manyclass.utils.types import Rows, Settings

LOGISTIC = "logistic"
Classifier = MulticlassSVC | MultinomialLogisticRegression


@dataclass(slots=True, eq=False)
class Fit:
    """A model, its line N + C L, and its lower bound of the optimum.

    Attributes
    ----------
    model : MulticlassSVC or MultinomialLogisticRegression
    C, penalty, loss, dual_objective : float
    gap : float
        Relative, as proven at C.
    start : object
        Where another fit on the same rows may begin.
    """

    model: Classifier
    C: float
    penalty: float
    loss: float
    dual_objective: float
    gap: float
    start: Any

    @property
    def nbytes(self) -> int:
        """Bytes that it keeps, about."""
        kept = getattr(self.start, "start", None)
        z = 0 if kept is None else kept.duals.data.nbytes + kept.duals.indices.nbytes
        coef = self.model.coef_
        return int(z + 2 * (coef.data.nbytes if sp.issparse(coef) else coef.nbytes))

    def gap_at(self, C: float) -> float:
        """Return what is proven of the model at a larger C: P* does not fall."""
        if not self.dual_objective > 0:
            return np.inf
        upper = self.penalty + C * self.loss
        return (upper - self.dual_objective) / self.dual_objective


def estimator_for(formulation: str, parameters: Settings) -> Classifier:
    """Return the estimator of a formulation, "logistic" among them."""
    if formulation == LOGISTIC:
        return MultinomialLogisticRegression(**parameters)
    return MulticlassSVC(formulation=formulation, **parameters)


def fit(
    model: Classifier,
    X: Rows,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    start: Any = None,
    stop: Event | None = None,
) -> Fit:
    """Fit a model, from the start of another fit if there is one.

    It does not warn of tolerances that were not reached: `gap` tells. Threads may call it.
    """
    model.set_params(warm_start=True)
    model._warm_start = start
    model._stop = stop or Event()
    try:
        model._validate_params()
        solution = model._fit(X, y, sample_weight)
    finally:
        then = model.__dict__.pop("_warm_start", None)
        del model._stop
        model.set_params(warm_start=False)
    proof = model.certificate_
    penalty = penalty_of(model, solution.weights)
    loss = max(0.0, (proof.primal_objective - penalty) / model.C)
    if isinstance(then, WarmStart):
        then = replace(then, log_u=None)  # W tells it, in one loop over the examples
    return Fit(model, model.C, penalty, loss, proof.dual_objective, proof.relative_gap, then)


def penalty_of(model: Classifier, W: Weights) -> float:
    """Return 1/2 ||W||^2 of what is regularised, in the units of the certificate."""
    free = isinstance(model, MultinomialLogisticRegression) and not model.regularize_intercept
    part: Any = W[:-1] if free else W
    values = part.data if sp.issparse(part) else np.asarray(part).ravel(order="K")
    squares = float(np.einsum("i,i->", values, values, dtype=np.float64))
    halves = isinstance(model, MultinomialLogisticRegression) and W.shape[1] == 2
    return squares if halves else 0.5 * squares
