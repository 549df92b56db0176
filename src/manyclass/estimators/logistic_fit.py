"""Fit of ``MultinomialLogisticRegression``: from arguments to certificate."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from threading import Event

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from manyclass.checkpoints.manager import Checkpoints, opened
from manyclass.checkpoints.problem_identity import facts_of_problem
from manyclass.estimators.callbacks import WRAPPERS, FitTask, is_set
from manyclass.estimators.coefficients import join_weights, split_weights
from manyclass.estimators.validation import check_size, training_data, validated
from manyclass.parallel.communicator import Serial
from manyclass.problem.formulations import LOGISTIC
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress, Solution, Start, Status, Weights
from manyclass.solvers.logistic_engine import duals_fit, memory_of_duals
from manyclass.solvers.logistic_train import train_logistic
from manyclass.solvers.logistic_warm_start import WarmStart
from manyclass.solvers.training_loop import Interrupted
from manyclass.utils.fingerprints import Facts
from manyclass.utils.progress import Show, progress
from manyclass.utils.threads import effective_n_jobs
from manyclass.utils.types import Array, ClassWeight, Settings


class LogisticTrainingMixin(BaseEstimator):
    """The training of an estimator with the parameters of ``MultinomialLogisticRegression``."""

    C: float
    tol: float
    fit_intercept: bool
    regularize_intercept: bool
    intercept_scaling: float
    class_weight: ClassWeight
    max_iter: int
    warm_start: bool
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    checkpoint: str | os.PathLike[str] | None
    checkpoint_minutes: float
    resume: bool
    verbose: int
    # Where several models are fitted: training ends after the epoch in which it is set, and it does
    # not warn of tolerances that it has not reached.
    _stop: Event | None = None

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Solution:
        rows, targets = validated(self, X, y)
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        dataset, classes = training_data(rows, targets, sample_weight, self.class_weight, bias)
        check_size(dataset)
        # With two rows of weights, -w/2 and w/2, the norm is half of that of w.
        halves = 0.5 if len(classes) == 2 else 1.0
        problem = Problem(dataset, LOGISTIC, halves * float(self.C), "log_loss")
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        task = FitTask(self, rows, targets, metadata, self.max_iter)
        solution = self._solve(problem, classes, task)
        self._set_fitted(solution, classes, problem)
        self._remember(problem, solution.start, classes)
        self._warn(solution)
        task.end()
        return solution

    def _solve(self, problem: Problem, classes: Array, task: FitTask) -> Solution:
        if self.verbose and not duals_fit(problem):
            print(f"Newton's method alone: {memory_of_duals(problem)}", flush=True)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        with (
            progress(int(self.verbose), self.tol) as show,
            opened(
                self.checkpoint,
                self.checkpoint_minutes,
                problem,
                self._facts(problem, classes),
                Serial(),
                seed,
                resume=self.resume,
                same_seed=self.random_state is None,
            ) as checkpoints,
        ):
            start = checkpoints.start or self._start(problem, classes)
            n_before = 0 if start is None else len(start.history)
            if self.verbose and n_before:
                print(f"continuing after epoch {n_before}, from {checkpoints.newest}", flush=True)
            try:
                solution = train_logistic(
                    problem,
                    tol=float(self.tol),
                    regularize_intercept=self.regularize_intercept,
                    rng=np.random.default_rng([checkpoints.seed, n_before]),
                    max_iter=self.max_iter,
                    n_jobs=effective_n_jobs(self.n_jobs),
                    start=start,
                    on_epoch=self._on_epoch(problem, classes, task, checkpoints, show),
                )
            except Interrupted as interrupt:
                checkpoints.write(interrupt.start)
                self._remember(problem, interrupt.start, classes)
                raise
            checkpoints.write(solution.start.astype(problem.dataset.dtype))
        return solution

    def _remember(self, problem: Problem, start: Start, classes: Array) -> None:
        if self.warm_start:
            self._warm_start = WarmStart(
                start.weights, start.log_u, problem.dataset.labels, classes
            )

    def __getstate__(self) -> Settings:
        """Drop the warm start, which has a number for every example and class."""
        state: Settings = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_warm_start"}

    def _on_epoch(
        self,
        problem: Problem,
        classes: Array,
        task: FitTask,
        checkpoints: Checkpoints,
        show: Show,
    ) -> Callable[[Progress], bool]:
        bias = problem.dataset.bias

        def on_epoch(now: Progress) -> bool:
            show(now, now.proven_gap or now.record.relative_gap)
            checkpoints.on_epoch(now)
            stop = task.epoch(lambda: _attributes(now.weights(), classes, bias))
            return stop or is_set(self._stop)

        return on_epoch

    def _facts(self, problem: Problem, classes: Array) -> Facts:
        """Return the facts that identify the problem of a checkpoint."""
        if self.checkpoint is None:
            return {}
        own = {"C": repr(float(self.C)), "regularize_intercept": str(self.regularize_intercept)}
        return {**facts_of_problem(problem, classes), **own}

    def _start(self, problem: Problem, classes: Array) -> Start | None:
        """Return where an earlier fit ended, if this one is to begin there."""
        data = problem.dataset
        remembered: WarmStart | None = self.__dict__.pop("_warm_start", None)
        if not self.warm_start:
            return None
        if remembered is None and hasattr(self, "classes_"):
            W = join_weights(self._coefficients, self.intercept_, data.bias)
            remembered = WarmStart(W, None, None, self.classes_)
        return None if remembered is None else remembered.start_for(problem, classes)

    def _set_fitted(self, solution: Solution, classes: Array, problem: Problem) -> None:
        bias = problem.dataset.bias
        for name, value in _attributes(solution.weights, classes, bias).items():
            setattr(self, name, value)
        # In units of the binary problem.
        factor = 2.0 if len(classes) == 2 else 1.0
        self.certificate_ = solution.certificate.times(factor)
        self.history_ = [
            replace(
                record,
                primal_estimate=factor * record.primal_estimate,
                gap_estimate=factor * record.gap_estimate,
                violation=np.sqrt(factor) * record.violation,
            )
            for record in solution.history
        ]
        self.n_iter_ = len(self.history_)

    def _warn(self, solution: Solution) -> None:
        if self._stop is None and solution.status in (Status.MAX_ITER, Status.STALLED):
            warnings.warn(
                f"training stopped after {len(solution.history)} epoch(s) at relative gap "
                f"{solution.certificate.relative_gap:.2e} (asked for: {self.tol:g}): "
                f"{solution.status.value}",
                ConvergenceWarning,
                stacklevel=5 + WRAPPERS,  # the caller of fit
            )


def _attributes(W: Weights, classes: Array, bias: float) -> Settings:
    """Return the attributes for prediction, from W of shape (d + 1, k)."""
    coef, intercept = split_weights(W, bias)
    return {"classes_": classes, "coef_": coef, "intercept_": intercept}
