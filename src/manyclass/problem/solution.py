"""Solution: weights, dual variables, history and certificate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.utils.types import Array, CsrArray, DType

# W, shape (d + 1, k): dense, or CSR if it is sparse.
Weights: TypeAlias = "Array | CsrArray"

UNIT = float(np.finfo(np.float64).eps) / 2  # u, the unit roundoff
# Rounding error of a few sums in float64, as a share: P has 53 bits, and D is P minus the gap.
ROUNDING = 16 * UNIT
# A gap is only rounding if it is at most this share of P, or this multiple of its rounding bound.
# If W = 0 is optimal, it cannot be small relative to P(0) - D.
LEAST_GAP, MOST_ROUNDING = 1e-12, 16
PARTS = ("penalty", "loss")  # the two parts of P


@dataclass(frozen=True, slots=True, repr=False)
class Certificate:
    """Upper bound of the distance of the returned weights from the optimum.

    Attributes
    ----------
    primal_objective : float
        P at the returned weights.
    dual_objective : float
        D at the returned dual variables. The optimum lies between D and P.
    gap : float
        P - D, a sum of non-negative terms: one per example, and 1/2 ||W - W(z)||^2; computed in
        float64, including a bound of the rounding errors.
    relative_gap : float
        gap / min(P, P(0) - D): the gap relative to P, or to the possible improvement over W = 0 if
        that is smaller. W is then within this share of P of the optimum, and at most this share of
        the improvement is missing. If the gap is only rounding: gap / P.
    max_violation : float
        Largest violation v_i of the optimality conditions of an example, in units of the score.
    zero_objective : float
        P(0), the objective of W = 0 (with the best intercepts, if they are not regularized).
    penalty, loss : float
        Upper bounds of 1/2 ||W||^2 and of the sum of C_i times the losses, including rounding: if
        all C_i are multiplied by t, P is at most penalty + t * loss. They are not stored in model
        files; NaN after loading.
    """

    primal_objective: float
    dual_objective: float
    gap: float
    relative_gap: float
    max_violation: float
    zero_objective: float = math.nan
    penalty: float = field(default=math.nan, repr=False, compare=False)
    loss: float = field(default=math.nan, repr=False, compare=False)

    def __repr__(self) -> str:
        shown = (f"{f.name}={getattr(self, f.name):.4g}" for f in fields(self) if f.repr)
        return f"Certificate({', '.join(shown)})"

    @classmethod
    def from_gap(
        cls,
        primal: float,
        gap: float,
        max_violation: float,
        share: float = ROUNDING,
        *,
        zero: float,
        penalty: float,
        loss: float,
    ) -> Certificate:
        """Return the certificate for P and P - D, given a bound of their relative rounding errors.

        The rounding is added to the gap, so that P - gap is at most D, and to the parts of P.
        `zero` is P(0).
        """
        gap += share * (abs(primal) + gap)
        told = relative(gap, primal, zero, max(LEAST_GAP, MOST_ROUNDING * share))
        shown = primal, primal - gap, gap, told, max_violation, zero
        parts = penalty * (1 + share), loss * (1 + share)
        return cls(*map(float, (*shown, *parts)))

    @classmethod
    def sum_of(cls, parts: Sequence[Certificate]) -> Certificate:
        """Return the joint certificate of independent problems."""
        return cls.from_gap(
            exact_sum(part.primal_objective for part in parts),
            exact_sum(part.gap for part in parts),
            max((part.max_violation for part in parts), default=0.0),
            zero=exact_sum(part.zero_objective for part in parts),
            penalty=exact_sum(part.penalty for part in parts),
            loss=exact_sum(part.loss for part in parts),
        )

    def times(self, factor: float) -> Certificate:
        """Return the certificate of the problem multiplied by a power of 2."""
        return Certificate(
            factor * self.primal_objective,
            factor * self.dual_objective,
            factor * self.gap,
            self.relative_gap,
            math.sqrt(factor) * self.max_violation,
            factor * self.zero_objective,
            factor * self.penalty,
            factor * self.loss,
        )

    def as_dict(self) -> dict[str, float]:
        """Return the numbers by name, without the parts of P."""
        return {name: value for name, value in asdict(self).items() if name not in PARTS}


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """One epoch of training: shrunk loops, then a full loop over all examples and classes.

    Or a round of the Newton phase (solvers/newton_phase.py), which computes the current P and gap.

    Attributes
    ----------
    epoch : int
        Number of the epoch, counted from 1.
    seconds : float
        Seconds of training.
    primal_estimate, gap_estimate : float
        Estimates from the visits of the full loop, with the terms of each example before its
        update.
    violation : float
        Largest v_i in the full loop.
    active_share : float
        Share of the examples in the next shrunk loops; in a round of Newton steps, share of the
        examples with a z strictly inside its bounds.
    loops : int
        Number of shrunk loops in this epoch, or of Newton steps.
    evaluations : int
        Number of scores w_c . x computed in this epoch.
    n_weights : int
        Number of stored entries of W: all entries if W is dense.
    n_duals : int
        Number of non-zero z.
    zero_objective : float
        P(0).
    """

    epoch: int
    seconds: float
    primal_estimate: float
    gap_estimate: float
    violation: float
    active_share: float
    loops: int
    evaluations: int
    n_weights: int
    n_duals: int
    zero_objective: float

    @property
    def relative_gap(self) -> float:
        """gap_estimate / min(P, P(0) - D), with the estimates of P and D."""
        return relative(self.gap_estimate, self.primal_estimate, self.zero_objective)

    @property
    def scale(self) -> float:
        """Denominator of the relative gap: min(P, P(0) - D), with the estimates of P and D."""
        return scale_of(self.gap_estimate, self.primal_estimate, self.zero_objective)

    def times(self, factor: float) -> EpochRecord:
        """Return the record of the problem multiplied by a power of 2."""
        return replace(
            self,
            primal_estimate=factor * self.primal_estimate,
            gap_estimate=factor * self.gap_estimate,
            violation=math.sqrt(factor) * self.violation,
            zero_objective=factor * self.zero_objective,
        )

    def __str__(self) -> str:
        """One line for users."""
        return (
            f"epoch {self.epoch:4d}  {self.seconds:8.2f} s  primal {self.primal_estimate:.6g}  "
            f"gap {self.relative_gap:.2e}  active {100 * self.active_share:.0f} %"
        )


class Status(Enum):
    """Reason why training ended; its value is advice for the user."""

    CONVERGED = "converged to the requested tolerance"
    MAX_ITER = "max_iter was reached; scale the features, or raise max_iter or tol"
    STALLED = "rounding prevents further progress; use float64, scale the features or raise tol"
    STOPPED = "a callback stopped training"


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """A state from which training may begin or continue.

    Attributes
    ----------
    duals : sparse array of shape (n, n_classes)
        Feasible z.
    weights : ndarray of shape (n_features + 1, n_classes), default=None
        A W that differs from W(z), from the Newton phase.
    history : tuple of EpochRecord
        The earlier epochs, if they belong to the same training.
    epochs : ndarray of shape (n_classes,), int64, default=None
        Number of epochs of each class; None: 0.
    log_u : ndarray of shape (n, n_classes), default=None
        For logistic regression: the logarithms of u; None: the softmax at `weights`.
    new_rows : ndarray of shape (m,), int32, default=None
        Rows, ascending, that are new or have a different cost since z was optimal; empty if rows
        were only removed. None: the rows are the same, or it is unknown.
    is_same : bool, default=False
        Whether earlier training ended in this state, with the same rows, classes and costs.
    """

    duals: CsrArray
    weights: Array | None = None
    history: tuple[EpochRecord, ...] = ()
    epochs: NDArray[np.int64] | None = None
    log_u: Array | None = None
    new_rows: NDArray[np.int32] | None = None
    is_same: bool = False

    @classmethod
    def at_zero(cls, n_examples: int, n_classes: int, dtype: DType) -> Start:
        """Return z = 0."""
        return cls(sp.csr_array((n_examples, n_classes), dtype=dtype))

    def astype(self, dtype: DType) -> Start:
        """Return the start with z, W and v of a different dtype."""
        W = None if self.weights is None else self.weights.astype(dtype)
        v = None if self.log_u is None else self.log_u.astype(dtype, copy=False)
        return replace(self, duals=sp.csr_array(self.duals.astype(dtype)), weights=W, log_u=v)

    @property
    def n_epochs(self) -> int:
        """Largest number of epochs of a class."""
        return int(self.epochs_of_classes().max(initial=0))

    def epochs_of_classes(self) -> NDArray[np.int64]:
        """Return `epochs`, or zeros if None."""
        return np.zeros(self.duals.shape[1], np.int64) if self.epochs is None else self.epochs


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The result of a solver.

    Attributes
    ----------
    weights : ndarray or CSR array of shape (n_features + 1, n_classes)
        W, which is W(z) or, after a Newton phase, may be a W with a lower P; the last row belongs
        to the appended constant feature (zeros without an intercept).
    start : Start
        State for further training.
    history : list of EpochRecord
    status : Status
    certificate : Certificate
    """

    weights: Weights
    start: Start
    history: list[EpochRecord]
    status: Status
    certificate: Certificate

    @property
    def duals(self) -> CsrArray:
        """z, shape (n, n_classes)."""
        return self.start.duals


