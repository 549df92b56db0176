"""Time decision_function, predict and predict_top_k against the product X @ W, in turn.

    python -m benchmarks.runs.prediction [--times N] [--quick] [DATA ...]

X is float32: CSR for text, an array for pixels. The peer is the product alone, by SciPy or by BLAS
(with as many threads as we have), without the intercept and the validation of X; ours are the
public methods, with both. W is random, of the data's shape. Each line has the shortest and the
median time; on a machine that does other work at the same time, trust the ratio of the shortest.
"""

from __future__ import annotations

import argparse
import os
import statistics
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.runs.turns import Calls, in_turn
from manyclass import MulticlassSVC
from measuring.datasets.base import find_datasets
from measuring.quick import parse

NAMES = ("news20", "sector", "usps", "mnist")
DENSE = ("usps", "mnist")
THREADS = (1, 2)


def model_for(n_features: int, n_classes: int, n_jobs: int) -> MulticlassSVC:
    """Return a model as ``fit`` leaves it, with random weights."""
    model = MulticlassSVC(n_jobs=n_jobs)
    rng = np.random.default_rng(0)
    model.coef_ = rng.normal(size=(n_features, n_classes)).astype(np.float32).T
    model.intercept_ = rng.normal(size=n_classes).astype(np.float32)
    model.classes_ = np.arange(n_classes)
    model.n_features_in_ = n_features
    return model


def product(X: Any, W: Any, n_threads: int) -> Any:
    with threadpool_limits(n_threads):
        return X @ W


def calls_for(X: Any, n_classes: int, *, dense: bool) -> Calls:
    calls: Calls = {}
    for n_jobs in THREADS:
        model = model_for(X.shape[1], n_classes, n_jobs)
        if dense or n_jobs == 1:
            calls[f"X @ W {n_jobs}"] = partial(product, X, model.coef_.T, n_jobs)
        calls[f"scores {n_jobs}"] = partial(model.decision_function, X)
        calls[f"labels {n_jobs}"] = partial(model.predict, X)
        calls[f"top 5 {n_jobs}"] = partial(model.predict_top_k, X, 5)
    calls["validation"] = partial(model._check_rows, X)
    return calls


def report(times: dict[str, list[float]]) -> None:
    """Print times beside their ratio to the product's on one thread."""
    peer = times["X @ W 1"]
    for name, ours in times.items():
        shortest, median = min(ours), statistics.median(ours)
        print(
            f"    {name:12} {1e3 * shortest:9.2f} {1e3 * median:9.2f}"
            f" {min(peer) / shortest:9.1f} {statistics.median(peer) / median:9.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=NAMES)
    parser.add_argument("--times", type=int, default=15)
    args = parse(parser, data=["tiny"], times=1)
    print(f"{args.times} times in turn; {os.cpu_count()} cores; ratio = X @ W on one thread / this")
    header = ("shortest", "median ms", "ratio", "of medians")
    print("    {:12} {:>9} {:>9} {:>9} {:>9}".format("", *header))
    datasets = find_datasets()
    for name in args.data:
        skip, reason = datasets[name].skip()
        if skip:
            print(f"{name}: skipped, {reason}")
            continue
        data = datasets[name].load()
        X = data.X.toarray() if name in DENSE else data.X
        print(f"{name}: {X.shape[0]} x {X.shape[1]}, {data.n_classes} classes", flush=True)
        report(in_turn(calls_for(X, data.n_classes, dense=name in DENSE), args.times))


if __name__ == "__main__":
    main()
