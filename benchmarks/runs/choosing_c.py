"""The choice of C: cross-validation over a grid, beside GridSearchCV and LIBLINEAR's -C.

    python -m benchmarks.runs.choosing_c [--data news20 sector letter sector-256d] [--quick]

Seven values of C from 0.01 to 10, five folds (the same ones for both), and the fit on all rows with
the best C; two threads here, two processes there. LIBLINEAR's -C searches a grid of its own,
upwards by powers of two, for one-vs-rest with squared hinge loss only, without a last fit.
``--paths`` measures certified paths instead: fits, seconds, and a fit at the largest C. Both write
choosing_c.json, each its part. ``--draw`` draws docs/figures/choosing_c.png.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC

from benchmarks.peers.solvers.liblinear import Liblinear
from manyclass import CPathDisplay, MulticlassSVC, MulticlassSVCCV, c_path
from measuring.datasets.base import Data, find_datasets
from measuring.header import header
from measuring.quick import parse
from measuring.results import FIGURES, RESULTS, markdown, place, read_results, write_results

GRID = np.logspace(-2, 1, 7)
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
JOBS = 2
TITLES = {
    "crammer_singer": "Crammer-Singer",
    "one_vs_rest_squared": "one-vs-rest, squared hinge",
}
PROBLEMS = {
    "crammer_singer": ({"formulation": "crammer_singer"}, {"multi_class": "crammer_singer"}),
    "one_vs_rest_squared": ({"formulation": "one_vs_rest", "loss": "squared_hinge"}, {}),
}
EPSILON = 0.01
FIGURE = FIGURES / "choosing_c.png"
FILE = RESULTS / "choosing_c.json"


def rows_of(data: Data) -> Any:
    """Return X as an array where it has no zeros."""
    dense = data.X.nnz == data.X.shape[0] * data.X.shape[1]
    return data.X.toarray() if dense else data.X


def timed(action: Any) -> tuple[Any, float]:
    """Return a result, and the seconds that it took."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = action()
    return result, time.perf_counter() - began


def grid_search(data: Data, parameters: dict[str, Any]) -> dict[str, Any]:
    """Search with scikit-learn's LinearSVC."""
    X = rows_of(data).astype(np.float64)
    if sp.issparse(X):
        X = sp.csr_matrix(X)
    model = LinearSVC(random_state=0, **parameters)
    search = GridSearchCV(model, {"C": GRID}, cv=FOLDS, n_jobs=JOBS)
    _, seconds = timed(lambda: search.fit(X, data.labels))
    scores = search.cv_results_["mean_test_score"]
    deviation = search.cv_results_["std_test_score"][search.best_index_]
    return {
        "seconds": seconds,
        "C": float(search.best_params_["C"]),
        "scores": scores.tolist(),
        "standard_error": float(deviation / np.sqrt(FOLDS.get_n_splits() - 1)),
    }


def limited_grid_search(name: str, problem: str, limit: float) -> dict[str, Any] | None:
    """Search in a process that is ended after some seconds; None then."""
    command = [sys.executable, "-m", __spec__.name, "--grid-search", name, problem]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            out, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None
    found: dict[str, Any] = json.loads(out)
    return found


def cross_validation(data: Data, parameters: dict[str, Any]) -> dict[str, Any]:
    """Search with MulticlassSVCCV."""
    model = MulticlassSVCCV(Cs=GRID, cv=FOLDS, n_jobs=JOBS, random_state=0, **parameters)
    X = rows_of(data)
    _, seconds = timed(lambda: model.fit(X, data.labels))
    return {
        "seconds": seconds,
        "C": model.C_,
        "scores": np.nan_to_num(model.scores_.mean(axis=0), nan=-1.0).tolist(),
        "gaps": np.nan_to_num(model.gaps_.max(axis=0), nan=-1.0).tolist(),
        "refit_seconds": model.refit_time_,
    }


def liblinear_search(data: Data) -> dict[str, Any]:
    """Search with ``train -C -s 2 -v 5``."""
    liblinear = Liblinear("liblinear", {"one_vs_rest_squared": 2})._module()
    X = sp.csr_matrix(data.X.astype(np.float64))
    rows = liblinear.problem(data.labels.astype(np.float64), X)
    found, seconds = timed(lambda: liblinear.train(rows, "-C -s 2 -v 5 -B 1 -q"))
    return {"seconds": seconds, "C": float(found[0]), "score": float(found[2])}


def path(data: Data, formulation: str) -> dict[str, Any]:
    """Trace the certified path at one percent over the grid's range."""
    X = rows_of(data)
    found, seconds = timed(
        lambda: c_path(
            X,
            data.labels,
            C_min=GRID[0],
            C_max=GRID[-1],
            epsilon=EPSILON,
            formulation=formulation,
            random_state=0,
        )
    )
    last = MulticlassSVC(formulation=formulation, C=GRID[-1], random_state=0)
    _, one = timed(lambda: last.fit(X, data.labels))
    worst = found.envelope.widest(found.C_min, found.C_max)[1]
    return {"fits": len(found.Cs), "seconds": seconds, "one_fit": one, "gap": worst}


