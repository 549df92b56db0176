"""Bounds of the leave-one-out error from one fit of Crammer-Singer to a gap of 1e-6, in float64.

    python -m benchmarks.runs.leave_one_out [--data satimage letter] [--quick]

Writes leave_one_out.json and prints the table: "decided" is the share of rows whose prediction by a
model without them is proven.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from manyclass import loo_error_bounds
from measuring.datasets.base import Data, find_datasets, sklearn_rows
from measuring.header import header
from measuring.quick import parse
from measuring.results import RESULTS, markdown, write_results

FILE = RESULTS / "leave_one_out.json"
COSTS = {
    "satimage": (0.1, 1.0),
    "letter": (0.1, 1.0),
    "news20": (0.1, 1.0),
    "sector": (0.1, 1.0),
    "mnist": (0.01, 0.1),
}


def measure(data: Data, C: float) -> dict[str, float]:
    """Return both bounds, and the seconds of the call."""
    X = sklearn_rows(data.X)
    began = time.perf_counter()
    bounds = loo_error_bounds(X, data.labels, C=C, random_state=0)
    seconds = time.perf_counter() - began
    return {"lower": bounds.lower, "upper": bounds.upper, "seconds": seconds}


def table(result: dict[str, Any]) -> str:
    """Return a line for each data set and C."""
    rows = []
    for run in result["runs"]:
        lower, upper = 100 * run["lower"], 100 * run["upper"]
        decided = f"{100 - (upper - lower):.1f} %"
        bounds = f"{lower:.1f} to {upper:.1f} %"
        rows.append([run["data"], f"{run['C']:g}", bounds, decided, f"{run['seconds']:.1f}"])
    return markdown(["data", "C", "leave-one-out error", "decided", "seconds"], rows, 1)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(COSTS))
    options = parse(parser, data=["tiny"])
    result = header() | {"runs": []}
    for name in options.data:
        data = find_datasets()[name].load()
        for C in COSTS.get(name, (0.1, 1.0)):
            result["runs"].append({"data": name, "C": C, **measure(data, C)})
            print(result["runs"][-1], flush=True)
    write_results(FILE, result)
    print(table(result))


if __name__ == "__main__":
    main()
