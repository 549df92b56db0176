"""Training problem: examples, formulation, loss and C."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import Formulation
from manyclass.problem.losses import LOSSES, Loss


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
    costs : ndarray of shape (n,), float64
        C_i = C * weight_i.
    """

    dataset: Dataset
    formulation: Formulation
    C: float
    loss: str = "hinge"
    costs: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        if not 0 < self.C < np.inf:
            raise ValueError(f"C must be positive and finite, got {self.C}")
        if self.loss not in self.formulation.losses():
            raise ValueError(
                f"loss={self.loss!r} does not go with a formulation that takes the maximum over "
                "the classes; use loss='hinge', or a formulation that takes their sum, such as "
                "formulation='one_vs_rest'"
            )
        with np.errstate(over="ignore", under="ignore"):
            costs = self.C * self.dataset.weights
        if not (np.isfinite(costs).all() and (costs > 0).all()):
            raise ValueError("C times a sample weight overflows or vanishes; scale the weights")
        object.__setattr__(self, "costs", costs)

    @property
    def slack_loss(self) -> Loss:
        """The loss as a function of slacks."""
        return LOSSES[self.loss]


ELSEWHERE = _core.ELSEWHERE  # label of an example whose class is in another group


def problem_of(problem: Problem, classes: slice | NDArray[np.int64]) -> Problem:
    """Return the same problem for some classes only, whose numbers begin at 0."""
    data = problem.dataset
    some = np.arange(data.n_classes)[classes]
    numbers = np.full(data.n_classes + 1, ELSEWHERE, np.int32)  # the last: of ELSEWHERE itself
    numbers[some] = np.arange(len(some))
    dataset = replace(data, labels=numbers[data.labels], n_classes=len(some))
    return Problem(dataset, problem.formulation, problem.C, problem.loss)
