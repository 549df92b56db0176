"""Trial: Ctrl-C at calls all over the fit of every estimator and solver.

Each fit ends with KeyboardInterrupt, leaves the estimator as it was until its results are set, and
the next one gives the predictions of the first. Prints what differs, and ends with 1 if something
does.

    python -m tests.trials.interrupts --interrupts 60 --seed 0
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
    StochasticClassifier,
)
from manyclass.problem.formulations import FORMULATIONS
from manyclass.training.train import COMPARISON
from tests.helpers.interrupts import count_calls, interrupt

SETTING = 0.95  # share of a fit's calls from which on its results may be being set


def cases() -> dict[str, Callable[[], Any]]:
    """Return what makes an unfitted estimator, by its name."""
    made: dict[str, Callable[[], Any]] = {}
    for name in FORMULATIONS:
        made[name] = lambda name=name: MulticlassSVC(formulation=name, random_state=0)
    for name in COMPARISON:
        made[name] = lambda name=name: MulticlassSVC(solver=name, max_iter=30, random_state=0)
    for name in ("crammer_singer", "weston_watkins", "one_vs_rest"):
        made[f"{name}, sparse weights, 2 threads"] = lambda name=name: MulticlassSVC(
            formulation=name, weights="sparse", n_jobs=2, random_state=0
        )
    made["newton"] = lambda: MulticlassSVC(C=100.0, tol=1e-8, n_jobs=2, random_state=0)
    made["logistic"] = lambda: MultinomialLogisticRegression(C=10.0, tol=1e-8, random_state=0)
    made["stochastic"] = lambda: StochasticClassifier(max_iter=5, tol=None, random_state=0)
    made["cv"] = lambda: MulticlassSVCCV(Cs=[0.1, 1.0], cv=2, n_jobs=2, random_state=0)
    made["cv along a path"] = lambda: MulticlassSVCCV(
        Cs="path", C_range=(0.1, 1.0), epsilon=0.1, cv=2, random_state=0
    )
    made["logistic cv"] = lambda: MultinomialLogisticRegressionCV(Cs=[0.1], cv=2, random_state=0)
    return made


def state(estimator: Any) -> dict[str, Any]:
    """Return what belongs to an estimator: plain values, and which objects."""
    plain = (int, float, str, type(None))
    return {k: v if isinstance(v, plain) else id(v) for k, v in vars(estimator).items()}


def trial(make: Callable[[], Any], n: int, rng: np.random.Generator) -> list[str]:
    """Interrupt the fit of one estimator; return what is wrong."""
    data = np.random.default_rng(0)
    X, y = data.normal(size=(400, 6)), np.arange(400) % 4
    X[:, :4] += np.eye(4)[y]

    def fit() -> None:
        model.fit(X, y)

    model = make()
    fit()
    expected, n_calls = model.predict(X), count_calls(fit)
    wrong = []
    for at in rng.integers(1, n_calls + 1, n).tolist():
        before = state(model)
        error = interrupt(fit, at)
        if error is None and n_calls - at < n_calls // 10:
            continue  # another run may make fewer calls
        if not isinstance(error, KeyboardInterrupt):
            wrong.append(f"call {at} of {n_calls}: {error!r}")
        changed = {k for k, v in state(model).items() if before.get(k, v) != v}
        if at > SETTING * n_calls:  # one attribute after the other
            changed = set()
        if changed or not np.array_equal(model.predict(X), expected):
            wrong.append(f"call {at} of {n_calls}: changes {sorted(changed)}")
            fit()
    fit()
    if not np.array_equal(model.predict(X), expected):
        wrong.append("another fit gives other predictions")
    return wrong


def main() -> int:
    """Run the trial."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interrupts", type=int, default=60, help="of each estimator")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    began, failed = time.perf_counter(), 0
    warnings.simplefilter("ignore")
    for name, make in cases().items():
        wrong = trial(make, args.interrupts, np.random.default_rng(args.seed))
        failed += len(wrong)
        for what in wrong[:5]:
            print(f"{name}: {what}")
    print(
        f"interrupts: {args.interrupts} of {len(cases())} estimators, {failed} failed, "
        f"{time.perf_counter() - began:.0f} s"
    )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
