"""n_jobs=2 against n_jobs=1 beside processes that keep the cores busy.

    python -m benchmarks.runs.busy [--busy 0 1 2] [--repeats 3] [--only sector] [--quick]

Each case is trained with one thread and with two in turn, beside so many busy loops. Prints the
medians. Two threads should never take more than 1.1 times as long as one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from benchmarks.runs.turns import in_turn
from manyclass import MulticlassSVC, StochasticClassifier
from measuring.datasets.base import find_datasets
from measuring.quick import parse

SVC: dict[str, Any] = {"fit_intercept": False, "random_state": 0, "tol": 1e-2}
# Data set, estimator, its parameters: what has threads of its own.
CASES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "dense rows": ("embeddings-256", MulticlassSVC, SVC),
    "sparse weights": ("wordnet", MulticlassSVC, SVC | {"weights": "sparse"}),
    "one-vs-rest": ("sector", MulticlassSVC, SVC | {"formulation": "one_vs_rest"}),
    "Newton": ("usps", MulticlassSVC, SVC | {"C": 10.0, "tol": 1e-4}),
    "stochastic": (
        "lshtc1",
        StochasticClassifier,
        {"max_iter": 20, "tol": None, "random_state": 0, "batch_size": 16},
    ),
}


def spin() -> None:
    """Keep a core busy until killed."""
    while True:
        pass


@contextmanager
def busy_processes(n: int) -> Iterator[None]:
    """Run so many busy loops."""
    processes = [multiprocessing.Process(target=spin, daemon=True) for _ in range(n)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def fits(name: str, data_name: str | None) -> dict[str, Callable[[], object]]:
    """Return the two fits of a case, on its own data or others."""
    dataset, estimator, settings = CASES[name]
    data = find_datasets()[data_name or dataset].load()
    return {
        str(n_jobs): lambda n_jobs=n_jobs: estimator(**settings, n_jobs=n_jobs).fit(
            data.X, data.labels
        )
        for n_jobs in (1, 2)
    }


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, os.cpu_count() or 1])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--data", help="a data set in the place of those of the cases")
    arguments = parse(parser, data="tiny", busy=[0, 1], repeats=1)
    print("| case | busy processes | one thread, s | two threads, s | two / one |")
    print("|---|--:|--:|--:|--:|")
    for name in arguments.only:
        calls = fits(name, arguments.data)
        for n in arguments.busy:
            with busy_processes(n):
                times = in_turn(calls, arguments.repeats)
            one, two = (median(times[n_jobs]) for n_jobs in ("1", "2"))
            print(f"| {name} | {n} | {one:.2f} | {two:.2f} | {two / one:.2f} |", flush=True)


if __name__ == "__main__":
    main()
