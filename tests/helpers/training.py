"""Training of a problem with hooks that are functions, in one process or on ranks."""

from manyclass.distributed.communicator import Serial
from manyclass.distributed.consensus import abort_others
from manyclass.distributed.ranks_backend import Ranks
from manyclass.training.epoch_loop import Options
from manyclass.training.train import train as train_problem


class Epochs:
    """Hook that calls a function after each epoch, and counts how often training ended."""

    def __init__(self, call):
        self.call, self.ends = call, 0

    def epoch(self, progress):
        """Call the function; True stops training."""
        return bool(self.call(progress))

    def end(self, _start):
        """Count."""
        self.ends += 1


def train(
    problem,
    weights="dense",
    *,
    start=None,
    on_epoch=None,
    communicator=None,
    gathers=True,
    **options,
):
    """Train with these options; what is not given is as of ``Options``."""
    backend = None if communicator is None else Ranks(communicator, gathers=gathers)
    hooks = [] if on_epoch is None else [Epochs(on_epoch)]
    chosen = Options(weights=weights, **options)
    with abort_others(communicator or Serial()):
        return train_problem(problem, chosen, start=start, hooks=hooks, backend=backend)
