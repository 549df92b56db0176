"""Time logistic regression on Dask and Spark beside dask-ml's and Spark's own.

    python -m benchmarks.runs.cluster_peers {dask, spark} [--rows 200000] [--quick]

Two local workers of one thread, the rows in their memory, no intercept, and C = 0.01 for all: the
same objective, which NumPy computes from the coefficients. Each runs at several tolerances; a table
has the seconds of the quickest run of each that is within 1e-3 and 1e-5 of the least objective.
dask-ml (pip install dask-ml) knows two classes only. Writes cluster_peers.json.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special
from numpy.typing import NDArray

from manyclass import MultinomialLogisticRegression
from measuring.header import header
from measuring.quick import parse
from measuring.results import RESULTS, read_results, write_results

FILE = RESULTS / "cluster_peers.json"
C, N_FEATURES, N_CLASSES, N_PARTS = 0.01, 256, 20, 2
LEVELS = (1e-3, 1e-5)
PEERS = {"dask": "dask_ml", "spark": "pyspark"}  # of which package

Rows = NDArray[np.float64]
Labels = NDArray[np.int64]
Run = tuple[str, str, Callable[[], Rows]]  # name, setting, what returns W of shape (d, k)


def made(n: int, k: int, least: float) -> tuple[Rows, Labels]:
    """Draw rows whose classes follow a softmax; features have sizes from 1 down to the least."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, N_FEATURES)) * np.geomspace(1, least, N_FEATURES)
    scores = X @ rng.standard_normal((N_FEATURES, k)) * (3 / N_FEATURES**0.5)
    return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def objective(W: Rows, X: Rows, y: Labels) -> float:
    """Return 1/2 ||W||^2 + C sum of the losses; of two classes, w = W_1 - W_0 counts."""
    penalty = 0.5 * ((W[:, 1] - W[:, 0]) ** 2).sum() if W.shape[1] == 2 else 0.5 * (W**2).sum()
    scores = X @ W
    losses = scipy.special.logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]
    return float(penalty + C * losses.sum())


def two_columns(w: Rows) -> Rows:
    """Return W of two classes."""
    return np.column_stack([np.zeros_like(w), w])


@contextlib.contextmanager
def on_dask(X: Rows, y: Labels) -> Iterator[list[Run]]:
    """Yield the runs on a local cluster of Dask."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster, wait
    from dask_ml.linear_model import LogisticRegression

    from manyclass.dask import DaskMultinomialLogisticRegression

    options = {"n_workers": N_PARTS, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster):
        rows = da.from_array(X, chunks=(len(X) // N_PARTS, -1)).persist()
        targets = da.from_array(y, chunks=len(X) // N_PARTS).persist()
        wait([rows, targets])

        def ours(tol: float) -> Rows:
            params = {"C": C, "tol": tol, "fit_intercept": False}
            model = DaskMultinomialLogisticRegression(**params).fit(rows, targets)
            return two_columns(model.coef_[0])

        def theirs(solver: str, tol: float, max_iter: int) -> Rows:
            model = LogisticRegression(
                C=C, fit_intercept=False, solver=solver, tol=tol, max_iter=max_iter
            )
            return two_columns(np.ravel(model.fit(rows, targets).coef_))

        runs: list[Run] = [
            ("manyclass", f"tol={tol:g}", lambda tol=tol: ours(tol)) for tol in (1e-2, *LEVELS)
        ]
        settings = {"lbfgs": (5, 10, 20, 50), "newton": (3, 5, 8), "admm": (5, 20, 50)}
        for solver, most in settings.items():
            runs += [
                (f"dask-ml, {solver}", f"{n}", lambda s=solver, n=n: theirs(s, 1e-10, n))
                for n in most
            ]
        yield runs


@contextlib.contextmanager
def on_spark(X: Rows, y: Labels) -> Iterator[list[Run]]:
    """Yield the runs on a local Spark."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    import pandas as pd
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import SparkSession

    from manyclass.spark import SparkMultinomialLogisticRegression

    builder = SparkSession.builder.master(f"local[{N_PARTS}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "6g").config(
        "spark.sql.execution.arrow.pyspark.enabled", "true"
    )
    with builder.getOrCreate() as spark:
        spark.sparkContext.setLogLevel("OFF")
        frame = pd.DataFrame({"features": list(X), "label": y.astype(float)})
        rows = spark.createDataFrame(frame).withColumn("features", array_to_vector("features"))
        rows = rows.repartition(N_PARTS).cache()
        rows.count()

        def ours(tol: float) -> Rows:
            model = SparkMultinomialLogisticRegression(C=C, tol=tol, fit_intercept=False).fit(rows)
            return np.asarray(model.to_local().coef_).T

        def theirs(max_iter: int) -> Rows:
            model = LogisticRegression(
                maxIter=max_iter,
                tol=1e-12,
                regParam=1 / (C * len(y)),
                fitIntercept=False,
                standardization=False,
                family="multinomial",
            ).fit(rows)
            return np.asarray(model.coefficientMatrix.toArray()).T

        runs: list[Run] = [
            ("manyclass", f"tol={tol:g}", lambda tol=tol: ours(tol)) for tol in (1e-2, *LEVELS)
        ]
        runs += [("Spark's own", f"{n}", lambda n=n: theirs(n)) for n in (10, 20, 40, 80)]
        yield runs


