"""Accuracy and seconds of an RBF machine, a linear one, and Nystroem followed by a linear one.

    python -m experiments.lin2008.kernels [--only letter] [--quick]

The numbers go to results/kernels.json; what was measured is not repeated.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from experiments import available, load_named
from experiments.lin2008.machines import Rows, machine, measured, tuned
from measuring.quick import parse
from measuring.results import add_result, read_results

RESULTS = Path(__file__).parent / "results" / "kernels.json"
# Training rows at most: LIBSVM needs more than ten minutes for all of mnist.
DATA = {"letter": None, "usps": None, "satimage": None, "mnist": 20_000}


def dense(name: str, n_rows: int | None = None) -> Rows:
    """Return a data set as dense rows, n_rows of them drawn at random.

    Raises
    ------
    MissingDataError
        If its files are not there.
    """
    split = load_named(name)
    chosen = np.random.default_rng(1).permutation(len(split.y))[:n_rows]
    return Rows(
        split.X[chosen].toarray().astype(np.float32),
        split.y[chosen],
        split.X_test.toarray().astype(np.float32),
        split.y_test,
    )


def small() -> Rows:
    """Return handwritten digits, which need no file."""
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    return Rows(X[:600], y[:600], X[600:900], y[600:900])


def compare(rows: Rows, tuning_rows: int = 5_000) -> dict[str, dict[str, Any]]:
    """Tune and measure every machine."""
    found: dict[str, dict[str, Any]] = {}
    for name, settings in tuned(rows, tuning_rows).items():
        found[name] = {**settings, **measured(machine(name, settings, len(rows.y)), rows)}
        print(f"  {name}: {found[name]}", flush=True)
    return found


def main() -> None:
    """Run what is asked for."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=DATA, default=list(DATA))
    args = parse(parser)
    if args.quick:
        compare(small(), 200)
        return
    new = [name for name in args.only if name not in read_results(RESULTS)]
    for name, rows in available(new, lambda name: dense(name, DATA[name])):
        print(name, rows.X.shape, flush=True)
        add_result(RESULTS, name, {"shape": list(rows.X.shape), "machines": compare(rows)})


if __name__ == "__main__":
    main()
