"""The only training loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from manyclass.problem import Problem
from manyclass.solution import Certificate, EpochRecord, Solution, Start, Status, Weights
from manyclass.solvers.stopping import StoppingRule

# Training has stalled when this many epochs in a row neither raise the dual objective by more than
# its last digit nor lower the gap (the best by a hundredth, or the mean of the second half by a
# tenth below that of the first): rounding then undoes what the steps gain.
PATIENCE = 50
PROGRESS = 0.99
HALVES = 0.9

S = TypeVar("S")


class Solver(Protocol[S]):
    """The methods of a solver, on a state S that only it knows."""

    def init(self, problem: Problem, start: Start | None) -> S:
        """Begin from z = 0, or where another training ended."""

    def epoch(self, problem: Problem, state: S, rule: StoppingRule) -> EpochRecord:
        """Train for one epoch."""

    def promising(self, state: S, rule: StoppingRule) -> bool:
        """Whether the last epoch's estimates say that the rule may be met."""

    def dual_objective(self, state: S) -> float:
        """Return D."""

    def certify(self, problem: Problem, state: S) -> Certificate:
        """Judge z and the W that is to be returned."""

    def start(self, problem: Problem, state: S) -> Start:
        """Return from where training can go on."""

    def weights(self, problem: Problem, state: S) -> Weights:
        """Return W, shape (d, k), last row the appended feature's."""

    def finish(self, problem: Problem, state: S) -> Weights:
        """Return W like ``weights``, in the state's own memory; the state ends."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a training run shows after each epoch, and may be asked for."""

    record: EpochRecord
    weights: Callable[[], Weights]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during training; ``start`` is where it can go on."""

    def __init__(self, start: Start) -> None:
        super().__init__("training was interrupted")
        self.start = start


def solve(
    problem: Problem,
    solver: Solver[S],
    rule: StoppingRule,
    *,
    max_iter: int,
    start: Start | None = None,
    on_epoch: Callable[[Progress], bool] | None = None,
) -> Solution:
    """Train until the rule is met.

    Parameters
    ----------
    problem : Problem
    solver : Solver
    rule : StoppingRule
    max_iter : int
        Epochs at most.
    start : Start, default=None
        Where to begin; at z = 0 when None.
    on_epoch : callable, default=None
        Called after each epoch; training stops when it returns True.

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
    state = solver.init(problem, start)
    then: Start | None = None
    try:
        history, status, certificate = _epochs(problem, solver, state, rule, max_iter, on_epoch)
        then = solver.start(problem, state)
        if not np.isfinite(certificate.primal_objective):
            raise FloatingPointError(
                "the weights overflow; scale the features to about one, lower C or use float64"
            )
        return Solution(solver.finish(problem, state), then, history, status, certificate)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(then or solver.start(problem, state)) from interrupt


def _epochs(
    problem: Problem,
    solver: Solver[S],
    state: S,
    rule: StoppingRule,
    max_iter: int,
    on_epoch: Callable[[Progress], bool] | None,
) -> tuple[list[EpochRecord], Status, Certificate]:
    history: list[EpochRecord] = []
    duals: list[float] = []
    digit = float(np.finfo(problem.dataset.dtype).eps)
    status = Status.MAX_ITER
    next_try = pause = 1
    while len(history) < max_iter:
        history.append(solver.epoch(problem, state, rule))
        duals.append(solver.dual_objective(state))
        stop = on_epoch is not None and on_epoch(
            Progress(history[-1], lambda: solver.weights(problem, state))
        )
        if len(history) >= next_try and solver.promising(state, rule):
            certificate = solver.certify(problem, state)
            if rule.met(certificate):
                return history, Status.CONVERGED, certificate
            # The estimates were too good; a pass that only judges is not worth trying every time.
            pause *= 2
            next_try = len(history) + min(pause, 16)
        if stop or has_stalled(duals, [record.gap_estimate for record in history], digit):
            status = Status.STOPPED if stop else Status.STALLED
            break
    certificate = solver.certify(problem, state)
    return history, Status.CONVERGED if rule.met(certificate) else status, certificate


def has_stalled(duals: list[float], gaps: list[float], digit: float) -> bool:
    """Whether the last ``PATIENCE`` epochs brought nothing; ``digit`` is the last digit of one."""
    if not np.isfinite(duals[-1]):
        return True
    if len(duals) <= PATIENCE:
        return False
    rose = duals[-1] - duals[-1 - PATIENCE] > digit * abs(duals[-1])
    fell = min(gaps[-PATIENCE:]) < PROGRESS * min(gaps[:-PATIENCE])
    half = PATIENCE // 2
    falls = np.mean(gaps[-half:]) < HALVES * np.mean(gaps[-2 * half : -half])
    return not (rose or fell or falls)
