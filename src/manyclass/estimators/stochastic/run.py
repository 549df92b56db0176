"""A stochastic training run: its weights, classes and blocks of data."""

from __future__ import annotations

import copy
import operator
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator

from manyclass.estimators.stochastic.samples import stream_data
from manyclass.estimators.validation import validated
from manyclass.prediction.scoring import Coefficients, split_weights
from manyclass.problem.dataset import MAX_INDEX, Dataset
from manyclass.problem.solution import Weights
from manyclass.solvers.sgd import Stochastic, StochasticRecord
from manyclass.solvers.weights.storage import Shape
from manyclass.utils.input_rows import FLOATS
from manyclass.utils.labels import LabelError, labels_of
from manyclass.utils.types import Array, DType, Rows, Settings

# Value of the appended feature for sparse rows. Sparse rows often have length one: a feature of 1
# would be as large as all other features together, and its steps too long (SGDClassifier scales
# the steps of the intercept by 0.01).
SPARSE_BIAS = 0.1
Learnt = tuple[Coefficients, Array]  # coefficients and intercepts


class StochasticRun:
    """A training run that may continue, and its current coefficients.

    Parameters
    ----------
    run : Stochastic
    classes : ndarray of shape (k,)
    bias : float
        Value of the appended feature.

    Attributes
    ----------
    moving : RLock
        Held during steps, so that readers of W wait for the last step.
    """

    def __init__(self, run: Stochastic, classes: Array, bias: float) -> None:
        self.moving = threading.RLock()
        self.run = run
        self.classes = classes
        self.bias = bias
        self._learnt: tuple[int, Learnt] | None = None

    def learnt(self) -> Learnt:
        """Return coefficients and intercepts after the last step, computed once."""
        with self.moving:
            steps = self.run.clock.steps
            if self._learnt is None or self._learnt[0] != steps:
                self._learnt = steps, self._split(self.run.weights())
            return self._learnt[1]

    def finish(self) -> Learnt:
        """Return coefficients and intercepts; the run ends."""
        return self._split(self.run.finish())

    def _split(self, W: Weights) -> Learnt:
        coef, intercept = split_weights(W, self.bias)
        if not np.isfinite(intercept).all():
            raise FloatingPointError("the weights overflow; scale the features or raise alpha")
        return coef, intercept

    def __getstate__(self) -> Settings:
        """Drop what can be recomputed; steps of other threads wait for the copy."""
        with self.moving:
            state = {**self.__dict__, "_learnt": None, "run": copy.deepcopy(self.run)}
        del state["moving"]
        return state

    def __setstate__(self, state: Settings) -> None:
        """Undo ``__getstate__``."""
        self.__dict__.update(state, moving=threading.RLock())


class InputSettings(NamedTuple):
    """Settings of the input: bias, sparsity, batch size."""

    bias: float  # value of the appended feature
    is_sparse: bool  # whether rows share few features
    n_rows: int  # of the first block, if there are several


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of rows as data sets; can be iterated several times."""

    estimator: BaseEstimator
    blocks: Iterable[tuple[Rows, ArrayLike]]
    classes: Array
    dtype: DType
    bias: float

    def __iter__(self) -> Iterator[Dataset]:
        """Validate one block after the other."""
        model = self.estimator
        for X, y in self.blocks:
            rows, targets = validated(model, X, y, [self.dtype], reset=False)
            yield stream_data(rows, targets, None, model.class_weight, self.classes, self.bias)


def shape_of(dataset: Dataset) -> Shape:
    """Return the shape of W for these examples."""
    return Shape(dataset.n_features, dataset.n_classes, dataset.dtype)


def two_at_least(classes: Array) -> Array:
    """Return the classes if there are at least two.

    Raises
    ------
    ValueError
        If there are fewer.
    """
    if len(classes) < 2:
        raise ValueError(f"training needs at least two classes; there is {len(classes)}")
    return classes


def grown(before: Array | None, y: Array) -> Array:
    """Return the classes so far and the classes of y, ascending.

    Raises
    ------
    ValueError
        If there are fewer than two, or both text and numbers.
    """
    known = [] if before is None else before.tolist()
    try:
        classes = np.unique(np.asarray(labels_of([*known, *np.unique(y).tolist()])))
    except LabelError:
        raise ValueError(
            f"y holds {y[0].item()!r}, and the classes so far are like {known[0]!r}; the labels of "
            "a model are all text, all numbers or all booleans"
        ) from None
    if before is not None and len(classes) == len(known):
        return before
    if before is not None and before.dtype.kind == "i" and (classes % 1 == 0).all():
        classes = classes.astype(before.dtype)  # 2.0 is 2
    return two_at_least(classes)


def are_more(classes: Array, before: Array) -> bool:
    """Whether classes include the earlier ones and new ones; booleans differ from numbers."""
    alike = (classes.dtype.kind == "b") == (before.dtype.kind == "b")
    return alike and len(before) < len(classes) and bool(np.isin(before, classes).all())


def fitted_attributes(running: StochasticRun) -> Settings:
    """Return the attributes for prediction."""
    coef, intercept = running.learnt()
    return {"classes_": running.classes, "coef_": coef, "intercept_": intercept}


def epoch_line(record: StochasticRecord) -> str:
    """Return one line about an epoch, for ``verbose``."""
    score = record.validation_score
    words = "" if score is None else f"  validation {100 * score:.2f} %"
    return (
        f"epoch {record.epoch:4d}  {record.seconds:8.2f} s  steps {record.steps}  "
        f"loss {record.loss:.6g}{words}"
    )


def checked_width(n_features: int) -> int:
    """Return a number of features if the compiled core can represent it."""
    width = operator.index(n_features)
    if not 0 < width < MAX_INDEX:
        raise ValueError(f"n_features must be from 1 to 2^31 - 2, got {n_features}")
    return width


def checked_dtype(dtype: DTypeLike) -> DType:
    """Return a dtype if the compiled core supports it."""
    if np.dtype(dtype) not in FLOATS:
        raise ValueError(f"dtype must be float32 or float64, got {np.dtype(dtype)}")
    return np.dtype(dtype)
