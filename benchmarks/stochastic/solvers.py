"""Solvers that go through the rows some times, as ``benchmarks.stochastic.run`` compares them.

Each minimizes alpha/2 ||W||^2 + mean loss, of all classes together or one-vs-rest, with an
intercept; alpha = 1 / (n C) for those that take C. They are scikit-learn estimators with given
alpha, epochs and seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier

from manyclass import MulticlassSVC, StochasticClassifier
from measuring.datasets.base import Data, sklearn_rows

# Epochs of solvers that cannot continue, only restart with more of them.
REFITS = (1, 2, 3, 5, 10, 20, 50)
EpochScores = tuple[int, dict[str, float]]


@dataclass(frozen=True)
class Rows:
    """A data set as one kind of solver takes it; converted once, never in timed parts."""

    X: Any
    labels: Any
    X_test: Any
    labels_test: Any

    @classmethod
    def from_data(cls, data: Data, *, float64: bool) -> Rows:
        """Keep float32 rows, or make float64 rows for scikit-learn."""
        if not float64:
            return cls(data.X, data.labels, data.X_test, data.labels_test)
        labels = data.labels.astype(np.int64)
        return cls(sklearn_rows(data.X), labels, sklearn_rows(data.X_test), data.labels_test)


@dataclass(frozen=True)
class Solver:
    """One way to train.

    Attributes
    ----------
    name : str
    family : {"hinge", "log_loss"}
        Its loss; solvers of one family are compared with each other.
    make : callable
        (n, alpha, epochs, seed) to an estimator that has not been fitted.
    float64 : bool
        Whether it wants float64 rows.
    refits : bool
        Whether it cannot continue epoch by epoch.
    follows : str or None
        The solver whose epochs give its accuracy, too.
    """

    name: str
    family: str
    make: Callable[[int, float, int, Any], Any]
    float64: bool = True
    refits: bool = False
    follows: str | None = None


def epoch_by_epoch(solver: Solver, rows: Rows, alpha: float) -> Iterator[EpochScores]:
    """Train on and on; yield the epochs so far, and the test accuracy by the solver's name."""
    n = len(rows.labels)
    if solver.refits:
        for epochs in REFITS:
            model = fit(solver.make(n, alpha, epochs, 0), rows)
            yield epochs, {solver.name: accuracy(model, rows)}
        return
    # One generator for all epochs: a seed would give every epoch the same order.
    model = solver.make(n, alpha, 1, np.random.RandomState(0))
    classes = np.unique(rows.labels)
    epoch = 0
    while True:
        keep_intercepts_apart(model)
        model.partial_fit(rows.X, rows.labels, classes=classes)
        epoch += 1
        yield epoch, {solver.name: accuracy(model, rows), **_without_average(solver, model, rows)}


def fit(model: Any, rows: Rows) -> Any:
    """Fit; that it ends before convergence is meant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(rows.X, rows.labels)


def accuracy(model: Any, rows: Rows) -> float:
    """Return the share of the test rows that it gets right."""
    return round(float(np.mean(model.predict(rows.X_test) == rows.labels_test)), 5)


def keep_intercepts_apart(model: Any) -> None:
    """Mend SGDClassifier, whose next ``partial_fit`` would write over the averaged intercepts.

    It writes the others into ``intercept_``, which by then is the array of the averaged ones; one
    call of ``fit`` is not concerned.
    """
    if getattr(model, "_average_intercept", None) is not None:
        model.intercept_ = model._standard_intercept


def _without_average(solver: Solver, model: Any, rows: Rows) -> dict[str, float]:
    """SGDClassifier's average takes no part in its steps, so one run gives both accuracies."""
    if not solver.name.startswith(SGD_AVERAGE):
        return {}
    plain = copy(model)
    plain.coef_, plain.intercept_ = model._standard_coef, model._standard_intercept
    return {solver.name.replace(SGD_AVERAGE, SGD): accuracy(plain, rows)}


def _ours(**settings: Any) -> Callable[[int, float, int, Any], Any]:
    return lambda _, alpha, epochs, seed: StochasticClassifier(
        **settings, alpha=alpha, max_iter=epochs, tol=None, random_state=seed
    )


def _sgd(**settings: Any) -> Callable[[int, float, int, Any], Any]:
    return lambda _, alpha, epochs, seed: SGDClassifier(
        **settings, alpha=alpha, max_iter=epochs, tol=None, random_state=seed
    )


def _saga(n: int, alpha: float, epochs: int, seed: Any) -> Any:
    return LogisticRegression(
        solver="saga", C=1 / (n * alpha), max_iter=epochs, tol=0, random_state=seed
    )


def _svc(n: int, alpha: float, epochs: int, seed: Any) -> Any:
    return MulticlassSVC(C=1 / (n * alpha), max_iter=epochs, tol=1e-9, random_state=seed)


OURS, AVERAGE, PLAIN = "manyclass", "manyclass_average", "manyclass_plain"
BATCHES = "manyclass_average_16"
# By default steps of the intercept are 0.01 times as long for sparse rows, as SGDClassifier's are.
RULE: dict[str, Any] = {"average": True}
UNSCALED: dict[str, Any] = {"intercept_scaling": 1.0}
SGD, SGD_AVERAGE = "sklearn_sgd", "sklearn_sgd_average"


def _family(loss: str) -> list[Solver]:
    def named(name: str) -> str:
        return f"{name}_{loss}"

    return [
        Solver(named(OURS), loss, _ours(loss=loss, **RULE), float64=False),
        Solver(named(AVERAGE), loss, _ours(loss=loss, **RULE, **UNSCALED), float64=False),
        Solver(named(PLAIN), loss, _ours(loss=loss, **UNSCALED), float64=False),
        Solver(
            named(BATCHES),
            loss,
            _ours(loss=loss, **RULE, **UNSCALED, batch_size=16),
            float64=False,
        ),
        Solver(named(SGD_AVERAGE), loss, _sgd(loss=loss, average=True)),
        Solver(named(SGD), loss, _sgd(loss=loss), follows=named(SGD_AVERAGE)),
    ]


SOLVERS_OF_EPOCHS = [
    *_family("hinge"),
    *_family("log_loss"),
    Solver("manyclass_svc", "hinge", _svc, float64=False, refits=True),
    Solver("sklearn_saga", "log_loss", _saga, refits=True),
]
