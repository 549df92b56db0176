"""The same numbers before and after a change of structure: digests of 600 training runs.

    python -m tests.trials.same_runs record FILE [--only PREFIX]
    python -m tests.trials.same_runs compare FILE [--only PREFIX] [--certificates TOLERANCE]

``record`` trains and writes, for each run, digests of W, z and the history (all but the seconds),
and the numbers of the certificates. ``compare`` trains again and lists what differs. With
``--certificates``, certificates may differ by so much, relative to P; otherwise not in a bit.

Only public names are used, so that this file and digests.py serve two checkouts: an older one may
take copies of both.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
    StochasticClassifier,
    c_path,
)
from tests.trials.digests import (
    Facts,
    digest,
    facts_of,
    fitted,
    fitted_twice,
    on_threads,
    resumed,
)

DTYPES = {"float32": np.float32, "float64": np.float64}
MAXIMA = ("crammer_singer", "adm", "atm")
SUMS = ("weston_watkins", "lee_lin_wahba", "ats", "reinforced", "mmr", "one_vs_rest")
PAIRS = [(name, "hinge") for name in (*MAXIMA, *SUMS)] + [(name, "squared_hinge") for name in SUMS]
RELATIVE = [pair for pair in PAIRS if pair[0] in ("crammer_singer", "weston_watkins")]
WITH_TABLES = [*RELATIVE, ("one_vs_rest", "hinge"), ("one_vs_rest", "squared_hinge")]
ON_RANKS = [pair for pair in PAIRS if pair[0] not in ("adm", "atm")]
COMPARISON = [
    *itertools.product(
        ("exponentiated_gradient", "most_violating"),
        [("crammer_singer", "hinge"), ("weston_watkins", "hinge")],
    ),
    *(("cutting_plane", pair) for pair in WITH_TABLES),
]
CHUNK_BYTES = 1 << 17  # so that one-vs-rest with sparse weights trains several parts


# Data


def tiny(seed: int, dtype: Any) -> tuple[Any, Any, Any, float, bool]:
    """Return X, y, weights, C and whether there is an intercept; rows may be empty or repeated."""
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(4, 16), rng.integers(1, 6), rng.integers(2, 6)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    X[rng.integers(n)] = X[rng.integers(n)]
    if seed % 2 == 0:
        X[0] = 0
    y = rng.integers(0, k, n)
    y[:2] = 0, 1
    weights = rng.integers(1, 4, n).astype(float) if seed % 2 else None
    C = float(10 ** rng.uniform(-2, 2))
    return sp.csr_array(X.astype(dtype)), y, weights, C, bool(seed % 3)


def texts(dtype: Any, n: int = 300, d: int = 400, k: int = 40) -> tuple[Any, Any]:
    """Sparse rows of unit length with some class structure."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    X = sp.random_array((n, d), density=0.03, random_state=rng, dtype=np.float64).tolil()
    X[np.arange(n), y % d] = 1.0
    X = sp.csr_array(X)
    return sp.csr_array((sp.diags_array(1 / np.sqrt(X.power(2).sum(axis=1))) @ X).astype(dtype)), y


def dense(dtype: Any, n: int = 300, d: int = 300, k: int = 40) -> tuple[Any, Any]:
    """Dense rows, many of whose features carry the class."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, k, n)
    X = rng.normal(size=(n, d)) + 2 * rng.normal(size=(k, d))[y]
    return (X / np.sqrt(d)).astype(dtype), y


def tall(dtype: Any, n: int = 2000, d: int = 10, k: int = 3) -> tuple[Any, Any]:
    """Many examples, few features, much noise."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, d))
    y = (X[:, :k] + rng.normal(size=(n, k))).argmax(axis=1)
    return X.astype(dtype), y


# The catalogue

Runs = Iterator[tuple[str, Callable[[], Facts]]]


def svc(pair: tuple[str, str], **options: Any) -> MulticlassSVC:
    """An estimator of a formulation and loss."""
    return MulticlassSVC(formulation=pair[0], loss=pair[1], random_state=0, **options)


