"""Class offsets and base scores, which are added to the scores in training, not in prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from manyclass.arrays.input_arrays import on_host
from manyclass.estimators.costs import LARGEST
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.dataset import Dataset
from manyclass.problem.problem import Problem
from manyclass.problem.tree_scores import TreeScores
from manyclass.utils.machine import available_memory
from manyclass.utils.suggestions import meant_label
from manyclass.utils.types import Array, Label, Numbers

# As given by users: "logit_adjustment", or one number for each class.
Offsets: TypeAlias = "str | ArrayLike | Mapping[Label, float]"
BYTES_OF_A_SCORE = 3 * 8  # one float64 copy, and two in the core, in different orders


def base_of_offsets(
    offsets: Offsets, classes: Array, dataset: Dataset, base: BaseScores | TreeScores | None
) -> BaseScores | TreeScores:
    """Return the base scores of class offsets for training, added to the base scores of costs.

    Parameters
    ----------
    offsets : "logit_adjustment", array-like of shape (n_classes,) or dict
    classes : ndarray of shape (n_classes,)
    dataset : Dataset
    base : BaseScores, TreeScores or None
        Base scores of costs of mistakes.

    Raises
    ------
    ValueError
        If the offsets do not fit the classes.
    """
    numbers = log_shares(dataset) if isinstance(offsets, str) else offsets_of(offsets, classes)
    return (
        BaseScores.from_offsets(numbers, dataset.n_examples) if base is None else base.plus(numbers)
    )


def log_shares(dataset: Dataset) -> Numbers:
    """Return the logarithm of the share of each class in the weights of the rows.

    A class without rows counts as half a row of mean weight.
    """
    totals = np.bincount(dataset.labels, dataset.weights, dataset.n_classes)
    totals[totals == 0] = 0.5 * dataset.weights.mean()
    return np.asarray(np.log(totals / totals.sum()))


def offsets_of(offsets: Offsets, classes: Array) -> Numbers:
    """Return the offset of each class, checked.

    Parameters
    ----------
    offsets : array-like of shape (n_classes,), or dict by label
        Classes missing in a dict have the offset 0.
    classes : ndarray of shape (n_classes,)

    Raises
    ------
    ValueError
        If the number of offsets is wrong, a label is not a class, or an offset is not a number
        of magnitude up to 1e9.
    """
    k = len(classes)
    try:
        if isinstance(offsets, Mapping):
            labels = classes.tolist()
            unknown = [label for label in offsets if label not in set(labels)]
            if unknown:
                hint = meant_label(unknown[0], labels)
                raise ValueError(f"{unknown[0]!r} is not a class{hint}")
            offsets = [offsets.get(label, 0.0) for label in labels]
        numbers = np.asarray(on_host(offsets, "class_offset"), np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"class_offset must hold a number for each class: {error}") from error
    if numbers.shape != (k,):
        raise ValueError(
            f"class_offset has the shape {numbers.shape}; one number for each of the {k} classes "
            "is needed, in the order of classes_"
        )
    wrong = np.flatnonzero(~(np.abs(numbers) <= LARGEST))
    if len(wrong):
        raise ValueError(
            f"class_offset of {classes.tolist()[wrong[0]]!r} is {numbers[wrong[0]]}; offsets are "
            f"finite, of a size up to {LARGEST:g}"
        )
    return numbers


def with_base_scores(
    problem: Problem, base_scores: ArrayLike, n_given: int, kept: Array
) -> Problem:
    """Return a problem with ``base_scores`` of ``fit`` added to its costs and offsets.

    Parameters
    ----------
    problem : Problem
    base_scores : array-like of shape (n_given, n_classes) or (n_classes,)
    n_given : int
        Number of rows passed to ``fit``.
    kept : ndarray of shape (n_examples,)
        Numbers of the rows with a positive weight.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        If the shape is wrong, or a score is not a number of magnitude up to 1e9.
    MemoryError
        If they do not fit into memory.
    """
    k = problem.dataset.n_classes
    scores = _numbers_of(base_scores)
    if scores.shape not in ((k,), (n_given, k)):
        raise ValueError(
            f"base_scores have the shape {scores.shape}; ({n_given}, {k}) or ({k},) is needed, a "
            "column for each class in the order of classes_"
        )
    wrong = np.argwhere(~(np.abs(scores) <= LARGEST))
    if len(wrong):
        place = tuple(wrong[0].tolist())
        raise ValueError(
            f"base_scores{list(place)} is {scores[place]}; scores are finite, of a size up to "
            f"{LARGEST:g}"
        )
    if scores.ndim == 2:
        needed, free = scores.size * BYTES_OF_A_SCORE, available_memory()
        if needed > free:
            raise MemoryError(
                f"base_scores of {n_given} rows and {k} classes need {needed / 1e9:.1f} GB; "
                f"{free / 1e9:.1f} GB are free"
            )
        scores = scores[kept]
    base = problem.base
    if base is None:
        zero = BaseScores.from_offsets(np.zeros(k), problem.dataset.n_examples)
        base = BaseScores.from_scores(scores) if scores.ndim == 2 else zero.plus(scores)
    else:
        base = base.plus(scores)
    return checked_base(problem.with_base(base))


def checked_base(problem: Problem) -> Problem:
    """Return a problem; refuse base scores that a binary one-vs-rest model cannot represent.

    Raises
    ------
    ValueError
    """
    two = problem.dataset.n_classes == 2 and problem.formulation.is_separable
    if two and problem.base is not None:
        raise ValueError(
            "costs, class_offset and base_scores make two different machines of "
            "formulation='one_vs_rest' with two classes, and a binary model has one; use another "
            "formulation"
        )
    return problem


def refuse_several(base_scores: ArrayLike | None, device: object) -> None:
    """Refuse base scores and devices if several processes train.

    Raises
    ------
    ValueError
    """
    if base_scores is not None:
        raise ValueError("base_scores are trained by one process; leave out communicator=")
    if device is not None:
        raise ValueError(
            f"device={device!r} trains in one process, or on the workers of manyclass.dask and "
            "manyclass.ray; leave out communicator= or device="
        )


def _numbers_of(base_scores: ArrayLike) -> Numbers:
    try:
        if sp.issparse(base_scores):
            raise TypeError("a sparse matrix; use toarray()")
        found = np.asarray(on_host(base_scores, "base_scores"))
        if found.dtype.kind == "c":
            raise TypeError("it holds complex numbers")
        return np.asarray(found, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"base_scores must be an array of numbers: {error}") from error