def measure(
    engine: str, n: int, repeats: int, smallest: float, most_settings: int | None = None
) -> dict[str, Any]:
    """Return the seconds of the quickest run of each that is within each level."""
    k = 2 if engine == "dask" else N_CLASSES
    X, y = made(n, k, smallest)
    local = MultinomialLogisticRegression(C=C, tol=1e-9, fit_intercept=False).fit(X, y)
    least = local.certificate_.primal_objective
    found: dict[str, dict[str, Any]] = {}
    with {"dask": on_dask, "spark": on_spark}[engine](X, y) as runs:
        runs[0][2]()  # the first fit of a cluster loads modules
        for name, setting, run in _first_of_each(runs, most_settings):
            seconds = []
            for _ in range(repeats):
                began = time.perf_counter()
                W = run()
                seconds.append(time.perf_counter() - began)
            over = objective(W, X, y) / least - 1
            print(f"{name} {setting}: {min(seconds):.2f} s, {over:.1e} above the least", flush=True)
            for level in LEVELS:
                if over <= level:
                    of_name = found.setdefault(name, {})
                    of_name[f"{level:g}"] = min([*seconds, of_name.get(f"{level:g}", np.inf)])
            found.setdefault(name, {})
    return {
        "engine": engine,
        "rows": f"{n:,} x {N_FEATURES}, {k} classes, sizes 1 to {smallest:g}",
        "seconds": found,
    }


def _first_of_each(runs: list[Run], most: int | None) -> list[Run]:
    """Return the first settings of each method; None: all of them."""
    of_each = {name: [run for run in runs if run[0] == name][:most] for name, _, _ in runs}
    return [run for of_one in of_each.values() for run in of_one]


def table(result: dict[str, Any]) -> str:
    """Return the seconds of each on each engine."""
    heads = " | ".join(f"s to {level:g}" for level in LEVELS)
    lines = [f"| engine | rows | method | {heads} |", "|---|---|---|" + "--:|" * len(LEVELS)]
    for run in result["runs"]:
        for name, found in run["seconds"].items():
            cells = [found.get(f"{level:g}") for level in LEVELS]
            shown = ["not reached" if cell is None else f"{cell:.1f}" for cell in cells]
            lines.append(f"| {run['engine']} | {run['rows']} | {name} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", choices=PEERS)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--least", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--most-settings", type=int, help="of each method")
    options = parse(parser, rows=2000, repeats=1, most_settings=1)
    warnings.simplefilter("ignore")
    old = read_results(FILE)
    about, kept = header(old), {(run["engine"], run["rows"]): run for run in old.get("runs", [])}
    found = measure(
        options.engine, options.rows, options.repeats, options.least, options.most_settings
    )
    kept[found["engine"], found["rows"]] = found
    write_results(FILE, about | {"runs": list(kept.values())})


if __name__ == "__main__":
    main()
