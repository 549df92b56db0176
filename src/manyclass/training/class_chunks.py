"""One-vs-rest in chunks of classes, if W and z of all classes do not fit into memory.

The classes are independent, so some groups of them are trained to the end, certified and packed
(non-zeros of W), then the next groups. Input and output are as in one_vs_rest.py, with sparse W; P,
D and the gap are sums over the chunks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

from manyclass.problem.problem import Problem, losses_at_zero, problem_of
from manyclass.problem.solution import (
    Certificate,
    EpochRecord,
    Progress,
    Solution,
    Start,
    Status,
    Weights,
    rounding_share,
    start_of,
)
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.weights.storage import classes_in_group, groups_in_part
from manyclass.training.epoch_loop import Interrupted, Make, solve
from manyclass.utils.machine import available_memory, weighted_sum
from manyclass.utils.types import CsrArray

P = TypeVar("P")  # W of a chunk, as stored by WeightColumns


class WeightColumns(Protocol[P]):
    """Storage of W by chunks of classes."""

    def held(self, weights: Weights) -> P:
        """Return the W of a finished chunk in the form that is kept."""

    def n_entries(self, part: P) -> int:
        """Return the number of non-zero entries of W."""

    def nbytes(self, part: P) -> int:
        """Return the bytes of a chunk."""

    def zeros(self, parts: list[P], W: CsrArray) -> P:
        """Return W = 0 for the classes that are not trained yet, in the form that is kept."""

    def joined(self, parts: list[P]) -> Weights:
        """Join the classes of all chunks."""

    def gathered(self, part: P) -> CsrArray:
        """Return a chunk as a CSR array."""


class CsrColumns:
    """W of some classes as a CSR array."""

    def held(self, weights: Weights) -> CsrArray:
        """Return the W of a finished chunk in the form that is kept."""
        return sp.csr_array(weights)

    def n_entries(self, part: CsrArray) -> int:
        """Return the number of non-zero entries of W."""
        return int(part.nnz)

    def nbytes(self, part: CsrArray) -> int:
        """Return the bytes of a chunk."""
        return int(part.nnz * (part.dtype.itemsize + 4))

    def zeros(self, _parts: list[CsrArray], W: CsrArray) -> CsrArray:
        """Return W = 0 for the classes that are not trained yet, in the form that is kept."""
        return W

    def joined(self, parts: list[CsrArray]) -> CsrArray:
        """Join the classes of all chunks."""
        return sp.csr_array(sp.hstack(parts, format="csr"))

    def gathered(self, part: CsrArray) -> CsrArray:
        """Return a chunk as a CSR array."""
        return part


def classes_in_chunk(problem: Problem, n_jobs: int) -> int:
    """Return the number of classes trained together: whole groups, at least one per thread."""
    return groups_in_part(problem, n_jobs) * classes_in_group(problem.dataset.dtype)


@dataclass(slots=True, eq=False)
class Finished(Generic[P]):
    """Results of the finished chunks."""

    problem: Problem
    keep_duals: bool
    columns: WeightColumns[P]
    weights: list[P] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    history: list[EpochRecord] = field(default_factory=list)
    n_classes: int = 0
    n_weights: int = 0
    n_duals: int = 0
    primal: float = 0.0
    gap: float = 0.0
    zero: float = 0.0
    violation: float = 0.0
    certificates: list[Certificate] = field(default_factory=list)
    began: float = 0.0  # seconds until the current chunk
    status: Status = Status.CONVERGED
    is_to_stop: bool = False  # stopped by a callback, perhaps in the last epoch of a chunk

    def add(self, part: Solution) -> None:
        """Add the result of a chunk."""
        W = self.columns.held(part.weights)
        size = part.duals.shape[1]
        self.weights.append(W)
        self.starts.append(part.start if self.keep_duals else self._at_zero(size))
        self.n_classes += size
        self.n_weights += self.columns.n_entries(W)
        self._check_memory()
        self.n_duals += part.duals.nnz
        self._prove(part.certificate)
        if part.status is Status.STOPPED or self.status is Status.CONVERGED:
            self.status = part.status

    def _prove(self, certificate: Certificate) -> None:
        """Add the certificate of some classes."""
        self.certificates.append(certificate)
        self.primal += certificate.primal_objective
        self.gap += certificate.gap
        self.zero += certificate.zero_objective
        self.violation = max(self.violation, certificate.max_violation)

    def _check_memory(self) -> None:
        """Refuse chunks that do not fit when joined; the system would kill the process."""
        held = sum(map(self.columns.nbytes, self.weights))
        if 2 * held > available_memory():
            raise MemoryError(f"the weights of {self.n_classes} classes take {held / 1e9:.1f} GB")

    def record(self, record: EpochRecord, n_classes: int) -> EpochRecord:
        """Turn the record of the current chunk into a record of all classes."""
        k = self.problem.dataset.n_classes
        loss, gap = self._untrained(k - self.n_classes - n_classes)
        if record.epoch == 1:
            self.began = self.history[-1].seconds if self.history else 0.0
        whole = replace(
            record,
            epoch=len(self.history) + 1,
            seconds=self.began + record.seconds,
            primal_estimate=self.primal + record.primal_estimate + loss,
            gap_estimate=self.gap + record.gap_estimate + gap,
            zero_objective=self.zero + record.zero_objective + loss,
            violation=max(self.violation, record.violation, 1.0 if gap else 0.0),
            n_weights=self.n_weights + record.n_weights,
            n_duals=self.n_duals + record.n_duals,
        )
        self.history.append(whole)
        return whole

    def leave(self) -> None:
        """Skip the classes that are not trained yet: W = 0 and z = 0."""
        data = self.problem.dataset
        left = data.n_classes - self.n_classes
        if left == 0:
            return
        zero = sp.csr_array((data.n_features + 1, left), dtype=data.dtype)
        self.weights.append(self.columns.zeros(self.weights, zero))
        self.starts.append(self._at_zero(left))
        loss, gap = self._untrained(left)
        share = rounding_share(data.n_examples, left)
        self._prove(Certificate.from_gap(loss, gap, 1.0, share, zero=loss, penalty=0.0, loss=loss))
        self.n_classes = data.n_classes

    def solution(self, rule: StoppingRule) -> Solution:
        """Return the joined solution; the stopping criterion applies to the sum."""
        weights = self.columns.joined(self.weights)
        self.weights.clear()
        certificate = Certificate.sum_of(self.certificates)
        status = Status.CONVERGED if rule.met(certificate) else self.status
        return Solution(weights, self.start([]), self.history, status, certificate)

    def start(self, others: list[Start]) -> Start:
        """Return the warm-start state; `others` are the starts of the classes after these."""
        starts = [*self.starts, *others]
        duals = sp.csr_array(sp.hstack([start.duals for start in starts], format="csr"))
        epochs = np.concatenate([start.epochs_of_classes() for start in starts])
        W = None
        if any(start.weights is not None for start in starts):
            shape = (self.problem.dataset.n_features + 1, duals.shape[1])
            W = np.zeros(shape, self.problem.dataset.dtype)  # kept only if better than W(z)
            ends = np.cumsum([start.duals.shape[1] for start in starts])
            for start, end in zip(starts, ends, strict=True):
                if start.weights is not None:
                    W[:, end - start.weights.shape[1] : end] = start.weights
        return Start(duals, W, tuple(self.history), epochs)

    def rest(self, start: Start | None, first: int) -> Start:
        """Return the start of the classes from `first` on."""
        k = self.problem.dataset.n_classes
        before = start_of(start, slice(first, k))
        return self._at_zero(k - first) if before is None else before

    def _at_zero(self, n_classes: int) -> Start:
        data = self.problem.dataset
        return Start.at_zero(data.n_examples, n_classes, data.dtype)

    def _untrained(self, n_classes: int) -> tuple[float, float]:
        """Return P at W = 0, and the gap at z = 0, without the constant loss of empty rows."""
        costs, data = self.problem.costs, self.problem.dataset
        may_gain = data.has_features() | (data.bias != 0)
        if not n_classes:
            return 0.0, 0.0
        left = problem_of(self.problem, slice(data.n_classes - n_classes, data.n_classes))
        losses = losses_at_zero(left)
        return weighted_sum(costs, losses), weighted_sum(costs[may_gain], losses[may_gain])


def solve_in_chunks(
    problem: Problem,
    make: Make,
    rule_of: Callable[[], StoppingRule],
    *,
    part_size: int,
    max_iter: int,
    start: Start | None = None,
    on_epoch: Callable[[Progress], bool] | None = None,
    keep_duals: bool = False,
    columns: WeightColumns[P],
) -> Solution:
    """Train one-vs-rest in chunks of classes.

    Parameters
    ----------
    problem : Problem
        A one-vs-rest problem.
    make : callable
        Creates the solver of a chunk, from a start.
    rule_of : callable
        Creates the stopping criterion of a chunk.
    part_size : int
        Largest number of classes in a chunk.
    max_iter : int
        Maximum number of epochs of a chunk, including the epochs of `start`.
    start : Start, default=None
        Start of training; None: z = 0.
    on_epoch : callable, default=None
        See ``solve``; the records are for all classes.
    keep_duals : bool, default=False
        Whether z, which may be as large as n x k, is needed. Otherwise zeros are returned.
    columns : WeightColumns
        Storage of W of the chunks.

    Returns
    -------
    Solution
        W as joined by `columns`. The history holds the epochs of all chunks.

    Raises
    ------
    Interrupted, FloatingPointError
        As in ``solve``; z of the chunks that have not begun is the z of `start`, or 0.
    """
    done = Finished(problem, keep_duals, columns)
    if start is not None:
        done.history.extend(start.history)
    for classes in _parts(problem, part_size, start):
        stopped = done.is_to_stop
        if stopped:
            done.status = Status.STOPPED
            if start is None:
                break
        try:
            part = solve(
                problem_of(problem, classes),
                make,
                rule_of(),
                max_iter=0 if stopped else max_iter,  # certify the state of the start
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
    return done.solution(rule_of())


def _parts(problem: Problem, size: int, start: Start | None) -> Iterator[slice]:
    """Yield ranges of adjacent classes with the same number of epochs so far."""
    k = problem.dataset.n_classes
    epochs = np.zeros(k) if start is None else start.epochs_of_classes()
    changes = (np.flatnonzero(np.diff(epochs)) + 1).tolist()
    for begin, end in itertools.pairwise([0, *changes, k]):
        bounds = itertools.pairwise([*range(begin, end, size), end])
        yield from (slice(first, last) for first, last in bounds)


def _shown(
    done: Finished[P],
    classes: slice,
    start: Start | None,
    on_epoch: Callable[[Progress], bool] | None,
) -> Callable[[Progress], bool]:
    """Record the epochs of a chunk as epochs of all classes, and show them."""

    def show(progress: Progress) -> bool:
        record = done.record(progress.record, classes.stop - classes.start)
        if on_epoch is None:
            return False
        rest = done.rest(start, classes.stop)
        done.is_to_stop = on_epoch(
            Progress(
                record,
                lambda: _whole_weights(done, progress.weights()),
                lambda: done.start([progress.start(), rest]),
                progress.proven_gap,
                progress.is_proving,
            )
        )
        return done.is_to_stop

    return show


def _whole_weights(done: Finished[P], part: Weights) -> CsrArray:
    """Return W with the current chunk, and zeros for the classes that are not trained yet."""
    data = done.problem.dataset
    left = data.n_classes - done.n_classes - part.shape[1]
    rest = sp.csr_array((data.n_features + 1, left), dtype=data.dtype)
    known = [done.columns.gathered(W) for W in done.weights]
    return sp.csr_array(sp.hstack([*known, sp.csr_array(part), rest], format="csr"))
