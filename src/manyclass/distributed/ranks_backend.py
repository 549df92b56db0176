"""Backend of training with classes partitioned over ranks: solvers, chunks, checkpoints."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from manyclass.distributed.communicator import Communicator, as_communicator, broadcast_arrays
from manyclass.distributed.consensus import (
    abort_others,
    agreed,
    any_of,
    check_same,
    facts_of_rank,
    of_first,
)
from manyclass.distributed.sharded_weights import ShardedColumns
from manyclass.distributed.solvers.crammer_singer import DistributedCrammerSinger
from manyclass.distributed.solvers.one_vs_rest import DistributedOneVsRest
from manyclass.distributed.solvers.sum_to_zero import DistributedSumToZero
from manyclass.distributed.solvers.weston_watkins import DistributedWestonWatkins
from manyclass.estimators.exact_fit import Training
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.svc import MulticlassSVC
from manyclass.io.tensors import Tensors
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress, Solution, Start
from manyclass.solvers.weights.storage import classes_in_group, groups_in_part
from manyclass.training.checkpoints import Checkpoints
from manyclass.training.epoch_loop import Options, Solver
from manyclass.utils.fingerprints import Facts
from manyclass.utils.types import Settings

LARGEST_TABLE = 4096  # number of classes with base scores in a table


class Ranks:
    """Training on ranks, each with some of the classes.

    Every rank is given W if ``gathers``; otherwise W is returned as ``ShardedWeights``.
    """

    def __init__(self, communicator: Communicator, *, gathers: bool = True) -> None:
        self.communicator, self.gathers = communicator, gathers

    def solver(
        self, problem: Problem, start: Start | None, options: Options, rng: np.random.Generator
    ) -> Solver:
        """Make the solver that partitions the classes over ranks.

        ``options.weights`` is how W is stored; of one-vs-rest, how it is returned.
        """
        check_formulation(problem)
        formulation = problem.formulation
        if isinstance(problem.base, BaseScores) and formulation.is_relative:
            problem = problem.with_base(problem.base.by_class(problem.dataset.labels))
        kind: Callable[..., Solver] = DistributedWestonWatkins
        if formulation.is_separable:
            kind = DistributedOneVsRest
        elif formulation.centred:
            kind = DistributedSumToZero
        elif formulation.takes_maximum:
            kind = DistributedCrammerSinger
        return kind(
            problem,
            start,
            rng,
            self.communicator,
            n_jobs=options.n_jobs,
            sparse=options.weights == "sparse",
            gathers=self.gathers,
            keeps_duals=options.keeps_duals,
        )

    def part_size(self, problem: Problem, options: Options) -> int:
        """Return how many classes of one-vs-rest are trained together, the same on every rank."""
        ranks = self.communicator
        machines = ranks.first_on_machine()
        sharing = machines.count(machines[ranks.rank])
        groups = groups_in_part(problem, options.n_jobs, sharing)
        least = -int(ranks.all_max(np.array([-groups]))[0])
        return ranks.size * least * classes_in_group(problem.dataset.dtype)

    def columns(self) -> ShardedColumns:
        """Return the object that stores and joins W of the chunks."""
        return ShardedColumns()

    def may_continue(self, _problem: Problem, _options: Options) -> bool:
        """Return False: training in float32 ends when rounding stalls it."""
        return False

    def stops(self, here: bool) -> bool:
        """Whether a hook on at least one rank stops training."""
        return any_of(self.communicator, here)


def check_formulation(problem: Problem) -> None:
    """Refuse what cannot be spread over ranks."""
    if problem.base is not None:
        _check_base(problem)
    if problem.formulation.takes_maximum and problem.formulation.centred:
        raise ValueError(
            "'adm' and 'atm' cannot be trained with classes partitioned over processes; use "
            "split='rows', one process, or a different formulation, such as "
            "formulation='crammer_singer'"
        )


def _check_base(problem: Problem) -> None:
    """Refuse base scores that the kernels for ranks do not support."""
    k = problem.dataset.n_classes
    if problem.formulation.centred:
        raise ValueError(
            "costs of mistakes and class_offset need one process if the weights sum to zero; leave "
            "out communicator, or use formulation='crammer_singer', 'weston_watkins' or "
            "'one_vs_rest'"
        )
    if problem.formulation.is_relative and k > LARGEST_TABLE:
        raise ValueError(
            "costs of mistakes and class_offset are supported on several processes for up to "
            f"{LARGEST_TABLE} classes, but there are {k}; leave out communicator, or leave out "
            "costs and class_offset"
        )


def ranks_of(model: MulticlassSVC | MultinomialLogisticRegression) -> Communicator | None:
    """Return the communicator of a model, if it has several ranks."""
    given = model.communicator
    if not (hasattr(given, "Get_rank") or hasattr(given, "send_receive")):
        return None
    ranks = as_communicator(given)
    return ranks if ranks.size > 1 else None


class TrainingOnRanks(Training):
    """One fit of a model on all ranks of its communicator."""

    def __init__(
        self, model: MulticlassSVC | MultinomialLogisticRegression, backend: Ranks
    ) -> None:
        super().__init__(model)
        self.ranks = ranks = backend.communicator
        self.guard, self.backend = abort_others(ranks), backend
        self.verbose = int(model.verbose) if ranks.rank == 0 else 0

    def seed(self) -> int:
        """Draw the seed of the random orders on rank 0."""
        return of_first(self.ranks, super().seed())

    def takes_earlier_seed(self) -> bool:
        """Whether a resumed training has the seed of the earlier one; rank 0 decides."""
        return bool(of_first(self.ranks, int(super().takes_earlier_seed())))

    def warn(self, problem: Problem, solution: Solution) -> None:
        """Warn on rank 0."""
        if self.ranks.rank == 0:
            super().warn(problem, solution)

    def check_same(self, facts: Facts, others: Settings, *shared: str) -> None:
        """Refuse ranks that would train different things, or end at different times."""
        params: Settings = self.model.get_params()
        for name in ("communicator", "verbose", "random_state", "n_jobs"):
            del params[name]
        check_same(self.ranks, facts_of_rank(facts, {**params, **others}), *shared)


class RanksCheckpoints(Checkpoints):
    """Hook that keeps the checkpoints of a training on ranks, with the seed of rank 0."""

    def __init__(
        self,
        folder: str | os.PathLike[str] | None,
        minutes: float,
        facts: Facts,
        seed: int,
        ranks: Communicator,
    ) -> None:
        super().__init__(folder, minutes, facts, seed)
        self.ranks = ranks

    def epoch(self, progress: Progress) -> bool:
        """Write a checkpoint if it is time, by the clock of rank 0; every rank takes part."""
        if self.folder is not None and of_first(self.ranks, int(self.is_due())):
            self.write(progress.start())
        return False

    def write(self, start: Start) -> None:
        """Write a checkpoint on rank 0."""
        if self.ranks.rank == 0:
            super().write(start)

    def open(self, stack: ExitStack, problem: Problem, *, resume: bool) -> Tensors:
        """Lock the folder on rank 0; return its newest checkpoint on every rank."""

        def here() -> Tensors:
            if self.ranks.rank > 0:
                return {}
            return super(RanksCheckpoints, self).open(stack, problem, resume=resume)

        tensors = agreed(self.ranks, here)
        return broadcast_arrays(self.ranks, tensors) if resume else {}
