"""Fit of ``MulticlassSVC``: from arguments to certificate."""

from __future__ import annotations

import os
import warnings
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from manyclass.checkpoints.manager import opened
from manyclass.checkpoints.problem_identity import facts_of_problem, facts_of_rank
from manyclass.estimators.callbacks import WRAPPERS, FitTask, is_set
from manyclass.estimators.coefficients import split_weights
from manyclass.estimators.sparsify import SparsifyMixin
from manyclass.estimators.validation import check_size, validated
from manyclass.parallel.communicator import Communicator, as_communicator
from manyclass.parallel.consensus import abort_others, agreed, check_same, of_first
from manyclass.problem.formulations import named
from manyclass.problem.problem import Problem
from manyclass.problem.solution import EpochRecord, Progress, Solution, Start, Status, Weights
from manyclass.solvers.solver_choice import DEFAULT, check_solver
from manyclass.solvers.stopping import RULES
from manyclass.solvers.train import check_ranks, in_parts, train
from manyclass.solvers.training_loop import Interrupted
from manyclass.solvers.warm_start import WarmStart
from manyclass.solvers.weights.sharded import ShardedWeights
from manyclass.solvers.weights.storage_choice import Choice, choose_for_ranks, choose_weights
from manyclass.utils.fingerprints import Facts
from manyclass.utils.progress import progress
from manyclass.utils.threads import effective_n_jobs
from manyclass.utils.types import Array, Rows, Settings


class _Given(NamedTuple):
    """Validated arguments of ``fit``."""

    rows: Rows
    targets: Array
    problem: Problem
    choice: Choice
    classes: Array


