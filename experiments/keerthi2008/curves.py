"""Figures 1 to 5, sections 2.2 and 3: (D* - D)/D* and test accuracy against seconds.

    python -m experiments.keerthi2008.curves [--only figure3] [--limit 30] [--quick]

One thread, float64, no intercept. The numbers go to results/FIGURE.json; curves that are there are
not measured again.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments import MissingDataError
from experiments.keerthi2008.data import dataset
from experiments.keerthi2008.methods import (
    LIBLINEAR,
    make_problem,
    optimum,
    record,
    record_liblinear,
)
from measuring.quick import parse
from measuring.results import read_results, write_results

RESULTS = Path(__file__).parent / "results"
CS, WW, OVR = "crammer_singer", "weston_watkins", "one_vs_rest"
HEURISTICS = ("SDM", "SDM without heuristics")
THREE = ("SDM", "EG", "cutting plane")
ALL = (*THREE, "cutting plane without line search", "default", LIBLINEAR)


@dataclass(frozen=True)
class Panel:
    """The runs of one panel of a figure."""

    data: str
    formulation: str
    C: float
    methods: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name in the results."""
        return f"{self.data} {self.formulation} C={self.C:g}"


FIGURES = {
    "figure1": [Panel(d, CS, 1.0, HEURISTICS) for d in ("mnist", "covtype100k")],
    "figure2": [Panel("mnist", CS, C, THREE) for C in (10.0, 0.1)],
    "figure3": [
        Panel(d, CS, 1.0, ALL) for d in ("news20", "sector", "mnist", "covtype100k", "rcv1-shape")
    ],
    "figure4": [Panel(d, WW, 1.0, HEURISTICS) for d in ("mnist", "covtype100k")],
    "figure5": [
        Panel(d, f, 1.0, ("SDM",)) for d in ("mnist", "covtype100k") for f in (OVR, CS, WW)
    ],
    "section22": [Panel(d, CS, 1.0, ("SDM", "most violating")) for d in ("dna", "usps", "sector")],
    "section3": [
        Panel(d, WW, 1.0, ("SDM", "most violating")) for d in ("dna", "satimage", "letter")
    ],
}
QUICK = [
    Panel("tiny", CS, 0.1, (*ALL, "most violating")),
    Panel("tiny", WW, 0.1, (*HEURISTICS, "most violating")),
]


def measure(
    panel: Panel, limit: float, found: dict[str, Any] | None = None, tol: float = 1e-7
) -> dict[str, Any]:
    """Run the methods of a panel that are not found yet, each for the limit in seconds at most."""
    curves = list(found["curves"]) if found else []
    missing = [m for m in panel.methods if m not in {curve["method"] for curve in curves}]
    if found and not missing:
        return found
    split = dataset(panel.data)
    problem = make_problem(split, panel.formulation, panel.C)
    best = found["optimum"] if found else optimum(problem, tol, 3 * limit)
    for method in missing:
        print(f"{panel.name}: {method}", flush=True)
        if method == LIBLINEAR:
            curves.append(record_liblinear(split, problem, best, limit).as_dict())
        else:
            curves.append(record(method, split, problem, best, limit).as_dict())
    best = max([best, *(max(c["dual"]) for c in curves if c["dual"])])
    return {"optimum": best, "limit": limit, "curves": curves}


def main() -> None:
    """Run what is asked for."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=list(FIGURES))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a run, at most")
    args = parse(parser)
    if args.quick:
        for panel in QUICK:
            measure(panel, 0.3)
        return
    for figure in args.only:
        path = RESULTS / f"{figure}.json"
        results = read_results(path)
        for panel in FIGURES[figure]:
            try:
                results[panel.name] = measure(panel, args.limit, results.get(panel.name))
            except MissingDataError as error:
                print(f"{panel.name}: skipped: {error}")
            write_results(path, results)


if __name__ == "__main__":
    main()
