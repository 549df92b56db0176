"""Every formulation and loss on the same data: accuracy, density, seconds, certified gap.

    python -m experiments.formulations.run [--only news20 letter]

C = 1, no intercept, relative gap 1e-3, float32, one thread; scikit-learn's LinearSVC (one-vs-rest,
float64) beside it, with default parameters and at a tolerance that reaches the same gap. Runs that
do not reach the gap in float32 are repeated in float64. Writes formulations.json.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from experiments import MissingDataError, Split, density, irises, load
from manyclass import MulticlassSVC
from manyclass.problem.formulations import FORMULATIONS
from measuring.header import header
from measuring.quick import parse
from measuring.results import RESULTS, read_results, write_results

FILE = RESULTS / "formulations.json"
DATA = {
    "news20": ("news20.scale", "news20.t.scale"),
    "sector": ("sector.scale", "sector.t.scale"),
    "letter": ("letter.scale", "letter.t.scale"),
    "satimage": ("satimage.scale", "satimage.t.scale"),
}
TOL = 1e-3
MAX_ITER = 100
PEER_TOLS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 1e-4)


def machines() -> list[tuple[str, str]]:
    """Return all pairs of formulation and loss."""
    return [(name, loss) for name, what in FORMULATIONS.items() for loss in what.losses]


def measure(data: Split, formulation: str, loss: str) -> dict[str, Any]:
    """Train one machine and judge it on the test part."""
    # warm_start has the model keep z, whose density is wanted.
    model = MulticlassSVC(
        formulation=formulation,
        loss=loss,
        fit_intercept=False,
        tol=TOL,
        max_iter=MAX_ITER,
        random_state=0,
        warm_start=True,
    )
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data.X, data.y)
    seconds = time.perf_counter() - begin
    duals = model._warm_start.start.duals
    return {
        "accuracy": float(model.score(data.X_test, data.y_test)),
        "density": density(model.coef_),
        "dual_density": float(duals.count_nonzero() / np.prod(duals.shape)),
        "seconds": seconds,
        "relative_gap": model.certificate_.relative_gap,
        "epochs": model.n_iter_,
    }


def measure_peer(data: Split, loss: str) -> dict[str, dict[str, Any]]:
    """Train scikit-learn's one-vs-rest machine and judge it on the test part.

    Once with default parameters, once at the coarsest of some tolerances that reaches our gap.
    """
    X = _for_peer(data.X)
    bound = one_vs_rest_bound(X, data.y, loss)
    by_tolerance = (_measure_peer(X, data, loss, tol, bound) for tol in PEER_TOLS)
    near = next(found for found in by_tolerance if found["relative_gap"] <= TOL)
    as_it_comes = _measure_peer(X, data, loss, 1e-4, bound)
    return {f"LinearSVC(tol={near['tol']:g}) {loss}": near, f"LinearSVC() {loss}": as_it_comes}


def _measure_peer(X: Any, data: Split, loss: str, tol: float, bound: float) -> dict[str, Any]:
    model = LinearSVC(loss=loss, tol=tol, fit_intercept=False, dual=True, random_state=0)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, data.y)
    seconds = time.perf_counter() - begin
    primal = one_vs_rest_primal(X, data.y, model, loss)
    return {
        "accuracy": float(model.score(_for_peer(data.X_test), data.y_test)),
        "density": density(model.coef_),
        "seconds": seconds,
        "relative_gap": (primal - bound) / primal,
        "epochs": int(model.n_iter_),
        "tol": tol,
    }


def one_vs_rest_primal(X: Any, y: Any, model: LinearSVC, loss: str) -> float:
    """Sum of the binary problems' primal objectives at the peer's weights."""
    signs = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - signs * (X @ model.coef_.T))
    losses = slack if loss == "hinge" else slack**2
    return 0.5 * float(np.sum(model.coef_**2)) + float(losses.sum())


def one_vs_rest_bound(X: Any, y: Any, loss: str) -> float:
    """Lower bound of that sum: our dual objective, to five digits or so."""
    model = MulticlassSVC(
        formulation="one_vs_rest",
        loss=loss,
        fit_intercept=False,
        tol=1e-5,
        max_iter=MAX_ITER,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return float(model.fit(X, y).certificate_.dual_objective)


def _for_peer(X: sp.csr_array[Any]) -> sp.csr_matrix[Any]:
    """Return float64 rows with 32-bit indices, which is what LIBLINEAR takes."""
    parts = X.data.astype(np.float64), X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_matrix(parts, shape=X.shape)


def run(name: str, data: Split) -> dict[str, Any]:
    """Measure everything on one data set."""
    found = {}
    for formulation, loss in machines():
        found[f"{formulation} {loss}"] = measure(data, formulation, loss)
        print(name, formulation, loss, found[f"{formulation} {loss}"], flush=True)
        if found[f"{formulation} {loss}"]["relative_gap"] > TOL:
            exact = Split(data.X.astype(float), data.y, data.X_test.astype(float), data.y_test)
            found[f"{formulation} {loss}, float64"] = measure(exact, formulation, loss)
    for loss in ("hinge", "squared_hinge"):
        found |= measure_peer(data, loss)
    return found


def table(found: dict[str, Any]) -> str:
    """Return the Markdown table of one data set."""
    lines = [
        "| machine | loss | accuracy % | % of W not 0 | % of z not 0 | seconds | gap | epochs |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for machine, cells in found.items():
        name, loss = machine.split(" ", 1)
        of_z = f"{100 * cells['dual_density']:.1f}" if "dual_density" in cells else ""
        lines.append(
            f"| `{name}` | {loss.replace('_', ' ')} | {100 * cells['accuracy']:.2f} "
            f"| {100 * cells['density']:.1f} | {of_z} | {cells['seconds']:.2f} "
            f"| {cells['relative_gap']:.1e} | {cells['epochs']} |"
        )
    return "\n".join(lines)


def all_tables(result: dict[str, Any]) -> str:
    """Return the tables of all data sets."""
    found = result["data"]
    return "\n\n".join(f"**{name}**\n\n{table(found[name])}" for name in DATA if name in found)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=DATA, default=list(DATA), help="data sets")
    options = parse(parser, only=["satimage"])
    old = read_results(FILE)
    about, found = header(old), old.get("data", {})
    for name in options.only:
        try:
            found[name] = run(name, irises() if options.quick else load(*DATA[name]))
        except MissingDataError as reason:
            print(f"{name} skipped: {reason}")
        write_results(FILE, about | {"data": found})


if __name__ == "__main__":
    main()
