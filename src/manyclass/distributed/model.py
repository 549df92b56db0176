"""Models with weights partitioned over ranks: fit, and writing a model file in parts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyclass.distributed.communicator import Communicator, as_communicator
from manyclass.distributed.consensus import abort_others, agreed
from manyclass.distributed.ranks_backend import (
    Ranks,
    RanksCheckpoints,
    TrainingOnRanks,
    check_formulation,
    ranks_of,
)
from manyclass.distributed.sharded_weights import ShardedWeights
from manyclass.distributed.storage_choice import choose_for_ranks
from manyclass.estimators.exact_fit import FitInputs, Training
from manyclass.estimators.svc import MulticlassSVC
from manyclass.estimators.validation import check_parameters, input_restored
from manyclass.io.atomic import replacement
from manyclass.io.tensors import Shapes, TensorWriter
from manyclass.persistence.model_file import metadata_of, save_model
from manyclass.persistence.model_schema import SPARSE, pack_facts
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Solution
from manyclass.solvers.weights.storage import Choice
from manyclass.training.checkpoint_file import facts_of_problem
from manyclass.training.epoch_loop import Options
from manyclass.training.train import check_solver
from manyclass.utils.fingerprints import Facts
from manyclass.utils.machine import effective_n_jobs
from manyclass.utils.named_options import DEFAULT_SOLVERS
from manyclass.utils.types import Array, DType, Settings


class RanksTraining(TrainingOnRanks):
    """One fit of a model on all ranks of its communicator.

    Every rank is given W if ``gathers``; otherwise the model has no ``coef_`` and ``intercept_``,
    unless there are two classes.
    """

    model: MulticlassSVC

    def __init__(self, model: MulticlassSVC, ranks: Communicator, *, gathers: bool = True) -> None:
        super().__init__(model, Ranks(ranks, gathers=gathers))
        self.gathers = gathers
        self._facts: Facts = {}
        self._sharing = 1  # ranks on this machine

    def given(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> FitInputs:
        """Turn the arguments into a problem, the same on every rank."""
        ranks = self.ranks
        machines = ranks.first_on_machine()
        self._sharing = machines.count(machines[ranks.rank])

        def here() -> FitInputs:
            check_parameters(self.model)
            return super(RanksTraining, self).given(X, y, sample_weight)

        given = agreed(ranks, here)
        self._facts = facts_of_problem(given.problem, given.classes)
        others = {
            "how weights are returned": given.options.weights,
            "an earlier fit to continue": hasattr(self.model, "_warm_start"),
        }
        self.check_same(self._facts, others)
        self.gathers |= len(given.classes) == 2  # binary models store w_1 - w_0
        self.backend = Ranks(ranks, gathers=self.gathers)
        return given

    def options(self, problem: Problem) -> tuple[Options, Choice]:
        """Choose how the problem is trained."""
        model, n_ranks = self.model, self.ranks.size
        check_solver(model.solver, problem, stopping=model.stopping, weights=model.weights)
        if model.solver not in DEFAULT_SOLVERS:
            raise ValueError(
                f"solver='{model.solver}' trains in one process, but there are {n_ranks}; use "
                "solver='sequential_dual'"
            )
        check_formulation(problem)
        choice = choose_for_ranks(
            problem,
            model.weights,
            n_ranks,
            gathers=self.gathers,
            keeps_duals=self.keeps_duals,
            sharing=self._sharing,
        )
        options = Options(
            tol=float(model.tol),
            stopping=model.stopping,
            solver=model.solver,
            weights=choice.kind,
            max_iter=model.max_iter,
            n_jobs=effective_n_jobs(model.n_jobs),
            keeps_duals=self.keeps_duals,
        )
        return options, choice

    def checkpoints(self, _given: FitInputs, seed: int) -> RanksCheckpoints:
        """Return the hook that writes checkpoints."""
        model = self.model
        where = model.checkpoint, model.checkpoint_minutes
        return RanksCheckpoints(*where, self._facts, seed, self.ranks)

    def attributes(self, given: FitInputs, solution: Solution) -> Settings:
        """Return the attributes for prediction; without W if it stays sharded."""
        if isinstance(solution.weights, ShardedWeights):
            return {"classes_": given.classes}
        return super().attributes(given, solution)


def training_on(model: MulticlassSVC) -> Training:
    """Return the fit of a model on all ranks of its communicator, or in this process alone."""
    ranks = ranks_of(model)
    if ranks is not None:
        return RanksTraining(model, ranks)
    check_parameters(model)
    return Training(model)


class ShardedTraining:
    """The training of a model on all ranks of its communicator, which call the same methods.

    Like ``MulticlassSVC.fit`` and ``save_model``, but no rank has more of W than its own classes
    and a few rows.
    """

    def __init__(self, model: MulticlassSVC) -> None:
        self.model = model
        self._weights: ShardedWeights | None = None  # None if the model has them

    def fit(self, X: ArrayLike, y: ArrayLike) -> None:
        """Train the model, which then has all attributes except ``coef_`` and ``intercept_``.

        With two classes, or one rank, it has these as well.
        """
        ranks = as_communicator(self.model.communicator)
        if ranks.size == 1:
            self.model.fit(X, y)
            return
        with input_restored(self.model):
            W = RanksTraining(self.model, ranks, gathers=False).run(X, y, None).weights
        self._weights = W if isinstance(W, ShardedWeights) else None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file on rank 0; an error during the transfer aborts all ranks.

        Rank 0 raises the errors of ``save_model``, the others OtherRankError, unless they have
        returned.
        """
        if self._weights is not None:
            _save(path, self.model, self._weights)
        elif as_communicator(self.model.communicator).rank == 0:
            save_model(path, self.model)


