"""Training problem: examples, formulation, loss and C; its form in the compiled core; P(0).

The objective of W = 0 is

    P(0) = sum_i C_i loss_i(0)

Training can improve it by P(0) - P*. Gaps are compared with this improvement: if C is so small that
P* is nearly P(0), a gap of a thousandth of P may be most of the improvement. P(0) includes base
scores. If intercepts of logistic regression are not regularized, P(0) is the objective of the best
intercepts (solvers/logistic).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.special
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.base_scores import EXCLUDED, BaseScores
from manyclass.problem.dataset import Dataset, is_mapped, rows_in_region
from manyclass.problem.formulations import LOSSES, Formulation, Loss
from manyclass.problem.tree_scores import TreeScores
from manyclass.utils.machine import core_class, instruction_set, weighted_sum
from manyclass.utils.types import IntArray, Numbers, Settings


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A training problem.

    Attributes
    ----------
    dataset : Dataset
    formulation : Formulation
    C : float
        Positive; the cost of a unit of loss of an example of weight one.
    loss : {"hinge", "squared_hinge"}
    base : BaseScores or TreeScores, default=None
        Numbers that are added to the scores of the examples, for example for costs of mistakes.
    factors : ndarray of shape (k, k), float64, default=None
        Delta(y, c) > 0, a factor of the loss of class c if y is true (slack rescaling,
        Tsochantaridis et al. 2005, sec. 2.2.1), for sums of losses of relative margins; ignored for
        classes that ``base`` excludes. Bounds are C_i Delta(y_i, c).
    costs : ndarray of shape (n,), float64
        C_i = C * weight_i.
    """

    dataset: Dataset
    formulation: Formulation
    C: float
    loss: str = "hinge"
    base: BaseScores | TreeScores | None = None
    factors: Numbers | None = None
    costs: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        if not 0 < self.C < np.inf:
            raise ValueError(f"C must be positive and finite, got {self.C}")
        if self.loss not in self.formulation.losses:
            raise ValueError(
                f"loss={self.loss!r} cannot be combined with a formulation that takes the maximum "
                "over the classes; use loss='hinge', or a formulation that takes their sum, such "
                "as formulation='one_vs_rest'"
            )
        with np.errstate(over="ignore", under="ignore"):
            costs = self.C * self.dataset.weights
            ends = np.array(
                [1.0] if self.factors is None else [self.factors.min(), self.factors.max()]
            )
            bounds = np.multiply.outer(ends, [costs.min(initial=1.0), costs.max(initial=1.0)])
        if not (np.isfinite(bounds).all() and (bounds > 0).all()):
            raise ValueError("C times a sample weight overflows or vanishes; scale the weights")
        object.__setattr__(self, "costs", costs)

    @property
    def is_whole(self) -> bool:
        """Whether every example belongs to one of the classes."""
        return bool((self.dataset.labels != ELSEWHERE).all())

    @property
    def is_antisymmetric(self) -> bool:
        """Whether the best W is (-v, v): for two classes, unless base scores prevent it."""
        one_machine = self.base is None or not self.formulation.is_separable
        return self.dataset.n_classes == 2 and self.is_whole and one_machine

    def margins(self) -> tuple[float, float]:
        """gamma_c of c != y, and gamma_y."""
        gamma, own = self.formulation.margins(self.dataset.n_classes)
        return gamma if self.base is None else self.base.gamma, own

    def with_base(self, base: BaseScores | TreeScores | None) -> Problem:
        """Return the same problem with different base scores."""
        return replace(self, base=base)

    def costs_of(self, rows: IntArray, classes: NDArray[np.int32]) -> Numbers:
        """Return the cost of the loss of one class for each of some examples."""
        costs = self.costs[rows]
        if self.factors is None:
            return costs
        return np.asarray(costs * self.factors[self.dataset.labels[rows], classes])

    def upper(self, rows: NDArray[np.intp], classes: NDArray[np.int32]) -> Numbers:
        """Return upper bounds of z of one class for each of some examples, for sums of losses."""
        bounds = np.asarray(self.slack_loss.upper(self.costs_of(rows, classes)))
        if self.factors is None or not isinstance(self.base, BaseScores):
            return bounds
        return np.where(self.base.at(rows, classes) > EXCLUDED, bounds, 0.0)

    @property
    def slack_loss(self) -> Loss:
        """The loss as a function of slacks."""
        return LOSSES[self.loss]


ELSEWHERE = _core.ELSEWHERE  # label of an example whose class is in a different group


def problem_of(problem: Problem, classes: slice | NDArray[np.int64]) -> Problem:
    """Return the same problem for some classes, renumbered from 0."""
    data = problem.dataset
    some = np.arange(data.n_classes)[classes]
    numbers = np.full(data.n_classes + 1, ELSEWHERE, np.int32)  # the last entry is for ELSEWHERE
    numbers[some] = np.arange(len(some))
    sets = None if data.sets is None else _sets_of(data.sets, some)
    dataset = replace(data, labels=numbers[data.labels], n_classes=len(some), sets=sets)
    base = None if problem.base is None else problem.base.of_classes(some)
    return replace(problem, dataset=dataset, base=base)


