"""Training on ranks with their own rows.

Every rank runs Newton's method (solvers/logistic/newton.py) or consensus ADMM (admm.py) on the same
W; sums over the rows are added over the ranks, so that all of them end with the same model.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from manyclass.distributed.communicator import Communicator, gather_json
from manyclass.distributed.consensus import agreed
from manyclass.distributed.ranks_backend import Ranks, RanksCheckpoints, TrainingOnRanks, ranks_of
from manyclass.distributed.rows.admm import LOG_LOSS, consensus_options
from manyclass.distributed.rows.data import facts_of_parts, part_of, weights_of
from manyclass.distributed.rows.svm import SvmOnRows
from manyclass.distributed.rows.svm_rows import SvmRows
from manyclass.estimators.exact_fit import FitInputs, Training
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.svc import MulticlassSVC
from manyclass.estimators.validation import check_parameters, check_size, validated
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.rows.logistic_sums import LogisticRows
from manyclass.rows.parts import Arguments, PartOfRows, Question, answer, zeros_like
from manyclass.solvers.logistic.engine import PrimalEngine
from manyclass.solvers.logistic.newton import NewtonLogistic
from manyclass.solvers.weights.storage import Choice
from manyclass.training.epoch_loop import Options, Solver
from manyclass.utils.fingerprints import fingerprint
from manyclass.utils.types import Array, Rows


class RanksParts:
    """A part on each rank; every rank asks the same questions, and has the same sums."""

    def __init__(self, communicator: Communicator, rows: PartOfRows) -> None:
        self.communicator, self.rows = communicator, rows
        counts = communicator.all_gather(np.array([rows.problem.dataset.n_examples], np.int64))
        rows.first = sum(int(count[0]) for count in counts[: communicator.rank])

    @property
    def n_parts(self) -> int:
        """Number of ranks."""
        return self.communicator.size

    def add(self, question: Question, given: Arguments, into: Sequence[Array]) -> None:
        """Add the answers of all ranks to arrays."""
        own = [zeros_like(array) for array in into]
        answer(self.rows, question, given, own)
        for total, one in zip(into, own, strict=True):
            if one.size:
                total += self.communicator.all_sum(one)

    def broadcast(self, values: Array) -> None:
        """Give every rank the numbers of rank 0."""
        self.communicator.broadcast(values, 0)


class RowsOnRanks(Ranks):
    """Training on ranks, each with a part of the rows."""

    def solver(
        self, problem: Problem, start: Start | None, options: Options, rng: np.random.Generator
    ) -> Solver:
        """Create the solver for all rows, given the problem of this rank's rows."""
        began = time.perf_counter()
        ranks = self.communicator
        if problem.loss != LOG_LOSS:
            part = SvmRows(problem, options.n_jobs, number=ranks.rank)
            seed = int(rng.integers(2**31))
            return SvmOnRows(problem, RanksParts(ranks, part), start, seed=seed, began=began)
        rows = agreed(ranks, lambda: LogisticRows(problem, options.n_jobs))
        engine = PrimalEngine(
            problem, RanksParts(ranks, rows), regularize_intercept=options.regularize_intercept
        )
        return NewtonLogistic(engine, start, tol=options.tol, began=began)


class RowsCheckpoints(RanksCheckpoints):
    """Hook that writes checkpoints, which hold W but no rows or z."""

    @contextmanager
    def opened(self, problem: Problem, *, resume: bool, same_seed: bool) -> Iterator[Self]:
        """Lock the folder; with ``resume``, return the state of the earlier training."""
        with super().opened(_without_rows(problem), resume=resume, same_seed=same_seed):
            yield self

    def write(self, start: Start) -> None:
        """Write a checkpoint on rank 0."""
        k = start.duals.shape[1]
        super().write(replace(start, duals=sp.csr_array((0, k), dtype=start.duals.dtype)))


class RowsTraining(TrainingOnRanks):
    """One fit of a model on all ranks of its communicator, each with its own rows."""

    model: MulticlassSVC | MultinomialLogisticRegression

    def given(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> FitInputs:
        """Turn the rows of this rank into its part of the problem."""
        ranks, model = self.ranks, self.model

        def here() -> tuple[Rows, Array, Array]:
            _check_params(model)
            rows, targets = validated(model, X, y, least_rows=0)
            return rows, targets, weights_of(rows, sample_weight)

        rows, targets, weights = agreed(ranks, here)
        known = self.first_state()
        W = None if known is None else known.start.weights
        mark = None if W is None else fingerprint(np.ascontiguousarray(W).view(np.uint8))
        self.check_same({}, {"the weights to begin with": mark}, "parameters")
        names = getattr(model, "feature_names_in_", None)
        dataset, classes = part_of(
            ranks,
            rows,
            targets,
            weights,
            model.class_weight,
            float(model.intercept_scaling) if model.fit_intercept else 0.0,
            None if names is None else list(names),
        )

        def problem_here() -> Problem:
            check_size(dataset)
            if isinstance(model.class_offset, str):
                raise ValueError(
                    f"class_offset={model.class_offset!r} needs the shares of the classes in all "
                    "rows, and a process has its own; give an array of their logarithms"
                )
            return model._problem(dataset, classes)

        problem = agreed(ranks, problem_here)
        self.costs = _range_of_all(ranks, problem)
        options = agreed(ranks, lambda: self.options(problem)[0])
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        return FitInputs(rows, targets, metadata, problem, classes, options, "")

    def options(self, problem: Problem) -> tuple[Options, Choice | str]:
        """Choose how the problem is trained: by consensus, unless it is logistic regression."""
        model = self.model
        if not isinstance(model, MulticlassSVC):
            return super().options(problem)
        return consensus_options(model), ""

    def checkpoints(self, given: FitInputs, seed: int) -> RowsCheckpoints:
        """Return the hook that writes checkpoints."""
        model = self.model
        facts = model._facts(given.problem, given.classes)
        of_all = facts_of_parts(facts, gather_json(self.ranks, facts))
        where = model.checkpoint, model.checkpoint_minutes
        return RowsCheckpoints(*where, of_all, seed, self.ranks)


def training_on_rows(model: MulticlassSVC | MultinomialLogisticRegression) -> Training:
    """Return the fit of a model on all ranks of its communicator, or in this process alone."""
    ranks = ranks_of(model)
    if ranks is not None:
        return RowsTraining(model, RowsOnRanks(ranks))
    _check_params(model)
    return Training(model)


def _check_params(model: MulticlassSVC | MultinomialLogisticRegression) -> None:
    """Check the parameters."""
    check_parameters(model)
    if model.split is None:
        raise ValueError(
            "communicator= needs split='rows': every process passes rows of its own to fit, "
            "which are trained on together"
        )


def _range_of_all(ranks: Communicator, problem: Problem) -> tuple[float, float]:
    """Return the least and the largest C_i of all ranks."""
    costs = problem.costs
    here = np.array([-costs.min(initial=math.inf), costs.max(initial=0.0)])
    low, high = ranks.all_max(here).tolist()
    return -low, high


def _without_rows(problem: Problem) -> Problem:
    """Return the problem without rows, with the same features and classes."""
    data = problem.dataset
    dataset = replace(
        data,
        indptr=np.zeros(1, np.int64),
        indices=np.empty(0, np.int32),
        values=np.empty(0, data.dtype),
        labels=np.empty(0, np.int32),
        weights=np.empty(0),
    )
    return replace(problem, dataset=dataset)