def _save(path: str | os.PathLike[str], model: MulticlassSVC, W: ShardedWeights) -> None:
    ranks = W.communicator
    with abort_others(ranks):  # the partial file is removed
        counts = W.row_counts() if W.sparse else None
        with ExitStack() as stack:

            def begin() -> TensorWriter | None:
                if ranks.rank > 0:
                    return None
                tensors, metadata, shapes = _layout(model, W, counts)
                new = stack.enter_context(replacement(os.fspath(path)))
                file = TensorWriter(new, shapes, metadata)
                _append(file, tensors)
                return file

            def end() -> None:
                if file is not None:
                    file.finish()
                stack.close()  # replaces the file

            file = agreed(ranks, begin)
            bias = float(model.intercept_scaling) if model.fit_intercept else 0.0
            for part in _parts(W, counts, bias):
                _append(file, part)
            agreed(ranks, end)


def _append(file: TensorWriter | None, tensors: dict[str, Array]) -> None:
    if file is not None:
        for name, values in tensors.items():
            file.append(name, values)


def _layout(
    model: MulticlassSVC, W: ShardedWeights, counts: NDArray[np.int64] | None
) -> tuple[dict[str, Array], dict[str, str], Shapes]:
    """Return the known tensors, the metadata, and the shapes of all tensors."""
    tensors, facts = pack_facts(model)
    d, k = W.n_rows - 1, W.n_classes
    shapes: dict[str, tuple[DType, tuple[int, ...]]] = {
        name: (values.dtype, values.shape) for name, values in tensors.items()
    }
    shapes["intercept"] = W.dtype, (k,)
    if counts is None:
        shapes["weights"] = W.dtype, (d, k)
    else:
        indptr = np.concatenate([[0], np.cumsum(counts[:-1])])
        shapes["weights.indptr"] = np.dtype(np.int64), (d + 1,)
        shapes["weights.classes"] = np.dtype(np.int32), (int(indptr[-1]),)
        shapes["weights.values"] = W.dtype, (int(indptr[-1]),)
    # Check that the file can be read, with weights that are all zero.
    zero = np.zeros(d + 1, np.int64), np.empty(0, np.int32), np.empty(0, W.dtype)
    tried: dict[str, Array] = dict(zip(SPARSE, zero, strict=True))
    metadata = metadata_of({**tried, **tensors, "intercept": np.zeros(k, W.dtype)}, facts)
    return tensors if counts is None else {**tensors, SPARSE[0]: indptr}, metadata, shapes


def _parts(
    W: ShardedWeights, counts: NDArray[np.int64] | None, bias: float
) -> Iterator[dict[str, Array]]:
    """Yield the values of the tensors on rank 0, in the order of the rows.

    The last row of W holds the intercepts.
    """
    left = W.n_rows - 1
    if counts is None:
        for rows in W.dense_parts(to=0):
            yield {"weights": rows[:left], "intercept": bias * rows[left:]}
            left = max(0, left - len(rows))
        return
    for part in W.sparse_parts(counts, to=0):
        n = int(part.counts[:left].sum())
        last = np.zeros(W.n_classes if len(part.counts) > left else 0, W.dtype)
        last[part.classes[n:]] = bias * part.values[n:]
        yield {SPARSE[1]: part.classes[:n], SPARSE[2]: part.values[:n], "intercept": last}
        left = max(0, left - len(part.counts))
