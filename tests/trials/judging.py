"""One fit, and what its certificate is worth."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import MulticlassSVC
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.solution import LEAST_GAP, Certificate, EpochRecord, Solution
from tests.trials.exact import Exact, ExactProblem
from tests.trials.random_problems import RandomProblem

REFERENCE_EPOCHS = 2000
ROUNDING_OF_SHARE = 1e-12  # of a relative gap
ROUNDING_OF_SCALE = 1e-14  # of P(0), from which D is taken


class Keeper(MulticlassSVC):
    """The estimator, and what its solver returned."""

    def _proof(self, solution: Solution) -> tuple[Certificate, list[EpochRecord]]:
        self.solution = solution
        self.inside = solution.weights
        return super()._proof(solution)


@dataclass(slots=True)
class Verdict:
    """What a claim is worth."""

    number: int
    text: str
    status: str
    messages: list[str]
    claim: Certificate
    primal: Fraction
    dual: Fraction
    zero: Fraction  # P(0)
    primal_inside: Fraction  # of W before it became coef_ and intercept_
    off_centre: float  # sum over the classes, in last digits of the largest weight of its row

    @property
    def true_gap(self) -> float:
        """P - D."""
        return to_float(self.primal - self.dual)

    @property
    def excess(self) -> float:
        """What the claim hides, as a share of P."""
        claim = self.claim.gap
        if np.isnan(claim):
            return np.inf
        if claim == np.inf or self.primal == 0:
            return -np.inf
        return to_float((self.primal - self.dual - Fraction(claim)) / self.primal)

    @property
    def is_false(self) -> bool:
        """Whether the true gap exceeds the claim, or D or P is not where it is claimed to be."""
        if not np.isfinite(self.claim.gap):
            return bool(np.isnan(self.claim.gap))
        claim = Fraction(self.claim.gap)
        hides = claim < 0 or self.primal - self.dual > claim
        return hides or self.is_misplaced or self.flatters

    @property
    def flatters(self) -> bool:
        """Whether the claimed relative gap is below gap / min(P, P(0) - D), rounding aside."""
        gap, lower = self.primal - self.dual, self.claim.dual_objective
        if not np.isfinite(lower) or gap <= Fraction(LEAST_GAP) * self.primal:
            return False
        rounding = Fraction(ROUNDING_OF_SCALE) * self.zero
        scale = min(self.primal, max(Fraction(0), self.zero - Fraction(lower) + rounding))
        claim = self.claim.relative_gap
        return claim < np.inf and Fraction(claim) * scale * Fraction(1 + ROUNDING_OF_SHARE) < gap

    @property
    def is_misplaced(self) -> bool:
        """Whether the claimed D is above that of z, or P above the claimed one plus the gap."""
        lower, upper = self.claim.dual_objective, self.claim.primal_objective
        if not np.isfinite(lower):
            return False
        gap = Fraction(self.claim.gap)
        return Fraction(lower) > self.dual or self.primal > Fraction(upper) + gap

    @property
    def cause(self) -> str:
        """Which number is wrong."""
        if np.isnan(self.claim.gap):
            return "no number"
        claim = Fraction(self.claim.gap)
        if self.primal - self.dual <= claim:
            return "P or D misplaced" if self.is_misplaced else "relative gap"
        if self.primal_inside - self.dual <= max(claim, Fraction(0)):
            return "negative" if claim < 0 else "coef_/intercept_ rounded"
        off_primal = abs(self.primal - Fraction(self.claim.primal_objective))
        off_dual = abs(self.dual - Fraction(self.claim.dual_objective))
        side = "P" if off_primal > off_dual else "D"
        return f"{side} wrong{', negative' if claim < 0 else ''}"


def judge(problem: RandomProblem) -> Verdict:
    """Train, and look at what is claimed."""
    model = Keeper(warm_start=True, **{a: b for a, b in problem.params.items() if a != "k"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if problem.cost_before is not None:
            model.set_params(C=problem.cost_before).fit(
                problem.rows, problem.y, problem.sample_weight
            )
            model.set_params(C=problem.params["C"])
            caught.clear()
        model.fit(problem.rows, problem.y, problem.sample_weight)
    return verdict_of(problem, model, sorted({_kind(str(w.message)) for w in caught}))


def verdict_of(problem: RandomProblem, model: Keeper, messages: list[str]) -> Verdict:
    """Look at what a fitted model claims."""
    exact = exact_problem(problem, model)
    W, inside = returned_weights(model), Exact.from_array(_dense(model.inside))
    centred = exact.formulation.centred
    return Verdict(
        number=problem.number,
        text=str(problem),
        status=model.solution.status.name,
        messages=messages,
        claim=model.certificate_,
        primal=exact.primal(W.centred() if centred else W),
        dual=exact.dual(duals_of(model)),
        zero=exact.primal(Exact(0 * W.ints, W.unit)),
        primal_inside=exact.primal(inside.centred() if centred else inside),
        off_centre=_off_centre(W, problem.X.dtype) if centred and problem.params["k"] > 2 else 0,
    )


def exact_problem(problem: RandomProblem, model: Keeper) -> ExactProblem:
    """Return the problem that the model was trained on."""
    costs = model._warm_start.costs  # equal to costs_of(problem) but for their last digits
    np.testing.assert_allclose(costs, costs_of(problem), rtol=1e-12)
    return ExactProblem.from_rows(
        problem.X,
        problem.y.astype(np.int32),
        costs,
        len(model.classes_),
        FORMULATIONS[model.formulation],
        bias=float(model.intercept_scaling) if model.fit_intercept else 0.0,
        squared=model.loss == "squared_hinge",
    )


def costs_of(problem: RandomProblem) -> NDArray[np.float64]:
    """C_i, as the problem's definition has it."""
    n = len(problem.y)
    weights = np.ones(n) if problem.sample_weight is None else problem.sample_weight
    if problem.params["class_weight"] == "balanced":
        totals = np.bincount(problem.y, weights=weights)
        weights = weights * (weights.sum() / (len(totals) * totals))[problem.y]
    return np.asarray(problem.params["C"] * weights)


