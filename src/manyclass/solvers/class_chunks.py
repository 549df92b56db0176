"""One-vs-rest in chunks of classes, where W and z of all do not fit into memory.

The classes are independent, so some groups of them are trained to the end, certified and packed
(what is not zero of W), then the next ones; ranks share out the classes of each part. Given and
returned: as for one_vs_rest.py, W sparse; P, D and the gap are sums over the parts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyclass.problem.problem import Problem, problem_of
from manyclass.problem.solution import (
    Certificate,
    EpochRecord,
    Progress,
    Solution,
    Start,
    Status,
    rounding_share,
    start_of,
)
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.training_loop import Interrupted, Make, solve
from manyclass.solvers.weights.sharded import Block, ShardedWeights
from manyclass.utils.memory import available_memory
from manyclass.utils.types import CsrArray


@dataclass(slots=True, eq=False)
class Finished:
    """Results of the finished parts."""

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
    certificates: list[Certificate] = field(default_factory=list)
    began: float = 0.0  # seconds until the part at hand
    status: Status = Status.CONVERGED
    is_to_stop: bool = False  # says a callback, perhaps in the last epoch of a part

    def add(self, part: Solution) -> None:
        """Take over a part."""
        W = part.weights if isinstance(part.weights, ShardedWeights) else sp.csr_array(part.weights)
        size = part.duals.shape[1]
        self.weights.append(W)
        self.starts.append(part.start if self.keep_duals else self._at_zero(size))
        self.n_classes += size
        self.n_weights += int(W.row_counts().sum()) if isinstance(W, ShardedWeights) else W.nnz
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
        self.violation = max(self.violation, certificate.max_violation)

    def _check_memory(self) -> None:
        """Refuse parts that cannot be joined: the system would end the process instead."""
        entry = self.problem.dataset.dtype.itemsize + 4
        held = entry * sum(W.nnz for W in self.weights if not isinstance(W, ShardedWeights))
        if 2 * held > available_memory():
            raise MemoryError(f"the weights of {self.n_classes} classes take {held / 1e9:.1f} GB")

    def record(self, record: EpochRecord, n_classes: int) -> EpochRecord:
        """Turn the record of the part at hand into one of all classes."""
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
            violation=max(self.violation, record.violation, 1.0 if gap else 0.0),
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
        zero = sp.csr_array((data.n_features + 1, left), dtype=data.dtype)
        self.weights.append(_held_like(self.weights, zero))
        self.starts.append(self._at_zero(left))
        loss, gap = self._untrained(left)
        share = rounding_share(data.n_examples, left)
        self._prove(Certificate.from_gap(loss, gap, 1.0, share, penalty=0.0, loss=loss))
        self.n_classes = data.n_classes

    def solution(self, rule: StoppingRule) -> Solution:
        """Return the joined parts; the rule applies to the whole."""
        weights = _joined(self.weights)
        self.weights.clear()
        certificate = Certificate.sum_of(self.certificates)
        status = Status.CONVERGED if rule.met(certificate) else self.status
        return Solution(weights, self.start([]), self.history, status, certificate)

    def start(self, others: list[Start]) -> Start:
        """Return the warm-start state; `others` are those of the classes after these."""
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

    def _untrained(self, n_classes: int) -> tuple[float, float]:
        """P at W = 0, where every margin loses 1; the gap at z = 0: empty rows lose it anyway."""
        costs, data = self.problem.costs, self.problem.dataset
        may_gain = data.has_features() | (data.bias != 0)
        return float(costs.sum()) * n_classes, float(costs[may_gain].sum()) * n_classes


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
) -> Solution:
    """Train one-vs-rest, some classes after the other.

    Parameters
    ----------
    problem : Problem
        One-vs-rest.
    make : callable
        Makes the solver of a part, of one process or of ranks, from a start.
    rule_of : callable
        Makes the stopping rule of a part.
    part_size : int
        Classes of a part, at most.
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
        Weights sparse, or spread where the solver leaves them so. The history holds the epochs of
        all parts.

    Raises
    ------
    Interrupted, FloatingPointError
        As ``solve``; z of the parts that have not begun is that of `start`, or 0.
    """
    done = Finished(problem, keep_duals)
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
                max_iter=0 if stopped else max_iter,  # certify what was reached before
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
    """Neighbouring classes that have had as many epochs, on however many ranks that was."""
    k = problem.dataset.n_classes
    epochs = np.zeros(k) if start is None else start.epochs_of_classes()
    changes = (np.flatnonzero(np.diff(epochs)) + 1).tolist()
    for begin, end in itertools.pairwise([0, *changes, k]):
        bounds = itertools.pairwise([*range(begin, end, size), end])
        yield from (slice(first, last) for first, last in bounds)


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
        done.is_to_stop = on_epoch(
            Progress(
                record,
                lambda: _whole_weights(done, progress.weights()),
                lambda: done.start([progress.start(), rest]),
                progress.proven_gap,
            )
        )
        return done.is_to_stop

    return show


def _whole_weights(done: Finished, part: Any) -> CsrArray:
    """W with the part at hand, zeros for the classes that have not begun."""
    data = done.problem.dataset
    left = data.n_classes - done.n_classes - part.shape[1]
    rest = sp.csr_array((data.n_features + 1, left), dtype=data.dtype)
    known = [W.gather() if isinstance(W, ShardedWeights) else W for W in done.weights]
    return sp.csr_array(sp.hstack([*known, sp.csr_array(part), rest], format="csr"))


def _held_like(others: list[Any], W: CsrArray) -> CsrArray | ShardedWeights:
    """Return W spread over ranks, all on the first one, if the others are."""
    first = others[0]
    if not isinstance(first, ShardedWeights):
        return W
    block = Block(0, np.arange(W.shape[1]), W if first.communicator.rank == 0 else None)
    return replace(first, blocks=[block])


def _joined(parts: list[Any]) -> CsrArray | ShardedWeights:
    """Put the classes of all parts side by side; no rank sends any."""
    if not isinstance(parts[0], ShardedWeights):
        return sp.csr_array(sp.hstack(parts, format="csr"))
    first, blocks = 0, []
    for part in parts:
        blocks += [block._replace(classes=block.classes + first) for block in part.blocks]
        first += part.n_classes
    return replace(parts[0], blocks=blocks)