def draw(data: Data) -> None:
    """Draw the scores of cross-validation, and the gap of a path, against C."""
    from measuring.style import STYLE, plt

    plt.rcParams.update(STYLE)
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
    model = MulticlassSVCCV(Cs=GRID, cv=FOLDS, n_jobs=JOBS, random_state=0)
    CPathDisplay.from_estimator(model.fit(data.X, data.labels), ax=axes[0])
    path = c_path(data.X, data.labels, C_min=GRID[0], C_max=GRID[-1], random_state=0)
    CPathDisplay.from_path(path, ax=axes[1])
    figure.savefig(place(FIGURE), dpi=120)


def compare(
    name: str, data: Data, problem: str, limit: float, *, liblinear: bool
) -> dict[str, Any]:
    """Measure all on a data set, and print lines."""
    ours = cross_validation(data, PROBLEMS[problem][0])
    theirs = limited_grid_search(name, problem, limit)
    print(f"{name}, {problem}: {_line(ours)}", flush=True)
    found = {"data": name, "problem": problem, "ours": ours, "theirs": theirs, "limit": limit}
    if theirs is None:
        print(f"    GridSearchCV: over {limit:g} s, over {limit / ours['seconds']:.0f} times that")
    else:
        ratio = theirs["seconds"] / ours["seconds"]
        print(f"    GridSearchCV: {_line(theirs)}, ratio {ratio:.1f}", flush=True)
    if liblinear and problem == "one_vs_rest_squared":
        other = found["liblinear"] = liblinear_search(data)
        print(
            f"    LIBLINEAR -C: {other['seconds']:.2f} s, C {other['C']:.3g}, "
            f"{100 * other['score']:.2f} %, ratio {other['seconds'] / ours['seconds']:.1f}",
            flush=True,
        )
    return found


def _line(found: dict[str, Any]) -> str:
    return f"{found['seconds']:.2f} s, C {found['C']:.3g}, {100 * max(found['scores']):.2f} %"


def searches_table(result: dict[str, Any]) -> str:
    """Return the searches, a line for each data set and problem."""
    columns = ["data", "problem", "manyclass", "score", "GridSearchCV", "score", "ratio"]
    rows = [_search(run) for run in result["searches"]]
    return markdown([*columns, "LIBLINEAR -C", "ratio"], rows, 2)


def _search(run: dict[str, Any]) -> list[str]:
    ours, theirs, other = run["ours"], run["theirs"], run.get("liblinear")
    row = [run["data"], TITLES[run["problem"]], *_seconds_and_score(ours)]
    if theirs is None:
        row += [f"over {run['limit']:g} s", "", f"over {run['limit'] / ours['seconds']:.0f}"]
    else:
        row += [*_seconds_and_score(theirs), f"{theirs['seconds'] / ours['seconds']:.1f}"]
    if other is None:
        return [*row, "", ""]
    return [*row, f"{other['seconds']:.1f} s", f"{other['seconds'] / ours['seconds']:.1f}"]


def _seconds_and_score(found: dict[str, Any]) -> list[str]:
    return [f"{found['seconds']:.1f} s", f"{100 * max(found['scores']):.2f} %"]


def paths_table(result: dict[str, Any]) -> str:
    """Return the certified paths, a line for each data set."""
    columns = ["data", "fits", "seconds", f"relative to one fit at C = {GRID[-1]:g} to 1e-3"]
    rows = [
        [
            run["data"],
            str(run["fits"]),
            f"{run['seconds']:.2f}",
            f"{run['seconds'] / run['one_fit']:.1f} times",
        ]
        for run in result["paths"]
    ]
    return markdown(columns, rows, 1)


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Measure the choice of C.")
    names = ["satimage", "letter", "news20", "sector-256d", "sector"]
    parser.add_argument("--data", nargs="+", default=names)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of GridSearchCV")
    parser.add_argument("--no-liblinear", action="store_true")
    parser.add_argument("--paths", action="store_true", help="measure certified paths instead")
    parser.add_argument("--draw", action="store_true", help="draw the picture of news20 alone")
    parser.add_argument("--grid-search", nargs=2, metavar=("DATA", "PROBLEM"), help="that alone")
    args = parse(parser, argv, data=["tiny"], problems=["crammer_singer"])
    warnings.simplefilter("ignore", ConvergenceWarning)
    datasets = find_datasets()
    if args.draw:
        draw(datasets["news20"].load())
        return
    if args.grid_search:
        name, problem = args.grid_search
        print(json.dumps(grid_search(datasets[name].load(), PROBLEMS[problem][1])))
        return
    old, runs = read_results(FILE), list[dict[str, Any]]()
    about = header(old)
    for name in args.data:
        data = datasets[name].load()
        if args.paths:
            runs.append({"data": name, **path(data, "crammer_singer")})
            print(runs[-1], flush=True)
            continue
        for problem in args.problems:
            limit, liblinear = args.limit, not args.no_liblinear
            runs.append(compare(name, data, problem, limit, liblinear=liblinear))
    part = "paths" if args.paths else "searches"
    write_results(FILE, {"searches": [], "paths": [], **old, **about, part: runs})


if __name__ == "__main__":
    main()