def of_tiny(pair: tuple[str, str], seed: int, dtype: Any) -> Facts:
    """Fit tiny problems, which have weights, empty rows and any C."""
    X, y, weights, C, intercept = tiny(seed, dtype)
    return fitted(svc(pair, C=C, fit_intercept=intercept, tol=1e-5, max_iter=300), X, y, weights)


def of_lists(pair: tuple[str, str], dtype: Any) -> Facts:
    """Fit with z in lists."""
    return fitted_twice(svc(pair, max_iter=60), *texts(dtype))


def of_lanes(pair: tuple[str, str], dtype: Any) -> Facts:
    """Fit with z in lanes, and an intercept that is rounded."""
    model = svc(pair, max_iter=100, tol=1e-6, intercept_scaling=2.5)
    return fitted_twice(model, *texts(dtype, n=200, k=4, d=60), factor=0.5)


def of_rows(pair: tuple[str, str], dtype: Any) -> Facts:
    """Fit dense rows, in batches."""
    return fitted_twice(svc(pair, max_iter=40), *dense(dtype))


def of_newton(pair: tuple[str, str], dtype: Any) -> Facts:
    """Fit where the Newton phase begins."""
    return fitted_twice(svc(pair, C=10.0, tol=1e-5, max_iter=80), *tall(dtype))


def of_ascent(pair: tuple[str, str], dtype: Any) -> Facts:
    """Fit without it, to a violation."""
    model = svc(pair, solver="sequential_dual", stopping="kkt", tol=0.03, max_iter=60)
    return fitted(model, *tall(dtype, n=400))


def of_resumed(pair: tuple[str, str], dtype: Any) -> Facts:
    """Fit from a checkpoint."""
    return resumed(svc(pair), *texts(dtype, k=12), epochs=2)


def of_double(pair: tuple[str, str]) -> Facts:
    """Fit to a gap that needs float64."""
    return fitted(svc(pair, tol=1e-9, max_iter=300), *texts(np.float32, k=5, n=150))


def of_binary(pair: tuple[str, str]) -> Facts:
    """Fit two classes of balanced weights."""
    X, y = tall(np.float64, n=300)
    return fitted(svc(pair, class_weight="balanced", tol=1e-4), X, np.minimum(y, 1))


def of_no_duals(pair: tuple[str, str]) -> Facts:
    """Fit where z is not wanted."""
    return fitted(svc(pair), *texts(np.float32), duals=False)


def of_tables(pair: tuple[str, str], dtype: Any) -> Facts:
    """Fit with W in hash tables, or one-vs-rest in parts."""
    return fitted_twice(svc(pair, weights="sparse", max_iter=60), *texts(dtype))


def of_parts(pair: tuple[str, str], dtype: Any) -> Facts:
    """Fit one-vs-rest in parts from a checkpoint."""
    return resumed(svc(pair, weights="sparse"), *texts(dtype, k=200), epochs=2)


def of_threads(pair: tuple[str, str], dtype: Any) -> Facts:
    """Fit the groups of one-vs-rest in threads."""
    return fitted(svc(pair, n_jobs=2), *texts(dtype, k=90))


def of_comparison(pair: tuple[str, str], dtype: Any, solver: str) -> Facts:
    """Fit by a comparison method."""
    model = svc(pair, solver=solver, tol=1e-2, max_iter=40)
    return fitted_twice(model, *texts(dtype, k=8))


