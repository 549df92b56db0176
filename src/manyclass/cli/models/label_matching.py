"""Compare the labels of a file with the classes of a model that may write them otherwise."""

from __future__ import annotations

import argparse
import contextlib
from typing import Protocol

import numpy as np

from manyclass.cli.console import UsageError
from manyclass.cli.options import BALANCED
from manyclass.utils.types import Array, ClassWeight, Label


class Weighted(Protocol):
    """An estimator with weights of classes."""

    class_weight: ClassWeight


def compare(classes: Array, truth: Array, predicted: Array) -> tuple[dict[str, float], int]:
    """Score predictions, over the labels that occur in them or in the truth.

    When the labels and the classes are both numbers, or both text, they are compared as they are.
    When one side is text, what reads as a number there counts as that number.

    Parameters
    ----------
    classes, truth, predicted : ndarray
        Classes of a model, labels of a file (at least one), labels that the model predicts for it.

    Returns
    -------
    scores : dict
        accuracy, micro_f1, macro_f1, n.
    n_unseen : int
        How many labels of the file are none of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from manyclass.cli.models.label_matching import compare
    >>> scores, n_unseen = compare(np.array([1, 2]), np.array(["1.0", "dog"]), np.array([1, 2]))
    >>> scores["accuracy"], n_unseen
    (0.5, 1)
    """
    true, guessed, n_known = _common_codes(classes, truth, predicted)
    return _scores(true, guessed), int(np.count_nonzero(true >= n_known))


def _common_codes(classes: Array, truth: Array, predicted: Array) -> tuple[Array, Array, int]:
    """Give every label a number, equal labels the same one; those of the classes come first.

    Returns the numbers of ``truth``, of ``predicted``, and how many belong to the classes.
    """
    alike = (classes.dtype.kind in "UO") == (truth.dtype.kind in "UO")
    codes: dict[Label, int] = {}

    def number(labels: Array) -> Array:
        names, positions = np.unique(labels, return_inverse=True)
        keys = names.tolist() if alike else map(_number_or_text, names.tolist())
        return np.array([codes.setdefault(key, len(codes)) for key in keys])[positions]

    number(classes)
    n_known = len(codes)
    return number(truth), number(predicted), n_known


def _number_or_text(label: object) -> Label:
    if isinstance(label, str) and "_" not in label:  # Python reads 1_000 as a number
        for convert in (int, float):
            with contextlib.suppress(ValueError):
                return convert(label)
    return label


def _scores(truth: Array, predicted: Array) -> dict[str, float]:
    """Accuracy and F1 of labels given as numbers."""
    size = 1 + max(int(truth.max()), int(predicted.max()))
    hits = np.bincount(truth[truth == predicted], minlength=size)
    uses = np.bincount(truth, minlength=size) + np.bincount(predicted, minlength=size)
    accuracy = float(np.mean(truth == predicted))
    return {
        "accuracy": accuracy,
        "micro_f1": accuracy,  # the same, as every row has one label and gets one
        "macro_f1": float(np.mean(2 * hits[uses > 0] / uses[uses > 0])),
        "n": len(truth),
    }


def check_labels(path: str, labels: Array) -> None:
    """Refuse labels of a file that name no classes to tell apart.

    Parameters
    ----------
    path : str
        The file, for the message.
    labels : ndarray

    Raises
    ------
    ValueError
        If there is one class only, or a number that is not whole.
    """
    classes = np.unique(labels)
    if len(classes) < 2:
        raise ValueError(
            f"{path}: every row has the label {classes[0]}; training needs at least two classes"
        )
    if labels.dtype.kind == "f" and (classes != np.rint(classes)).any():
        raise ValueError(
            f"{path}: the label {classes[classes != np.rint(classes)][0]} is not a whole number, "
            "as in a regression; name classes by whole numbers or words"
        )


def weigh_classes(model: Weighted, args: argparse.Namespace, y: Array) -> None:
    """Set the weights of classes that the command line gives by their labels.

    Raises
    ------
    UsageError
        If no row has such a label.
    """
    given = dict(entry for entry in args.class_weight or [] if entry != BALANCED)
    if not given:
        return
    classes = np.unique(y).tolist()
    by_text = {str(label): label for label in classes}
    numbers = {} if y.dtype.kind in "UO" else {float(label): label for label in classes}
    weights: dict[Label, float] = {}
    for text, weight in given.items():
        label = by_text.get(text, numbers.get(_as_float(text)))
        if label is None:
            raise UsageError(f"argument --class-weight: no row of {args.data} has the label {text}")
        weights[label] = weight
    model.class_weight = weights


def _as_float(text: str) -> float:
    with contextlib.suppress(ValueError):
        return float(text)
    return float("nan")
