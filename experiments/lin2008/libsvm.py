"""LIBSVM with a linear kernel beside linear solvers, on growing parts of news20.

    python -m experiments.lin2008.libsvm [--limit 600] [--quick]

C = 1, no probabilities. LIBSVM (scikit-learn's SVC) trains a machine for each pair of classes;
LIBLINEAR (LinearSVC) and MulticlassSVC train Crammer-Singer's, MulticlassSVC to a proven 1e-3.
LIBSVM is left out beyond the limit. The numbers go to results/libsvm.json.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC, LinearSVC

from experiments import MissingDataError, Split, load_named
from manyclass import MulticlassSVC
from manyclass.datasets.synthetic import make_text_corpus
from measuring.quick import parse
from measuring.results import read_results, write_results

RESULTS = Path(__file__).parent / "results" / "libsvm.json"
SIZES = (1_000, 2_000, 4_000, 8_000, 15_935)


def makers() -> dict[str, Any]:
    """Return the three programs."""
    return {
        "LIBSVM": SVC(kernel="linear", cache_size=2000),
        "LIBLINEAR": LinearSVC(multi_class="crammer_singer", random_state=0, max_iter=100_000),
        "manyclass": MulticlassSVC(random_state=0),
    }


def exponent(points: list[dict[str, Any]]) -> float:
    """Return b of seconds = a rows^b, fitted to the points by least squares of logarithms."""
    rows, seconds = (np.log([p[key] for p in points]) for key in ("rows", "seconds"))
    return float(np.polyfit(rows, seconds, 1)[0])


def compare(split: Split, sizes: tuple[int, ...], limit: float) -> dict[str, Any]:
    """Measure the three on the first rows of each size, in random order."""
    order = np.random.default_rng(0).permutation(len(split.y))
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in makers()}
    for size in sizes:
        part = order[:size]
        for name, model in makers().items():
            if found[name] and found[name][-1]["seconds"] > limit:
                continue
            began = time.perf_counter()
            model.fit(split.X[part], split.y[part])
            seconds = time.perf_counter() - began
            accuracy = 100 * model.score(split.X_test, split.y_test)
            point = {"rows": size, "seconds": round(seconds, 3), "accuracy": round(accuracy, 2)}
            found[name].append(point)
            print(name, point, flush=True)
    return {
        name: {"points": points, "exponent": round(exponent(points), 2)}
        for name, points in found.items()
    }


def main() -> None:
    """Run it."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a fit, at most")
    args = parse(parser)
    if args.quick:
        X, y = make_text_corpus(500, 300, 5, words_per_example=20, random_state=0)
        compare(Split(X[:400], y[:400], X[400:], y[400:]), (200, 400), args.limit)
        return
    try:
        split = load_named("news20")
    except MissingDataError as error:
        print(f"skipped: {error}")
        return
    results = read_results(RESULTS)
    results["news20"] = compare(split, SIZES, args.limit)
    write_results(RESULTS, results)


if __name__ == "__main__":
    main()
