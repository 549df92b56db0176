"""Training with rows on the workers of a cluster, driven from this process.

An engine (Dask, Ray or Spark) implements ``Cluster``: it holds the parts (part.py) on its workers,
sends W to them and adds their sums. Rows are not moved. Newton's method
(solvers/logistic/newton.py) or consensus ADMM (admm.py) runs in this process.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from manyclass.arrays.engine import SmoothEngine
from manyclass.arrays.svm.squared_hinge import NewtonSvm
from manyclass.distributed.clusters.part import Answers, ArraySpec, Model, PartInfo, Plan
from manyclass.distributed.rows.admm import LOG_LOSS, consensus_options
from manyclass.distributed.rows.averaged_newton import AveragedNewton
from manyclass.distributed.rows.data import dataset_of, facts_of_parts, global_info
from manyclass.distributed.rows.svm import SvmOnRows
from manyclass.estimators.exact_fit import FitInputs, Training
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.svc import MulticlassSVC
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.rows.parts import Arguments, Question
from manyclass.solvers.logistic.engine import PrimalEngine
from manyclass.solvers.logistic.newton import LogisticNewton, NewtonLogistic
from manyclass.solvers.weights.storage import Choice
from manyclass.training.checkpoints import Checkpoints
from manyclass.training.epoch_loop import Options, Solver
from manyclass.training.train import OneProcess
from manyclass.utils.types import Array, Settings

# Larger arrays, in bytes, are sent once to all workers; the last few of them stay there.
INLINE, KEPT = 1 << 16, 3


class Cluster(Protocol):
    """Parts of the rows on the workers of an engine."""

    asks_slowly: bool  # whether a question takes longer than sums of some ten thousand rows

    @property
    def n_parts(self) -> int:
        """Number of parts."""

    def load(self) -> None:
        """Load the parts on the workers that hold their rows."""

    def call(self, method: str, *arguments: object) -> Answers:
        """Call a method of every part; return the results in the order of the parts."""

    def send(self, value: object) -> object:
        """Send a value to all workers; return a reference that replaces it in arguments."""

    def drop(self, sent: object) -> None:
        """Delete a value that was sent."""

    def total(
        self, question: str, plan: object, like: Sequence[ArraySpec], given: Sequence[object]
    ) -> list[Array]:
        """Return the sums of the results of all parts, added on the workers in a fixed order."""

    def close(self) -> None:
        """Free the workers."""


@dataclass(frozen=True, slots=True, eq=False)
class RemoteArray:
    """A copy of an array that was sent to the workers, and its reference."""

    values: Array
    sent: object


class RemoteParts:
    """The parts on a cluster, whose sums this process asks for."""

    def __init__(self, cluster: Cluster, plan: Plan) -> None:
        self.cluster, self.plan = cluster, cluster.send(plan)
        self._sent: list[RemoteArray] = []  # the last used first

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return self.cluster.n_parts

    def add(self, question: Question, given: Arguments, into: Sequence[Array]) -> None:
        """Add the results of all parts to arrays."""
        like = [ArraySpec(array.shape, array.dtype) for array in into]
        arguments = [self._sent_out(value) for value in given]
        sums = self.cluster.total(question.__name__, self.plan, like, arguments)
        for total, one in zip(into, sums, strict=True):
            total += one

    def broadcast(self, values: Array) -> None:
        """Do nothing, as only this process has the numbers."""

    def _sent_out(self, value: Array | float) -> object:
        """Return an argument, or the reference of a large array such as W, which is sent once."""
        if not isinstance(value, np.ndarray) or value.nbytes <= INLINE:
            return value
        for known in self._sent:
            if known.values.dtype == value.dtype and np.array_equal(known.values, value):
                self._sent.remove(known)
                self._sent.insert(0, known)
                return known.sent
        values = value.copy()
        self._sent.insert(0, RemoteArray(values, self.cluster.send(values)))
        for old in self._sent[KEPT:]:
            self.cluster.drop(old.sent)
        del self._sent[KEPT:]
        return self._sent[0].sent


class ClusterBackend(OneProcess):
    """Training driven from this process, with rows on a cluster."""

    def __init__(self, cluster: Cluster, plan: Plan) -> None:
        self.cluster, self.plan = cluster, plan

    def solver(
        self, problem: Problem, start: Start | None, options: Options, rng: np.random.Generator
    ) -> Solver:
        """Create the solver for all rows, given the problem without rows."""
        began = time.perf_counter()
        parts = RemoteParts(self.cluster, self.plan)
        if self.plan.on_device and problem.loss != "hinge":
            is_log_loss = problem.loss == LOG_LOSS
            intercept = options.regularize_intercept or not is_log_loss
            rows = SmoothEngine(problem, parts, regularize_intercept=intercept)
            solver = NewtonLogistic if is_log_loss else NewtonSvm
            return solver(rows, start, tol=options.tol, began=began)
        if problem.loss != LOG_LOSS:
            seed = int(rng.integers(2**31))
            return SvmOnRows(problem, parts, start, seed=seed, began=began)
        engine = PrimalEngine(problem, parts, regularize_intercept=options.regularize_intercept)
        steps = AveragedNewton if self.cluster.asks_slowly else LogisticNewton
        return NewtonLogistic(engine, start, tol=options.tol, began=began, steps=steps)

    def may_continue(self, _problem: Problem, _options: Options) -> bool:
        """Return False: training in float32 ends when rounding stalls it."""
        return False


class ClusterTraining(Training):
    """One fit of a model whose rows are on a cluster, which is freed in the end."""

    model: Model

    def __init__(self, model: Model, cluster: Cluster) -> None:
        super().__init__(model)
        self.cluster = cluster
        self.plan: Plan | None = None
        self.guard = closing(cluster)  # frees the workers, also after an error or Ctrl-C

    def given(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> FitInputs:
        """Load the parts; return the problem without rows."""
        model, cluster = self.model, self.cluster
        cluster.load()
        abouts = _checked(cluster.call("known"))
        bias = float(model.intercept_scaling) if model.fit_intercept else 0.0
        common = global_info(abouts, model.class_weight, bias)
        on_device = any(about["on_device"] for about in abouts)
        plan = Plan(common, _plain(model), on_device)
        found = [PartInfo(*found) for found in cluster.call("ready", plan)]
        for one in found:
            if one.error is not None:
                raise one.error
        self.costs = min(one.least for one in found), max(one.largest for one in found)
        self.plan = plan.following(found)
        self.backend = ClusterBackend(cluster, self.plan)
        problem = _problem_of(plan, abouts[0]["features"])
        _know_features(model, abouts)
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        options = self.options(problem)[0]
        return FitInputs(X, y, metadata, problem, common.classes, options, "")

    def options(self, problem: Problem) -> tuple[Options, Choice | str]:
        """Choose how the problem is trained: by consensus, unless it is logistic regression."""
        if not isinstance(self.model, MulticlassSVC):
            return super().options(problem)
        return consensus_options(self.model), ""

    def checkpoints(self, given: FitInputs, seed: int) -> Checkpoints:
        """Return the hook that writes checkpoints, which hold W."""
        model = self.model
        facts = model._facts(given.problem, given.classes)
        of_all = facts_of_parts(facts, self.cluster.call("facts", self.plan))
        return Checkpoints(model.checkpoint, model.checkpoint_minutes, of_all, seed)


def _checked(known: list[tuple[Settings, Exception | None]]) -> list[Settings]:
    """Return the facts of all parts; raise the error of the first part with one."""
    for _, error in known:
        if error is not None:
            raise error
    return [about for about, _ in known]


def _plain(model: Model) -> Model:
    """Return a model for the parts, without the parameters that only this process uses."""
    kind = MulticlassSVC if isinstance(model, MulticlassSVC) else MultinomialLogisticRegression
    params = model.get_params(deep=False)
    names = kind._get_param_names()
    kept = {name: value for name, value in params.items() if name in names}
    return kind(**{**kept, "random_state": None, "checkpoint": None, "resume": False})


def _problem_of(plan: Plan, n_features: int) -> Problem:
    """Return the problem without rows."""
    common = plan.common
    X = np.empty((0, n_features), common.dtype)
    dataset = dataset_of(X, common.classes[:0], np.empty(0), common)
    return plan.model._problem(dataset, common.classes)


def _know_features(model: Model, abouts: list[Settings]) -> None:
    """Set the attributes that the validation sets in one process."""
    names = next((about["names"] for about in abouts if about["classes"]), None)
    model.n_features_in_ = abouts[0]["features"]
    model.__dict__.pop("feature_names_in_", None)
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