def rounding_share(n_examples: int, n_classes: int) -> float:
    """Bound the rounding of P and of the sum of the gap's terms, as a share of each.

    Each is a sum of non-negative numbers, so that the relative errors of its terms and of the sum
    add up. A term has at most k + 16 roundings, from the sum over the classes and a few operations
    (Higham 2002, sec. 3.1); subtracting a mean adds k. The sum over the examples or features is
    compensated, with an error of at most u + n^2 u^2 (sec. 4.3).
    """
    return UNIT * (2 * n_classes + 32) + (UNIT * n_examples) ** 2


def exact_sum(numbers: Iterable[float]) -> float:
    """Return the sum, rounded once; infinity or NaN if it overflows."""
    numbers = list(numbers)
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):
        return float(sum(numbers))


def scale_of(gap: float, primal: float, zero: float, least: float = LEAST_GAP) -> float:
    """Return the denominator of the relative gap: min(P, P(0) - D), with D = P - gap.

    If the gap is only rounding (up to the share `least` of P), or P(0) is unknown (NaN), it is P.
    """
    gain = zero - (primal - gap)
    return max(0.0, gain) if gain < primal and gap > least * primal else primal


def relative(gap: float, primal: float, zero: float, least: float = LEAST_GAP) -> float:
    """Return the gap divided by its scale from ``scale_of``.

    0 if both are 0; infinity for a positive gap with scale 0.
    """
    scale = scale_of(gap, primal, zero, least)
    if scale > 0:
        return float(np.divide(gap, scale))
    return math.inf if gap > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a training run after an epoch.

    ``proven_gap`` is the relative gap of the last certificate, if the estimates met the stopping
    criterion but the certificate did not. ``is_proving`` means that a certificate is computed next.
    """

    record: EpochRecord
    weights: Callable[[], Weights]
    start: Callable[[], Start]
    proven_gap: float | None = None
    is_proving: bool = False

    def __str__(self) -> str:
        """One line for users."""
        proven = "" if self.proven_gap is None else f"  (proven {self.proven_gap:.2e})"
        return f"{self.record}{proven}{'  proving' if self.is_proving else ''}"


def start_of(start: Start | None, classes: slice | NDArray[np.int64]) -> Start | None:
    """Return the same start for some classes, without the history."""
    if start is None:
        return None
    W = None if start.weights is None else start.weights[:, classes]
    epochs = start.epochs_of_classes()[classes]
    return replace(
        start, duals=sp.csr_array(start.duals[:, classes]), weights=W, history=(), epochs=epochs
    )
