"""Probabilities of logistic regression and of calibrated SVMs, on the test parts of real data.

    python -m benchmarks.runs.calibration [--data news20 sector] [--quick]

prints log loss, accuracy, expected calibration error and seconds, and writes calibration.json,
also with the reliability curves: the accuracy of examples whose largest probability is about p.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from measuring.datasets.base import Data, find_datasets
from measuring.header import header
from measuring.quick import parse
from measuring.results import FIGURES, RESULTS, markdown, place, write_results

BINS = 10
FILE = RESULTS / "calibration.json"
# C of the logistic model near the best log loss of both data sets.
COSTS = (1.0, 10.0, 100.0)
METHODS = ("sigmoid", "isotonic", "temperature")
DRAWN = {
    "logistic, C = 10": ("#0072B2", "o"),
    "logistic, C = 100": ("#56B4E9", "v"),
    "MulticlassSVC, sigmoid": ("#E69F00", "s"),
    "MulticlassSVC, isotonic": ("#009E73", "P"),
    "MulticlassSVC, temperature": ("#D55E00", "D"),
}


def models() -> dict[str, Any]:
    """Return what is compared, by name."""
    found: dict[str, Any] = {
        f"logistic, C = {C:g}": MultinomialLogisticRegression(C=C, random_state=0) for C in COSTS
    }
    for method in METHODS:
        svc = MulticlassSVC(random_state=0)
        found[f"MulticlassSVC, {method}"] = CalibratedClassifierCV(svc, method=method, cv=5)
    return found


def judge(model: Any, data: Data) -> dict[str, Any]:
    """Fit a model, and judge its probabilities on the test part."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data.X, data.labels)
    seconds = time.perf_counter() - began
    p = model.predict_proba(data.X_test).astype(np.float64)
    p /= p.sum(axis=1, keepdims=True)
    largest, right = p.max(axis=1), model.classes_[p.argmax(axis=1)] == data.labels_test
    shares, predicted = calibration_curve(right, largest, n_bins=BINS)
    return {
        "log_loss": float(log_loss(data.labels_test, p, labels=model.classes_)),
        "accuracy": float(right.mean()),
        "ece": expected_calibration_error(largest, right),
        "seconds": seconds,
        "curve": [predicted.tolist(), shares.tolist()],
    }


def expected_calibration_error(largest: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Return the mean distance of the bins' accuracy from their mean largest probability.

    Examples
    --------
    >>> expected_calibration_error(np.array([0.85, 0.85]), np.array([True, False]))
    0.35
    """
    bins = np.minimum((largest * BINS).astype(int), BINS - 1)
    sums = np.bincount(bins, largest - right, minlength=BINS)
    return float(np.abs(sums).sum() / len(largest))


def table(result: dict[str, Any]) -> str:
    """Return a line for each model."""
    columns = ["data", "model", "log loss", "accuracy", "ECE", "seconds"]
    rows = []
    for name, models_of in result["data"].items():
        for model, found in models_of.items():
            row = [name, model, f"{found['log_loss']:.3f}", f"{100 * found['accuracy']:.1f} %"]
            rows.append([*row, f"{found['ece']:.3f}", f"{found['seconds']:.1f}"])
    return markdown(columns, rows, 2)


def picture(result: dict[str, Any]) -> str:
    """Draw the reliability curves, a panel for each data set."""
    from measuring.style import STYLE, plt

    found_of = result["data"]
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(
            1,
            len(found_of),
            figsize=(4.4 * len(found_of), 4.6),
            layout="constrained",
            squeeze=False,
        )
        for panel, (name, found) in zip(panels[0], found_of.items(), strict=True):
            panel.plot([0, 1], [0, 1], color="#999999", linewidth=1, label="calibrated")
            for model, (colour, marker) in DRAWN.items():
                panel.plot(*found[model]["curve"], color=colour, marker=marker, label=model)
            panel.set(title=name, xlabel="largest probability", ylabel="fraction correct")
            panel.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        panels[0][0].legend(fontsize="small", frameon=False)
        figure.savefig(place(FIGURES / "calibration.png"))
        plt.close(figure)
    names = " and ".join(found_of)
    return (
        f"![Reliability curves of logistic regression and of calibrated SVMs on {names}]"
        "(figures/calibration.png)"
    )


def main() -> None:
    """Run it."""
    datasets = find_datasets()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs.calibration")
    parser.add_argument("--data", nargs="+", choices=datasets, default=["news20", "sector"])
    about, result = header(), dict[str, dict[str, Any]]()
    for name in parse(parser, data=["tiny"]).data:
        data = datasets[name].load()
        result[name] = {}
        for label, model in models().items():
            found = result[name][label] = judge(model, data)
            print(
                f"{name}, {label}: log loss {found['log_loss']:.3f}, accuracy "
                f"{100 * found['accuracy']:.1f} %, ECE {found['ece']:.3f}, "
                f"{found['seconds']:.1f} s",
                flush=True,
            )
    write_results(FILE, about | {"data": result})


if __name__ == "__main__":
    main()
