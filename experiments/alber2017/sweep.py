"""Tables 3, 4 and 5 and figure 3 of Alber et al. 2017: error, density and F1 over C.

    python -m experiments.alber2017.sweep [--only lshtc1] [--seeds] [--quick]

Trains OVR, CS, WW and LLW at log10 C = -3, ..., 1 (LLW also at 2, 3, 4: table 5) without an
intercept, to the papers' epsilon of 0.1, on one thread. The numbers go to sweep.json, tables to
README.md, figure 3 to figure3.png. lshtc-large-shape is made up: a tenth of LSHTC-large.
With --seeds, three seeds are trained on lshtc1; their errors go to seeds.json and README.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from experiments import Split, available, load_named
from manyclass import MulticlassSVC
from manyclass.datasets.synthetic import corpus_shape, make_text_corpus
from measuring.quick import parse
from measuring.results import (
    add_result,
    markdown,
    place,
    read_results,
    write_between,
    write_results,
)

HERE = Path(__file__).parent
RESULTS = HERE / "sweep.json"
SEEDS = HERE / "seeds.json"
N_SEEDS = 3  # runs of the paper
MACHINES = {
    "OVR": "one_vs_rest",
    "CS": "crammer_singer",
    "WW": "weston_watkins",
    "LLW": "lee_lin_wahba",
}
# Trained by LIBLINEAR (scikit-learn's LinearSVC), -s 4 and -s 3.
LIBLINEAR = {
    "LIBLINEAR CS": {"multi_class": "crammer_singer"},
    "LIBLINEAR OVR": {"loss": "hinge"},
}
POWERS = (-3, -2, -1, 0, 1)
TABLE5 = (2, 3, 4)  # LLW
THREE = ("OVR", "CS", "WW")
DATA = {
    "lshtc1": (*MACHINES, *LIBLINEAR),
    "lshtc-large-shape": (*MACHINES, *LIBLINEAR),
    "wordnet": THREE,
}
OF_TABLE5 = "lshtc1"
SHAPE, SHAPE_SCALE, SHAPE_TEST = "lshtc-large", 0.1, 3_000


def dataset(name: str) -> Split:
    """Return a data set.

    Raises
    ------
    MissingDataError
        If its files are not there.
    """
    if name != "lshtc-large-shape":
        return load_named(name)
    X, y = make_text_corpus(**corpus_shape(SHAPE, SHAPE_SCALE), random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[:SHAPE_TEST], order[SHAPE_TEST:]
    return Split(X[train], y[train], X[test], y[test])


def share_of_weights(model: Any) -> float:
    """Share of the weights above 1e-8 in absolute value, in per cent."""
    values = model.coef_.data if sp.issparse(model.coef_) else model.coef_.ravel()
    n_weights = model.coef_.shape[0] * model.coef_.shape[1]
    return 100 * float((np.abs(values) > 1e-8).sum()) / n_weights


def make_model(machine: str, power: float, max_iter: int, seed: int = 0) -> Any:
    """Return the machine at this C."""
    if machine in LIBLINEAR:
        return LinearSVC(
            C=10.0**power,
            tol=0.1,
            fit_intercept=False,
            random_state=0,
            max_iter=10_000,
            **LIBLINEAR[machine],
        )
    return MulticlassSVC(
        formulation=MACHINES[machine],
        C=10.0**power,
        stopping="kkt",
        tol=0.1,
        fit_intercept=False,
        random_state=seed,
        max_iter=max_iter,
    )


def measured(split: Split, machine: str, power: float, max_iter: int = 1000) -> dict[str, Any]:
    """Train one machine at one C; return what the tables show."""
    model = make_model(machine, power, max_iter)
    began = time.perf_counter()
    model.fit(split.X, split.y)
    seconds = time.perf_counter() - began
    predicted = model.predict(split.X_test)
    certificate = getattr(model, "certificate_", None)
    n_duals = len(split.y) * (len(model.classes_) - 1)
    alphas = None if certificate is None else 100 * model.history_[-1].n_duals / n_duals
    return {
        "error": round(100 * float((predicted != split.y_test).mean()), 2),
        "f1_macro": round(100 * f1_score(split.y_test, predicted, average="macro"), 2),
        "density": round(share_of_weights(model), 3),
        "seconds": round(seconds, 2),
        "gap": None if certificate is None else float(certificate.relative_gap),
        "alpha_density": None if alphas is None else round(alphas, 3),
    }


def errors_of_seeds(split: Split, machine: str, power: float, max_iter: int = 1000) -> list[float]:
    """Train with each seed; return the errors in per cent."""
    models = [make_model(machine, power, max_iter, seed) for seed in range(N_SEEDS)]
    scores = [model.fit(split.X, split.y).score(split.X_test, split.y_test) for model in models]
    return [round(100 * (1 - float(score)), 2) for score in scores]


def seed_table(errors: dict[str, list[float]]) -> str:
    """Mean and standard deviation of the errors of the seeds, by machine and C."""
    rows = []
    for machine in MACHINES:
        found = [errors.get(f"{machine} {power}") for power in POWERS]
        cells = [f"{np.mean(e):.2f} ± {np.std(e, ddof=1):.2f}" if e else "" for e in found]
        rows.append([machine, *cells])
    return markdown(["machine", *(f"log10 C = {power}" for power in POWERS)], rows, 1)


def measure_seeds(split: Split) -> None:
    """Train three seeds; what was measured is not repeated."""
    for machine in MACHINES:
        for power in POWERS:
            name = f"{machine} {power}"
            if name not in read_results(SEEDS):
                errors = errors_of_seeds(split, machine, float(power))
                add_result(SEEDS, name, errors)
                print(name, errors, flush=True)
    write_between(HERE / "README.md", "seeds", seed_table(read_results(SEEDS)))


def tables(results: dict[str, Any]) -> str:
    """One table for each data set: error, density, macro F1 and seconds of every machine and C."""
    parts = []
    for data, runs in results.items():
        lines = [
            f"**{data}**",
            "",
            "| machine | log10 C | error | macro F1 | density of W, % | seconds | proven gap |",
            "|---|--:|--:|--:|--:|--:|--:|",
        ]
        for name, run in runs.items():
            machine, power = name.rsplit(maxsplit=1)
            gap = "" if run["gap"] is None else f"{run['gap']:.1g}"
            lines.append(
                f"| {machine} | {power} | {run['error']:.2f} | {run['f1_macro']:.2f} | "
                f"{run['density']:.2f} | {run['seconds']:.1f} | {gap} |"
            )
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def table5(runs: dict[str, Any]) -> str:
    """Lee-Lin-Wahba at large C: error, F1, density of W and of alpha."""
    lines = [
        "| log10 C | error | micro F1 | macro F1 | density of W, % | of alpha, % |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for power in TABLE5:
        run = runs[f"LLW {power}"]
        lines.append(
            f"| {power} | {run['error']:.2f} | {100 - run['error']:.2f} | {run['f1_macro']:.2f} | "
            f"{run['density']:.2f} | {run['alpha_density']:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run what is asked for; what was measured is not repeated."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--machines", nargs="+", default=[*MACHINES, *LIBLINEAR])
    parser.add_argument("--seeds", action="store_true", help="three seeds on lshtc1 instead")
    args = parse(parser)
    if args.quick:
        quick(seeds=args.seeds)
        return
    if args.seeds:
        for _, split in available([OF_TABLE5], dataset):
            measure_seeds(split)
        return
    for data, split in available(args.only, dataset):
        for machine in DATA[data]:
            powers = POWERS + (TABLE5 if (data, machine) == (OF_TABLE5, "LLW") else ())
            for power in powers if machine in args.machines else ():
                _measure_once(data, split, machine, power)
    results = read_results(RESULTS)
    write_between(HERE / "README.md", "sweep", tables(results))
    write_between(HERE / "README.md", "table 5", table5(results[OF_TABLE5]))
    draw(results)


def quick(*, seeds: bool) -> None:
    """Print tables of made-up data, with a few trainings."""
    X, y = make_classification(300, n_informative=8, n_classes=5, random_state=0)
    rows = sp.csr_array(X)
    split = Split(rows[:200], y[:200], rows[200:], y[200:])
    if seeds:
        print(seed_table({f"{m} 0": errors_of_seeds(split, m, 0.0, 50) for m in MACHINES}))
    else:
        print(tables({"tiny": {f"{m} 0": measured(split, m, 0.0, 50) for m in MACHINES}}))


def draw(results: dict[str, Any]) -> None:
    """Draw figure 3: error, density and seconds over C, a column for each data set."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    rows = {"error": "error, %", "density": "density of W, %", "seconds": "seconds"}
    fig, axes = plt.subplots(3, len(results), figsize=(4 * len(results), 8.4), squeeze=False)
    for column, (data, runs) in zip(axes.T, results.items(), strict=True):
        for machine in dict.fromkeys(name.rsplit(maxsplit=1)[0] for name in runs):
            points = [p for p in POWERS if f"{machine} {p}" in runs]
            for ax, (key, label) in zip(column, rows.items(), strict=True):
                values = [runs[f"{machine} {p}"][key] for p in points]
                ax.plot(points, values, "x:" if machine in LIBLINEAR else "o-", label=machine)
                ax.set(ylabel=label, yscale="linear" if key == "error" else "log")
                ax.grid(alpha=0.3)
        column[0].set_title(data)
        column[-1].set_xlabel("log10 C")
        column[0].legend(fontsize=7)
    fig.tight_layout()
    fig.savefig(place(HERE / "figure3.png"), dpi=110)
    plt.close(fig)


def _measure_once(data: str, split: Split, machine: str, power: int) -> None:
    results = read_results(RESULTS)
    runs = results.setdefault(data, {})
    name = f"{machine} {power}"
    if name not in runs:
        runs[name] = measured(split, machine, float(power))
        write_results(RESULTS, results)
        print(data, name, runs[name], flush=True)


if __name__ == "__main__":
    main()
