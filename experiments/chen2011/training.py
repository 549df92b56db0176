"""Train in pieces, the clock running; measure accuracy in between, the clock stopped.

Seconds are those of the processor, not of the wall: training has one thread, and the machine may
have other work to do. Rows lie in memory in the order in which they are visited, so a step takes
as long in a small training part as in a large one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from experiments.chen2011.settings import (
    METHODS,
    N_TEST,
    ONE_VS_REST,
    checkpoints,
    row_order,
)
from manyclass import StochasticClassifier
from measuring.datasets.base import Data

Labels = NDArray[np.int32]
Test = tuple[sp.csr_array, Labels]


def model_of(method: str, alpha: float) -> StochasticClassifier:
    """Return an untrained model that visits rows in the given order."""
    return StochasticClassifier(**METHODS[method], alpha=alpha, fit_intercept=False, shuffle=False)


def binary_alpha(alpha: float) -> float:
    """Return the `alpha` with which a binary model has the penalty alpha/2 ||u||^2 on its coef_ u.

    It holds u as w_1 - w_0, and w_0 = -w_1, as steps move the two oppositely; so
    ||W||^2 = 2 ||w_1||^2 = ||u||^2 / 2.
    """
    return 2 * alpha


def pieces(
    X: sp.csr_array, labels: NDArray[Any], marks: list[int]
) -> Iterator[tuple[sp.csr_array, NDArray[Any]]]:
    """Cut rows at the marks."""
    for begin, end in zip([0, *marks], marks, strict=False):
        yield X[begin:end], labels[begin:end]


def learning_curve(
    model: StochasticClassifier,
    X: sp.csr_array,
    labels: Labels,
    marks: list[int],
    test: Test,
    k: int,
) -> tuple[list[float], list[float]]:
    """Train on the rows in their order.

    Returns
    -------
    seconds, accuracies : list of float
        After so many steps as the marks say.
    """
    seconds, accuracies, spent = [], [], 0.0
    for rows, classes in pieces(X, labels, marks):
        start = time.process_time()
        model.partial_fit(rows, classes, classes=np.arange(k))
        spent += time.process_time() - start
        seconds.append(spent)
        accuracies.append(float(np.mean(model.predict(test[0]) == test[1])))
    return seconds, accuracies


def one_vs_rest_curve(
    method: str, alpha: float, X: sp.csr_array, labels: Labels, marks: list[int], test: Test, k: int
) -> list[float]:
    """Train a binary machine for each class; return the accuracies of the largest score."""
    scores = [np.empty((test[0].shape[0], k), np.float32) for _ in marks]
    for c in range(k):
        model = model_of(ONE_VS_REST[method], binary_alpha(alpha))
        for out, (rows, own) in zip(scores, pieces(X, labels == c, marks), strict=True):
            model.partial_fit(rows, own, classes=[False, True])
            out[:, c] = model.decision_function(test[0])
    return [float(np.mean(out.argmax(axis=1) == test[1])) for out in scores]


def rows_for_test(data: Data) -> Test:
    """Return the test rows that accuracy is measured on."""
    return data.X_test[:N_TEST], data.labels_test[:N_TEST]


def try_alphas(
    data: Data, methods: Iterable[str], steps: int, alphas: Iterable[float]
) -> dict[str, dict[str, float]]:
    """Measure each alpha, trained on four fifths of the training part, on the rest of it.

    Returns
    -------
    dict
        method -> alpha -> accuracy after so many steps.
    """
    rng = np.random.default_rng(2011)
    order = rng.permutation(data.X.shape[0])
    n_held = min(len(order) // 5, N_TEST)
    held, kept = order[:n_held], order[n_held:]
    test = data.X[held], data.labels[held]
    rows = kept[row_order(rng, len(kept), steps)]
    X, labels = data.X[rows], data.labels[rows]
    found: dict[str, dict[str, float]] = {}
    for method in methods:
        found[method] = {}
        for alpha in alphas:
            if method in ONE_VS_REST:
                given = (method, alpha, X, labels, [steps], test, data.n_classes)
                accuracy = one_vs_rest_curve(*given)[-1]
            else:
                model = model_of(method, alpha)
                curve = learning_curve(model, X, labels, [steps], test, data.n_classes)
                accuracy = curve[1][-1]
            found[method][f"{alpha:g}"] = accuracy
    return found


def best_alpha(accuracies: dict[str, float]) -> float:
    """Return the alpha of the highest accuracy; of several the largest."""
    return max((accuracy, float(alpha)) for alpha, accuracy in accuracies.items())[1]


def curves_by_size(
    data: Data, n: int, seed: int, alphas: dict[str, float], steps: int
) -> Iterator[tuple[str, list[float], list[float]]]:
    """Train all methods on n random rows; yield method, seconds and accuracies."""
    rng = np.random.default_rng([seed, n])
    chosen = rng.permutation(data.X.shape[0])[:n]
    rows = chosen[row_order(rng, n, steps)]
    X, labels = data.X[rows], data.labels[rows]
    for method, alpha in alphas.items():
        curve = learning_curve(
            model_of(method, alpha),
            X,
            labels,
            checkpoints(steps),
            rows_for_test(data),
            data.n_classes,
        )
        yield method, *curve
