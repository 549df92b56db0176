"""One-vs-rest for so many classes that W and z do not fit into memory all at once.

The classes are independent, so some groups of them are trained to the end, certified and packed
(what is not zero of W), then the next ones. Given and returned: as for separate_classes.py, W
sparse; P, D and the gap are sums over the parts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyclass.memory import available_memory
from manyclass.problem import Problem
from manyclass.solution import Certificate, EpochRecord, Solution, Start, Status, relative
from manyclass.solvers.base import Interrupted, Progress, solve
from manyclass.solvers.separate_classes import (
    SeparateClasses,
    classes_in_group,
    problem_of,
    start_of,
)
from manyclass.solvers.stopping import StoppingRule

# Classes are trained together while their weights and z need no more than this, and no more than
# this share of the memory.
PART_BYTES = 1 << 29
PART_SHARE = 0.25


@dataclass(slots=True, eq=False)
class Finished:
    """What the parts that are done amount to."""

    problem: Problem
    keep_duals: bool
    weights: list[Any] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    history: list[EpochRecord] = field(default_factory=list)
    n_classes: int = 0
    n_weights: int = 0
    n_duals: int = 0
    primal: float = 0.0
    gap: float = 0.0
    violation: float = 0.0
    began: float = 0.0  # seconds until the part at hand
    status: Status = Status.CONVERGED

    def add(self, part: Solution) -> None:
        """Take over a part."""
        size = part.weights.shape[1]
        self.weights.append(sp.csr_array(part.weights))
        self.starts.append(part.start if self.keep_duals else self._at_zero(size))
        self.n_classes += size
        self.n_weights += part.weights.size
        self.n_duals += part.duals.nnz
        self.primal += part.certificate.primal_objective
        self.gap += part.certificate.gap
        self.violation = max(self.violation, part.certificate.max_violation)
        if part.status is Status.STOPPED or self.status is Status.CONVERGED:
            self.status = part.status

    def record(self, record: EpochRecord, n_classes: int) -> EpochRecord:
        """Turn the record of the part at hand into one of all classes."""
        k = self.problem.dataset.n_classes
        waiting = self._untrained(k - self.n_classes - n_classes)
        if record.epoch == 1:
            self.began = self.history[-1].seconds if self.history else 0.0
        whole = replace(
            record,
            epoch=len(self.history) + 1,
            seconds=self.began + record.seconds,
            primal_estimate=self.primal + record.primal_estimate + waiting,
            gap_estimate=self.gap + record.gap_estimate + waiting,
            violation=max(self.violation, record.violation, 1.0 if waiting else 0.0),
            n_weights=self.n_weights + record.n_weights,
            n_duals=self.n_duals + record.n_duals,
        )
        self.history.append(whole)
        return whole

    def leave(self) -> None:
        """Give up the classes that have not begun: W = 0 and z = 0."""
        data = self.problem.dataset
        left = data.n_classes - self.n_classes
        if left == 0:
            return
        self.weights.append(sp.csr_array((data.n_features + 1, left), dtype=data.dtype))
        self.starts.append(self._at_zero(left))
        self.primal += self._untrained(left)
        self.gap += self._untrained(left)
        self.violation = max(self.violation, 1.0)
        self.n_classes = data.n_classes

    def solution(self) -> Solution:
        """Return the parts put together."""
        weights = sp.csr_array(sp.hstack(self.weights, format="csr"))
        self.weights.clear()
        certificate = Certificate(
            primal_objective=self.primal,
            dual_objective=self.primal - self.gap,
            gap=self.gap,
            relative_gap=relative(self.gap, self.primal),
            max_violation=self.violation,
        )
        return Solution(weights, self.start([]), self.history, self.status, certificate)

    def start(self, others: list[Start]) -> Start:
        """Return from where training can go on; `others` are those of the classes after these."""
        starts = [*self.starts, *others]
        duals = sp.csr_array(sp.hstack([start.duals for start in starts], format="csr"))
        epochs = np.concatenate([start.epochs_of_classes() for start in starts])
        W = None
        if any(start.weights is not None for start in starts):
            shape = (self.problem.dataset.n_features + 1, duals.shape[1])
            W = np.zeros(shape, self.problem.dataset.dtype)  # kept only where better than W(z)
            ends = np.cumsum([start.duals.shape[1] for start in starts])
            for start, end in zip(starts, ends, strict=True):
                if start.weights is not None:
                    W[:, end - start.weights.shape[1] : end] = start.weights
        return Start(duals, W, tuple(self.history), epochs)

    def rest(self, start: Start | None, first: int) -> Start:
        """Return where the classes from the first one on stood at the beginning."""
        k = self.problem.dataset.n_classes
        before = start_of(start, slice(first, k))
        return self._at_zero(k - first) if before is None else before

    def _at_zero(self, n_classes: int) -> Start:
        data = self.problem.dataset
        return Start.at_zero(data.n_examples, n_classes, data.dtype)

    def _untrained(self, n_classes: int) -> float:
        """P at W = 0, and so the gap at z = 0: every margin loses 1."""
        return float(self.problem.costs.sum()) * n_classes


def solve_in_parts(
    problem: Problem,
    rng: np.random.Generator,
    n_jobs: int,
    rule_of: Callable[[], StoppingRule],
    *,
    max_iter: int,
    start: Start | None = None,
    on_epoch: Callable[[Progress], bool] | None = None,
    keep_duals: bool = False,
) -> Solution:
    """Train one-vs-rest, some classes after the other.

    Parameters
    ----------
    problem : Problem
        One-vs-rest.
    rng : numpy.random.Generator
    n_jobs : int
        Threads.
    rule_of : callable
        Makes the stopping rule of a part.
    max_iter : int
        Epochs of a part at most, those of `start` counted.
    start : Start, default=None
        Where to begin; z = 0 when None.
    on_epoch : callable, default=None
        As for ``solve``; the records are those of all classes.
    keep_duals : bool, default=False
        Whether z is wanted: it may be as large as n x k. Otherwise zeros are returned.

    Returns
    -------
    Solution
        Weights sparse. The history holds the epochs of all parts.

    Raises
    ------
    Interrupted, FloatingPointError
        As ``solve``; z of the parts that have not begun is that of `start`, or 0.
    """
    done = Finished(problem, keep_duals)
    if start is not None:
        done.history.extend(start.history)
    for classes in _parts(problem, n_jobs):
        stopped = done.status is Status.STOPPED
        if stopped and start is None:
            break
        try:
            part = solve(
                problem_of(problem, classes),
                SeparateClasses(rng, n_jobs),
                rule_of(),
                max_iter=0 if stopped else max_iter,  # judge what was reached before
                start=start_of(start, classes),
                on_epoch=_shown(done, classes, start, on_epoch),
            )
        except KeyboardInterrupt as interrupt:
            first = done.n_classes
            reached = [interrupt.start] if isinstance(interrupt, Interrupted) else []
            if reached:
                first = classes.stop
            raise Interrupted(done.start([*reached, done.rest(start, first)])) from interrupt
        done.add(part)
    done.leave()
    return done.solution()


def part_bytes(problem: Problem, n_jobs: int) -> int:
    """Bytes of a part's weights and z."""
    return _groups_in_part(problem, n_jobs) * _group_bytes(problem)


