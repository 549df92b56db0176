"""Fit of the exact estimators: from arguments to certificate."""

from __future__ import annotations

import contextlib
import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from manyclass.arrays.choice import lack_of_memory
from manyclass.estimators.coefficients import EpochCallbacks, FitTask
from manyclass.estimators.fitted_weights import differences
from manyclass.estimators.linear import LinearClassifier, warn_of_one_class
from manyclass.estimators.offsets import with_base_scores
from manyclass.estimators.validation import (
    check_size,
    rows_with_weight,
    training_data,
    validated,
)
from manyclass.prediction.scoring import split_weights
from manyclass.problem.dataset import Dataset
from manyclass.problem.merged_columns import find_merged
from manyclass.problem.problem import Problem
from manyclass.problem.solution import (
    Certificate,
    EpochRecord,
    Solution,
    Start,
    Status,
    Weights,
)
from manyclass.solvers.weights.storage import Choice
from manyclass.training.checkpoint_file import facts_of_problem
from manyclass.training.checkpoints import Checkpoints
from manyclass.training.epoch_loop import Hook, Interrupted, Options, Shown
from manyclass.training.row_matching import NO_USE, Prints, row_prints
from manyclass.training.train import Backend, train
from manyclass.training.warm_start import WarmStart
from manyclass.utils.fingerprints import Facts
from manyclass.utils.named_options import DEFAULT_SOLVERS
from manyclass.utils.progress import progress
from manyclass.utils.types import (
    Array,
    ClassWeight,
    MergeColumns,
    Rows,
    RowsLike,
    Settings,
    StoppingName,
)
from manyclass.utils.user_warning import warn_user

# Fitted attributes that the next fit replaces or drops.
REPLACED = ("_coefficients", "intercept_", "sparsity_report_", "_warm_start")


class ExactClassifier(LinearClassifier, BaseEstimator):
    """Base of the estimators that are trained to a proven gap; each defines the methods below."""

    C: float
    tol: float
    stopping: StoppingName = "gap"
    fit_intercept: bool
    intercept_scaling: float
    class_weight: ClassWeight
    max_iter: int
    warm_start: bool
    merge_columns: MergeColumns
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    checkpoint: str | os.PathLike[str] | None
    checkpoint_minutes: float
    resume: bool
    verbose: int
    history_: list[EpochRecord]
    _warm_start: WarmStart

    @property
    @abstractmethod
    def _remedies(self) -> list[str]:
        """Advice if nearly all rows are predicted as one class, other than class_weight."""

    @property
    def _bias(self) -> float:
        """Value of the appended feature; 0 = no intercept."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _dataset(
        self,
        X: Rows,
        y: Array,
        sample_weight: ArrayLike | None,
        *,
        keeps_dense: bool = True,
        classes: Array | None = None,
    ) -> tuple[Dataset, Array]:
        """Turn validated arguments of ``fit`` into a data set and its classes.

        The classes are taken from y, or are `classes`, some of which may have no rows.
        """
        weights = sample_weight, self.class_weight
        return training_data(X, y, *weights, self._bias, keeps_dense=keeps_dense, classes=classes)

    @abstractmethod
    def _problem(self, dataset: Dataset, classes: Array) -> Problem:
        """Return the problem of a data set and its classes."""

    @abstractmethod
    def _options(self, problem: Problem, *, keeps_duals: bool) -> tuple[Options, Choice | str]:
        """Choose how the problem is trained; describe its memory, "" if it is not worth a line.

        Raises
        ------
        ValueError
            If parameters cannot be combined.
        MemoryError
            If the arrays of training do not fit into memory.
        """

    def _facts(self, problem: Problem, classes: Array) -> Facts:
        """Return the facts that identify the problem in a checkpoint."""
        return facts_of_problem(problem, classes)

    def _remembered(self) -> WarmStart | None:
        """Return the state of an earlier fit, if this fit starts from it."""
        return getattr(self, "_warm_start", None) if self.warm_start else None

    def _attributes(self, W: Weights, classes: Array) -> Settings:
        """Return the attributes for prediction, from W of shape (d + 1, k)."""
        coef, intercept = split_weights(W, self._bias)
        return {"classes_": classes, "coef_": coef, "intercept_": intercept}

    def _proof(self, solution: Solution) -> tuple[Certificate, list[EpochRecord]]:
        """Return certificate and history in the units of the estimator's problem."""
        return solution.certificate, solution.history


class FitInputs(NamedTuple):
    """Validated arguments of ``fit``, and how they are trained."""

    rows: ArrayLike
    targets: ArrayLike
    metadata: Settings
    problem: Problem
    classes: Array
    options: Options
    needs: Choice | str