def _sets_of(sets: NDArray[np.uint64], some: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the bits of some classes, in their order."""
    chosen = np.zeros_like(sets)
    for place, c in enumerate(some.tolist()):
        chosen |= (sets >> np.uint64(c) & np.uint64(1)) << np.uint64(place)
    return chosen


def core_problem(problem: Problem) -> _core.Problem64:
    """Return the checked problem with norms, which the trainers of the compiled core share."""
    return core_class("Problem", problem.dataset.dtype)(**problem_arguments(problem))


def problem_arguments(problem: Problem) -> Settings:
    """Return the arguments of the core's problem."""
    data, base = problem.dataset, problem.base
    return {
        "formulation": core_formulation(problem),
        "indptr": data.indptr,
        "indices": data.indices,
        "values": data.values,
        "n_features": data.n_features,
        "bias": data.bias,
        "labels": data.labels,
        "n_classes": data.n_classes,
        "costs": problem.costs,
        "instruction_set": instruction_set(),
        "sets": data.sets,
        "rows_in_region": rows_in_region(data) if is_mapped(data.values) else 0,
        **({} if base is None else base.core_arguments()),
        "factors": problem.factors,
    }


def core_formulation(problem: Problem) -> _core.Formulation:
    """Return the formulation as a type of the compiled core."""
    formulation = problem.formulation
    gamma, gamma_own = problem.margins()
    return _core.Formulation(
        relative=formulation.is_relative,
        others=formulation.targets != "own",
        own=formulation.targets != "others",
        maximum=formulation.takes_maximum,
        centred=formulation.centred,
        loss=problem.loss if problem.loss in LOSSES else "hinge",  # log_loss has a separate trainer
        gamma=gamma,
        gamma_own=gamma_own,
    )


def check_squared_norms(norms: NDArray[np.float64]) -> None:
    """Refuse rows of X whose squared norm overflows.

    Raises
    ------
    FloatingPointError
    """
    if not np.isfinite(norms).all():
        raise FloatingPointError("the square of a row of X overflows; scale the features")


def slacks_at_zero(problem: Problem, rows: NDArray[np.intp], classes: NDArray[np.int32]) -> Numbers:
    """Return the slack at W = 0 of one class for each of some examples."""
    data, base = problem.dataset, problem.base
    gamma, gamma_own = problem.margins()
    own = classes == data.labels[rows]
    if data.sets is not None:
        own = (data.sets[rows] >> classes.astype(np.uint64) & np.uint64(1)).astype(bool)
    xi = np.where(own, gamma_own, gamma)
    if base is None:
        return xi
    added = base.at(rows, classes)
    if problem.formulation.is_relative:
        return np.asarray(xi + added - base.at(rows, data.labels[rows]))
    return np.asarray(xi + np.where(own, -added, added))


NUMBERS_AT_A_TIME = 1 << 20  # base scores at a time


def zero_objective(problem: Problem) -> float:
    """Return P(0)."""
    return weighted_sum(problem.costs, losses_at_zero(problem))


def losses_at_zero(problem: Problem) -> Numbers:
    """Return the loss of each example at W = 0 without its cost; shape (n,)."""
    labels, base, k = problem.dataset.labels, problem.base, problem.dataset.n_classes
    if base is None and problem.factors is None:
        return np.full(len(labels), _common_loss(problem))
    # One example of each label and row of base scores is enough.
    rows = labels if base is None else base.rows
    _, first, kinds = np.unique(
        rows.astype(np.int64) * (k + 1) + labels, return_index=True, return_inverse=True
    )
    step = max(1, NUMBERS_AT_A_TIME // k)
    found = [_losses(problem, first[at : at + step]) for at in range(0, len(first), step)]
    return np.concatenate([np.empty(0), *found])[kinds]


def _common_loss(problem: Problem) -> float:
    """Return the loss at W = 0 without base scores or factors, which is the same for all rows."""
    formulation, k = problem.formulation, problem.dataset.n_classes
    if formulation.aggregation == "log_sum_exp":
        return float(np.log(k))
    gamma, own = map(float, problem.slack_loss.of_positive(np.array(problem.margins())))
    if formulation.targets == "own":
        return own
    is_all = formulation.targets == "all"
    if formulation.takes_maximum:
        return max(gamma, own) if is_all else gamma
    return (k - 1) * gamma + own * is_all


def _losses(problem: Problem, rows: NDArray[np.intp]) -> Numbers:
    """Return the losses of some examples at W = 0."""
    shape = len(rows), problem.dataset.n_classes
    base = np.zeros(shape) if problem.base is None else problem.base.of(rows)
    labels, formulation = problem.dataset.labels[rows], problem.formulation
    is_own = labels[:, None] == np.arange(base.shape[1])
    if formulation.aggregation == "log_sum_exp":
        return np.asarray(scipy.special.logsumexp(base, axis=1) - base[is_own])
    gamma, gamma_own = problem.margins()
    if formulation.is_relative:
        base = base - base[is_own][:, None]
    xi = np.where(is_own, gamma_own - base, gamma + base)
    if formulation.targets != "all":
        xi[is_own if formulation.targets == "others" else ~is_own] = 0.0
    of_classes = problem.slack_loss.of_positive(np.maximum(xi, 0.0))
    if problem.factors is not None:
        of_classes = of_classes * np.where(is_own, 0.0, problem.factors[labels])
    together = np.max if formulation.takes_maximum else np.sum
    return np.asarray(together(of_classes, axis=1))