def _parts(problem: Problem, n_jobs: int) -> Iterator[slice]:
    """Neighbouring classes, whole groups and at least one for each thread."""
    data = problem.dataset
    size = _groups_in_part(problem, n_jobs) * classes_in_group(data.dtype)
    bounds = itertools.pairwise([*range(0, data.n_classes, size), data.n_classes])
    return (slice(first, last) for first, last in bounds)


def _groups_in_part(problem: Problem, n_jobs: int) -> int:
    budget = min(PART_BYTES, PART_SHARE * available_memory())
    return max(n_jobs, int(budget / _group_bytes(problem)))


def _group_bytes(problem: Problem) -> int:
    data = problem.dataset
    per_class = (2 * (data.n_features + 1) + data.n_examples) * data.dtype.itemsize
    return per_class * min(data.n_classes, classes_in_group(data.dtype))


def _shown(
    done: Finished,
    classes: slice,
    start: Start | None,
    on_epoch: Callable[[Progress], bool] | None,
) -> Callable[[Progress], bool]:
    """Record the epochs of a part as those of all classes, and show them."""

    def show(progress: Progress) -> bool:
        record = done.record(progress.record, classes.stop - classes.start)
        if on_epoch is None:
            return False
        rest = done.rest(start, classes.stop)
        return on_epoch(
            Progress(
                record,
                lambda: _whole_weights(done, progress.weights()),
                lambda: done.start([progress.start(), rest]),
            )
        )

    return show


def _whole_weights(done: Finished, part: Any) -> sp.csr_array[Any]:
    """W with the part at hand, zeros for the classes that have not begun."""
    data = done.problem.dataset
    left = data.n_classes - done.n_classes - part.shape[1]
    rest = sp.csr_array((data.n_features + 1, left), dtype=data.dtype)
    return sp.csr_array(sp.hstack([*done.weights, sp.csr_array(part), rest], format="csr"))
