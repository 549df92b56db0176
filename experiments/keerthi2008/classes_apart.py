"""Section 4: k binary problems against one problem of all classes, k T(l) against T(k l).

    python -m experiments.keerthi2008.classes_apart [--only mnist] [--quick]

Trains one-vs-rest, Crammer-Singer and Weston-Watkins on growing parts of the rows, C = 1, by
`solver="sequential_dual"` to a proven gap of 1e-3. The numbers go to results/classes_apart.json.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from experiments import Split, available
from experiments.keerthi2008.data import dataset
from experiments.keerthi2008.tables import MACHINES
from experiments.keerthi2008.updates import first_rows
from experiments.lin2008.libsvm import exponent
from manyclass import MulticlassSVC
from measuring.quick import parse
from measuring.results import add_result, markdown

RESULTS = Path(__file__).parent / "results" / "classes_apart.json"
DATA = ("news20", "mnist", "covtype100k")
SHARES = (8, 4, 2, 1)  # all rows divided by these
REPEATS = 3
ENOUGH = 20.0  # CPU seconds with one number of rows, after which it is not repeated


def seconds_of(formulation: str, split: Split) -> float:
    """Return the CPU seconds of a fit on one thread."""
    model = MulticlassSVC(
        formulation=formulation,
        solver="sequential_dual",
        fit_intercept=False,
        random_state=0,
        n_jobs=1,
        max_iter=10_000,
    )
    began = time.process_time()
    model.fit(split.X, split.y)
    return time.process_time() - began


def growth(split: Split, shares: tuple[int, ...], repeats: int) -> dict[str, Any]:
    """Train on each share of the rows, the formulations in turn; return median seconds."""
    sizes = [len(split.y) // share for share in shares]
    found: dict[str, list[float]] = {name: [] for name in MACHINES}
    for size in sizes:
        part = first_rows(split, size)
        runs: list[list[float]] = []
        while len(runs) < repeats and np.sum(runs) < ENOUGH:
            runs.append([seconds_of(f, part) for f in MACHINES.values()])
        for name, seconds in zip(MACHINES, np.median(runs, axis=0), strict=True):
            found[name].append(round(float(seconds), 4))
    return {"rows": sizes, "date": time.strftime("%Y-%m-%d"), "seconds": found}


def table(results: dict[str, Any]) -> str:
    """Seconds over the rows, the exponent, and the ratio to one-vs-rest with all rows."""
    shares = ["all rows" if share == 1 else f"1/{share} of the rows" for share in SHARES]
    header = ["data", "formulation", *shares, "exponent", "relative to OVR, all rows"]
    rows = []
    for data, found in results.items():
        for name, seconds in found["seconds"].items():
            points = zip(found["rows"], seconds, strict=True)
            cells = [f"{s:.3g} s" for s in seconds]
            cells.append(f"{exponent([{'rows': n, 'seconds': s} for n, s in points]):.2f}")
            cells.append(f"{seconds[-1] / found['seconds']['OVR'][-1]:.2f}")
            rows.append([data, name, *cells])
    return markdown(header, rows, 2)


def main() -> None:
    """Run what is asked for."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=DATA, default=list(DATA))
    args = parse(parser)
    if args.quick:
        print(table({"tiny": growth(dataset("tiny"), SHARES, 1)}))
        return
    for name, split in available(args.only, dataset):
        found = growth(split, SHARES, REPEATS)
        add_result(RESULTS, name, found)
        print(name, found, flush=True)


if __name__ == "__main__":
    main()
