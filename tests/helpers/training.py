"""Training of a problem with hooks that are functions, in one process or on ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from manyclass.distributed.communicator import Communicator, Serial
from manyclass.distributed.consensus import abort_others
from manyclass.distributed.ranks_backend import Ranks
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress, Solution, Start
from manyclass.training.epoch_loop import Options
from manyclass.training.train import train as train_problem


class Epochs:
    """Hook that calls a function after each epoch, and counts how often training ended."""

    def __init__(self, call: Callable[[Progress], Any]) -> None:
        self.call, self.ends = call, 0

    def epoch(self, progress: Progress) -> bool:
        """Call the function; True stops training."""
        return bool(self.call(progress))

    def end(self, _start: Start) -> None:
        """Count."""
        self.ends += 1


def train(
    problem: Problem,
    weights: str = "dense",
    *,
    start: Start | None = None,
    on_epoch: Callable[[Progress], Any] | None = None,
    communicator: Communicator | None = None,
    gathers: bool = True,
    **options: Any,
) -> Solution:
    """Train with these options; what is not given is as of ``Options``."""
    backend = None if communicator is None else Ranks(communicator, gathers=gathers)
    hooks = [] if on_epoch is None else [Epochs(on_epoch)]
    chosen = Options(weights=weights, **options)
    with abort_others(communicator or Serial()):
        return train_problem(problem, chosen, start=start, hooks=hooks, backend=backend)
