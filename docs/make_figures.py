"""Draw the pictures of the documentation that show no measurement; needs matplotlib.

python docs/make_figures.py
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")  # no window

import matplotlib.pyplot as plt
import numpy as np
from manyclass import ConvergenceDisplay, MulticlassSVC, MulticlassSVCCV
from manyclass.problem.formulations import FORMULATIONS, Formulation
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.datasets import load_digits

FIGURES = Path(__file__).with_name("figures")
DIFFERENCE = np.linspace(-2.5, 4.5, 701)
# Okabe and Ito's colours; line styles distinguish the curves without them.
LOOKS: dict[str, tuple[str, Any]] = {
    "crammer_singer": ("#0072B2", "-"),
    "weston_watkins": ("#D55E00", "--"),
    "mmr": ("#009E73", ":"),
    "lee_lin_wahba": ("#0072B2", "-"),
    "ats": ("#D55E00", "--"),
    "reinforced": ("#CC79A7", (0, (6, 1.5, 1, 1.5))),
    "adm": ("#009E73", "-"),
    "atm": ("#E69F00", "--"),
    "one_vs_rest": ("#000000", ":"),
}
PANELS = (
    (
        "relative margins, and mmr",
        ("crammer_singer", "weston_watkins", "mmr"),
    ),
    (
        "absolute margins, summed",
        ("lee_lin_wahba", "ats", "reinforced", "one_vs_rest"),
    ),
    ("absolute margins, the largest counts", ("adm", "atm")),
)
Scores = NDArray[np.float64]
CARD = (
    4.4,
    3.2,
)  # inches; of a picture that is readable on a card of the first page


def one_rival(s: Scores) -> Scores:
    """Scores (1 + s/2, 1 - s/2, -2) of own class, rival and a class far behind, shape (n, 3)."""
    return np.stack([1 + s / 2, 1 - s / 2, np.full_like(s, -2.0)], axis=1)


def two_rivals(s: Scores) -> Scores:
    """Scores (2s/3, -s/3, -s/3) of own class and two rivals alike, shape (n, 3)."""
    return np.stack([2 * s / 3, -s / 3, -s / 3], axis=1)


def hinge_loss(formulation: Formulation, scores: Scores) -> Scores:
    """Loss of an example of class 0 at each row of scores, shape (n,)."""
    own, others = scores[:, :1], scores[:, 1:]
    gamma = formulation.margins(scores.shape[1])[1]
    slack_own = np.maximum(0.0, gamma - own)
    margins = own - others if formulation.margin == "relative" else -others
    slack = {
        "others": np.maximum(0.0, 1.0 - margins),
        "own": slack_own,
        "all": np.hstack([slack_own, np.maximum(0.0, 1.0 - margins)]),
    }[formulation.targets]
    return np.asarray(
        slack.max(axis=1)
        if formulation.aggregation == "max"
        else slack.sum(axis=1)
    )


def draw_losses(path: Path) -> None:
    """Draw the loss against the lead of the own class, in two slices."""
    slices: tuple[tuple[str, Callable[[Scores], Scores]], ...] = (
        ("one rival: scores (1+s/2, 1−s/2, −2)", one_rival),
        ("two rivals: scores (2s/3, −s/3, −s/3)", two_rivals),
    )
    figure, axes = plt.subplots(
        2, 3, figsize=(10.5, 6.2), sharex=True, sharey=True
    )
    for row, (label, scores_at) in zip(axes, slices, strict=True):
        row[0].set_ylabel(f"loss\n{label}", fontsize=9)
        for axis, (_, names) in zip(row, PANELS, strict=True):
            axis.axvline(0, color="0.75", linewidth=0.8, zorder=0)
            for name in names:
                colour, style = LOOKS[name]
                loss = hinge_loss(FORMULATIONS[name], scores_at(DIFFERENCE))
                axis.plot(
                    DIFFERENCE,
                    loss,
                    color=colour,
                    linestyle=style,
                    linewidth=2,
                    label=name,
                )
            axis.spines[["top", "right"]].set_visible(False)
    for axis, (title, _) in zip(axes[0], PANELS, strict=True):
        axis.set_title(title, fontsize=10)
        axis.set_ylim(-0.1, 6.5)
        axis.legend(frameon=False, fontsize=9, loc="upper right")
    for axis in axes[1]:
        axis.set_xlabel("s: own score less the best other", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    plt.close(figure)


def draw_convergence(path: Path) -> None:
    """Draw the gap of a fit on digits, and what was proven in the end."""
    X, y = load_digits(return_X_y=True)
    model = MulticlassSVC(C=1.0, tol=1e-4, random_state=0).fit(X / 16, y)
    figure, axis = plt.subplots(figsize=CARD, layout="constrained")
    ConvergenceDisplay.from_estimator(model, ax=axis)
    axis.set_title(
        f"digits: within {model.certificate_.relative_gap:.4%} of the optimum"
    )
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=160)
    plt.close(figure)


def draw_card_of_c(path: Path) -> None:
    """Draw the scores of five folds of digits against C."""
    X, y = load_digits(return_X_y=True)
    model = MulticlassSVCCV(
        Cs=np.geomspace(1e-4, 100, 13), cv=5, random_state=0
    ).fit(X / 16, y)
    mean, deviation = model.scores_.mean(axis=0), model.scores_.std(axis=0)
    figure, axis = plt.subplots(figsize=CARD, layout="constrained")
    axis.fill_between(
        model.Cs_,
        mean - deviation,
        mean + deviation,
        color="#0072B2",
        alpha=0.2,
    )
    axis.plot(model.Cs_, mean, "o-", color="#0072B2")
    axis.axvline(model.C_, color="#D55E00", linestyle="--")
    axis.text(
        1.2 * model.C_,
        np.nanmin(mean),
        f"chosen: C = {model.C_:.2g}",
        color="#D55E00",
    )
    axis.set(
        xscale="log",
        xlabel="C",
        ylabel="accuracy, five folds",
        title="digits",
    )
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=160)
    plt.close(figure)


def draw_card_of_probabilities(path: Path) -> None:
    """Draw how often the most probable class is right, before and after calibration."""
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=6000)
    X = rng.normal(size=(5, 20))[y] + 1.7 * rng.normal(size=(6000, 20))
    model = MulticlassSVC(random_state=0).fit(X[:1000], y[:1000])
    model.calibrate(X[1000:2000], y[1000:2000])
    scores = model.decision_function(X[2000:])
    figure, axis = plt.subplots(figsize=CARD, layout="constrained")
    for label, colour, probabilities in (
        ("softmax of the scores", "#D55E00", softmax(scores, axis=1)),
        ("calibrated", "#0072B2", model.predict_proba(X[2000:])),
    ):
        best, right = (
            probabilities.max(axis=1),
            probabilities.argmax(axis=1) == y[2000:],
        )
        bins = np.minimum((best * 10).astype(int), 9)
        shown = [b for b in range(10) if (bins == b).sum() >= 40]
        points = [
            (best[bins == b].mean(), right[bins == b].mean()) for b in shown
        ]
        axis.plot(
            *zip(*points, strict=True), "o-", color=colour, label=label
        )
    axis.plot([0.2, 1], [0.2, 1], "--", color="0.5")
    axis.set(
        xlabel="largest probability",
        ylabel="fraction correct",
        title="synthetic rows",
    )
    axis.legend(frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=160)
    plt.close(figure)


def main() -> None:
    """Draw all pictures."""
    FIGURES.mkdir(exist_ok=True)
    draw_convergence(FIGURES / "convergence.png")
    draw_card_of_c(FIGURES / "card-choosing_c.png")
    draw_card_of_probabilities(FIGURES / "card-probabilities.png")
    draw_losses(FIGURES / "losses.png")


if __name__ == "__main__":
    main()
