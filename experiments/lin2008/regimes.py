"""Many more rows than features, many fewer, both large: seconds and epochs of different methods.

    python -m experiments.lin2008.regimes [--only letter] [--repeats 3] [--quick]

Crammer-Singer, C = 1, with intercept, proven to a relative gap of 1e-3, one thread, float32. The
methods alternate. The numbers go to results/regimes.json; `page` writes the table.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits

from experiments import Split, available, load_named
from manyclass import MulticlassSVC
from measuring.header import machine
from measuring.quick import parse
from measuring.results import add_result, markdown

RESULTS = Path(__file__).parent / "results" / "regimes.json"
REGIMES = {
    "many more rows than features": ("covtype100k", "letter"),
    "many fewer": ("sector", "lshtc1"),
    "both large": ("news20",),
}
METHODS: dict[str, dict[str, Any]] = {
    "default": {},
    "sequential_dual": {"solver": "sequential_dual"},
    "sparse weights": {"weights": "sparse"},
    "dense rows": {},
}
MOST_DENSE = 1_000  # features of dense rows, at most
REPEATS = 3
ENOUGH = 20.0  # CPU seconds of a method on a data set, after which it is not repeated


def methods_for(split: Split) -> list[str]:
    """Return the methods for a data set: dense rows only if they have few features."""
    return [m for m in METHODS if m != "dense rows" or split.X.shape[1] <= MOST_DENSE]


def trained(split: Split, method: str) -> dict[str, float]:
    """Train once; return CPU seconds, epochs, the proven gap and the accuracy in per cent."""
    X: Any = split.X.toarray() if method == "dense rows" else split.X
    model = MulticlassSVC(tol=1e-3, random_state=0, n_jobs=1, **METHODS[method])
    began = time.process_time()
    model.fit(X, split.y)
    seconds = time.process_time() - began
    return {
        "seconds": round(seconds, 4),
        "epochs": model.n_iter_,
        "gap": float(model.certificate_.relative_gap),
        "accuracy": round(100 * float(model.score(split.X_test, split.y_test)), 2),
    }


def compare(split: Split, repeats: int) -> dict[str, Any]:
    """Train by all methods in turn; return the sizes and, for each method, the median run."""
    runs: dict[str, list[dict[str, float]]] = {method: [] for method in methods_for(split)}
    for _ in range(repeats):
        for method, found in runs.items():
            if sum(run["seconds"] for run in found) < ENOUGH:
                found.append(trained(split, method))
    middle = {
        method: {
            **found[0],
            "seconds": median(run["seconds"] for run in found),
            "runs": len(found),
        }
        for method, found in runs.items()
    }
    shape = [*split.X.shape, len(np.unique(split.y))]
    return {"shape": shape, "methods": middle}


def table(results: dict[str, Any]) -> str:
    """Seconds and epochs of each method, a row for each data set."""
    rows = []
    for regime, names in REGIMES.items():
        for name in names:
            if name not in results:
                continue
            found = results[name]
            cells = [f"{size:,}" for size in found["shape"]]
            for method in METHODS:
                run = found["methods"].get(method)
                cells.append(f"{run['seconds']:.2g} s, {run['epochs']}" if run else "-")
            rows.append([regime, name, *cells])
    return markdown(["regime", "data", "rows", "features", "classes", *METHODS], rows, 2)


def digits() -> Split:
    """Return handwritten digits, which need no file."""
    X, y = load_digits(return_X_y=True)
    rows = sp.csr_array((X / 16).astype(np.float32))
    return Split(rows[:600], y[:600], rows[600:900], y[600:900])


def main() -> None:
    """Run what is asked for."""
    warnings.simplefilter("ignore")
    every = [name for names in REGIMES.values() for name in names]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=every, default=every)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parse(parser)
    if options.quick:
        print(table({"letter": compare(digits(), 1)}))
        return
    for name, split in available(options.only, load_named):
        about = {"date": time.strftime("%Y-%m-%d"), "machine": machine()}
        found = compare(split, options.repeats)
        add_result(RESULTS, name, about | found)
        print(name, found, flush=True)


if __name__ == "__main__":
    main()