def returned_weights(model: Keeper) -> Exact:
    """W, shape (d + 1, k), of ``coef_`` and ``intercept_``; when binary, of both classes."""
    W = Exact.from_array(_dense(model.coef_).T)
    last = Exact.from_array(np.asarray(model.intercept_)[None])
    if model.fit_intercept:
        last = last.over(Fraction(float(model.intercept_scaling)))
    ints = np.vstack([W.ints * last.unit, last.ints * W.unit])
    if len(model.classes_) > 2:
        return Exact(ints, W.unit * last.unit)
    halves = 1 if model.formulation == "one_vs_rest" else 2
    return Exact(np.hstack([-ints, ints]), W.unit * last.unit * halves)


def duals_of(model: Keeper) -> NDArray[Any]:
    """z, shape (n, k)."""
    return np.asarray(model.solution.duals.toarray())


def reference(problem: RandomProblem) -> tuple[Fraction, Fraction]:
    """Return P and D of a fit that asks for the last digits."""
    params = {a: b for a, b in problem.params.items() if a not in ("k", "weights")}
    params |= {"tol": 1e-14, "stopping": "gap", "max_iter": REFERENCE_EPOCHS}
    model = Keeper(warm_start=True, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(problem.X.astype(np.float64), problem.y, problem.sample_weight)
    exact, W = exact_problem(problem, model), returned_weights(model)
    W = W.centred() if exact.formulation.centred else W
    return exact.primal(W), exact.dual(duals_of(model))


def _off_centre(W: Exact, dtype: np.dtype[Any]) -> float:
    """Largest sum over the classes, in last digits of its row's largest weight times k."""
    sums, largest = np.abs(W.ints.sum(axis=1)), np.abs(W.ints).max(axis=1)
    shares = [int(s) / int(m) for s, m in zip(sums, largest, strict=True) if m]
    return max(shares, default=0.0) / (W.ints.shape[1] * float(np.finfo(dtype).eps))


def _dense(weights: Any) -> NDArray[Any]:
    return np.asarray(weights.toarray() if sp.issparse(weights) else weights)


def _kind(message: str) -> str:
    """Return what a message says of all fits alike."""
    return message.rpartition("): ")[2][:60]


def to_float(number: Fraction) -> float:
    """Return the nearest float, or infinity."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf
