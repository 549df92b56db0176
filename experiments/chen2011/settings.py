"""Settings: data sets, training sizes, steps, methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyclass.datasets.synthetic import corpus_shape
from measuring.datasets.base import BaseDataset
from measuring.datasets.real import RealDataset
from measuring.datasets.shaped_text import ShapedText

# Arguments of StochasticClassifier; the paper has the first three, with the last iterate.
METHODS: dict[str, dict[str, Any]] = {
    "SVM": {"loss": "hinge"},
    "LR": {"loss": "log_loss"},
    "perceptron": {"loss": "perceptron"},
    "SVM, averaged": {"loss": "hinge", "average": True},
}
# A binary machine for each class, beside the method with the same loss.
ONE_VS_REST = {"K-Pegasos": "SVM", "K-binaryLR": "LR"}
ALPHAS = (3e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
# Of many test rows the first ones do.
N_TEST = 20_000


@dataclass(frozen=True, slots=True)
class Setting:
    """A data set and how much is trained on it.

    Attributes
    ----------
    dataset : BaseDataset
    sizes : tuple of int
        Training sizes; all rows come on top.
    steps : int
        T, the most steps; a step takes one row.
    binary_steps : int
        The same of figure 3; 0: no binary machines.
    n_seeds : int
        Seeds; in figure 3, machines with an alpha of their own have three.
    methods : tuple of str
    alphas : tuple of float
        Tried; shifted where rows are not of unit length.
    peer : bool
        Whether solvers that keep W and more of its size dense are run: scikit-learn's and the
        cutting planes.
    cutting_seconds : float
        CPU seconds of the cutting planes, at most.
    """

    dataset: BaseDataset
    sizes: tuple[int, ...]
    steps: int
    binary_steps: int
    n_seeds: int = 10
    methods: tuple[str, ...] = tuple(METHODS)
    alphas: tuple[float, ...] = ALPHAS
    peer: bool = True
    cutting_seconds: float = 60.0


_MADE_UP = (5_000, 15_000, 50_000, 150_000)


def _made_up(name: str, n_test: int, steps: int, binary_steps: int) -> Setting:
    return Setting(ShapedText(name, corpus_shape(name), n_test), _MADE_UP, steps, binary_steps)


SETTINGS: dict[str, Setting] = {
    setting.dataset.name: setting
    for setting in (
        _made_up("rcv1-4", 19_806, 300_000, 100_000),
        _made_up("rcv1-53", 15_564, 300_000, 50_000),
        _made_up("odp", 142_267, 200_000, 100_000),
        Setting(RealDataset("news20"), (1_000, 2_000, 4_000, 8_000), 100_000, 30_000),
        Setting(RealDataset("sector"), (800, 1_600, 3_200), 50_000, 10_000),
        Setting(
            RealDataset("mnist"),
            (1_000, 3_000, 10_000, 30_000),
            300_000,
            100_000,
            alphas=(3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
        ),
        # log_loss moves all 16,551 classes in a step and has no sparse weights; as many binary
        # machines would take a day.
        Setting(
            RealDataset("wordnet"),
            (7_000, 14_000, 28_000),
            200_000,
            binary_steps=0,
            n_seeds=3,
            methods=("SVM", "perceptron", "SVM, averaged"),
            peer=False,
        ),
    )
}


def checkpoints(steps: int) -> list[int]:
    """Return the numbers of steps after which accuracy is measured, about six in a decade.

    Examples
    --------
    >>> checkpoints(4000)
    [1000, 1500, 2000, 3000, 4000]
    """
    marks = [round(step * 10**decade) for decade in (3, 4, 5, 6) for step in (1, 1.5, 2, 3, 5, 7)]
    return [mark for mark in marks if mark < steps] + [steps]


def row_order(rng: np.random.Generator, n: int, steps: int) -> NDArray[np.intp]:
    """Return the rows of so many steps: all of 0..n-1 in random order, again and again."""
    epochs = [rng.permutation(n) for _ in range(-(-steps // n))]
    return np.concatenate(epochs)[:steps]
