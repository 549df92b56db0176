"""Checkpoints of a training on ranks: the first one alone writes and reads them."""

from __future__ import annotations

import os
from contextlib import ExitStack

from manyclass.distributed.communicator import Communicator
from manyclass.distributed.consensus import agreed, of_first
from manyclass.distributed.exchange import broadcast_arrays
from manyclass.io.tensors import Tensors
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress, Start
from manyclass.training.checkpoints import Checkpoints
from manyclass.utils.fingerprints import Facts


class RanksCheckpoints(Checkpoints):
    """Hook that keeps the checkpoints of a training on ranks; every rank has it.

    Parameters
    ----------
    folder, minutes, facts, seed
        As of ``Checkpoints``; the seed is that of rank 0.
    ranks : Communicator
    """

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
        """Lock the folder on rank 0; return what its newest checkpoint holds, on every rank."""

        def here() -> Tensors:
            if self.ranks.rank > 0:
                return {}
            return super(RanksCheckpoints, self).open(stack, problem, resume=resume)

        tensors = agreed(self.ranks, here)
        return broadcast_arrays(self.ranks, tensors) if resume else {}