class Training:
    """One fit of a model.

    Parameters
    ----------
    model : ExactClassifier
    start : WarmStart, default=None
        The start of training, instead of the state that the model keeps.
    hooks : sequence of Hook, default=()
    is_final : bool, default=True
        Whether the model is a result: training warns if it does not reach the tolerance.
        Otherwise ``ended`` keeps the final state for the next fit.
    base_scores : array-like of shape (n_samples, n_classes) or (n_classes,), default=None
        See ``fit``.
    classes : ndarray of shape (n_classes,), default=None
        Ascending; some may have no rows, for example in a fold. None: the classes of y.

    Attributes
    ----------
    ended : WarmStart or None
    guard : context manager
        Handles errors.
    backend : Backend or None
        The processes that train; None: this process.
    costs : tuple of float or None
        The least and the largest C_i of all rows; None: computed from the problem.
    prints : ndarray of shape (n, 2), uint64, or None
        Fingerprints of the rows, if the next fit may start from this one.
    """

    def __init__(
        self,
        model: ExactClassifier,
        *,
        start: WarmStart | None = None,
        hooks: Sequence[Hook] = (),
        is_final: bool = True,
        base_scores: ArrayLike | None = None,
        classes: Array | None = None,
    ) -> None:
        self.model, self.begin, self.hooks, self.is_final = model, start, hooks, is_final
        self.base_scores, self.classes = base_scores, classes
        # z is needed after training, too.
        self.keeps_duals = model.warm_start or model.checkpoint is not None or not is_final
        self.ended: WarmStart | None = None
        self.verbose = int(model.verbose)
        # For training in several processes:
        self.guard: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
        self.backend: Backend | None = None
        self.costs: tuple[float, float] | None = None
        self.prints: Prints | None = None

    def run(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Solution:
        """Train the model; after an error or Ctrl-C its fitted attributes are as before."""
        with self.guard:
            given = self.given(X, y, sample_weight)
            task = None
            if getattr(self.model, "_skl_callbacks", None):
                max_epochs = None if given.options.in_parts(given.problem) else self.model.max_iter
                task = FitTask(self.model, given.rows, given.targets, given.metadata, max_epochs)
            data = given.problem.dataset
            if self.model.warm_start and self.backend is None and not data.lies_on_device:
                self.prints = row_prints(data, given.options.n_jobs)
            solution = self.solve(given, task)
            self.adopt(given, solution)
        self.warn(given.problem, solution)
        # Predictions have no base scores; a process of several has a part of the rows or weights.
        is_whole = self.base_scores is None and self.backend is None
        if self.is_final and is_whole and solution.status is Status.CONVERGED:
            warn_of_one_class(self.model, data)
        if task is not None:
            task.end()
        return solution

    def given(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None) -> FitInputs:
        """Turn the arguments of ``fit`` into a problem, and choose how it is trained."""
        rows, targets = validated(self.model, X, y, on_device=True)
        dataset, classes = self.model._dataset(rows, targets, sample_weight, classes=self.classes)
        check_size(dataset)
        problem = self.model._problem(dataset, classes)
        if self.base_scores is not None:
            kept = rows_with_weight(targets, sample_weight, self.model.class_weight)
            problem = with_base_scores(problem, self.base_scores, len(targets), kept)
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        return FitInputs(rows, targets, metadata, problem, classes, *self.options(problem))

    def options(self, problem: Problem) -> tuple[Options, Choice | str]:
        """Choose how the problem is trained, and which columns are merged."""
        options, needs = self.model._options(problem, keeps_duals=self.keeps_duals)
        # The merged columns of the start, which has the same X, or new ones; in one process.
        columns = None if self.begin is None else self.begin.columns
        merges = (
            self.model.merge_columns and self.backend is None and options.solver in DEFAULT_SOLVERS
        )
        if columns is None and merges and not problem.dataset.is_dense:
            columns = None if options.in_parts(problem) else find_merged(problem)
        return replace(options, columns=columns), needs

    def seed(self) -> int:
        """Draw the seed of the random orders."""
        return int(check_random_state(self.model.random_state).randint(2**31 - 1))

    def checkpoints(self, given: FitInputs, seed: int) -> Checkpoints:
        """Return the hook that writes checkpoints."""
        model = self.model
        facts = model._facts(given.problem, given.classes)
        return Checkpoints(model.checkpoint, model.checkpoint_minutes, facts, seed)

    def takes_earlier_seed(self) -> bool:
        """Whether a resumed training has the seed of the earlier one."""
        return self.model.random_state is None

    def first_state(self) -> WarmStart | None:
        """Return the state that training begins from, if known."""
        return self.begin or self.model._remembered()

    def solve(self, given: FitInputs, task: FitTask | None) -> Solution:
        """Train from a checkpoint, a start or the state of an earlier fit."""
        needs = given.needs
        if self.verbose and (needs.matters if isinstance(needs, Choice) else needs):
            print(needs, flush=True)
        if self.verbose and given.options.columns is not None:
            print(given.options.columns, flush=True)
        try:
            with contextlib.ExitStack() as stack:
                return self._solve(given, task, stack)
        except Interrupted as interrupt:  # the next fit begins there, if it continues this one
            self.model.__dict__.pop("_warm_start", None)
            if self.model.warm_start:
                known = given.problem, interrupt.start, given.classes, self.prints
                self.model._warm_start = WarmStart.from_problem(*known)
            raise
        except (MemoryError, RuntimeError) as error:
            of_device = lack_of_memory(given.problem, error)
            if of_device is not None:
                raise of_device from error
            # The error of a thread says "new thread" if there is no memory for it.
            is_lack = isinstance(error, MemoryError) or "new thread" in str(error)
            if not isinstance(needs, Choice) or not is_lack:
                raise
            raise MemoryError(
                f"training needs more memory than is available ({needs}); use float32, fewer "
                "features (hashing, selection), a smaller C or fewer classes"
            ) from error

    def _solve(
        self, given: FitInputs, task: FitTask | None, stack: contextlib.ExitStack
    ) -> Solution:
        """Train with the requested hooks; the stack closes their files."""
        model, seed = self.model, self.seed()
        hooks: list[Hook] = []
        if self.verbose:
            goal = model.tol if model.stopping == "gap" else None
            hooks.append(Shown(stack.enter_context(progress(self.verbose, goal))))
        start = None
        if model.checkpoint is not None or model.resume:
            opened = self.checkpoints(given, seed).opened(
                given.problem, resume=model.resume, same_seed=self.takes_earlier_seed()
            )
            checkpoints = stack.enter_context(opened)
            hooks.append(checkpoints)
            seed, start = checkpoints.seed, checkpoints.start
            if self.verbose and start is not None and start.history:
                n_before = len(start.history)
                print(f"continuing after epoch {n_before}, from {checkpoints.newest}", flush=True)
        known = self.first_state() if start is None else None
        if known is not None:
            start = self.start_of(known, given)
        if task is not None:
            hooks.append(EpochCallbacks(task, lambda W: model._attributes(W, given.classes)))
        n_before = 0 if start is None else len(start.history)
        return train(
            given.problem,
            replace(given.options, seed=[seed, n_before] if n_before else seed),
            start=start,
            hooks=(*hooks, *self.hooks),
            backend=self.backend,
        )

    def start_of(self, known: WarmStart, given: FitInputs) -> Start | None:
        """Return the state of an earlier fit, mapped to the current rows and classes."""
        match = known.match(given.problem, given.classes, self.prints)
        if self.verbose and self.prints is not None:
            unused = f"{NO_USE} (here: {differences(known, given.problem, given.classes)})"
            print(match or unused, flush=True)
        return None if match is None else known.start_for(given.problem, match)

    def adopt(self, given: FitInputs, solution: Solution) -> None:
        """Set the fitted attributes of the model, all at once, as Ctrl-C may interrupt."""
        model = self.model
        certificate, history = model._proof(solution)
        state = vars(model).copy()
        for name in REPLACED:
            state.pop(name, None)
        state.update(self.attributes(given, solution))
        if "coef_" in state:
            state["_coefficients"] = state.pop("coef_")
        if model.warm_start or not self.is_final:
            ended = given.problem, solution.start, given.classes, self.prints
            numbers = self.numbers(given)
            self.ended = replace(WarmStart.from_problem(*ended), numbers=numbers)
        if model.warm_start:
            state["_warm_start"] = self.ended
        elif self.ended is not None:
            self.ended = replace(self.ended, columns=given.options.columns)
        state.update(certificate_=certificate, history_=history, n_iter_=len(history))
        model.__dict__ = state

    def numbers(self, given: FitInputs) -> NDArray[np.int64] | None:
        """Return the numbers of the training rows; None if all rows are used."""
        targets = np.asarray(given.targets)
        if self.backend is not None or len(targets) == given.problem.dataset.n_examples:
            return None
        weights = given.metadata.get("sample_weight"), self.model.class_weight
        return rows_with_weight(targets, *weights).astype(np.int64)

    def attributes(self, given: FitInputs, solution: Solution) -> Settings:
        """Return the attributes for prediction."""
        return self.model._attributes(solution.weights, given.classes)

    def warn(self, problem: Problem, solution: Solution) -> None:
        """Warn if rounding loses some weights of examples, or if the tolerance was not reached."""
        low, high = self.costs or (float(problem.costs.min()), float(problem.costs.max()))
        if high * np.finfo(np.float64).eps > low:
            warn_user(
                f"C times the weights of examples range from {low:.2g} to {high:.2g}: the light "
                "ones are lost in the rounding of the heavy ones; check sample_weight and "
                "class_weight",
            )
        if self.is_final and solution.status in (Status.MAX_ITER, Status.STALLED):
            reached, model = self.model.certificate_, self.model
            assert reached is not None
            warn_user(
                f"training stopped after {len(solution.history)} epoch(s) at relative gap "
                f"{reached.relative_gap:.2e}, violation {reached.max_violation:.2e} (requested: "
                f"{model.stopping} {model.tol:g}): {solution.status.value}",
                ConvergenceWarning,
            )
