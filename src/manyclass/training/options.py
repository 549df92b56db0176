"""Options of a training, and the hooks that take part in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event
from typing import Protocol

from manyclass.problem.merged_columns import MergedColumns
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress, Start
from manyclass.solvers.stopping import RULES, StoppingRule
from manyclass.solvers.weights.storage_choice import Kind
from manyclass.utils.progress import Show


@dataclass(frozen=True, slots=True)
class Options:
    """How a problem is trained.

    Attributes
    ----------
    tol : float
    stopping : {"gap", "kkt"}, default="gap"
        What `tol` means; "gap" for logistic regression.
    solver : str, default="auto"
        One of ``select.SOLVERS``.
    weights : {"dense", "sparse"}, default="dense"
        How W is held (solvers/weights/storage_choice.py).
    regularize_intercept : bool, default=False
        Of logistic regression.
    max_iter : int, default=1000
        Epochs at most, of each part where there are some (class_chunks.py).
    n_jobs : int, default=1
        Threads.
    seed : int or sequence of int, default=0
        From which the random orders are drawn.
    keeps_duals : bool, default=True
        Whether z is wanted; otherwise it may be missing.
    columns : MergedColumns, default=None
        Columns to train as one; not where training is in parts or in several processes.
    """

    tol: float
    stopping: str = "gap"
    solver: str = "auto"
    weights: Kind = "dense"
    regularize_intercept: bool = False
    max_iter: int = 1000
    n_jobs: int = 1
    seed: int | Sequence[int] = 0
    keeps_duals: bool = True
    columns: MergedColumns | None = None

    def rule(self) -> StoppingRule:
        """Make the stopping rule."""
        return RULES[self.stopping](self.tol)

    def in_parts(self, problem: Problem) -> bool:
        """Whether some classes are trained after the others."""
        return problem.formulation.is_separable and self.weights == "sparse"


class Hook(Protocol):
    """Part of a training, called each epoch: progress, checkpoints, callbacks, stop events."""

    def epoch(self, progress: Progress) -> bool:
        """Look at the state after an epoch; True stops training."""

    def end(self, start: Start) -> None:
        """Take the state in which training ended or was interrupted."""


class StopWhen:
    """Hook that stops training after the epoch in which an event is set."""

    def __init__(self, event: Event) -> None:
        self.event = event

    def epoch(self, _progress: Progress) -> bool:
        """Whether the event is set."""
        return self.event.is_set()

    def end(self, _start: Start) -> None:
        """Do nothing."""


class Shown:
    """Hook that shows each epoch.

    Parameters
    ----------
    show : callable
        Takes the state after an epoch, the relative gap, and what is computed next.
    """

    def __init__(self, show: Show) -> None:
        self.show = show

    def epoch(self, progress: Progress) -> bool:
        """Show an epoch."""
        gap = progress.proven_gap or progress.record.relative_gap
        self.show(progress, gap, "proving" if progress.is_proving else "")
        return False

    def end(self, _start: Start) -> None:
        """Do nothing."""