def svc_runs() -> Runs:
    """List the runs of one process, in all storages."""
    for pair, seed, dtype in itertools.product(PAIRS, range(4), DTYPES):
        yield f"tiny/{'/'.join(pair)}/{seed}/{dtype}", partial(of_tiny, pair, seed, DTYPES[dtype])
    by_dtype = (of_lists, of_lanes, of_rows, of_newton, of_ascent, of_resumed)
    for run, pair, dtype in itertools.product(by_dtype, PAIRS, DTYPES):
        yield f"{_name(run)}/{'/'.join(pair)}/{dtype}", partial(run, pair, DTYPES[dtype])
    for single, pair in itertools.product((of_double, of_binary, of_no_duals), PAIRS):
        yield f"{_name(single)}/{'/'.join(pair)}", partial(single, pair)
    for run, pair, dtype in itertools.product(
        (of_tables, of_parts, of_threads), WITH_TABLES, DTYPES
    ):
        if run is of_tables or pair[0] == "one_vs_rest":
            yield f"{_name(run)}/{'/'.join(pair)}/{dtype}", partial(run, pair, DTYPES[dtype])
    for (solver, pair), dtype in itertools.product(COMPARISON, DTYPES):
        name = f"comparison/{solver}/{'/'.join(pair)}/{dtype}"
        yield name, partial(of_comparison, pair, DTYPES[dtype], solver)


def _name(run: Callable[..., Facts]) -> str:
    return run.__name__.removeprefix("of_").replace("_", " ")


def rank_runs() -> Runs:
    """List the runs with the classes on ranks."""
    for pair, dtype, size in itertools.product(ON_RANKS, DTYPES, (2, 3)):
        sparse = ("dense", "sparse") if pair in WITH_TABLES else ("dense",)
        for weights in sparse:
            options = {"formulation": pair[0], "loss": pair[1], "weights": weights, "max_iter": 12}

            def run(options: Any = options, dtype: str = dtype, size: int = size) -> Facts:
                data = texts(DTYPES[dtype], n=120, d=100, k=11)
                return on_threads(size, options, *data, warm=size == 2)

            yield f"ranks/{'/'.join(pair)}/{weights}/{dtype}/{size}", run


def logistic_runs() -> Runs:
    """List the runs of logistic regression."""
    data = {
        "sparse": lambda kind: texts(kind, k=8),
        "rows": lambda kind: dense(kind, k=20),
        "tall": lambda kind: tall(kind, n=800),
        "binary": lambda kind: (lambda X, y: (X, np.minimum(y, 1)))(*tall(kind, n=300)),
    }
    intercepts = {
        "free": {"intercept_scaling": 2.0},
        "regularized": {"regularize_intercept": True},
        "none": {"fit_intercept": False},
    }
    for (rows, make), (name, options), dtype, C in itertools.product(
        data.items(), intercepts.items(), DTYPES, (1e-3, 1.0, 100.0)
    ):

        def run(make: Any = make, options: Any = options, dtype: str = dtype, C: Any = C) -> Facts:
            model = MultinomialLogisticRegression(C=C, tol=1e-5, random_state=0, max_iter=200)
            return fitted_twice(model.set_params(**options), *make(DTYPES[dtype]), factor=3.0)

        yield f"logistic/{rows}/{name}/{dtype}/{C:g}", run
    for rows in data:

        def double(make: Any = data[rows]) -> Facts:
            model = MultinomialLogisticRegression(tol=1e-9, random_state=0)
            return fitted(model, *make(np.float32))

        def again(make: Any = data[rows]) -> Facts:
            return resumed(MultinomialLogisticRegression(random_state=0), *make(np.float64), 2)

        yield f"logistic/{rows}/double", double
        yield f"logistic/{rows}/resumed", again


def stochastic_runs() -> Runs:
    """List the runs of stochastic training."""
    manners: dict[str, Facts] = {
        "plain": {},
        "average": {"average": True},
        "suffix": {"average": 300, "batch_size": 7},
        "early": {"early_stopping": True},
        "order": {"shuffle": False, "max_steps": 500},
        "sparse": {"weights": "sparse"},
    }
    losses = ("hinge", "log_loss", "perceptron")
    for loss, manner, dtype in itertools.product(losses, manners, DTYPES):
        if (loss, manner) == ("log_loss", "sparse"):
            continue
        options = {"loss": loss, "max_iter": 5, "random_state": 0, **manners[manner]}

        def run(options: Any = options, dtype: str = dtype) -> Facts:
            return fitted(StochasticClassifier(**options), *texts(DTYPES[dtype], k=9), duals=False)

        def parts(options: Any = options, dtype: str = dtype) -> Facts:
            X, y = texts(DTYPES[dtype], k=9)
            model = StochasticClassifier(**{**options, "early_stopping": False})
            model.fit_blocks([(X[:90], y[:90]), (X[90:], y[90:])], np.unique(y), X.shape[1])
            return facts_of(model.partial_fit(X, y, np.unique(y)))

        yield f"stochastic/{loss}/{manner}/{dtype}", run
        yield f"stochastic/{loss}/{manner}/{dtype}/blocks", parts


