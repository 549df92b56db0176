"""Which runs the cost model is fitted to, and on which others it is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.datasets.base import BaseDataset
from benchmarks.datasets.real import RealDataset
from benchmarks.shaped_text import ShapedText
from manyclass.datasets.synthetic import corpus_shape
from manyclass.problem.formulations import FORMULATIONS

EPOCHS = 6
TOL = 1e-3
# Trained by many ranks: many examples, which all have to be visited, and few, in small batches.
MANY_RANKS = ("short-rows", "long-rows")
TITLES = ("weston_watkins", "crammer_singer", "lee_lin_wahba", "one_vs_rest")


def _text(name: str, n: int, d: int, k: int, words: float) -> ShapedText:
    shape = {"n_examples": n, "n_features": d, "n_classes": k, "words_per_example": words}
    return ShapedText(name, shape | {"topic_share": 0.2}, n_test=k)


# Rows long and short, classes few and many: so that each kind of work is much of some run.
FITTED: dict[str, BaseDataset] = {
    dataset.name: dataset
    for dataset in (
        RealDataset("sector"),
        ShapedText("lshtc-small", corpus_shape("lshtc-small")),
        _text("short-rows", 20_000, 20_000, 300, 20.0),
        _text("long-rows", 3_000, 40_000, 600, 250.0),
        _text("many-classes", 8_000, 8_000, 3_000, 40.0),
    )
}
CHECKED: dict[str, BaseDataset] = {
    dataset.name: dataset
    for dataset in (
        RealDataset("lshtc1"),
        ShapedText("lshtc-tenth", corpus_shape("lshtc-large", scale=0.1)),
        _text("other-rows", 6_000, 30_000, 800, 80.0),
    )
}


@dataclass(frozen=True, slots=True)
class Run:
    """One training to be measured.

    Attributes
    ----------
    data, formulation : str
    weights : {"dense", "sparse"}
    n_ranks : int
    fitted : bool
        Whether the model is fitted to it; otherwise it is checked on it.
    """

    data: str
    formulation: str
    weights: str
    n_ranks: int
    fitted: bool

    def settings(self) -> dict[str, Any]:
        """Return what ``rank_run`` takes."""
        return {
            "formulation": self.formulation,
            "weights": self.weights,
            "tol": TOL,
            "max_iter": EPOCHS,
        }


def runs() -> list[Run]:
    """List all of them."""
    return [
        Run(name, formulation, weights, n_ranks, fitted)
        for fitted, datasets in ((True, FITTED), (False, CHECKED))
        for name in datasets
        for formulation in TITLES
        for weights in _ways(formulation)
        for n_ranks in _ranks(name, fitted=fitted)
    ]


def _ways(formulation: str) -> tuple[str, ...]:
    """Return how W may be held."""
    return ("dense", "sparse") if FORMULATIONS[formulation].margin == "relative" else ("dense",)


def _ranks(name: str, *, fitted: bool) -> tuple[int, ...]:
    """Return the numbers of ranks; a few runs of many, where what grows with them is seen."""
    if not fitted:
        return (1, 2, 3, 4, 8)
    return (1, 2, 4, 16) if name in MANY_RANKS else (1, 2, 4)
