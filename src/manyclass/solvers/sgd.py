"""Stochastic sub-gradient steps for multi-class hinge, logistic and perceptron losses (MCID).

Minimizes, for examples x_i with classes y_i and weights v_i,

    f(W) = alpha/2 ||W||_F^2 + sum_i v_i l(W; x_i, y_i) / sum_i v_i

    hinge        l = max(0, 1 + max_{c != y} w_c . x - w_y . x)
    log_loss     l = log sum_c exp(w_c . x) - w_y . x
    perceptron   l = max(0, max_{c != y} w_c . x - w_y . x)

Input: batches A_t of rows, in random order or in the order of the caller. Step t is

    W_t = T_{t-1}/T_t W_{t-1} - 1/(alpha T_t) sum_{i in A_t} v_i dl_i(W_{t-1}),

where T_t is the weight of the examples of steps 1 to t. With v_i = 1 and |A_t| = r this is the step
1/(alpha t) of Chen et al. 2011, algorithm 1 (eq. 14), with alpha instead of lambda. Output: W_T, or
an average of W_t: with weights T_t^2 (``average=True``: polynomial decay, Shamir and Zhang 2013),
or with equal weights from some step on (suffix average: Rakhlin, Shamir, Sridharan 2012).

With class offsets o, w_c . x + o_c replaces w_c . x in l.

Rows are drawn without replacement: every epoch visits all rows once. With alpha = 1/(n C), f with
the hinge loss is the Crammer-Singer objective divided by n C. The perceptron's f has its minimum,
0, at W = 0: the perceptron learns the direction of W, which does not depend on alpha.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.dataset import Dataset
from manyclass.problem.solution import Status, Weights
from manyclass.solvers.sgd_storage import Sums
from manyclass.solvers.weights.storage import Shape
from manyclass.solvers.weights.tables import TableAccumulator
from manyclass.utils.machine import core_class, instruction_set
from manyclass.utils.types import Settings

# Counters of the core's clock.
CLOCK = (
    "alpha",
    "seen",
    "steps",
    "reach",
    "average_from",
    "rising",
    "average_steps",
    "average_weight",
)


def new_clock(alpha: float, average: bool | int) -> _core.StochasticClock:
    """Return a new clock; ``average``: False, True (weights T_t^2) or the weight to start at."""
    clock = _core.StochasticClock()
    clock.alpha = alpha
    if average:
        clock.rising = isinstance(average, bool | np.bool_)
        clock.average_from = 0.0 if clock.rising else float(min(average, LONGEST))
    return clock


class Stochastic:
    """A training run: S, its progress, and its settings.

    Parameters
    ----------
    sums : Sums
    clock : StochasticClock

    Attributes
    ----------
    unit : float
        A power of two near the weights of the first examples. The clock counts in this unit, so
        that the numbers of S stay in range for weights of any size.
    """

    def __init__(self, sums: Sums, clock: _core.StochasticClock) -> None:
        self.sums = sums
        self.clock = clock
        self.unit = 1.0
        self._average_from = clock.average_from  # in units of the examples' weights
        self._trainer: tuple[Dataset, _core.StochasticTrainer64] | None = None

    @property
    def shape(self) -> Shape:
        """Shape of W."""
        return self.sums.shape

    @property
    def seen(self) -> float:
        """Total weight of the examples of all steps."""
        return self.clock.seen * self.unit

    def epoch(
        self,
        blocks: Iterable[Dataset],
        plan: Plan,
        rng: np.random.Generator,
        max_steps: int | None = None,
    ) -> float:
        """Visit all rows of all blocks once, or until ``max_steps`` steps are made.

        Returns
        -------
        float
            Mean loss of the visited examples, each before its step.

        Raises
        ------
        FloatingPointError
            If the weights may overflow; no steps of the block were made.
        """
        loss = 0.0
        before = self.clock.seen
        for dataset in blocks:
            left = None if max_steps is None else max(0, max_steps - self.clock.steps)
            if left == 0:
                break
            n = dataset.n_examples
            order = rng.permutation(n) if plan.shuffle else np.arange(n)
            rows = order[: None if left is None else left * plan.batch_size].astype(np.int32)
            loss += self._steps(dataset, rows, plan)
        return loss / max(self.clock.seen - before, np.finfo(float).tiny)

    def suits(self, shape: Shape, loss: str, alpha: float, average: bool | int) -> bool:
        """Whether a run with these settings can continue from here."""
        like = new_clock(alpha, average)
        return (
            shape == self.shape
            and not (loss == "log_loss" and isinstance(self.sums, TableAccumulator))
            and (self.clock.alpha, self._average_from, self.clock.rising)
            == (like.alpha, like.average_from, like.rising)
        )

    def resume(self, weights: Weights, seen: float, steps: int) -> None:
        """Continue from a W after steps on examples with this total weight; averages restart."""
        self._count_in(seen / max(1, steps))
        self.clock.seen, self.clock.steps = seen / self.unit, steps
        self.sums.load(weights, self.clock.alpha * self.clock.seen)
        self.clock.reach = self.sums.largest()

    def with_classes(self, sums: Sums, places: NDArray[np.int64]) -> Stochastic:
        """Return a run that continues with more classes; this run does not change.

        Parameters
        ----------
        sums : Sums
            Sums of all classes, 0.
        places : ndarray of shape (k,)
            Positions of the classes of this run among all classes.
        """
        sums.take(self.sums.columns(), places)
        run = Stochastic.__new__(Stochastic)
        run.__setstate__({**self.__getstate__(), "sums": sums})
        return run

    def weights(self) -> Weights:
        """Return a copy of W, shape (d + 1, k)."""
        return self.sums.weights(self.clock)

    def finish(self) -> Weights:
        """Return W; the run ends."""
        self.forget()
        return self.sums.finish(self.clock)

    def forget(self) -> None:
        """Release the examples of the last call."""
        self._trainer = None

    def _count_in(self, weight: float) -> None:
        """Set the unit of the clock to a power of two near this weight."""
        self.unit = float(2.0 ** np.frexp(weight)[1]) if weight > 0 else 1.0
        self.clock.average_from = self._average_from / self.unit

    def _steps(self, dataset: Dataset, rows: NDArray[np.int32], plan: Plan) -> float:
        if self.clock.steps == 0 and len(rows):
            self._count_in(float(dataset.weights.max()))
        passage = _core.Passage(
            _core.StochasticLoss[plan.loss], plan.batch_size, n_threads_for(dataset, plan)
        )
        try:
            return self.sums.steps(
                self._trainer_of(dataset, plan.offsets), self.clock, passage, rows
            )
        except OverflowError:
            raise FloatingPointError(
                "the weights may overflow; scale the features (and sample weights) to about one, "
                "raise alpha or use float64"
            ) from None
        except MemoryError:
            raise MemoryError(
                "training needs more memory than is available; use a smaller batch_size, float32, "
                "fewer features (hashing, selection) or fewer classes"
            ) from None

    def _trainer_of(
        self, dataset: Dataset, offsets: NDArray[np.float64] | None
    ) -> _core.StochasticTrainer64:
        """Return the trainer of the core for the examples; the last one is cached."""
        if self._trainer is None or self._trainer[0] is not dataset:
            self._trainer = None
            trainer_of = core_class("StochasticTrainer", self.shape.dtype)
            tables = self.sums if isinstance(self.sums, TableAccumulator) else None
            labels = dataset.labels if tables is None else tables.places_of(dataset.labels)
            base: Settings = {}
            if offsets is not None:
                places = np.arange(len(offsets), dtype=np.int32)
                table = np.empty((1, len(offsets)))
                table[0, places if tables is None else tables.places_of(places)] = offsets
                rows = np.zeros(dataset.n_examples, np.int32)
                base = {"base_table": table, "base_rows": rows}
            problem = core_class("Problem", self.shape.dtype)(
                None,
                dataset.indptr,
                dataset.indices,
                dataset.values,
                dataset.n_features,
                dataset.bias,
                labels,
                dataset.n_classes,
                dataset.weights / self.unit,
                instruction_set(),
                **base,
            )
            self._trainer = dataset, trainer_of(problem)
        return self._trainer[1]

    def __getstate__(self) -> Settings:
        """Return the state without the examples."""
        clock = {name: getattr(self.clock, name) for name in CLOCK}
        own = {"sums": self.sums, "unit": self.unit, "_average_from": self._average_from}
        return {**own, "clock": clock}

    def __setstate__(self, state: Settings) -> None:
        """Undo ``__getstate__``."""
        clock = _core.StochasticClock()
        for name, value in state.pop("clock").items():
            setattr(clock, name, value)
        self.__dict__.update(state, clock=clock, _trainer=None)


def train_stochastic(
    run: Stochastic,
    blocks: Iterable[Dataset],
    plan: Plan,
    rule: NoImprovement,
    rng: np.random.Generator,
    *,
    max_iter: int,
    max_steps: int | None = None,
    validate: Callable[[], float] | None = None,
    on_epoch: Callable[[StochasticRecord], bool] | None = None,
) -> tuple[list[StochasticRecord], Status]:
    """Train until the loss or (if `validate` is given) the validation score stops improving.

    Parameters
    ----------
    run : Stochastic
    blocks : iterable of Dataset
        Iterated once per epoch.
    plan : Plan
    rule : NoImprovement
    rng : numpy.random.Generator
        Orders the rows.
    max_iter : int
        Maximum number of epochs.
    max_steps : int, default=None
        Maximum number of steps of the run, including steps before this call.
    validate : callable, default=None
        Returns the accuracy on held-out examples; the rule then uses the error rate.
    on_epoch : callable, default=None
        Called after each epoch; training stops when it returns True.

    Returns
    -------
    history : list of StochasticRecord
    Status

    Raises
    ------
    ValueError
        If there are no rows.
    FloatingPointError
        If the weights may overflow.
    """
    began = time.perf_counter()
    history: list[StochasticRecord] = []
    while len(history) < max_iter:
        steps = run.clock.steps
        if max_steps is not None and steps >= max_steps:
            return history, Status.STOPPED
        loss = run.epoch(blocks, plan, rng, max_steps)
        if run.clock.steps == steps:
            raise ValueError("the blocks hold no rows (with a positive weight) to train on")
        score = validate() if validate else None
        seconds = time.perf_counter() - began
        history.append(StochasticRecord(len(history) + 1, seconds, run.clock.steps, loss, score))
        stop = on_epoch is not None and on_epoch(history[-1])
        if rule.met(loss if score is None else -score):
            return history, Status.CONVERGED
        if stop:
            return history, Status.STOPPED
    return history, Status.MAX_ITER


# Multiply-adds per thread of a batch from which a thread saves time.
WORK_OF_THREAD = 1 << 16


def n_threads_for(dataset: Dataset, plan: Plan) -> int:
    """Return the number of threads for a batch, as each batch ends in a barrier."""
    per_row = dataset.n_classes * len(dataset.values) / max(1, dataset.n_examples)
    wanted = int(plan.batch_size * per_row / WORK_OF_THREAD)
    return max(1, min(plan.n_jobs, wanted))


STOCHASTIC_LOSSES = ("hinge", "log_loss", "perceptron")
LONGEST = 1 << 62  # more than any number of examples


@dataclass(frozen=True, slots=True)
class StochasticRecord:
    """One epoch of stochastic training.

    Attributes
    ----------
    epoch : int
        Number of the epoch, counted from 1.
    seconds : float
        Seconds since the start of training.
    steps : int
        Number of steps so far.
    loss : float
        Mean loss of the epoch's examples, each before its step, without the penalty.
    validation_score : float or None
        Accuracy on the held-out examples.
    """

    epoch: int
    seconds: float
    steps: int
    loss: float
    validation_score: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of an epoch.

    Attributes
    ----------
    loss : {"hinge", "log_loss", "perceptron"}
    batch_size : int
        r, rows per step.
    shuffle : bool
        Whether each epoch has a random order (of the rows in memory); otherwise rows keep their
        order.
    n_jobs : int
        Maximum number of threads.
    offsets : ndarray of shape (k,), float64, or None, default=None
        Class offsets, which are added to the scores in the steps.
    """

    loss: str
    batch_size: int
    shuffle: bool
    n_jobs: int
    offsets: NDArray[np.float64] | None = None


class NoImprovement:
    """Ends training when a number has not decreased by ``tol`` for ``n_iter_no_change`` epochs."""

    def __init__(self, tol: float | None, n_iter_no_change: int) -> None:
        self._tol = -np.inf if tol is None else tol
        self._patience = n_iter_no_change
        self._best = np.inf
        self._idle = 0

    def met(self, value: float) -> bool:
        """Add the number of one more epoch; return whether training ends."""
        improved = value <= self._best - self._tol
        self._idle = 0 if improved else self._idle + 1
        self._best = min(self._best, value)
        return self._idle >= self._patience
