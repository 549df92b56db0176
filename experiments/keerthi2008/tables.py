"""Tables 4.2 and 4.3: test accuracy of OVR, CS and WW over ten random splits, and its significance.

    python -m experiments.keerthi2008.tables [--only news20] [--unit-rows] [--quick]

Train and test rows are pooled and split ten times, stratified, 60 : 20 : 20. C is chosen by the
accuracy on the second part, and the machine trained again on the first two. The numbers go to
results/tables.json. With --unit-rows, rows are divided by their length, of the two data sets whose
rows differ in length; the numbers go to results/unit_rows.json.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from experiments import available
from experiments.keerthi2008.data import dataset
from manyclass import MulticlassSVC
from measuring.quick import parse
from measuring.results import read_results, write_results

RESULTS = Path(__file__).parent / "results" / "tables.json"
UNIT_ROWS = RESULTS.with_name("unit_rows.json")
MACHINES = {"OVR": "one_vs_rest", "CS": "crammer_singer", "WW": "weston_watkins"}
COSTS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
DATA = ("news20", "sector", "mnist", "covtype100k")
UNNORMALIZED = ("covtype100k", "mnist")
SPLITS = 10
# Accuracy in per cent and its deviation: OVR, CS, WW.
PAPER = {
    "news20": ((85.39, 0.37), (85.26, 0.37), (85.10, 0.43)),
    "sector": ((94.83, 0.56), (95.17, 0.62), (94.37, 0.57)),
    "mnist": ((91.46, 0.23), (92.50, 0.20), (91.84, 0.21)),
    "rcv1": ((90.85, 0.10), (91.19, 0.07), (91.10, 0.11)),
    "cover": ((71.35, 0.33), (72.31, 0.37), (72.40, 0.25)),
}
# p of OVR against CS, and against WW.
PAPER_P = {
    "news20": (0.43, 0.01),
    "sector": (0.01, 3.9e-3),
    "mnist": (2.0e-3, 2.0e-3),
    "rcv1": (2.0e-3, 2.0e-3),
    "cover": (2.0e-3, 2.0e-3),
}


def pooled(name: str) -> tuple[Any, Any]:
    """Return all rows and classes of a data set, in float32."""
    split = dataset(name)
    X = sp.csr_array(sp.vstack([split.X, split.X_test], format="csr"))
    return X.astype(np.float32), np.concatenate([split.y, split.y_test])


def trained(formulation: str, C: float, X: Any, y: Any, tol: float) -> MulticlassSVC:
    """Train one machine, without intercept as in the paper."""
    model = MulticlassSVC(
        formulation=formulation, C=C, tol=tol, fit_intercept=False, random_state=0, max_iter=300
    )
    return model.fit(X, y)


def one_split(X: Any, y: Any, seed: int, tol: float = 1e-3) -> dict[str, dict[str, float]]:
    """Accuracy on the test part of a split, and the C that was chosen, of each machine."""
    rest, test = train_test_split(
        np.arange(len(y)), test_size=0.2, stratify=_classes(y), random_state=seed
    )
    train, held = train_test_split(
        rest, test_size=0.25, stratify=_classes(y[rest]), random_state=seed
    )
    found = {}
    for machine, formulation in MACHINES.items():
        scores = [
            trained(formulation, C, X[train], y[train], tol).score(X[held], y[held]) for C in COSTS
        ]
        C = COSTS[int(np.argmax(scores))]
        model = trained(formulation, C, X[rest], y[rest], tol)
        found[machine] = {"accuracy": 100 * model.score(X[test], y[test]), "C": C}
    return found


def _classes(y: Any) -> Any:
    """Return the classes to stratify by: those with too few rows together."""
    counts = np.bincount(y)
    return np.where(counts[y] < 10, -1, y)


def p_value(splits: list[Any], machine: str) -> float:
    """Return p of the two-sided Wilcoxon signed-rank test of OVR against a machine.

    Exact with equal differences, too: over all signs of their ranks.
    """
    accuracies = np.array([(s["OVR"]["accuracy"], s[machine]["accuracy"]) for s in splits])
    differences = np.round(accuracies[:, 0] - accuracies[:, 1], 9)
    differences = differences[differences != 0]
    ranks = rankdata(np.abs(differences))
    sums = np.array(list(product((-1, 1), repeat=len(ranks)))) @ ranks
    return float(np.mean(np.abs(sums) >= abs(np.sign(differences) @ ranks) - 1e-9))


def main() -> None:
    """Run what is asked for; splits that were measured are not repeated."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--unit-rows", action="store_true", help="rows of length one")
    args = parse(parser)
    if args.quick:
        splits = [one_split(*pooled("tiny"), seed, tol=1e-2) for seed in range(2)]
        print(splits, p_value(splits, "CS"))
        return
    path = UNIT_ROWS if args.unit_rows else RESULTS
    names = UNNORMALIZED if args.unit_rows else args.only
    for name, (X, y) in available(names, pooled):
        rows = normalize(X) if args.unit_rows else X
        while len(read_results(path).get(name, [])) < SPLITS:
            seed = len(read_results(path).get(name, []))
            began = time.perf_counter()
            found = one_split(rows, y, seed)
            results = read_results(path)  # another process may have written meanwhile
            results[name] = [*results.get(name, []), found]
            write_results(path, results)
            print(name, seed, found, f"{time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
