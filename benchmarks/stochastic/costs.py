"""Costs of StochasticClassifier: seconds of an epoch, and memory beside SGDClassifier's."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.stochastic.solvers import (
    OURS,
    PLAIN,
    SGD,
    SGD_AVERAGE,
    SOLVERS_OF_EPOCHS,
    Rows,
    fit,
)
from manyclass import StochasticClassifier
from measuring import training
from measuring.datasets.base import BaseDataset, Data
from measuring.processes import in_fresh_process

LOSSES = ("hinge", "log_loss")
BATCHES = (1, 16, 64)
THREADS = (1, 2)
TYPES = ("float32", "float64")
# An epoch's seconds are the slope between fits of so many epochs: set-up does not count.
_FEW, _MORE = 1, 4
_ALPHA = 1e-5


@dataclass(frozen=True)
class Setting:
    """How an epoch is gone through."""

    loss: str
    batch_size: int = 1
    threads: int = 1
    dtype: str = "float32"
    average: bool = False

    def key(self) -> str:
        """Name it as JSON does.

        Examples
        --------
        >>> Setting("hinge", 16, threads=2).key()
        'hinge 16 2 float32'
        """
        words = [self.loss, self.batch_size, self.threads, self.dtype]
        return " ".join(map(str, [*words, "average"] if self.average else words))


def epochs(data: Data, repeats: int) -> dict[str, dict[str, list[float]]]:
    """Return the seconds of an epoch, elapsed and of the processor, several times, by ``key``."""
    rows = {dtype: data.X.astype(dtype, copy=False) for dtype in TYPES}
    found: dict[str, dict[str, list[float]]] = {
        setting.key(): {"seconds": [], "cpu_seconds": []} for setting in settings()
    }
    for turn, setting in itertools.product(range(repeats + 1), settings()):
        few, more = (
            _seconds(setting, n_epochs, rows[setting.dtype], data.labels)
            for n_epochs in (_FEW, _MORE)
        )
        if turn > 0:  # the first round warms up
            for name, a, b in zip(found[setting.key()], few, more, strict=True):
                found[setting.key()][name].append(round((b - a) / (_MORE - _FEW), 6))
    return found


def _seconds(setting: Setting, n_epochs: int, X: Any, labels: Any) -> tuple[float, float]:
    start, cpu_start = time.perf_counter(), time.process_time()
    _train(setting, n_epochs, X, labels)
    return time.perf_counter() - start, time.process_time() - cpu_start


def settings() -> list[Setting]:
    """List what is compared: threads, types, and what the average costs."""
    usual = [
        Setting(loss, batch_size, threads)
        for loss, batch_size, threads in itertools.product(LOSSES, BATCHES, THREADS)
    ]
    doubles = [Setting(loss, size, dtype="float64") for loss in LOSSES for size in BATCHES]
    return [*usual, *doubles, *(Setting(loss, average=True) for loss in LOSSES)]


def _train(setting: Setting, n_epochs: int, X: Any, labels: Any) -> None:
    StochasticClassifier(
        loss=setting.loss,
        average=setting.average,
        alpha=_ALPHA,
        batch_size=setting.batch_size,
        n_jobs=setting.threads,
        max_iter=n_epochs,
        tol=None,
        random_state=0,
    ).fit(X, labels)


def memory(dataset: BaseDataset, solvers: Container[str]) -> dict[str, dict[str, float]]:
    """Return the peak of a process that fits one epoch, by solver."""
    names = [f"{name}_{loss}" for name in (OURS, PLAIN, SGD, SGD_AVERAGE) for loss in LOSSES]
    chosen = [name for name in names if name in solvers]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sizes = training.save(dataset, folder)
        return {name: in_fresh_process(peak, folder, sizes, name) for name in chosen}


def peak(folder: Path, sizes: dict[str, int], name: str) -> dict[str, float]:
    """Fit one epoch; return the megabytes of the process, and those that training added."""
    solver = next(each for each in SOLVERS_OF_EPOCHS if each.name == name)
    rows = Rows.from_data(training.read(folder, sizes), float64=solver.float64)
    before = training.peak_megabytes()
    fit(solver.make(sizes["n"], _ALPHA, 1, 0), rows)
    after = training.peak_megabytes()
    return {"megabytes": after, "training_megabytes": after - before}


def spread(values: list[float]) -> tuple[float, float, float]:
    """Return the least, the median and the largest.

    Examples
    --------
    >>> spread([3.0, 1.0, 2.0])
    (1.0, 2.0, 3.0)
    """
    return min(values), statistics.median(values), max(values)
