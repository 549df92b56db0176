"""Seconds of a fit with 1, 4, 8, 16 threads, on made-up dense rows and text.

    python -m benchmarks.runs.cores [--threads 1 4 8 16] [--rows 60000] [--text-rows 100000]
                                    [--no-intercept]

Each line: the least seconds of `fit` of `--repeats`, epochs, the relative gap, and the seconds with
one thread as a multiple of it. Prints a table for machines with many cores.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from measuring.datasets.embeddings import clusters

MODELS: dict[str, tuple[type, dict[str, Any]]] = {
    "crammer_singer": (MulticlassSVC, {"formulation": "crammer_singer"}),
    "weston_watkins": (MulticlassSVC, {"formulation": "weston_watkins"}),
    "one_vs_rest": (MulticlassSVC, {"formulation": "one_vs_rest"}),
    "logistic": (MultinomialLogisticRegression, {}),
}


def text(n: int, d: int, k: int) -> tuple[sp.csr_array, np.ndarray]:
    """Draw rows of about 60 words: some of their class, others of a Zipf distribution of all."""
    rng = np.random.default_rng(2008)
    y, own, others = rng.integers(0, k, n), 20, 40
    topics = rng.integers(0, d, (k, 200))
    words = np.column_stack(
        [
            topics[y[:, None], rng.integers(0, 200, (n, own))],
            (rng.pareto(0.7, (n, others)) * 50).astype(np.int64) % d,
        ]
    )
    X = sp.csr_array(
        (np.ones(words.size, np.float32), words.ravel(), np.arange(n + 1) * words.shape[1]), (n, d)
    )
    X.sum_duplicates()
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1))).ravel()
    X.data /= np.repeat(norms, np.diff(X.indptr)).astype(np.float32)
    return X, y


def problems(arguments: argparse.Namespace) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield the rows of each problem."""
    if arguments.rows:
        rows = clusters(np.random.default_rng(2008), arguments.rows, 384, 300, 2.0)
        yield f"dense {arguments.rows} x 384, k 300", *rows
    if arguments.text_rows:
        n, d, k = arguments.text_rows, 50_000, 100
        yield f"text {n} x {d}, k {k}", *text(n, d, k)


def main() -> None:
    """Train and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 4, 8, 16])
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--text-rows", type=int, default=100_000)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--no-intercept", action="store_true")
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    print(platform.processor() or platform.machine(), flush=True)
    for name, X, y in problems(arguments):
        for kind in arguments.models:
            first = None
            for threads in arguments.threads:
                estimator, given = MODELS[kind]
                seconds = np.inf
                for _ in range(arguments.repeats):
                    model = estimator(
                        C=arguments.C,
                        tol=arguments.tol,
                        n_jobs=threads,
                        random_state=0,
                        fit_intercept=not arguments.no_intercept,
                        **given,
                    )
                    began = time.perf_counter()
                    model.fit(X, y)
                    seconds = min(seconds, time.perf_counter() - began)
                first = first or seconds
                inside = model.history_[-1].seconds
                work = sum(record.evaluations for record in model.history_) / (
                    X.shape[0] * len(model.classes_)
                )
                print(
                    f"{name:28s} {kind:15s} threads {threads:2d}  {seconds:7.2f} s  "
                    f"epochs {inside:6.2f} s  {model.n_iter_:3d}  passes {work:5.1f}  "
                    f"gap {model.certificate_.relative_gap:.1e}  x {first / seconds:.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
