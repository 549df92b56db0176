"""Time of fits on changed rows from the earlier state, relative to training anew.

    python -m benchmarks.runs.changing_rows [--data news20 sector] [--repeats 3]

DATA may also be an .npz file with arrays X and y. One thread, C = 1, tol = 1e-3, rows in random
order. For each data set and model: the CPU seconds of ``fit`` on all rows, then, for each change,
the median CPU time of ``fit`` with ``warm_start=True`` relative to a fit without it, in alternating
pairs, and the epochs of both. "Both" means that a share of the rows is removed and as many are
added, "new class" that the rows of one class are added, "all" that no row is the same. Writes
changing_rows.json.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from measuring.datasets.base import find_datasets, sklearn_rows
from measuring.header import header
from measuring.quick import parse
from measuring.results import RESULTS, markdown, write_results

MODELS: dict[str, Callable[..., Any]] = {
    "crammer_singer": MulticlassSVC,
    "weston_watkins": MulticlassSVC,
    "one_vs_rest": MulticlassSVC,
    "logistic": MultinomialLogisticRegression,
}
SHARES = (0.01, 0.001)
FILE = RESULTS / "changing_rows.json"
DATA = ["news20", "sector", "lshtc1", "mnist", "embeddings-256"]


class Change(NamedTuple):
    """The rows of the earlier fit, and those of the next one."""

    name: str
    before: NDArray[np.intp]
    after: NDArray[np.intp]


def changes(y: NDArray[np.int64]) -> Iterator[Change]:
    """Yield what is changed in rows that have a random order."""
    n = len(y)
    rows = np.arange(n)
    for share in SHARES:
        some = max(1, round(share * n))
        yield Change(f"{100 * share:g} % added", rows[some:], rows)
        yield Change(f"{100 * share:g} % removed", rows, rows[some:])
        yield Change(f"{100 * share:g} % both", rows[some:], rows[:-some])
    counts = np.bincount(y)
    usual = int(np.argsort(counts)[len(counts) // 2])
    yield Change("new class", rows[y != usual], rows)
    yield Change("nothing", rows, rows)
    yield Change("all", rows[: n // 2], rows[n // 2 :])


def model(name: str, **parameters: Any) -> Any:
    """Return an estimator."""
    own = {} if name == "logistic" else {"formulation": name}
    return MODELS[name](**own, tol=1e-3, n_jobs=1, random_state=0, **parameters)


def seconds(one: Any, X: Any, y: NDArray[np.int64]) -> float:
    """CPU seconds of a fit."""
    began = time.process_time()
    one.fit(X, y)
    return time.process_time() - began


def compare(
    name: str, X: Any, y: NDArray[np.int64], change: Change, repeats: int
) -> tuple[float, int, int]:
    """Return the ratio of the times, and the epochs of the warm and of the cold fit."""
    before = model(name, warm_start=True).fit(X[change.before], y[change.before])
    rows, labels = X[change.after], y[change.after]
    pairs = []
    for _ in range(repeats):
        cold, warm = model(name), before._as_of_now()
        pairs.append((seconds(cold, rows, labels), seconds(warm, rows, labels)))
    ratio = median(warm / cold for cold, warm in pairs)
    return ratio, int(warm.n_iter_), int(cold.n_iter_)


def rows_of(name: str) -> tuple[Any, NDArray[np.int64]]:
    """Return float32 rows in a random order, and the numbers of their classes."""
    if name.endswith(".npz"):
        with np.load(name) as file:
            X, y = file["X"].astype(np.float32), file["y"]
    else:
        data = find_datasets()[name].load()
        X, y = sklearn_rows(data.X, np.float32), data.labels
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order].astype(np.int64)


def table(result: dict[str, Any]) -> str:
    """Return a line for each data set and model."""
    rows = []
    for run in result["runs"]:
        cells = [f"{ratio:.2f} ({warm}/{cold})" for ratio, warm, cold in run["changes"].values()]
        rows.append([run["data"], run["model"], f"{run['cold']:.2f}", *cells])
    return markdown(["data", "model", "cold, s", *result["runs"][0]["changes"]], rows, 2)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--repeats", type=int, default=3)
    options = parse(parser, data=["tiny"], repeats=1)
    result = header() | {"runs": []}
    for data in options.data:
        X, y = rows_of(data)
        for name in options.models:
            cold = median(seconds(model(name), X, y) for _ in range(options.repeats))
            found = {c.name: compare(name, X, y, c, options.repeats) for c in changes(y)}
            result["runs"].append({"data": data, "model": name, "cold": cold, "changes": found})
            print(result["runs"][-1], flush=True)
    write_results(FILE, result)
    print(table(result))


if __name__ == "__main__":
    main()
