"""Fit of a stochastic classifier, and its fitted weights."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Self, cast
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import _check_feature_names

from manyclass.estimators.coefficients import FitTask
from manyclass.estimators.linear import LinearClassifier
from manyclass.estimators.offsets import log_shares, offsets_of
from manyclass.estimators.stochastic.run import (
    SPARSE_BIAS,
    Blocks,
    InputSettings,
    Learnt,
    StochasticRun,
    are_more,
    epoch_line,
    fitted_attributes,
    grown,
    shape_of,
    two_at_least,
)
from manyclass.estimators.stochastic.samples import stream_data
from manyclass.estimators.validation import (
    INPUT_ATTRIBUTES,
    complete,
    exact_labels,
    rows_with_weight,
    validated,
)
from manyclass.prediction.scoring import Coefficients, best_classes, join_weights
from manyclass.problem.dataset import MAX_INDEX, SPARSE, Dataset
from manyclass.problem.solution import Status
from manyclass.solvers.sgd import (
    NoImprovement,
    Plan,
    Stochastic,
    StochasticRecord,
    new_clock,
    train_stochastic,
)
from manyclass.solvers.sgd_objective import stochastic_objective
from manyclass.solvers.sgd_storage import Sums, check_weights, choose_sums, new_sums
from manyclass.solvers.weights.storage import Shape
from manyclass.utils.input_rows import check_sparse, is_sparse
from manyclass.utils.machine import effective_n_jobs, weighted_sum
from manyclass.utils.progress import progress
from manyclass.utils.types import Array, DType, Rows, RowsLike, Settings
from manyclass.utils.user_warning import warn_user

# Locks of models, stored outside the models so that copies do not share them.
TURNS: WeakKeyDictionary[StochasticModel, threading.RLock] = WeakKeyDictionary()
TURNS_CHANGE = threading.Lock()
OF_INPUT = (*INPUT_ATTRIBUTES, "objective_")


class StochasticModel(LinearClassifier):
    """Mixin whose coefficients are computed on access.

    Computing the coefficients takes a pass over all weights, which would be too slow after every
    small call of ``partial_fit``.
    """

    _learnt: Learnt | None  # the weights for prediction, if they differ from the run's
    _running: StochasticRun | None  # the run that training continues

    @property
    def _coefficients(self) -> Coefficients:
        return self._now()[0]

    @_coefficients.setter
    def _coefficients(self, value: Coefficients) -> None:
        fitted = any(self.__dict__.get(name) is not None for name in ("_learnt", "_running"))
        self._replace((value, self._now()[1] if fitted else np.zeros(value.shape[0], value.dtype)))

    @property
    def intercept_(self) -> Array:
        """Intercepts of shape (n_classes,), or (1,) when binary."""
        return self._now()[1]

    @intercept_.setter
    def intercept_(self, value: Array) -> None:
        self._replace((self._now()[0], value))

    def _now(self) -> Learnt:
        state = self.__dict__.copy()
        if state.get("_learnt") is not None:
            return cast(Learnt, state["_learnt"])
        if state.get("_running") is not None:
            return cast(StochasticRun, state["_running"]).learnt()
        raise AttributeError(f"{type(self).__name__!r} object is not fitted")

    def _replace(self, learnt: Learnt) -> None:
        """Replace the coefficients and end the run, which has different ones."""
        self.__dict__.update(_learnt=learnt, _running=None)

    def _as_of_now(self) -> Self:
        """Return a snapshot that other threads do not modify."""
        now = super()._as_of_now()
        if now.__dict__.get("_running") is not None:
            now._learnt = now._now()
        return now

    # Training, by one thread at a time

    def _like_this(self) -> Self:
        """Return the estimator that the validation of the input may modify."""
        return super()._as_of_now()

    def _turn(self) -> threading.RLock:
        """Return the lock for training this model."""
        with TURNS_CHANGE:
            return TURNS.setdefault(self, threading.RLock())

    def _input_settings(self, X: Rows, *, go_on: bool) -> InputSettings:
        """Return the preprocessing settings for rows like X; resuming keeps the bias value."""
        shares_little = is_sparse(X) and X.nnz < SPARSE * X.shape[0] * X.shape[1]
        bias = 0.0
        if self.fit_intercept and self.intercept_scaling == "auto":
            before = getattr(self, "intercept_scaling_", 0.0) if go_on else 0.0
            bias = before or (SPARSE_BIAS if sp.issparse(X) else 1.0)
        elif self.fit_intercept:
            bias = float(self.intercept_scaling)
        return InputSettings(bias, shares_little, 0 if X is None else np.shape(X)[0])

    def _dtype(self) -> DType:
        """Type of the weights, without computing them."""
        running: StochasticRun | None = self.__dict__.get("_running")
        return self._now()[1].dtype if running is None else running.run.shape.dtype

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))

    def _plan(self, blocks: Iterable[Dataset], classes: Array) -> Plan:
        n_jobs, size = effective_n_jobs(self.n_jobs), min(int(self.batch_size), MAX_INDEX)
        return Plan(self.loss, size, self.shuffle, n_jobs, self._offsets(blocks, classes))

    def _offsets(self, blocks: Iterable[Dataset], classes: Array) -> NDArray[np.float64] | None:
        """Return the offsets that training adds to the scores of the classes."""
        if self.class_offset is None:
            return None
        if isinstance(self.class_offset, str):  # of ``fit``, which has one block
            return log_shares(next(iter(blocks)))
        return offsets_of(self.class_offset, classes)

    def _refuse_for(self, method: str) -> None:
        """Refuse parameters that need all rows at once."""
        if self.early_stopping:
            raise ValueError(
                f"early_stopping must be False for {method}, which has no rows to hold out"
            )
        if isinstance(self.class_offset, str):
            raise ValueError(
                f"class_offset={self.class_offset!r} is not for {method}, which sees some rows at "
                "a time; give an array of the logarithms of the classes' shares"
            )
        if self.class_weight == "balanced":
            raise ValueError(
                f"class_weight='balanced' is not for {method}, which sees some rows at a time; "
                "give a dict with n / (k n_c) for class c"
            )

    def _known_classes(
        self, classes: ArrayLike | None, y: Array, sample_weight: ArrayLike | None
    ) -> Array:
        """Return all classes, from the arguments ``classes`` and ``y`` of ``partial_fit``."""
        before: Array | None = getattr(self, "classes_", None)
        if isinstance(classes, str):
            if classes != "grow":
                raise ValueError(f'classes must be an array, None or "grow", not {classes!r}')
            none = sample_weight is not None and not np.any(sample_weight)
            weights = complete(self.class_weight, np.unique(y))
            rows = slice(0) if none else rows_with_weight(y, sample_weight, weights)
            return grown(before, y[rows])
        if classes is not None:
            known = two_at_least(unique_labels(exact_labels(classes, "classes")))
            if before is None or np.array_equal(known, before):
                return known
            raise ValueError(
                f"classes differ from the first call of partial_fit: {classes!r} instead of "
                f'{before}; pass the same classes, or none; classes="grow" adds those of y'
            )
        if before is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: all that y will ever "
                'hold, or "grow" to take them as they come'
            )
        return before

    def _started(
        self, shape: Shape, classes: Array, input_settings: InputSettings, *, go_on: bool
    ) -> StochasticRun:
        """Begin at W = 0 or, with ``go_on`` and the same or more classes, where training ended."""
        check_weights(self.loss, self.weights)
        before: Array | None = getattr(self, "classes_", None) if go_on else None
        if before is not None and are_more(classes, before):
            fewer = replace(shape, n_classes=len(before))
            old = self._started(fewer, before, input_settings, go_on=True)
            sums = self._new_sums(shape, input_settings)
            run = old.run.with_classes(sums, np.searchsorted(classes, before))
            return StochasticRun(run, classes, input_settings.bias)
        running: StochasticRun | None = self.__dict__.get("_running") if go_on else None
        if running is not None and self._suits(running, shape, classes, input_settings):
            return running
        sums = self._new_sums(shape, input_settings)
        run = Stochastic(sums, new_clock(float(self.alpha), self.average))
        is_fitted = go_on and np.array_equal(getattr(self, "classes_", ()), classes)
        if is_fitted and self._now()[0].shape[1] == shape.n_features:
            W = join_weights(*self._now(), input_settings.bias)
            run.resume(W, self.weight_seen_, self.n_steps_)
        return StochasticRun(run, classes, input_settings.bias)

    def _new_sums(self, shape: Shape, input_settings: InputSettings) -> Sums:
        averages = bool(self.average)
        choice = choose_sums(
            shape,
            self.loss,
            self.weights,
            averages=averages,
            is_sparse=input_settings.is_sparse,
            batch_size=min(int(self.batch_size), input_settings.n_rows),
        )
        if self.verbose and choice.matters:
            print(choice, flush=True)
        n_jobs = effective_n_jobs(self.n_jobs)
        return new_sums(shape, choice, averages=averages, n_jobs=n_jobs)

    def _suits(
        self, running: StochasticRun, shape: Shape, classes: Array, input_settings: InputSettings
    ) -> bool:
        """Whether a run can continue with the current parameters."""
        return (
            np.array_equal(running.classes, classes)
            and running.bias == input_settings.bias
            and running.run.suits(shape, self.loss, float(self.alpha), self.average)
        )

    def _train(
        self,
        blocks: Iterable[Dataset],
        running: StochasticRun,
        rng: np.random.Generator,
        task: FitTask,
        given: Self,
        score: Callable[[StochasticRun], float] | None = None,
    ) -> Status:
        """Train to the end, and set the fitted weights; the input is described by ``given``."""
        if self.warm_start:  # an interrupt keeps the model, and the run for the next fit
            old = self._now() if hasattr(self, "classes_") else None
            self.__dict__.update(_learnt=old, _running=running)

        def on_epoch(record: StochasticRecord) -> bool:
            show(epoch_line(record), None, "")
            return task.epoch(lambda: {**fitted_attributes(running), **given._input_attributes()})

        plan = self._plan(blocks, running.classes)
        with progress(int(self.verbose)) as show, running.moving:
            history, status = train_stochastic(
                running.run,
                blocks,
                plan,
                NoImprovement(self.tol, self.n_iter_no_change),
                rng,
                max_iter=self.max_iter,
                max_steps=self.max_steps,
                validate=None if score is None else lambda: score(running),
                on_epoch=on_epoch,
            )
            learnt = None if self.warm_start else running.finish()
            given.__dict__.pop("objective_", None)
            if self.compute_objective:
                given.objective_ = self._objective(blocks, learnt or running.learnt(), plan)
            self._adopt(running, history, given, learnt)
        task.end()
        return status

    def _train_blocks(
        self, blocks: Iterable[tuple[Rows, ArrayLike]], classes: Array, shape: Shape
    ) -> Status:
        """Train on blocks of rows over several epochs."""
        with self._turn():
            given = self._like_this()
            first = next((X for X, _ in blocks), None)
            check_sparse(first)
            _check_feature_names(given, first, reset=True)
            given.n_features_in_ = shape.n_features
            input_settings = self._input_settings(first, go_on=self.warm_start)
            running = self._started(shape, classes, input_settings, go_on=self.warm_start)
            source = Blocks(given, blocks, classes, shape.dtype, input_settings.bias)
            task = FitTask(self, None, None, {}, self.max_iter)
            return self._train(source, running, self._rng(), task, given)

    def _train_piece(
        self,
        X: RowsLike,
        y: ArrayLike,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> None:
        """Continue training with some rows."""
        with self._turn():
            first, given = not hasattr(self, "classes_"), self._like_this()
            dtype = None if first else [self._dtype()]
            rows, targets = validated(given, X, y, dtype, reset=first)
            known = self._known_classes(classes, targets, sample_weight)
            input_settings = self._input_settings(rows, go_on=True)
            weights = self.class_weight
            assert not isinstance(weights, str)  # "balanced" has been refused
            dataset = stream_data(rows, targets, sample_weight, weights, known, input_settings.bias)
            if not dataset.n_examples and not first:
                return
            running = self._started(shape_of(dataset), known, input_settings, go_on=True)
            self._train_once(dataset, running, given)

    def _train_once(self, dataset: Dataset, running: StochasticRun, given: Self) -> None:
        """Visit some rows once; the steps before Ctrl-C are kept."""
        began, steps, loss = time.perf_counter(), running.run.clock.steps, np.nan
        plan = self._plan([dataset], running.classes)
        with running.moving:
            try:
                loss = running.run.epoch([dataset], plan, self._rng())
            finally:
                made = running.run.clock.steps
                if made > steps or not np.isnan(loss):  # else an error came before any step
                    seconds = time.perf_counter() - began
                    self._adopt(running, [StochasticRecord(1, seconds, made, loss)], given)

    def _adopt(
        self,
        running: StochasticRun,
        history: list[StochasticRecord],
        given: Self,
        learnt: Learnt | None = None,
    ) -> None:
        """Set the weights of a run, which continues unless it has ended in ``learnt``.

        They are set at once, so that predictions in other threads use the old or the new model.
        """
        running.run.forget()
        state = {name: value for name, value in self.__dict__.items() if name not in OF_INPUT}
        state.update(given._input_attributes())
        state.update(
            _learnt=learnt,
            _running=running if learnt is None else None,
            classes_=running.classes,
            intercept_scaling_=running.bias,
            n_steps_=running.run.clock.steps,
            weight_seen_=running.run.seen,
            history_=history,
            n_iter_=len(history),
        )
        self.__dict__ = state

    def _input_attributes(self) -> Settings:
        """Return the fitted attributes of the input."""
        return {name: self.__dict__[name] for name in OF_INPUT if name in self.__dict__}

    def _scorer(
        self, X: Rows, y: Array, weights: NDArray[np.float64]
    ) -> Callable[[StochasticRun], float]:
        """Return a function that computes the accuracy of a run on these rows."""
        n_jobs = effective_n_jobs(self.n_jobs)

        def score(running: StochasticRun) -> float:
            best = best_classes(X, *running.learnt(), 1, n_jobs)[:, 0]
            right = running.classes[best] == y
            return weighted_sum(weights, right) / float(weights.sum())

        return score

    def _objective(self, blocks: Iterable[Dataset], learnt: Learnt, plan: Plan) -> float:
        given = blocks, self.loss, float(self.alpha), *learnt
        return stochastic_objective(*given, plan.n_jobs, plan.offsets)

    def _warn(self, status: Status) -> None:
        if status is not Status.MAX_ITER or self.tol is None:
            return
        kind = "validation score" if self.early_stopping else "loss"
        warn_user(
            f"training stopped after {self.n_iter_} epoch(s), when its {kind} still improved by "
            f"more than tol={self.tol:g}: raise max_iter or tol, or scale the features",
            ConvergenceWarning,
        )
