"""Accuracy against the number of examples, to see when linear classifiers are enough.

    python -m experiments.lin2008.growth [--limit 600] [--quick]

covtype100k, train and test pooled, 10,000 rows for testing. A machine is left out at sizes where
its last seconds, times the square of the growth, exceed the limit. The numbers go to
results/growth.json.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from experiments import MissingDataError
from experiments.lin2008.kernels import dense, small
from experiments.lin2008.machines import Rows, machine, measured, tuned
from measuring.quick import parse
from measuring.results import read_results, write_results

RESULTS = Path(__file__).parent / "results" / "growth.json"
SIZES = (10_000, 20_000, 30_000, 45_000, 60_000, 90_000)
TUNING = 20_000  # the best gamma grows with the rows
N_TEST = 10_000


def pooled() -> Rows:
    """Return all rows of covtype100k, 10,000 of them for testing."""
    rows = dense("covtype100k")
    X, y = np.concatenate([rows.X, rows.X_test]), np.concatenate([rows.y, rows.y_test])
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[:N_TEST], order[N_TEST:]
    return Rows(X[train], y[train], X[test], y[test])


def curves(rows: Rows, sizes: tuple[int, ...], limit: float, tuning_rows: int = TUNING) -> Any:
    """Measure every machine on the first rows of each size."""
    chosen = tuned(rows, tuning_rows)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in chosen}
    for size in sizes:
        part = Rows(rows.X[:size], rows.y[:size], rows.X_test, rows.y_test)
        for name, settings in chosen.items():
            if _expected(found[name], size) > limit:
                print(f"{size} rows: {name} would exceed {limit:g} s")
                continue
            point = measured(machine(name, settings, size), part)
            found[name].append({"rows": size, **point})
            print(size, name, point, flush=True)
    return {"settings": chosen, "curves": found}


def _expected(points: list[dict[str, Any]], size: int) -> float:
    """Seconds at this size if they grow with the square of the rows."""
    return points[-1]["seconds"] * (size / points[-1]["rows"]) ** 2 if points else 0.0


def main() -> None:
    """Run it."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a fit, at most")
    args = parse(parser)
    if args.quick:
        curves(small(), (200, 400), args.limit, 200)
        return
    try:
        rows = pooled()
    except MissingDataError as error:
        print(f"skipped: {error}")
        return
    results = read_results(RESULTS)
    results["covtype100k"] = curves(rows, SIZES, args.limit)
    write_results(RESULTS, results)


if __name__ == "__main__":
    main()
