"""The training loop of all solvers: options, hooks, epochs, certificates, interruption."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Protocol, TypeAlias

import numpy as np

from manyclass.problem.merged_columns import MergedColumns
from manyclass.problem.problem import Problem
from manyclass.problem.solution import (
    Certificate,
    EpochRecord,
    Progress,
    Solution,
    Start,
    Status,
    Weights,
)
from manyclass.solvers.stopping import RULES, Found, StoppingRule
from manyclass.solvers.weights.storage import Kind
from manyclass.utils.progress import Show


@dataclass(frozen=True, slots=True)
class Options:
    """How a problem is trained.

    Attributes
    ----------
    tol : float
    stopping : {"gap", "kkt"}, default="gap"
        Meaning of `tol`; "gap" for logistic regression.
    solver : str, default="auto"
        One of ``SOLVERS`` in train.py.
    weights : {"dense", "sparse"}, default="dense"
        Storage of W (solvers/weights/storage.py).
    regularize_intercept : bool, default=False
        For logistic regression: whether intercepts are regularized.
    max_iter : int, default=1000
        Maximum number of epochs, per chunk of classes if there are chunks (class_chunks.py).
    n_jobs : int, default=1
        Threads.
    seed : int or sequence of int, default=0
        Seed of the random orders.
    keeps_duals : bool, default=True
        Whether z is needed; otherwise it may be missing.
    columns : MergedColumns, default=None
        Columns to merge; not for training in chunks or in several processes.
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
        """Create the stopping criterion."""
        return RULES[self.stopping](self.tol)

    def in_parts(self, problem: Problem) -> bool:
        """Whether classes are trained in chunks."""
        return problem.formulation.is_separable and self.weights == "sparse"


class Hook(Protocol):
    """Extension of training, called after each epoch: progress, checkpoints, callbacks, stops."""

    def epoch(self, progress: Progress) -> bool:
        """Process the state after an epoch; return True to stop training."""

    def end(self, start: Start) -> None:
        """Process the state in which training ended or was interrupted."""


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
        Takes the state after an epoch, the relative gap, and the next computation.
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


# Training has stalled when this many epochs in a row neither increase the dual objective by more
# than its last digit nor decrease the gap (the best gap by a hundredth, or the mean of the second
# half to a tenth below the mean of the first half): rounding then cancels the progress of the
# steps.
PATIENCE = 50
PROGRESS = 0.99
HALVES = 0.9
# If training may continue in float64, float32 ends when a certificate (computed because the
# estimates met the criterion) does not reduce the least proven gap to this share, or when the gap,
# once below NEAR of P or with violations of a few digits, has not decreased to FALL of the previous
# least gap in SHORT epochs.
SHORT, NEAR, FALL = 6, 1e-4, 0.7
ROUNDING = 8  # digits of a violation


class Solver(Protocol):
    """A training run of a problem, from z = 0 or from a start."""

    @property
    def dual(self) -> float:
        """Current D of training."""

    def epoch(self, rule: StoppingRule) -> EpochRecord:
        """Train for one epoch."""

    @property
    def is_exact(self) -> bool:
        """Whether the last epoch's estimates are exact for the current W."""

    def promising(self, rule: StoppingRule) -> bool:
        """Whether the stopping criterion may be met, by the estimates of the last epoch."""

    def certify(self) -> Certificate:
        """Compute the duality-gap certificate of z and the W to return."""

    def start(self) -> Start:
        """Return the warm-start state."""

    def weights(self) -> Weights:
        """Return W, shape (d + 1, k), with the last row for the appended feature."""

    def finish(self) -> Weights:
        """Return W like ``weights``, in the run's memory, which must not be used afterwards."""


