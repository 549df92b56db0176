"""The best objective known, P*, with a proven lower bound: manyclass in float64.

    python -m benchmarks.reference [--data NAME ...] [--limit SECONDS]

writes what it finds to optima.json, so that a run of the benchmark needn't find it again. An entry
counts only for exactly the same numbers (a checksum of the data) and the same C.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.datasets.base import Data, find_datasets
from manyclass import MulticlassSVC

OPTIMA = Path(__file__).with_name("optima.json")
TOLERANCE = 1e-8
_EPOCHS_AT_A_TIME = 20


@dataclass(frozen=True)
class Reference:
    """Bounds of the optimum: lower <= P* <= primal."""

    primal: float
    lower: float

    @property
    def relative_gap(self) -> float:
        """Largest possible error of ``primal`` as P*, relative."""
        return (self.primal - self.lower) / self.primal

    def improved(self, primal: float) -> Reference:
        """Return the bounds after some weights were seen with this objective."""
        return Reference(min(self.primal, primal), self.lower)


def reference_for(name: str, data: Data, C: float, limit: float) -> Reference:
    """Look P* up, or else solve for at most about ``limit`` seconds."""
    stored = _stored().get(f"{name} C={C:g}")
    if stored is not None and stored["fingerprint"] == data.fingerprint:
        return Reference(stored["primal"], stored["lower"])
    return solve(data, C, limit)


def solve(data: Data, C: float, limit: float) -> Reference:
    """Solve to a relative gap of 1e-8, or as far as the time goes.

    A fit goes on from the last one's dual variables, a few epochs at a time, to look at the clock.
    """
    X = data.X.astype(np.float64)
    model = MulticlassSVC(
        fit_intercept=False, C=C, tol=TOLERANCE, warm_start=True, max_iter=_EPOCHS_AT_A_TIME
    )
    best = Reference(np.inf, -np.inf)
    start = time.perf_counter()
    seed = 0
    while time.perf_counter() - start < limit:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(random_state=seed).fit(X, data.labels)
        proof = model.certificate_
        best = Reference(
            min(best.primal, proof.primal_objective), max(best.lower, proof.dual_objective)
        )
        if best.relative_gap <= TOLERANCE:
            break
        seed += 1
    return best


def _stored() -> dict[str, dict[str, float | str]]:
    return json.loads(OPTIMA.read_text()) if OPTIMA.exists() else {}


def _store(name: str, data: Data, C: float, found: Reference) -> None:
    entry = {"fingerprint": data.fingerprint, **asdict(found)}
    optima = {**_stored(), f"{name} C={C:g}": entry}
    OPTIMA.write_text(json.dumps(dict(sorted(optima.items())), indent=1) + "\n")


def main() -> None:
    """Find and store the optima of some data sets."""
    datasets = find_datasets()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reference")
    parser.add_argument("--data", nargs="+", choices=datasets, default=list(datasets))
    parser.add_argument("--cost", type=float, default=1.0, help="C (default: 1)")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each data set")
    arguments = parser.parse_args()
    for name in arguments.data:
        skipped, reason = datasets[name].skip()
        if skipped:
            print(f"{name}: skipped, {reason}")
            continue
        data = datasets[name].load()
        found = solve(data, arguments.cost, arguments.limit)
        _store(name, data, arguments.cost, found)
        print(f"{name}: P* = {found.primal:.8g}, proven to {found.relative_gap:.1e}", flush=True)


if __name__ == "__main__":
    main()