def selection_runs() -> Runs:
    """List paths and cross-validations."""
    for formulation in ("crammer_singer", "lee_lin_wahba", "one_vs_rest", "logistic"):

        def path(formulation: str = formulation) -> Facts:
            found = c_path(
                *texts(np.float64, k=5, n=100),
                C_min=0.1,
                C_max=10.0,
                epsilon=0.1,
                formulation=formulation,
                random_state=0,
            )
            facts = facts_of(found.models[-1])
            return {**facts, "Cs": digest(found.Cs), "objectives": digest(found.objectives)}

        yield f"path/{formulation}", path
    for Cs, refit in (("path", True), (4, True), (3, False)):
        options = {"Cs": Cs, "C_range": (0.1, 10.0), "epsilon": 0.1, "refit": refit, "cv": 3}

        def chosen(cv: Any, options: Any = options) -> Facts:
            model = cv(random_state=0, **options).fit(*tall(np.float64, n=150))
            found = {"scores": digest(model.scores_), "gaps": digest(model.gaps_)}
            return {**facts_of(model), **found, "C": float(model.C_)}

        yield f"cv/svc/{Cs}/{refit}", lambda run=chosen: run(MulticlassSVCCV)
        yield f"cv/logistic/{Cs}/{refit}", lambda run=chosen: run(MultinomialLogisticRegressionCV)


def catalogue() -> Runs:
    """List all runs."""
    yield from svc_runs()
    yield from rank_runs()
    yield from logistic_runs()
    yield from stochastic_runs()
    yield from selection_runs()


# The two commands


def found(only: str) -> dict[str, Facts]:
    """Make the runs whose names begin so; an error counts as what it found."""
    for module in list(sys.modules.values()):
        if hasattr(module, "CHUNK_BYTES_OF_W"):
            module.CHUNK_BYTES_OF_W = CHUNK_BYTES
    warnings.simplefilter("ignore")
    results: dict[str, Facts] = {}
    for name, run in catalogue():
        if name.startswith(only):
            try:
                results[name] = run()
            except Exception as error:  # the same error is the same result
                results[name] = {"error": f"{type(error).__name__}: {error}"}
    return results


def differences(before: Facts, after: Facts, tolerance: float) -> list[str]:
    """Name what differs between two runs."""
    return [name for name in {**before, **after} if not _same(name, before, after, tolerance)]


def _same(name: str, before: Facts, after: Facts, tolerance: float) -> bool:
    a, b = before.get(name), after.get(name)
    if a == b or not name.endswith("certificate") or a is None or b is None:
        return bool(a == b)
    # P, D, gap; the relative gap; the violation; P(0)
    scales = np.array([abs(a[0])] * 3 + [1.0, max(1.0, abs(a[4])), abs(a[5])])
    return bool((np.abs(np.subtract(a, b)) <= tolerance * scales).all())


def main() -> None:
    """Record, or compare and end with 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--certificates", type=float, default=0.0)
    args = parser.parse_args()
    now = found(args.only)
    if args.command == "record":
        args.file.write_text(json.dumps(now, indent=0))
        print(f"recorded {len(now)} runs")
        return
    before = json.loads(args.file.read_text())
    known = {name: facts for name, facts in before.items() if name.startswith(args.only)}
    wrong = 0
    for name in {**known, **now}:
        differ = differences(known.get(name, {}), now.get(name, {}), args.certificates)
        if differ:
            wrong += 1
            print(f"{name}: {', '.join(differ)}")
    print(f"{len(now)} runs, {wrong} differ")
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