class TrainingMixin(SparsifyMixin, BaseEstimator):
    """The training of an estimator with the parameters of ``MulticlassSVC``."""

    solver: str
    tol: float
    stopping: str
    max_iter: int
    warm_start: bool
    weights: str
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    communicator: object
    checkpoint: str | os.PathLike[str] | None
    checkpoint_minutes: float
    resume: bool
    verbose: int
    certificate_: Any  # a Certificate, or None
    # Where several models are fitted: training ends after the epoch in which it is set, and it does
    # not warn of tolerances that it has not reached.
    _stop: Event | None = None

    def _fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, *, gathers: bool = True
    ) -> Solution:
        ranks = as_communicator(self.communicator)
        with abort_others(ranks):
            machines = ranks.first_on_machine()
            given = agreed(
                ranks, lambda: self._given(X, y, sample_weight, ranks.rank, machines, gathers)
            )
            problem, choice, classes = given.problem, given.choice, given.classes
            facts: Facts = {}
            if ranks.size > 1 or self.checkpoint is not None:
                facts = facts_of_problem(problem, classes)
                self._check_same(ranks, given, facts)
            metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
            parts = in_parts(problem, choice.kind)
            max_epochs = None if parts else self.max_iter
            task = FitTask(self, given.rows, given.targets, metadata, max_epochs)
            gathers = gathers or len(classes) == 2  # binary models store w_1 - w_0
            solution = self._solve(given, facts, task, ranks, gathers=gathers)
            self._set_fitted(solution, classes)
            self._remember(problem, solution.start, classes)
        if ranks.rank == 0:
            self._warn_of_weights(problem)
            self._warn(solution)
        task.end()
        return solution

    def _validate_params(self) -> None:
        """Check the parameters; ``fit`` on several ranks does so where all of them can end."""
        if getattr(as_communicator(self.communicator), "size", 1) == 1:
            super()._validate_params()

    def _given(
        self,
        X: Rows,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        rank: int,
        machines: list[int],
        gathers: bool,
    ) -> _Given:
        """Turn the arguments of ``fit`` into a problem, and choose how its W is held."""
        n_ranks, sharing = len(machines), machines.count(machines[rank])
        if n_ranks > 1:
            super()._validate_params()
        rows, targets = validated(self, X, y)
        dataset, classes = self._dataset(rows, targets, sample_weight)
        check_size(dataset)
        problem = Problem(dataset, named(self.formulation), float(self.C), self.loss)
        check_solver(
            self.solver, problem, stopping=self.stopping, weights=self.weights, n_ranks=n_ranks
        )
        if n_ranks == 1:
            n_jobs = effective_n_jobs(self.n_jobs)
            weights = self.weights if self.solver in DEFAULT else "dense"
            choice = choose_weights(problem, weights, n_jobs, keeps_duals=self._keeps_duals)
        else:
            check_ranks(problem)
            choice = choose_for_ranks(
                problem,
                self.weights,
                n_ranks,
                gathers=gathers,
                keeps_duals=self._keeps_duals,
                sharing=sharing,
            )
        return _Given(rows, targets, problem, choice, classes)

    def _check_same(self, ranks: Communicator, given: _Given, facts: Facts) -> None:
        """Refuse ranks that would train different things, or end at different times."""
        params = self.get_params()
        del params["communicator"], params["verbose"], params["random_state"], params["n_jobs"]
        others = {
            "how weights are returned": given.choice.kind,
            "an earlier fit to continue": hasattr(self, "_warm_start"),
        }
        check_same(ranks, facts_of_rank(facts, {**params, **others}))

    def _solve(
        self, given: _Given, facts: Facts, task: FitTask, ranks: Communicator, *, gathers: bool
    ) -> Solution:
        problem, choice, classes = given.problem, given.choice, given.classes
        tells = int(self.verbose) if ranks.rank == 0 else 0
        if tells and choice.matters:
            print(choice, flush=True)
        with (
            progress(tells, self.tol if self.stopping == "gap" else None) as show,
            opened(
                self.checkpoint,
                self.checkpoint_minutes,
                problem,
                facts,
                ranks,
                of_first(ranks, check_random_state(self.random_state).randint(2**31 - 1)),
                resume=self.resume,
                same_seed=bool(of_first(ranks, int(self.random_state is None))),
            ) as checkpoints,
        ):
            start = checkpoints.start or self._remembered(problem, classes)
            n_before = 0 if start is None else len(start.history)
            seed = checkpoints.seed
            if tells and n_before:
                print(f"continuing after epoch {n_before}, from {checkpoints.newest}", flush=True)

            def on_epoch(now: Progress) -> bool:
                show(now, now.proven_gap or now.record.relative_gap)
                checkpoints.on_epoch(now)
                stop = task.epoch(lambda: self._attributes(now.weights(), classes))
                return stop or is_set(self._stop)

            try:
                solution = train(
                    problem,
                    choice.kind,
                    lambda: RULES[self.stopping](float(self.tol)),
                    solver=self.solver,
                    rng=np.random.default_rng([seed, n_before] if n_before else seed),
                    n_jobs=effective_n_jobs(self.n_jobs),
                    max_iter=self.max_iter,
                    start=start,
                    on_epoch=on_epoch,
                    keep_duals=self._keeps_duals,
                    communicator=ranks,
                    gathers=gathers,
                )
            except Interrupted as interrupt:
                checkpoints.write(interrupt.start)
                self._remember(problem, interrupt.start, classes)
                raise
            except (MemoryError, RuntimeError) as error:
                # The latter from a thread pool, where there is no memory for one more thread.
                if isinstance(error, RuntimeError) and "new thread" not in str(error):
                    raise
                raise MemoryError(
                    f"training needs more memory than there is ({choice}); use float32, fewer "
                    "features (hashing, selection), a smaller C or fewer classes"
                ) from error
            checkpoints.write(solution.start.astype(problem.dataset.dtype))
        return solution

    def _remembered(self, problem: Problem, classes: Array) -> Start | None:
        """Return where an earlier fit ended, if this one is to begin there."""
        remembered: WarmStart | None = getattr(self, "_warm_start", None)
        return remembered.start_for(problem, classes) if self.warm_start and remembered else None

    @property
    def _keeps_duals(self) -> bool:
        """Whether z is needed later."""
        return self.warm_start or self.checkpoint is not None

    @property
    def _bias(self) -> float:
        """Value of the appended feature."""
        return self.intercept_scaling if self.fit_intercept else 0.0

    def _attributes(self, W: Weights, classes: Array) -> Settings:
        """Return the attributes for prediction, from W of shape (d + 1, k)."""
        separate = named(self.formulation).is_separable
        coef, intercept = split_weights(W, self._bias, one_is_enough=separate)
        return {"classes_": classes, "coef_": coef, "intercept_": intercept}

    def _set_fitted(self, solution: Solution, classes: Array) -> None:
        if isinstance(solution.weights, ShardedWeights):
            self.classes_ = classes
            self.__dict__.pop("_coefficients", None)
        else:
            for name, value in self._attributes(solution.weights, classes).items():
                setattr(self, name, value)
        self.__dict__.pop("sparsity_report_", None)
        self.certificate_ = solution.certificate
        self.history_: list[EpochRecord] = solution.history
        self.n_iter_ = len(solution.history)

    def _remember(self, problem: Problem, start: Start, classes: Array) -> None:
        self.__dict__.pop("_warm_start", None)
        if self.warm_start:
            self._warm_start = WarmStart(
                start,
                problem.costs,
                problem.dataset.labels,
                problem.dataset.n_features,
                classes,
                self.formulation,
                self.loss,
            )

    def _warn_of_weights(self, problem: Problem) -> None:
        low, high = float(problem.costs.min()), float(problem.costs.max())
        if high * np.finfo(np.float64).eps > low:
            warnings.warn(
                f"C times the weights of examples range from {low:.2g} to {high:.2g}: the light "
                "ones are lost in the rounding of the heavy ones; check sample_weight and "
                "class_weight",
                UserWarning,
                stacklevel=5 + WRAPPERS,  # the caller of fit
            )

    def _warn(self, solution: Solution) -> None:
        if self._stop is None and solution.status in (Status.MAX_ITER, Status.STALLED):
            reached = solution.certificate
            warnings.warn(
                f"training stopped after {len(solution.history)} epoch(s) at relative gap "
                f"{reached.relative_gap:.2e}, violation {reached.max_violation:.2e} (asked for: "
                f"{self.stopping} {self.tol:g}): {solution.status.value}",
                ConvergenceWarning,
                stacklevel=5 + WRAPPERS,  # the caller of fit
            )
