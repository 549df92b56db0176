"""Newton's method with conjugate gradients for the primal of multinomial logistic regression.

    min_W  P(W) = 1/2 ||W||^2 + sum_i C_i (log sum_c exp(s_ic) - s_i,y_i),   s_i = W^T x_i + b_i

    H V = V + sum_i C_i x_i (p_i * t_i - p_i (p_i . t_i))^T,  t_i = V^T x_i,  p_i = softmax(s_i)

A step solves H V = -grad P inexactly, preconditioned (preconditioners.py), and halves V until P
decreases enough (Nocedal, Wright 2006, algorithm 7.1); after SHORT halvings, V is divided by 10. P
is strongly convex in the regularized weights, so half the squared norm of the gradient bounds the
gap (certificate.py). An unregularized intercept with the excess e_c = sum_i C_i p_ic - N_c, with
N_c the sum of the costs of the class, adds about e_c^2 max(1, 1 / N_c), the cost of making u
feasible.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass

import numpy as np

from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights, scale_of
from manyclass.solvers.logistic.certificate import certify_weights
from manyclass.solvers.logistic.engine import PrimalEngine
from manyclass.solvers.logistic.preconditioners import Preconditioner, preconditioner_for
from manyclass.solvers.stopping import Found, StoppingRule
from manyclass.utils.machine import one_blas_thread
from manyclass.utils.types import Array

MOST_PRODUCTS = 200  # largest number of products of a step
MOST_TRIALS, SHORT = 40, 10  # largest number of lengths of a step, and of halvings
ENOUGH = 1e-4  # share of the decrease predicted by the gradient
# Factor of the tolerance of the gradient, if a certificate has not met the stopping criterion.
TIGHTER = 0.3


@dataclass(frozen=True, slots=True)
class NewtonRound:
    """A step: P and the gap at its end, products with the Hessian, computed scores."""

    primal: float
    gap: float
    steps: int
    evaluations: int


class LogisticNewton:
    """The Newton phase, from the engine's W, or from W = 0 if that is better.

    Like the Newton phase of the support vector machines (newton_phase.py), it has an engine, and
    ``round`` changes the engine's W.

    Parameters
    ----------
    engine : PrimalEngine

    Attributes
    ----------
    primal : float
        P at the engine's W.
    """

    def __init__(self, engine: PrimalEngine) -> None:
        self.engine = engine
        self.primal, self._gradient = engine.gradient(engine.W)
        if engine.inner(engine.W, engine.W) > 0 and not self.primal <= engine.primal_at_origin():
            engine.W[...] = 0
            self.primal, self._gradient = engine.gradient(engine.W)
        self._size = self._size_of(self._gradient)
        self._inverse: Preconditioner | None = None  # created on first use

    def round(self, tol: float) -> NewtonRound:
        """Make one step; `tol` is the tolerance of the size of the gradient."""
        engine = self.engine
        lengths = np.errstate(over="ignore", invalid="ignore")  # some of them are too large
        with lengths, one_blas_thread():
            n_products = self._step(tol)
        evaluations = (2 * n_products + 1) * engine.n_examples * engine.problem.dataset.n_classes
        return NewtonRound(self.primal, self.gap, n_products, evaluations)

    @property
    def gap(self) -> float:
        """Bound of P minus the optimum, from the gradient."""
        return 0.5 * self._size**2

    def _step(self, tol: float) -> int:
        """Make a step; return the number of products with the Hessian."""
        engine = self.engine
        accuracy = min(0.1, np.sqrt(self._size / max(1.0, abs(self.primal))))
        goal = max(accuracy * self._size, 0.3 * tol)
        self._inverse = self._inverse or preconditioner_for(engine)
        product, precondition = hessian_product(engine), preconditioning(engine, self._inverse)
        direction, n_products = conjugate_gradients(
            engine, product, precondition, self._gradient, self._size_of, goal
        )
        self._search(direction)
        return n_products

    def _search(self, direction: Array, most_trials: int = MOST_TRIALS) -> bool:
        """Search along a direction until P decreases enough; return whether W has changed."""
        engine, W = self.engine, self.engine.new_weights()
        slope = engine.dot(direction, self._gradient)
        noise = 10 * engine.eps * abs(self.primal)
        length = 1.0
        for trial in range(most_trials):
            W[...] = engine.W + length * direction
            engine.centre(W)
            engine.parts.broadcast(W)
            primal, gradient = engine.gradient(W)
            falls = primal <= self.primal + ENOUGH * length * slope
            # The change of P is only rounding, but the gradient is accurate.
            if -length * slope <= noise:
                falls = primal <= self.primal + noise and self._size_of(gradient) < self._size
            if falls:
                engine.W[...] = W
                self.primal, self._gradient = primal, gradient
                self._size = self._size_of(gradient)
                return True
            length *= 0.5 if trial < SHORT else 0.1
        return False

    def _size_of(self, R: Array) -> float:
        """Return the norm of a gradient or residual, as in the bound of the gap."""
        engine = self.engine
        squared = engine.inner(R, R)
        if engine.is_free:
            own = engine.host(engine.bias(R)).astype(np.float64)
            excess = own / engine.problem.dataset.bias
            squared += float(excess**2 @ np.maximum(1, 1 / engine.class_costs) - own @ own)
        return engine.broadcast_number(float(np.sqrt(max(squared, 0.0))))


class NewtonLogistic:
    """The solver with only Newton's method; rows may be in several parts.

    Parameters
    ----------
    engine : PrimalEngine
    start : Start or None
    tol : float
        The relative gap to which Newton steps are solved.
    began : float
        Start of training, from ``time.perf_counter``.
    steps : type, default=LogisticNewton
        Class of the Newton steps.
    """

    def __init__(
        self,
        engine: PrimalEngine,
        start: Start | None,
        *,
        tol: float,
        began: float,
        steps: type[LogisticNewton] = LogisticNewton,
    ) -> None:
        self.engine, self.problem, self.tol = engine, engine.problem, tol
        self._began, self._steps = began, steps
        self._phase: LogisticNewton | None = None
        self._n_epochs = self._n_certificates = 0
        self._primal = self._gap = math.inf  # estimates of the last epoch
        if start is not None and start.weights is not None:
            engine.load(start)

    @property
    def dual(self) -> float:
        """Estimate of D."""
        return self._primal - self._gap

    @property
    def scale(self) -> float:
        """Denominator of the relative gap, from the estimates of the last epoch."""
        return scale_of(self._gap, self._primal, self.engine.zero_objective)

    @property
    def is_exact(self) -> bool:
        """Whether the last epoch was a Newton step, with exact P and gap."""
        return self._phase is not None

    @property
    def n_duals(self) -> int:
        """Numbers of u that are held."""
        return 0

    def epoch(self, rule: StoppingRule) -> EpochRecord:
        """Run one Newton step."""
        self._n_epochs += 1
        loops, evaluations = self.loop(rule)
        data = self.problem.dataset
        return EpochRecord(
            epoch=self._n_epochs,
            seconds=time.perf_counter() - self._began,
            primal_estimate=self._primal,
            gap_estimate=self._gap,
            violation=found_of(self._gap).max_violation,
            active_share=1.0,
            loops=loops,
            evaluations=evaluations,
            n_weights=(data.n_features + 1) * data.n_classes,
            n_duals=self.n_duals,
            zero_objective=self.engine.zero_objective,
        )

    def loop(self, _rule: StoppingRule) -> tuple[int, int]:
        """Make a Newton step; return its numbers of Hessian products and of computed scores."""
        if self._phase is None:
            self._phase = self._steps(self.engine)
            self._n_certificates = 0  # certificates of descent do not count for Newton steps
        phase = self._phase
        scale = abs(scale_of(phase.gap, phase.primal, self.engine.zero_objective))
        found = phase.round(TIGHTER**self._n_certificates * math.sqrt(2 * self.tol * scale))
        self._primal, self._gap = found.primal, found.gap
        return found.steps, found.evaluations

    def promising(self, rule: StoppingRule) -> bool:
        """Whether the stopping criterion may be met, by the estimates of the last epoch."""
        return rule.promising(found_of(self._gap), self.scale)

    def certify(self) -> Certificate:
        """Return the certificate of W."""
        numbers = np.array(astuple(self.proof()))
        self.engine.parts.broadcast(numbers)
        found = Certificate(*numbers.tolist())
        self._primal, self._gap = found.primal_objective, found.gap
        self._n_certificates += 1
        return found

    def proof(self) -> Certificate:
        """Compute the certificate of W."""
        return certify_weights(self.engine, self.engine.weights())

    def weights(self) -> Weights:
        """Return W, a copy of shape (d + 1, k); the mean of free intercepts is 0."""
        return self.engine.weights()

    def start(self) -> Start:
        """Return W, to continue training."""
        data = self.problem.dataset
        zero = Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        return Start(zero.duals, self.engine.weights())

    def finish(self) -> Weights:
        """Return W."""
        return self.engine.weights()


def found_of(gap: float) -> Found:
    """Return a gap and its bound of the distance from the optimum."""
    return Found(gap, math.sqrt(2 * max(0.0, gap)))


def hessian_product(engine: PrimalEngine) -> Callable[[Array], Array]:
    """Return the function for products with the Hessian at W; a call overwrites the last result."""
    along, out = engine.new_weights(), engine.new_weights()

    def product(V: Array) -> Array:
        along[...] = V
        out[...] = V
        if engine.is_free:
            engine.bias(out)[:] = 0
        engine.curvature(along, out)
        return out

    return product


def preconditioning(engine: PrimalEngine, inverse: Preconditioner) -> Callable[[Array], Array]:
    """Return the function for products with the preconditioner at W."""
    inverse.update(engine)

    def precondition(R: Array) -> Array:
        scaled = engine.new_weights()
        engine.matrix(scaled)[...] = inverse(engine.matrix(R))
        return scaled

    return precondition


def conjugate_gradients(
    engine: PrimalEngine,
    product: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    gradient: Array,
    size: Callable[[Array], float],
    goal: float,
) -> tuple[Array, int]:
    """Solve H V = -gradient until the residual's size is at most `goal`, or its norm underflows."""
    V, direction, residual = engine.new_weights(), engine.new_weights(), -gradient
    scaled = precondition(residual)
    direction[...] = scaled
    before = engine.dot(residual, scaled)
    for n in range(MOST_PRODUCTS):
        if size(residual) <= goal or not before > 0:
            return V, n
        along = product(direction)
        curvature = engine.dot(direction, along)
        if not curvature > 0:
            return (V if n else scaled), n + 1
        length = before / curvature
        V += length * direction
        residual -= length * along
        scaled = precondition(residual)
        now = engine.dot(residual, scaled)
        direction *= now / before
        direction += scaled
        before = now
    return V, MOST_PRODUCTS