Make: TypeAlias = Callable[[Problem, "Start | None"], Solver]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during training; it can resume from ``start``."""

    def __init__(self, start: Start) -> None:
        super().__init__("training was interrupted")
        self.start = start


def solve(
    problem: Problem,
    make: Make,
    rule: StoppingRule,
    *,
    max_iter: int,
    start: Start | None = None,
    on_epoch: Callable[[Progress], bool] | None = None,
    leaves_early: bool = False,
    is_slow: Callable[[Sequence[float]], bool] | None = None,
) -> Solution:
    """Train until the stopping criterion is met.

    Parameters
    ----------
    problem : Problem
    make : callable
        Creates the solver of the problem, from a start.
    rule : StoppingRule
    max_iter : int
        Maximum number of epochs, including the epochs of `start`.
    start : Start, default=None
        Start of training; None: z = 0. Its history is continued. No epochs are trained if nothing
        has changed and the criterion is met.
    on_epoch : callable, default=None
        Called after each epoch; training stops when it returns True.
    leaves_early : bool, default=False
        Whether to end as soon as rounding seems to stall training, because it can continue in
        float64.
    is_slow : callable, default=None
        Takes the gaps of the epochs; returns whether to end as stalled, because a different solver
        continues.

    Returns
    -------
    Solution

    Raises
    ------
    Interrupted
        On Ctrl-C.
    FloatingPointError
        If the weights overflow.
    """
    solver = make(problem, start)
    run = _Run(problem, solver, start)
    then: Start | None = None
    try:
        at_start = run.certify() if start is not None and start.is_same else None
        if at_start is not None and rule.met(at_start):
            status, certificate = Status.CONVERGED, at_start
        else:
            status, certificate = _epochs(run, rule, max_iter, on_epoch, leaves_early, is_slow)
        then = run.start()
        if not np.isfinite(certificate.primal_objective):
            raise FloatingPointError(
                "the weights overflow; scale the features to about one, lower C or use float64"
            )
        return Solution(solver.finish(), then, run.history, status, certificate)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(then or run.start()) from interrupt


class _Run:
    """A training run, and earlier epochs that count as the same training."""

    def __init__(self, problem: Problem, solver: Solver, start: Start | None) -> None:
        self.problem, self.solver = problem, solver
        self.history = [] if start is None else list(start.history)
        self.n_epochs = 0 if start is None else start.n_epochs
        self.seconds_before = self.history[-1].seconds if self.history else 0.0
        self.duals: list[float] = []  # D after this run's epochs
        self.gaps: list[float] = []  # estimated gaps of this run's epochs
        self.proven_gap: float | None = None  # gap of the last certificate
        self._missed = Found(1.0, 1.0)  # factors of proven gaps over the estimates, at least 1

    def epoch(self, rule: StoppingRule) -> Progress:
        """Train for one epoch."""
        record = self.solver.epoch(rule)
        seconds = self.seconds_before + record.seconds
        record = replace(record, epoch=len(self.history) + 1, seconds=seconds)
        self.history.append(record)
        self.n_epochs += 1
        self.gaps.append(record.gap_estimate)
        self.duals.append(self.solver.dual)
        return Progress(record, self.solver.weights, self.start, self.proven_gap)

    def certify(self) -> Certificate:
        """Compute the duality-gap certificate of z and the W to return."""
        certificate = self.solver.certify()
        self.proven_gap = certificate.relative_gap
        if self.history:
            last = self.history[-1]
            gap, violation = last.gap_estimate, last.violation
            self._missed = Found(
                max(1.0, certificate.gap / gap) if gap > 0 else 1.0,
                max(1.0, certificate.max_violation / violation) if violation > 0 else 1.0,
            )
        return certificate

    def may_be_proven(self, rule: StoppingRule) -> bool:
        """Whether a certificate with the same factor over the estimates as the last one would do.

        A certificate costs a pass over all examples.
        """
        last, missed = self.history[-1], self._missed
        likely = Found(missed.gap * last.gap_estimate, missed.max_violation * last.violation)
        return rule.promising(likely, last.scale)

    def start(self) -> Start:
        """Return the warm-start state."""
        epochs = np.full(self.problem.dataset.n_classes, self.n_epochs, np.int64)
        return replace(self.solver.start(), history=tuple(self.history), epochs=epochs)


def _epochs(
    run: _Run,
    rule: StoppingRule,
    max_iter: int,
    on_epoch: Callable[[Progress], bool] | None,
    leaves_early: bool,
    is_slow: Callable[[Sequence[float]], bool] | None,
) -> tuple[Status, Certificate]:
    digit = float(np.finfo(run.problem.dataset.dtype).eps)
    status = Status.MAX_ITER
    next_try = pause = 1
    best, lags = np.inf, False
    while run.n_epochs < max_iter:
        progress = run.epoch(rule)
        n_new = len(run.duals)
        is_due = n_new >= next_try or run.solver.is_exact or run.may_be_proven(rule)
        is_due = is_due and run.solver.promising(rule)
        stop = on_epoch is not None and on_epoch(replace(progress, is_proving=is_due))
        if is_due:
            certificate = run.certify()
            if rule.met(certificate):
                return Status.CONVERGED, certificate
            # The estimates were too good, and may be so by a different factor next time.
            pause *= 2
            next_try = n_new + min(pause, 16)
            lags = not certificate.gap < HALVES * best
            best = min(best, certificate.gap)
        is_rounding = progress.record.violation < ROUNDING * digit
        near = np.inf if is_rounding else NEAR * progress.record.primal_estimate
        slows = leaves_early and (lags or is_slowed(run.gaps, near))
        slows = slows or (is_slow is not None and is_slow(run.gaps))
        if stop or slows or has_stalled(run.duals, run.gaps, digit):
            status = Status.STOPPED if stop else Status.STALLED
            break
    certificate = run.certify()
    return Status.CONVERGED if rule.met(certificate) else status, certificate


def is_slowed(gaps: list[float], near: float) -> bool:
    """Whether the gap is below `near` and hardly decreased in the last ``SHORT`` epochs."""
    if len(gaps) <= SHORT or not gaps[-1] < near:
        return False
    before = min(gaps[:-SHORT])
    # Only rounding makes an estimated gap negative, and nothing is below it.
    return before <= 0 or max(min(gaps[-SHORT:]), 0) > FALL * before


def has_stalled(duals: list[float], gaps: list[float], digit: float) -> bool:
    """Whether the last ``PATIENCE`` epochs improved neither D nor the gap; ``digit``: eps."""
    if not np.isfinite(duals[-1]):
        return True
    if len(duals) <= PATIENCE:
        return False
    rose = duals[-1] - duals[-1 - PATIENCE] > digit * abs(duals[-1])
    # Only rounding makes an estimated gap negative: it counts as 0.
    fell = max(min(gaps[-PATIENCE:]), 0) < PROGRESS * min(gaps[:-PATIENCE])
    half = PATIENCE // 2
    before, last = np.maximum(gaps[-2 * half :], 0).reshape(2, half).mean(axis=1)
    falls = last < HALVES * before
    return not (rose or fell or falls)
