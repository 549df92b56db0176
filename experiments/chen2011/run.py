"""The experiments of Chen et al. 2011, figures 1 to 4.

    python -m experiments.chen2011.run [--only news20 mnist] [--cutting-planes] [--page-only]
        [--quick]

measures one data set after the other, writes results/NAME.json, then makes the figures and the
tables of README.md from all that is saved. With --cutting-planes only the cutting planes of figure
4, and MulticlassSVC next to them, are measured and added to the saved results.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from experiments.chen2011 import exact, page, training
from experiments.chen2011.measured import read_all, save
from experiments.chen2011.settings import ONE_VS_REST, SETTINGS, Setting, checkpoints, row_order
from measuring.datasets.base import Data
from measuring.datasets.tiny import TINY
from measuring.header import machine
from measuring.quick import parse

HERE = Path(__file__).parent
# Of the machines with an alpha of their own: binary ones take the most time.
N_SEEDS_OWN = 3
QUICK = Setting(TINY, (50, 100), 1200, 1100, n_seeds=3, alphas=(1e-3, 1e-2), cutting_seconds=0.5)


def measure(setting: Setting, data: Data) -> dict[str, Any]:
    """Measure everything on one data set."""
    start = time.perf_counter()
    multi = [method for method in ONE_VS_REST.values() if method in setting.methods]
    searched = training.try_alphas(data, multi, setting.steps, setting.alphas)
    beside = compared_alphas(setting, data)
    best = {method: training.best_alpha(found) for method, found in searched.items()}
    own = {method: training.best_alpha(found) for method, found in beside.items()}
    print("alpha:", best, own, f"{time.perf_counter() - start:.0f} s", flush=True)
    # The perceptron's predictions do not depend on it.
    alphas = {method: best.get(method, best["SVM"]) for method in setting.methods}
    by_size = [curve for n in sizes(setting, data) for curve in curves(setting, data, n, alphas)]
    print(f"sizes: {time.perf_counter() - start:.0f} s", flush=True)
    binary = one_vs_rest(setting, data, best, own) if own else []
    print(f"one-vs-rest: {time.perf_counter() - start:.0f} s", flush=True)
    found = {"MulticlassSVC": exact.exact_curve(data, best["SVM"])}
    if setting.peer:
        found["LinearSVC"] = exact.peer_curve(data, best["SVM"])
    return {
        "data": setting.dataset.name,
        **data.describe(),
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "minutes": round((time.perf_counter() - start) / 60, 1),
        "n_seeds": setting.n_seeds,
        "alpha": best,
        "held_out": searched,
        "held_out_one_vs_rest": beside,
        "exact": found,
        "cutting_planes": cutting_planes(setting, data, best["SVM"]) if setting.peer else None,
        "by_size": by_size,
        "one_vs_rest": binary,
    }


def cutting_planes(setting: Setting, data: Data, alpha: float) -> dict[str, Any]:
    """Measure the cutting planes, and before them the tolerances of ``MulticlassSVC``."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "MulticlassSVC": exact.exact_curve(data, alpha),
        "cutting plane": exact.cutting_plane_curve(data, alpha, setting.cutting_seconds),
    }


def compared_alphas(setting: Setting, data: Data) -> dict[str, dict[str, float]]:
    """Try all alphas with multi-class and binary machines, after figure 3's steps."""
    if not setting.binary_steps:
        return {}
    methods = [*ONE_VS_REST.values(), *ONE_VS_REST]
    return training.try_alphas(data, methods, setting.binary_steps, setting.alphas)


def sizes(setting: Setting, data: Data) -> list[int]:
    """Return the training sizes, all rows last."""
    return [*setting.sizes, data.X.shape[0]]


def curves(setting: Setting, data: Data, n: int, alphas: dict[str, float]) -> list[dict[str, Any]]:
    """Train all methods on n rows, with every seed."""
    seconds: dict[str, list[list[float]]] = {method: [] for method in alphas}
    accuracies: dict[str, list[list[float]]] = {method: [] for method in alphas}
    for seed in range(setting.n_seeds):
        for method, *curve in training.curves_by_size(data, n, seed, alphas, setting.steps):
            seconds[method].append(curve[0])
            accuracies[method].append(curve[1])
    return [
        {
            "method": method,
            "n": n,
            "steps": checkpoints(setting.steps),
            "seconds": [median(column) for column in zip(*seconds[method], strict=True)],
            "accuracies": accuracies[method],
        }
        for method in alphas
    ]


def one_vs_rest(
    setting: Setting, data: Data, shared: dict[str, float], own: dict[str, float]
) -> list[dict[str, Any]]:
    """Train multi-class and binary machines on the same rows, for figure 3.

    First all of a loss with the alpha of figures 1 and 2, then each with the best one for so many
    steps.
    """
    runs = [(method, shared[method], setting.n_seeds) for method in ONE_VS_REST.values()]
    runs += [(method, shared[like], setting.n_seeds) for method, like in ONE_VS_REST.items()]
    runs += [(method, alpha, N_SEEDS_OWN) for method, alpha in own.items()]
    # Every other one: to score the test part with so many machines takes as long as to train them.
    marks = checkpoints(setting.binary_steps)[::-1][::2][::-1]
    n = data.X.shape[0]
    accuracies: list[list[list[float]]] = [[] for _ in runs]
    for seed in range(setting.n_seeds):
        rows = row_order(np.random.default_rng([seed, n]), n, setting.binary_steps)
        X, labels = data.X[rows], data.labels[rows]
        rest = X, labels, marks, training.rows_for_test(data), data.n_classes
        for found, (method, alpha, n_seeds) in zip(accuracies, runs, strict=True):
            if seed >= n_seeds:
                continue
            if method in ONE_VS_REST:
                found.append(training.one_vs_rest_curve(method, alpha, *rest))
            else:
                model = training.model_of(method, alpha)
                found.append(training.learning_curve(model, *rest)[1])
    return [
        {"method": method, "alpha": alpha, "steps": marks, "accuracies": found}
        for (method, alpha, _), found in zip(runs, accuracies, strict=True)
    ]


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--page-only", action="store_true", help="page from the saved results")
    parser.add_argument("--cutting-planes", action="store_true", help="measure only these")
    options = parse(parser, only=["news20"], page_only=False, cutting_planes=False)
    for name in [] if options.page_only else options.only:
        setting = QUICK if options.quick else SETTINGS[name]
        skipped, reason = setting.dataset.skip()
        if skipped:
            print(f"{name} skipped: {reason}")
            continue
        if options.cutting_planes and not setting.peer:
            continue
        print(name, flush=True)
        path, data = HERE / "results" / f"{name}.json", setting.dataset.load()
        if options.cutting_planes:
            found = read_all(path.parent)[name]
            added = cutting_planes(setting, data, found["alpha"]["SVM"])
            save(path, {**found, "cutting_planes": added})
        else:
            save(path, measure(setting, data))
    page.write(HERE)


if __name__ == "__main__":
    main()
