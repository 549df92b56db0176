"""Section 2.3: what training an ascending sequence of C gains from starting at the last z.

    python -m experiments.keerthi2008.seeding [--quick]

Crammer-Singer to a relative gap of 1e-3, on a coarse and on a fine grid of C. The numbers go to
results/seeding.json.
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
from manyclass import MulticlassSVC
from measuring.quick import parse
from measuring.results import read_results, write_results

RESULTS = Path(__file__).parent / "results" / "seeding.json"
GRIDS = {"coarse (x 3.16)": np.geomspace(0.01, 10, 7), "fine (x 1.2)": np.geomspace(0.3, 3, 13)}
DATA = ("news20", "sector", "mnist")


def sequence(split: Split, costs: Any, *, warm: bool) -> dict[str, float]:
    """Train all C in order; return epochs and seconds in all."""
    model = MulticlassSVC(warm_start=warm, fit_intercept=False, random_state=0)
    epochs, seconds = 0, 0.0
    for C in costs:
        began = time.perf_counter()
        model.set_params(C=float(C)).fit(split.X, split.y)
        seconds += time.perf_counter() - began
        epochs += model.n_iter_
    return {"epochs": epochs, "seconds": round(seconds, 3)}


def main() -> None:
    """Run what is asked for."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    args = parse(parser)
    if args.quick:
        print([sequence(dataset("tiny"), (0.1, 1.0), warm=warm) for warm in (True, False)])
        return
    results = read_results(RESULTS)
    for name, split in available(DATA, dataset):
        for grid, costs in GRIDS.items():
            found = {
                start: sequence(split, costs, warm=start == "seeded")
                for start in ("cold", "seeded")
            }
            results[f"{name}, {grid}"] = found
            write_results(RESULTS, results)
            print(name, grid, found, flush=True)


if __name__ == "__main__":
    main()
